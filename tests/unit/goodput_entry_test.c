/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/ingest/goodput_entry.h"
#include "userspace/ingest/goodput_step_line.h"

static struct goodput_names *names;
static struct goodput_parser *parser;
static struct goodput_entry entry;
static char reason[GOODPUT_REASON_MAX];

static int setup(void **state)
{
	(void)state;
	names = goodput_names_new();
	parser = goodput_parser_new(names);
	memset(&entry, 0, sizeof(entry));
	entry.record.write_us = GOODPUT_UNKNOWN;
	return !parser;
}

static int teardown(void **state)
{
	(void)state;
	goodput_parser_free(parser);
	goodput_names_free(names);
	return 0;
}

static int parse(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len + !len); /* no byte behind it: reading on would be seen */
	int rc;

	memcpy(copy, text, len);
	*reason = '\0';
	rc = goodput_entry_parse(parser, copy, len, &entry, reason);
	free(copy);
	return rc;
}

static const struct goodput_record *record(const char *text)
{
	if (parse(text) != 1)
		fail_msg("no record: %s: %s", text, reason);
	return &entry.record;
}

#define assert_bad(text, why)                                                                      \
	do {                                                                                       \
		struct goodput_entry before_ = entry;                                              \
		assert_int_equal(parse(text), -EBADMSG);                                           \
		assert_string_equal(reason, why);                                                  \
		assert_memory_equal(&before_, &entry, sizeof(entry));                              \
	} while (0)

static void instants(void **state)
{
	static const struct {
		const char *text;
		enum goodput_kind kind;
	} of[] = {
		{"{\"job_name\":\"j\",\"job_start_time\":1735725600.25}", GOODPUT_JOB_START},
		{"{\"job_name\":\"j\",\"job_end_time\":1735725600.25}", GOODPUT_JOB_END},
		{"{\"job_name\":\"j\",\"tpu_init_start_time\":1735725600.25}", GOODPUT_INIT_START},
		{"{\"job_name\":\"j\",\"tpu_init_end_time\":1735725600.25}", GOODPUT_INIT_END},
		{"{\"job_name\":\"j\",\"training_prep_start_time\":1735725600.25}",
		 GOODPUT_PREP_START},
		{"{\"job_name\":\"j\",\"training_prep_end_time\":1735725600.25}", GOODPUT_PREP_END},
		{"{\"job_name\":\"j\",\"data_loading_start_time\":1735725600.25}",
		 GOODPUT_LOAD_START},
		{"{\"job_name\":\"j\",\"data_loading_end_time\":1735725600.25}", GOODPUT_LOAD_END},
		{"{\"job_name\":\"j\",\"elastic_reinit_start_time\":1735725600.25}",
		 GOODPUT_ELASTIC_REINIT_START},
		{"{\"job_name\":\"j\",\"elastic_reinit_end_time\":1735725600.25}",
		 GOODPUT_ELASTIC_REINIT_END},
	};
	const struct goodput_record *r;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		r = record(of[i].text);
		assert_int_equal(r->kind, of[i].kind);
		assert_int_equal(r->time_us, 1735725600250000);
		assert_int_equal(r->write_us, 1735725600250000);
		assert_int_equal(r->number, GOODPUT_UNKNOWN);
		assert_int_equal(r->duration_us, GOODPUT_UNKNOWN);
		assert_false(r->written);
		assert_string_equal(goodput_name(names, r->job), "j");
	}
}

static void steps(void **state)
{
	const struct goodput_record *r;

	(void)state;
	r = record("{\"job_name\":\"j\",\"step_count\":7,\"step_start_time\":1735725600.123456}");
	assert_int_equal(r->kind, GOODPUT_STEP);
	assert_int_equal(r->number, 7);
	assert_int_equal(r->time_us, 1735725600123456);
	assert_int_equal(record("{\"step_start_time\":1,\"step_count\":3.0}")->number, 3);
	assert_string_equal(goodput_name(names, entry.record.job), "");
	assert_int_equal(record("{\"step_start_time\":0,\"step_count\":9007199254740992}")->number,
			 1ll << 53);
	assert_int_equal(entry.record.time_us, 0);
	assert_int_equal(
		record("{\"step_start_time\":4503599627.370496,\"step_count\":1}")->time_us,
		GOODPUT_TIME_MAX_US);
	assert_bad("{\"step_start_time\":1}", "step_count is missing");
	assert_bad("{\"step_start_time\":1,\"step_count\":null}", "step_count is missing");
	assert_bad("{\"step_start_time\":1,\"step_count\":-1}",
		   "step_count is not a whole number, or too large");
	assert_bad("{\"step_start_time\":1,\"step_count\":1.5}",
		   "step_count is not a whole number, or too large");
	assert_bad("{\"step_start_time\":1,\"step_count\":9007199254740994}",
		   "step_count is not a whole number, or too large");
	assert_bad("{\"step_start_time\":1,\"step_count\":1e999}",
		   "step_count is not a whole number, or too large");
	assert_bad("{\"step_start_time\":1,\"step_count\":true}", "step_count is not a number");
	assert_bad("{\"step_start_time\":1,\"step_count\":\"1\"}", "step_count is not a number");
	assert_bad("{\"step_start_time\":1,\"step_count\":1,\"job_name\":5}",
		   "job_name is not a string");
	assert_int_equal(parse("{\"job_name\":\"j\",\"step_count\":1}"), 0);
}

static void times(void **state)
{
	(void)state;
	assert_bad("{\"job_start_time\":\"1735725600.0\"}", "job_start_time is not a number");
	assert_bad("{\"job_start_time\":true}", "job_start_time is not a number");
	assert_bad("{\"job_start_time\":null}", "job_start_time is null");
	assert_bad("{\"job_start_time\":NaN}", "job_start_time is not a number");
	assert_bad("{\"job_start_time\":-Infinity,\"x\":\"NaN\\\"\",\"y\":Infinity}",
		   "job_start_time is not a number");
	assert_bad("{\"job_start_time\":-1}", "job_start_time is not a time from 1970 to 2112");
	assert_bad("{\"job_start_time\":4503599628}",
		   "job_start_time is not a time from 1970 to 2112");
	assert_bad("{\"job_start_time\":1e300}", "job_start_time is not a time from 1970 to 2112");
	assert_int_equal(record("{\"job_start_time\":5,\"x\":NaN,\"y\":[-Infinity]}")->time_us,
			 5000000);
	assert_int_equal(record("{\"job_start_time\":0.0000005}")->time_us, 1);
	assert_int_equal(record("{\"job_start_time\":1.7357256e9}")->time_us, 1735725600000000);
}

static void no_json(void **state)
{
	char deep[4096];

	(void)state;
	assert_bad("{\"job_start_time\":1735725600.0", "invalid JSON at byte 30");
	assert_bad("{\"job_start_time\" 1}", "invalid JSON at byte 19");
	assert_bad("{\"a\":Nan}", "invalid JSON at byte 6");
	assert_bad("[1]", "not a JSON object");
	assert_bad("{\"job_start_time\":1} x", "not a JSON object");
	snprintf(deep, sizeof(deep), "{\"a\":%02000d", 0);
	memset(deep + 5, '[', 2000);
	assert_int_equal(parse(deep), -EBADMSG);
	assert_int_equal(parse(""), -EBADMSG);
}

static void of_others(void **state)
{
	(void)state;
	assert_int_equal(parse("{}"), 0);
	assert_int_equal(parse("{\"message\":\"hello\",\"time\":\"2026-01-01\"}"), 0);
	assert_int_equal(parse("{\"textPayload\":\"x\",\"timestamp\":\"2026-01-01T00:00:00Z\"}"),
			 0);
	assert_int_equal(parse("{\"protoPayload\":{\"job_start_time\":1}}"), 0);
	assert_int_equal(parse("{\"jsonPayload\":{\"message\":\"x\"},\"job_start\":1}"), 0);
	assert_int_equal(parse("{\"event_type\":\"delete\",\"step\":1}"), 0);
	assert_int_equal(parse("{\"event_type\":3}"), 0);
}

static void cloud(void **state)
{
	const struct goodput_record *r;

	(void)state;
	r = record(
		"{\"insertId\":\"a1\",\"severity\":\"INFO\",\"timestamp\":\"2026-01-01T02:00:00.123456789+02:00\","
		"\"jsonPayload\":{\"job_name\":\"j\",\"step_count\":1,\"step_start_time\":5},"
		"\"labels\":{\"job_start_time\":\"x\"}}");
	assert_int_equal(r->kind, GOODPUT_STEP);
	assert_int_equal(r->write_us, 1767225600123457);
	assert_true(r->written);
	assert_string_equal(entry.id, "a1");
	assert_int_not_equal(entry.id_hash, 0);
	r = record("{\"jsonPayload\":{\"job_start_time\":5}}");
	assert_false(r->written);
	assert_int_equal(r->write_us, 5000000);
	assert_int_equal(entry.id_hash, 0);
	assert_bad("{\"jsonPayload\":{\"job_start_time\":5},\"timestamp\":\"yesterday\"}",
		   "timestamp is not a time from 1970 to 2112");
	assert_bad("{\"jsonPayload\":{\"job_start_time\":5},\"timestamp\":5}",
		   "timestamp is not a time from 1970 to 2112");
	assert_bad(
		"{\"jsonPayload\":{\"job_start_time\":5},\"timestamp\":\"2113-01-01T00:00:00Z\"}",
		"timestamp is not a time from 1970 to 2112");
	r = record("{\"_ts\":9.5,\"job_name\":\"j\",\"job_start_time\":5}");
	assert_true(r->written);
	assert_int_equal(r->write_us, 9500000);
	assert_int_equal(r->time_us, 5000000);
	assert_bad("{\"_ts\":\"9\",\"job_start_time\":5}", "_ts is not a number");
	/* Beside a payload it is a key like any other. */
	assert_false(record("{\"_ts\":9.5,\"jsonPayload\":{\"job_start_time\":5}}")->written);
}

static void last_value_first_place(void **state)
{
	const struct goodput_record *r;

	(void)state;
	r = record("{\"job_end_time\":1,\"job_start_time\":3,\"job_end_time\":2}");
	assert_int_equal(r->kind, GOODPUT_JOB_START);
	assert_int_equal(r->time_us, 3000000);
	assert_int_equal(r->write_us, 2000000);
	r = record(
		"{\"job_name\":\"a\",\"job_start_time\":1,\"job_name\":\"b\",\"job_start_time\":2}");
	assert_string_equal(goodput_name(names, r->job), "b");
	assert_int_equal(r->time_us, 2000000);
	r = record("{\"job_n\\u0061me\":\"\\u00e9\",\"job_start_time\":1}");
	assert_string_equal(goodput_name(names, r->job), "\xc3\xa9");
}

static void events(void **state)
{
	const struct goodput_record *r;

	(void)state;
	r = record(
		"{\"custom_badput_event_type\":\"Eval_s\xc3\xa9\",\"custom_badput_event_start_time\":1}");
	assert_int_equal(r->kind, GOODPUT_CUSTOM_START);
	assert_string_equal(goodput_name(names, r->name), "EVAL_S\xc3\xa9");
	r = record("{\"custom_badput_event_type\":\"eval\",\"custom_badput_event_end_time\":1}");
	assert_int_equal(r->kind, GOODPUT_CUSTOM_END);
	assert_bad("{\"custom_badput_event_end_time\":1}", "custom_badput_event_type is missing");
	assert_bad("{\"custom_badput_event_start_time\":1,\"custom_badput_event_type\":[]}",
		   "custom_badput_event_type is not a string");
	r = record("{\"elastic_wait_event_type\":\"x_Scale_up\",\"elastic_wait_start_time\":1}");
	assert_int_equal(r->kind, GOODPUT_ELASTIC_WAIT_START);
	assert_string_equal(goodput_name(names, r->name), "x_Scale_up");
	r = record("{\"elastic_wait_end_time\":1}");
	assert_int_equal(r->kind, GOODPUT_ELASTIC_WAIT_END);
	assert_string_equal(goodput_name(names, r->name), "unknown");
	r = record("{\"active_slices\":2,\"total_slices\":4,\"available_slices\":3,"
		   "\"elastic_slice_counts_timestamp\":1}");
	assert_int_equal(r->kind, GOODPUT_SLICES);
	assert_int_equal(r->active, 2);
	assert_int_equal(r->total, 4);
	assert_int_equal(r->available, 3);
	r = record("{\"elastic_slice_counts_timestamp\":1}");
	assert_int_equal(r->active, 0);
	assert_int_equal(r->total, 1);
	assert_int_equal(r->available, 0);
	assert_bad("{\"active_slices\":4294967296,\"elastic_slice_counts_timestamp\":1}",
		   "active_slices is not a whole number, or too large");
}

#define SAVE "{\"job_name\":\"j\",\"step\":10,\"event_type\":\"save\",\"directory\":\"gs://b/c\","
static void saves(void **state)
{
	const struct goodput_record *r;

	(void)state;
	r = record(
		SAVE
		"\"preemption_received_at\":null,\"wait_for_prev_start_time\":2,"
		"\"wait_for_prev_duration_secs\":0.1,\"checkpoint_manager_blocking_start_time\":3,"
		"\"checkpoint_manager_blocking_duration_secs\":1.5}");
	assert_int_equal(r->kind, GOODPUT_SAVE);
	assert_int_equal(r->number, 10);
	assert_int_equal(r->time_us, 3000000);
	assert_int_equal(r->write_us, 2000000);
	assert_int_equal(r->duration_us, 1500000);
	assert_false(r->partial);
	assert_true(r->persistent);
	r = record(SAVE "\"wait_for_prev_start_time\":null,\"checkpointer_blocking_start_time\":4,"
			"\"checkpoint_manager_blocking_start_time\":null,"
			"\"checkpoint_manager_blocking_duration_secs\":null}");
	assert_int_equal(r->time_us, 4000000);
	assert_int_equal(r->write_us, 4000000);
	assert_int_equal(r->duration_us, GOODPUT_UNKNOWN);
	assert_true(r->partial);
	r = record(SAVE "\"get_old_steps_duration_secs\":null,\"wait_for_prev_start_time\":4,"
			"\"checkpoint_manager_blocking_duration_secs\":2}");
	assert_int_equal(r->duration_us, 2000000);
	assert_true(r->partial); /* the library reads that one, too */
	/* No time at all: that of the record before. */
	r = record(SAVE "\"checkpoint_manager_blocking_duration_secs\":2}");
	assert_int_equal(r->time_us, GOODPUT_UNKNOWN);
	assert_int_equal(r->write_us, 4000000);
	entry.record.write_us = GOODPUT_UNKNOWN;
	assert_bad(SAVE "\"synchronous\":true}", "the record has no time");
	assert_bad(SAVE "\"checkpoint_manager_blocking_duration_secs\":-1}",
		   "checkpoint_manager_blocking_duration_secs is not a duration");
	assert_bad(SAVE "\"checkpoint_manager_blocking_duration_secs\":\"1\"}",
		   "checkpoint_manager_blocking_duration_secs is not a duration");
	assert_bad(
		"{\"event_type\":\"save\",\"directory\":1,\"checkpoint_manager_blocking_start_time\":1}",
		"directory is not a string");
	assert_bad(
		"{\"event_type\":\"save\",\"step\":-1,\"checkpoint_manager_blocking_start_time\":1}",
		"step is not a whole number, or too large");
}

static void restores(void **state)
{
	const struct goodput_record *r;

	(void)state;
	r = record("{\"step\":1,\"event_type\":\"restore\",\"directory\":\"/local/gs://"
		   "\",\"checkpointer_start_time\":2,"
		   "\"checkpoint_manager_start_time\":3,\"checkpoint_manager_duration_secs\":2}");
	assert_int_equal(r->kind, GOODPUT_RESTORE);
	assert_int_equal(r->time_us, 3000000);
	assert_int_equal(r->duration_us, 2000000);
	assert_false(r->persistent);
	r = record(
		"{\"event_type\":\"emergency_restore\",\"broadcast_start_time\":2,\"broadcast_duration_secs\":1,"
		"\"checkpoint_manager_duration_secs\":2}");
	assert_int_equal(r->kind, GOODPUT_EMERGENCY_RESTORE);
	assert_int_equal(r->number, GOODPUT_UNKNOWN);
	assert_int_equal(r->time_us, 2000000);
	assert_int_equal(r->duration_us, 2000000);
}

static void large_entry(void **state)
{
	enum { VALUES = 100000 };
	char *text = malloc(64 + 2 * VALUES);
	size_t len = (size_t)sprintf(text, "{\"job_start_time\":1,\"a\":[0");

	(void)state;
	for (size_t i = 0; i < VALUES - 1; i++, len += 2)
		memcpy(text + len, ",0", 2);
	strcpy(text + len, "]}");
	assert_int_equal(record(text)->time_us, 1000000);
	free(text);
}

static void too_much_memory(void **state)
{
	enum { VALUES = 400000 };
	char *text = malloc(64 + 2 * VALUES);
	size_t len = (size_t)sprintf(text, "{\"job_start_time\":1,\"a\":[0");

	(void)state;
	for (size_t i = 0; i < VALUES - 1; i++, len += 2)
		memcpy(text + len, ",0", 2);
	strcpy(text + len, "]}");
	assert_int_equal(parse(text), -EBADMSG);
	free(text);
	assert_int_equal(record("{\"job_start_time\":1}")->time_us, 1000000);
}

static void names_of_a_log(void **state)
{
	char text[300];
	uint32_t a = goodput_names_put(names, "a", 1), n;

	(void)state;
	assert_int_equal(a, 1);
	assert_int_equal(goodput_names_put(names, "b\0c", 3), 2);
	assert_int_equal(goodput_names_put(names, "a", 1), a);
	assert_int_equal(goodput_names_put(names, "ab", 1), a);
	assert_string_equal(goodput_name(names, 2), "b");
	memset(text, 'x', sizeof(text));
	n = goodput_names_put(names, text, sizeof(text));
	assert_int_equal(strlen(goodput_name(names, n)), GOODPUT_NAME_MAX - 1);
	assert_int_equal(goodput_names_put(names, text, sizeof(text) - 1), n);
	for (uint32_t i = n + 1; i <= GOODPUT_NAMES_MAX; i++)
		assert_int_equal(goodput_names_put(names, text, (size_t)sprintf(text, "#%x", i)),
				 i);
	assert_int_equal(goodput_names_refused(names), 0);
	assert_int_equal(goodput_names_put(names, "z", 1), GOODPUT_NAMES_MORE);
	assert_int_equal(goodput_names_put(names, "b", 1), 2);
	assert_int_equal(goodput_names_refused(names), 1);
	assert_string_equal(goodput_name(names, GOODPUT_NAMES_MORE), "(more names)");
	assert_string_equal(goodput_name(names, UINT32_MAX), "(more names)");
}

int main(void)
{
#define entry_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		entry_test(instants),	    entry_test(steps),
		entry_test(times),	    entry_test(no_json),
		entry_test(of_others),	    entry_test(cloud),
		entry_test(events),	    entry_test(last_value_first_place),
		entry_test(saves),	    entry_test(restores),
		entry_test(large_entry),    entry_test(too_much_memory),
		entry_test(names_of_a_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
