/* SPDX-License-Identifier: Apache-2.0 */
/* The causes of slowdowns in a store: written, read, shown in reports; hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "tests/unit/store_folder.h"
#include "userspace/report/document.h"
#include "userspace/store/causes.h"
#include "userspace/store/schema.h"
#include "userspace/store/store_private.h"

static void has(const struct buffer *b, const char *text)
{
	if (!strstr(b->data, text))
		fail_msg("no '%s' in: %s", text, b->data);
}

static void causes_of(struct time_causes *ret)
{
	*ret = (struct time_causes){.lost_ns = 1000000, .line = "train.py:31 in step()"};
	ret->ns[TIME_CAUSE_own_code] = 750000;
	ret->ns[TIME_CAUSE_disk] = 50000;
	ret->ns[TIME_CAUSE_unknown] = 200000;
	snprintf(ret->waits_line, sizeof(ret->waits_line), "a b.py:7 in wait()");
}

static void test_text(void **state)
{
	struct time_causes causes, again;
	char text[CAUSES_TEXT_MAX];

	(void)state;
	causes_of(&causes);
	assert_string_equal(causes_write(text, &causes), "unknown 200000 a b.py:7 in wait()\n"
							 "disk 50000 a b.py:7 in wait()\n"
							 "own_code 750000 train.py:31 in step()\n");
	causes_read(&again, text, strlen(text));
	assert_memory_equal(again.ns, causes.ns, sizeof(causes.ns));
	assert_int_equal(again.lost_ns, 1000000);
	assert_string_equal(again.line, causes.line);
	assert_string_equal(again.waits_line, causes.waits_line);
	assert_string_equal(again.holder_line, "");
	assert_string_equal(causes_write(text, NULL), "");
	causes_read(&again, "", 0);
	assert_int_equal(again.lost_ns, 0);
	/* of a newer version */
	causes_read(&again, "moonlight 30 x\ndisk 10", 22);
	assert_int_equal(again.ns[TIME_CAUSE_unknown], 30);
	assert_int_equal(again.ns[TIME_CAUSE_disk], 10);
}

/* The longest text has room, and is read as it was written. */
static void test_longest(void **state)
{
	struct time_causes causes = {.lost_ns = 1}, again;
	char text[CAUSES_TEXT_MAX];

	(void)state;
	memset(causes.line, 'l', sizeof(causes.line) - 1);
	memset(causes.holder_line, 'h', sizeof(causes.holder_line) - 1);
	memset(causes.waits_line, 'w', sizeof(causes.waits_line) - 1);
	for (int i = 0; i < TIME_CAUSE_COUNT; i++)
		causes.ns[i] = 999999999999999999;
	causes_write(text, &causes);
	causes_read(&again, text, strlen(text));
	assert_memory_equal(again.ns, causes.ns, sizeof(causes.ns));
	assert_string_equal(again.holder_line, causes.holder_line);
}

static void test_damaged(void **state)
{
	static const char *const wrong[] = {
		"disk",		 "disk ",    " 5",	    "disk -5",
		"disk 5x",	 "\n",	     "disk 5\n\n",  "disk 1234567890123456789",
		"disk 5\nx y\n", "disk 5,5", "disk\t5 line"};
	char many[20 * (TIME_CAUSE_COUNT + 1)] = "", bad[] = "own_code 5 a\033[31m\n";
	struct time_causes causes;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		causes_read(&causes, wrong[i], strlen(wrong[i]));
		assert_int_equal(causes.lost_ns, 0);
	}
	for (int i = 0; i <= TIME_CAUSE_COUNT; i++)
		snprintf(many + 7 * (size_t)i, sizeof(many) - 7 * (size_t)i, "disk 5\n");
	causes_read(&causes, many, strlen(many));
	assert_int_equal(causes.lost_ns, 0);
	causes_read(&causes, bad, strlen(bad));
	assert_string_equal(causes.line, "a?[31m");
}

static struct feed feed;

/* A job that has a slowdown, with the causes *causes; over: it has ended. Returns its store. */
static struct store *slow(const struct time_causes *causes, bool over)
{
	struct store_writer_options o = {.path = path};
	struct fact_health health = {.kind = "fail_slow",
				     .onset_ns = 1100 * S,
				     .size_ns = 1000000,
				     .why = "own_code",
				     .phase = "",
				     .evidence = "steps take 2 ms instead of 1 ms",
				     .causes = causes};
	struct fact fact = {.type = FACT_HEALTH, .health = &health};
	struct store_writer *w;

	assert_int_equal(store_writer_open(&w, &o), 0);
	feed_init(&feed, "slow", 2, 1000 * S);
	feed.wait = true;
	feed_open(&feed, w);
	for (int i = 0; i < 300; i++)
		feed_go(&feed, S);
	feed_fact(&feed, &fact, 0, 1120 * S);
	if (over) {
		health.kind = "recovered";
		health.over = true;
		health.end_ns = 1250 * S;
		feed_fact(&feed, &fact, 0, 1260 * S);
	}
	feed_go(&feed, S);
	assert_int_equal(store_writer_close(w), 0);
	return opened(STORE_READ);
}

static struct report_document *document_of(struct store *st)
{
	struct report_document *d;
	struct store_job job;

	assert_int_equal(store_job(st, "slow", &job), 0);
	assert_int_equal(document_of_store(&d, st, &job, &everything, NULL), 0);
	return d;
}

/* The document has the causes, as JSON and as the verdict of a slowdown that lasts. */
static void test_reported(void **state)
{
	struct buffer json = {0};
	struct report_document *d;
	struct time_causes causes;
	const struct verdict *v;
	struct store *st;

	(void)state;
	causes_of(&causes);
	st = slow(&causes, false);
	d = document_of(st);
	document_json(&json, d);
	has(&json,
	    "\"causes\":[{\"cause\":\"unknown\",\"ns\":200000,\"share\":0.2,"
	    "\"line\":\"a b.py:7 in wait()\"},{\"cause\":\"disk\",\"ns\":50000,\"share\":0.05,"
	    "\"line\":\"a b.py:7 in wait()\"},"
	    "{\"cause\":\"own_code\",\"ns\":750000,\"share\":0.75,"
	    "\"line\":\"train.py:31 in step()\"}]");
	v = &d->verdicts.of[0];
	assert_int_equal(v->kind, VERDICT_slow);
	assert_true(*v->next); /* which depends on the main cause */
	buffer_free(&json);
	document_close(d);
	store_close(st);
}

/* A store of version 7 has no causes, and gets the column for them. */
static void test_version7(void **state)
{
	struct buffer json = {0};
	struct report_document *d;
	struct time_causes causes;
	struct store *st;
	int64_t version;
	sqlite3 *sql;

	(void)state;
	causes_of(&causes);
	store_close(slow(&causes, true));
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql,
				      "ALTER TABLE health DROP COLUMN causes;"
				      "PRAGMA user_version = 7",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(sql);
	st = opened(STORE_READ);
	assert_int_equal(store_number(st, &version, "PRAGMA user_version", ""), 0);
	assert_int_equal(version, STORE_VERSION);
	d = document_of(st);
	assert_int_equal(d->healths.count, 2);
	document_json(&json, d);
	assert_null(strstr(json.data, "\"causes\""));
	has(&json, "\"evidence\":\"steps take 2 ms instead of 1 ms\"");
	buffer_free(&json);
	document_close(d);
	store_close(st);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_text),     TEST(test_longest),  TEST(test_damaged),
		TEST(test_reported), TEST(test_version7),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
