/* SPDX-License-Identifier: Apache-2.0 */
/* What a report tells of slowdowns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/store_folder.h"
#include "userspace/view/story.h"

static struct feed feed;
static struct store *store;

static void slowdown(void)
{
	struct fact_health slow = {.kind = "fail_slow",
				   .onset_ns = 1100 * S,
				   .size_ns = 951000,
				   .why = "unknown",
				   .phase = "",
				   .evidence = ""};
	struct fact fact = {.type = FACT_HEALTH, .health = &slow};

	feed_fact(&feed, &fact, 0, 1120 * S);
	slow.kind = "recovered";
	slow.over = true;
	slow.end_ns = 1150 * S;
	feed_fact(&feed, &fact, 0, 1160 * S);
}

static void told(void)
{
	struct store_writer_options o = {.path = path};
	struct store_writer *w;

	assert_int_equal(store_writer_open(&w, &o), 0);
	feed_init(&feed, "slow", 2, 1000 * S);
	feed.wait = true;
	feed_open(&feed, w);
	for (int i = 0; i < 300; i++)
		feed_go(&feed, S);
	slowdown();
	feed_go(&feed, S);
	assert_int_equal(store_writer_close(w), 0);
	store = opened(STORE_READ);
}

static struct story *story_of(int64_t from_s)
{
	struct store_span span = {.from_ns = from_s ? FEED_REAL + from_s * (int64_t)S : 0};
	struct store_job job;
	struct story *s;

	assert_int_equal(store_job(store, "slow", &job), 0);
	assert_int_equal(story_open(&s, store, &job, &span, NULL), 0);
	return s;
}

/* Each end of a slowdown has its own time, also where only one of them is told. */
static void slow_and_fast(void **state)
{
	struct story *s, *late;
	struct buffer text = {0}, json = {0};

	(void)state;
	told();
	s = story_of(0);
	late = story_of(1120);
	assert_int_equal(s->healths.count, 2);
	story_text(&text, s, false);
	assert_non_null(strstr(text.data, "12:18:20  slower steps of rank 0, 951 µs a step\n"));
	assert_non_null(strstr(text.data, "12:19:10  fast again of rank 0, 951 µs a step\n"));
	story_json(&json, s);
	assert_non_null(strstr(json.data, "\"kind\":\"recovered\",\"time\":\"2026-11-21T12:19:10"));
	assert_int_equal(late->healths.count, 1);
	assert_string_equal(STORY_AT(late->healths, struct store_health, 0)->kind, "recovered");
	buffer_free(&text);
	buffer_free(&json);
	story_close(late);
	story_close(s);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(slow_and_fast, store_set_up, store_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
