/* SPDX-License-Identifier: Apache-2.0 */
/* store_compare_test - a run beside its peers, by tag and by name, as the store has them and people
 * see it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cjson/cJSON.h>

#include "tests/unit/store_feed.h"
#include "userspace/base/log.h"
#include "userspace/store/compare.h"
#include "userspace/report/compare.h"

#define MINUTES 25

static char dir[64], path[96];

/* A job of one rank: steps of half a second, and up to so much more. */
static void put(const char *name, const char *tag, uint64_t at_s, uint32_t minutes,
		uint64_t jitter_ns)
{
	static struct feed f;
	struct store_writer_options o = {.path = path, .named = true};

	feed_init(&f, name, 1, at_s * S);
	f.per_second = 2;
	f.jitter_ns = jitter_ns;
	f.seed = at_s;
	f.wait = true;
	snprintf(f.s.program.perf_tag, sizeof(f.s.program.perf_tag), "%s", tag);
	snprintf(f.s.program.session_tag, sizeof(f.s.program.session_tag), "all of %s", tag);
	f.ranks[0].accelerators = 4;
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	for (uint32_t i = 0; i < 60 * minutes; i++)
		feed_go(&f, S);
	feed_end(&f, 0);
	assert_int_equal(store_writer_close(f.writer), 0);
}

static int set_up(void **state)
{
	(void)state;
	log_setup(LOG_ERROR, LOG_TEXT);
	snprintf(path, sizeof(path), "%s/store.db", feed_folder(dir));
	put("first", "small", 1200, MINUTES, 50 * MS);
	put("second", "small", 4800, MINUTES, 50 * MS);
	put("brief", "small", 9000, 5, 50 * MS);
	put("third", "small", 12000, MINUTES, 50 * MS);
	put("slow", "small", 24000, MINUTES, 150 * MS); /* a tenth slower: 575 ms, not 525 */
	put("other", "", 48000, MINUTES, 50 * MS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	feed_remove(dir);
	return 0;
}

static void compared(const char *job, const char *against, struct store_comparison *ret)
{
	struct store_job *j = malloc(sizeof(*j));
	struct store *st;

	assert_int_equal(store_open(&st, path, STORE_READ), 0);
	assert_int_equal(store_job(st, job, j), 0);
	assert_int_equal(store_compare(st, j->id, against, ret), 0);
	store_close(st);
	free(j);
}

static void by_tag(void **state)
{
	struct store_comparison c;

	(void)state;
	compared("slow", "small", &c);
	assert_true(c.tagged && c.known);
	assert_int_equal(c.npeers, 3);
	assert_int_equal(c.short_peers, 1);
	assert_string_equal(c.peers[0].job, "third");
	assert_string_equal(c.peers[3].job, "brief");
	assert_int_equal(c.answer.verdict, COMPARE_SLOWER);
	assert_true(c.answer.ratio > 1.08 && c.answer.ratio < 1.11);
	assert_true(c.answer.low > 1 && c.answer.low < c.answer.ratio &&
		    c.answer.high > c.answer.ratio);
	store_comparison_free(&c);
	compared("other", "small", &c); /* has no tag itself */
	assert_int_equal(c.npeers, 4);
	assert_int_equal(c.answer.verdict, COMPARE_SAME); /* of such that differ by as much */
	store_comparison_free(&c);
}

static void by_job(void **state)
{
	struct store_comparison c;

	(void)state;
	compared("slow", "first", &c);
	assert_false(c.tagged);
	assert_int_equal(c.npeers, 1);
	assert_int_equal(c.answer.verdict, COMPARE_SLOWER);
	store_comparison_free(&c);
	compared("first", "slow", &c);
	assert_int_equal(c.answer.verdict, COMPARE_FASTER);
	store_comparison_free(&c);
	compared("first", "second", &c);
	assert_int_equal(c.answer.verdict, COMPARE_SAME);
	assert_true(c.answer.high - c.answer.low < 0.02);
	store_comparison_free(&c);
	compared("brief", "first", &c);
	assert_false(c.known);
	store_comparison_free(&c);
	compared("first", "first", &c); /* it has no other run */
	assert_false(c.known);
	assert_int_equal(c.npeers, 0);
	store_comparison_free(&c);
}

/* Minutes that a person left out do not count. */
static void excluded(void **state)
{
	struct store_comparison c;
	struct store *st;

	(void)state;
	assert_int_equal(store_open(&st, path, STORE_NOTE), 0);
	assert_int_equal(store_exclude(st, FEED_REAL + (int64_t)(1200 * S),
				       FEED_REAL + (int64_t)(1620 * S), "maintenance"),
			 0);
	store_close(st);
	compared("slow", "first", &c);
	assert_int_equal(c.peers[0].minutes, MINUTES - 7);
	assert_false(c.known);
	store_comparison_free(&c);
}

static void unknown(void **state)
{
	struct store_comparison c = {0};
	struct store_job j;
	struct store *st;

	(void)state;
	assert_int_equal(store_open(&st, path, STORE_READ), 0);
	assert_int_equal(store_job(st, "slow", &j), 0);
	assert_int_equal(store_compare(st, j.id, "nobody", &c), -ENOENT);
	assert_int_equal(store_compare(st, j.id, "", &c), -ENOENT);
	assert_null(c.peers);
	store_close(st);
}

static void kept(void **state)
{
	static struct feed_found found;
	static struct store_job j;
	struct store *st;

	(void)state;
	assert_int_equal(store_open(&st, path, STORE_READ), 0);
	assert_int_equal(feed_find(st, "third", &j, &found), 0);
	assert_string_equal(found.run[0].perf_tag, "small");
	assert_string_equal(found.run[0].session_tag, "all of small");
	assert_int_equal(found.rank[0].accelerators, 4);
	store_close(st);
}

static void shown(void **state)
{
	struct store_comparison c;
	struct buffer b = {0};
	cJSON *o, *own;

	(void)state;
	compared("slow", "small", &c);
	compare_text(&b, &c);
	buffer_add(&b, "", 1);
	assert_non_null(strstr(b.data, "slower than runs of perf tag small: step time +"));
	assert_non_null(strstr(b.data, "5 minutes: too short"));
	assert_non_null(strstr(b.data, "1 of 4 too short"));
	buffer_clear(&b);
	compare_json(&b, NULL, &c);
	buffer_add(&b, "", 1);
	o = cJSON_Parse(b.data);
	assert_non_null(o);
	assert_string_equal(cJSON_GetObjectItem(o, "verdict")->valuestring, "slower");
	assert_true(cJSON_GetObjectItem(o, "ratio")->valuedouble == c.answer.ratio);
	assert_int_equal(cJSON_GetObjectItem(o, "compared")->valueint, 3);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "peers")), 4);
	own = cJSON_GetObjectItem(o, "this");
	assert_string_equal(cJSON_GetObjectItem(own, "job")->valuestring, "slow");
	cJSON_Delete(o);
	store_comparison_free(&c);
	buffer_clear(&b);
	compared("brief", "small", &c);
	compare_text(&b, &c);
	buffer_add(&b, "", 1);
	assert_non_null(strstr(b.data, "this run is too short"));
	store_comparison_free(&c);
	buffer_free(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_tag), cmocka_unit_test(by_job), cmocka_unit_test(unknown),
		cmocka_unit_test(kept),	  cmocka_unit_test(shown),  cmocka_unit_test(excluded),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
