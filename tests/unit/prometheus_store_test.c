/* SPDX-License-Identifier: Apache-2.0 */
/* Whether history is kept, as a writer says it and as a page of metrics shows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_folder.h"
#include "userspace/export/prometheus/prometheus_text.h"

static void has(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n'))
		fail_msg("no line: %s in:\n%s", line, text);
}

static void test_page(void **state)
{
	struct snapshot s = {.number = 1};
	struct buffer page = {0};

	(void)state;
	prometheus_text(&page, &s, PROMETHEUS_TEXT);
	assert_null(strstr(page.data, "gpbpf_store"));
	buffer_clear(&page);
	s.store = (struct store_view){.kept = true,
				      .transactions = 17,
				      .bytes = 4096,
				      .waiting = 3,
				      .last_ns = 1795262400250000000,
				      .nfailed = 2,
				      .lost_notes = 5};
	s.store.failed[0].cause = "room";
	s.store.failed[0].count = 2;
	s.store.failed[1].cause = "locked";
	prometheus_text(&page, &s, PROMETHEUS_TEXT);
	has(page.data, "gpbpf_store_up 0\n");
	has(page.data,
	    "# TYPE gpbpf_store_transactions_total counter\ngpbpf_store_transactions_total 17\n");
	has(page.data, "gpbpf_store_failures_total{cause=\"room\"} 2\n");
	has(page.data, "gpbpf_store_failures_total{cause=\"locked\"} 0\n");
	has(page.data, "gpbpf_store_bytes 4096\n");
	has(page.data, "gpbpf_store_last_success_timestamp_seconds 1795262400.250\n");
	has(page.data, "gpbpf_store_waiting_rows 3\n");
	has(page.data, "gpbpf_store_lost_total{what=\"notes\"} 5\n");
	buffer_free(&page);
}

static void test_writer(void **state)
{
	struct store_writer_options o = {.path = path, .pages_max = 60};
	struct store_writer_stats first, stats;
	static struct feed f;

	(void)state;
	feed_init(&f, "told", 60, 1000 * S);
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	store_writer_stats(f.writer, &first);
	assert_true(first.up);
	assert_int_equal(first.written, 0);
	assert_int_equal(first.last_ns, 0);
	f.wait = true;
	feed_go(&f, S);
	store_writer_stats(f.writer, &stats);
	assert_true(stats.up);
	assert_true(stats.written > 0);
	assert_true(stats.last_ns > 0);
	assert_true(stats.bytes > 4096);
	for (int i = 0; i < 10000 && stats.up; i++) {
		feed_go(&f, 61 * S);
		store_writer_stats(f.writer, &stats);
	}
	assert_false(stats.up);
	assert_true(stats.failed[STORE_TROUBLE_room] > 0);
	assert_true(stats.waiting > 0);
	assert_int_equal(store_writer_close(f.writer), -EIO);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {TEST(test_page), TEST(test_writer)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
