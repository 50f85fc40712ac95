/* SPDX-License-Identifier: Apache-2.0 */
/* What a report tells of slowdowns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/store_folder.h"
#include "userspace/report/html.h"
#include "userspace/report/document.h"

static struct feed feed;
static struct store *store;

static void slowdown(uint64_t size_ns)
{
	struct fact_health slow = {.kind = "fail_slow",
				   .onset_ns = 1100 * S,
				   .size_ns = size_ns,
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

static void told(uint64_t size_ns)
{
	struct store_writer_options o = {.path = path};
	struct store_writer *w;

	assert_int_equal(store_writer_open(&w, &o), 0);
	feed_init(&feed, "slow", 2, 1000 * S);
	feed.wait = true;
	feed_open(&feed, w);
	for (int i = 0; i < 300; i++)
		feed_go(&feed, S);
	slowdown(size_ns);
	feed_go(&feed, S);
	assert_int_equal(store_writer_close(w), 0);
	store = opened(STORE_READ);
}

static struct report_document *document_of(int64_t from_s)
{
	struct store_span span = {.from_ns = from_s ? FEED_REAL + from_s * (int64_t)S : 0};
	struct store_job job;
	struct report_document *s;

	assert_int_equal(store_job(store, "slow", &job), 0);
	assert_int_equal(document_of_store(&s, store, &job, &span, NULL), 0);
	return s;
}

/* Each end of a slowdown has its own time, also where only one of them is told. */
static void slow_and_fast(void **state)
{
	struct report_document *s, *late;
	struct buffer text = {0}, json = {0};

	(void)state;
	told(951000);
	s = document_of(0);
	late = document_of(1120);
	assert_int_equal(s->healths.count, 2);
	document_text(&text, s, 0, false);
	assert_non_null(
		strstr(text.data, "12:18:20  slower steps of rank 0, a step takes 951 µs more\n"));
	assert_non_null(strstr(
		text.data, "12:19:10  fast again of rank 0, a step took 951 µs more for 50.0 s\n"));
	document_json(&json, s);
	assert_non_null(strstr(json.data, "\"kind\":\"recovered\",\"time\":\"2026-11-21T12:19:10"));
	assert_int_equal(late->healths.count, 1);
	assert_string_equal(DOCUMENT_AT(late->healths, struct store_health, 0)->kind, "recovered");
	buffer_free(&text);
	buffer_free(&json);
	document_close(late);
	document_close(s);
	store_close(store);
}

/* 50 s of steps that took a ten-thousandth more are told as a number alone, but in the object. */
static void slow_for_nothing(void **state)
{
	struct buffer text = {0}, json = {0}, page = {0};
	struct report_document *s;

	(void)state;
	told(9510);
	s = document_of(0);
	assert_int_equal(s->minor, 1);
	document_text(&text, s, 0, false);
	assert_non_null(strstr(text.data, "0; and 1 slowdown that cost under 0.1 % of the time\n"));
	assert_null(strstr(text.data, "slower steps"));
	assert_null(strstr(text.data, "fast again"));
	document_json(&json, s);
	assert_non_null(strstr(json.data, "\"kind\":\"recovered\""));
	assert_non_null(strstr(json.data, "\"kind\":\"fail_slow\""));
	html_report(&page, s);
	assert_non_null(strstr(page.data, "And 1 slowdown that cost under 0.1 % of the time."));
	buffer_free(&page);
	buffer_free(&text);
	buffer_free(&json);
	document_close(s);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(slow_and_fast, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(slow_for_nothing, store_set_up, store_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
