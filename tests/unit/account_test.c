/* SPDX-License-Identifier: Apache-2.0 */
/* What the account shows of answers made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "userspace/ingest/goodput_record.h"
#include "userspace/report/account.h"
#include "userspace/report/account_part.h"
#include "userspace/text/canvas.h"

#define T0_US 1735725600000000ll

static struct goodput_names *names;
static struct goodput_query query;
static struct goodput_answer answer;

static void set(struct goodput_part *p, int id, double s)
{
	p->badput_s[id] = s;
	p->badput_pct[id] = 100 * s / p->total_s;
	p->has_s |= 1u << id;
	p->has_pct |= 1u << id;
}

/* 169 s: 100 s of goodput, 66 s of named badput, 3 s of other. */
static struct goodput_part part(void)
{
	struct goodput_part p = {.from_us = T0_US,
				 .to_us = T0_US + 169000000,
				 .total_s = 169,
				 .productive_s = 100,
				 .goodput_pct = 100 / 1.69,
				 .max_productive_step = 49,
				 .last_recorded_step = 50};

	set(&p, BADPUT_STARTUP, 30);
	set(&p, BADPUT_PREP, 20);
	set(&p, BADPUT_INIT, 12);
	set(&p, BADPUT_WASTED, 0);
	set(&p, BADPUT_CUSTOM, 4);
	set(&p, BADPUT_OTHER, 3);
	set(&p, BADPUT_LOAD_ASYNC, 7);
	return p;
}

static void custom(struct goodput_part *p, const char *name, double s)
{
	p->custom = realloc(p->custom, (p->custom_count + 1) * sizeof(*p->custom));
	assert_non_null(p->custom);
	p->custom[p->custom_count++] = (struct goodput_custom){
		goodput_names_put(names, name, strlen(name)), s, 100 * s / p->total_s};
}

static struct goodput_step_time *steps(size_t n)
{
	struct goodput_step_time *t = calloc(n, sizeof(*t));

	assert_non_null(t);
	for (size_t i = 0; i < n; i++)
		t[i] = (struct goodput_step_time){(int64_t)i, i ? 2 + (double)(i % 10) / 100 : 32};
	return t;
}

static int setup(void **state)
{
	(void)state;
	names = goodput_names_new();
	assert_non_null(names);
	query = (struct goodput_query){.now_us = GOODPUT_UNKNOWN};
	answer = (struct goodput_answer){.job = goodput_names_put(names, "llama", 5),
					 .now_us = T0_US + 169000000,
					 .ended = true,
					 .cumulative = part()};
	custom(&answer.cumulative, "EVAL", 3);
	custom(&answer.cumulative, "SDC", 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	goodput_answer_free(&answer);
	goodput_names_free(names);
	return 0;
}

static void set_steps(size_t n)
{
	answer.step_times = steps(n);
	answer.deviations = steps(n);
	answer.step_time_count = answer.deviation_count = n;
	answer.cumulative.has_ideal = answer.cumulative.has_deviation = true;
	answer.cumulative.ideal_s = 2;
	answer.cumulative.deviation_mean_s = answer.cumulative.deviation_interval_s = 0.5;
	answer.cumulative.deviation_cumulative_s = 0.25;
}

static struct account_view view(void)
{
	return (struct account_view){.answer = &answer,
				     .query = &query,
				     .names = names,
				     .records = 58,
				     .last_us = T0_US + 169000000};
}

/* Whatever is in it: no NaN, nothing a terminal obeys, no space at the end of a line, 80
 * columns. */
static char *text(bool color, bool ascii)
{
	struct account_view v = view();
	struct buffer b = {0};
	char *copy, *save = NULL;

	account_text(&b, &v, color, ascii);
	assert_false(b.failed);
	assert_null(strstr(b.data, " \n"));
	assert_null(strstr(b.data, "nan"));
	assert_null(strstr(b.data, "(null)"));
	if (color)
		return b.data;
	for (size_t i = 0; i < b.len; i++)
		assert_true(b.data[i] == '\n' || (unsigned char)b.data[i] >= (ascii ? 0x20 : 0x20));
	for (size_t i = 0; ascii && i < b.len; i++)
		assert_true((unsigned char)b.data[i] < 0x7f);
	copy = strdup(b.data);
	for (char *at = strtok_r(copy, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
		assert_in_range(canvas_width(at), 0, ACCOUNT_COLS);
	free(copy);
	return b.data;
}

static void long_names_are_whole(void **state)
{
	char name[121], *told;
	size_t seen = 0;

	(void)state;
	memset(name, 'j', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	answer.job = goodput_names_put(names, name, strlen(name));
	custom(&answer.cumulative, name, 2);
	told = text(false, false);
	assert_null(strstr(told, "…"));
	for (const char *at = told; *at; at++)
		seen += *at == 'j';
	assert_in_range(seen, 240, 260);
	free(told);
}

static void has(const char *in, const char *what)
{
	if (!strstr(in, what)) {
		fprintf(stderr, "%s\n", in);
		fail_msg("no '%s'", what);
	}
}

static void has_not(const char *in, const char *what)
{
	if (strstr(in, what))
		fail_msg("'%s' in:\n%s", what, in);
}

static cJSON *json(void)
{
	struct account_view v = view();
	struct buffer b = {0};
	cJSON *root;

	account_json(&b, &v);
	assert_false(b.failed);
	assert_int_equal(b.data[b.len - 1], '\n');
	assert_ptr_equal(strchr(b.data, '\n'), b.data + b.len - 1);
	root = cJSON_Parse(b.data);
	if (!root)
		fail_msg("no JSON: %s", b.data);
	buffer_free(&b);
	return root;
}

static const cJSON *at(const cJSON *o, const char *path)
{
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *key = strtok_r(copy, "/", &save); key; key = strtok_r(NULL, "/", &save)) {
		o = *key >= '0' && *key <= '9' && cJSON_IsArray(o)
			    ? cJSON_GetArrayItem(o, atoi(key))
			    : cJSON_GetObjectItemCaseSensitive(o, key);
		if (!o)
			fail_msg("no %s in %s", key, path);
	}
	return o;
}

static double number(const cJSON *o, const char *path)
{
	const cJSON *v = at(o, path);

	assert_true(cJSON_IsNumber(v));
	return v->valuedouble;
}

static void keys_are(const cJSON *o, const char *expected)
{
	char found[1024] = "";

	for (const cJSON *i = o->child; i; i = i->next) {
		strcat(found, i->string);
		strcat(found, i->next ? " " : "");
	}
	assert_string_equal(found, expected);
}

static void table(void **state)
{
	char *t, *goodput, *startup, *other;

	(void)state;
	set_steps(50);
	t = text(false, false);
	has(t,
	    "job llama\n  2025-01-01 10:00:00 to 2025-01-01 10:02:49 UTC, 2 m 49 s, ended\n  58 records");
	goodput = strstr(t, "goodput ");
	startup = strstr(t, "program startup");
	other = strstr(t, "\n    other");
	assert_true(goodput && startup && other && goodput < startup && startup < other);
	has(t, "1 m 40 s   59.2 %  █████████████");
	has(t, "      EVAL                              3.00 s    1.8 %\n      SDC");
	has(t, "2 m 49 s  = elapsed");
	has(t, "data loading, asynchronous          7.00 s  beside the steps: in no sum");
	has_not(t, "wasted");
	has(t, "50 timed, last recorded 50, productive up to 49");
	has(t, "median 2.05 s, p99 2.09 s, slowest 32.0 s (step 0)");
	has(t, "ideal         2.00 s, mean deviation 500 ms");
	has(t, "disruptions   none");
	free(t);
	answer.cumulative.residual_s = -27;
	t = text(false, true);
	has(t, "3 m 16 s  elapsed is 2 m 49 s");
	has(t, "59.2 %  #############");
	free(t);
	t = text(true, false);
	has(t, "\033[");
	free(t);
}

static void running(void **state)
{
	char *t;

	(void)state;
	answer.ended = false;
	t = text(false, false);
	has(t, "no end so far");
	has(t, "none timed, last recorded 50");
	free(t);
	answer.now_us += 3600000000;
	t = text(false, false);
	has(t, "no end");
	has(t, "silent for the last 1 h 00 m");
	free(t);
	answer.cumulative.from_us = GOODPUT_UNKNOWN;
	answer.cumulative.error = "It cannot be. Please fix it.";
	answer.cumulative.error_type = "ValueError";
	t = text(false, false);
	has(t, "  unknown to 2025-01-01 10:02:49 UTC");
	has(t, "the library would raise ValueError:\n  It cannot be\n  the figures below");
	has(t, "    goodput   ");
	free(t);
}

static void long_job(void **state)
{
	char *t;

	(void)state;
	answer.cumulative.total_s = 90000;
	answer.cumulative.productive_s = 89934.9;
	answer.cumulative.goodput_pct = 99.96;
	t = text(false, false);
	has(t, "25 h 00 m, ended");
	has(t, "24 h 59 m  >99.9 %");
	has(t, "     30.0 s");
	has(t, "     3.00 s");
	free(t);
}

static void disruptions(void **state)
{
	char *t;

	(void)state;
	answer.cumulative.disruptions = 5000;
	answer.disruption_count = 30;
	answer.disruptions = calloc(30, sizeof(*answer.disruptions));
	for (int i = 0; i < 30; i++)
		answer.disruptions[i] = (struct disruption){.at_ns = T0_US * 1000,
							    .resumed_ns = T0_US * 1000 + 1,
							    .step = 120 + i,
							    .resumed_step = 100,
							    .wasted_ns = 38000000000,
							    .down_ns = 120000000000,
							    .recovery_ns = 155200000000,
							    .starts = 1};
	answer.disruptions[1].resumed_ns = answer.disruptions[1].recovery_ns = 0;
	answer.disruptions[2].step = DISRUPTION_NO_STEP;
	answer.disruptions[3].graceful = true;
	t = text(false, false);
	has(t, "disruptions   5000");
	has(t, "    2025-01-01 10:00:00  120 → 100          38.0 s  2 m 00 s   2 m 35 s     1\n");
	has(t, "121 → ?");
	has(t, "before any step");
	has(t, "and 4980 more");
	has(t, "g: graceful: the job had announced its end");
	has_not(t, "140 →");
	free(t);
}

static void parts(void **state)
{
	static const struct goodput_span span = {T0_US, T0_US + 10000000};
	static const int64_t instant = T0_US + 5000000;
	char *t;

	(void)state;
	query.windows = query.excludes = &span;
	query.at_us = &instant;
	query.window_count = query.at_count = 2;
	query.exclude_count = 1;
	answer.windows = calloc(2, sizeof(*answer.windows));
	answer.at = calloc(2, sizeof(*answer.at));
	answer.window_count = answer.at_count = 2;
	answer.windows[0] = answer.at[0] = answer.at[1] = answer.excluded = part();
	answer.windows[1] = (struct goodput_part){.from_us = T0_US,
						  .to_us = T0_US + 1,
						  .error = "No log entries found",
						  .error_type = "ValueError"};
	answer.has_excluded = true;
	answer.excluded.excluded_s = 10;
	answer.excluded.adjusted_s = 159;
	answer.warnings[WARN_GAPS] = 3;
	answer.cumulative.has_slices = true;
	answer.cumulative.stepping_efficiency = 0.71;
	answer.cumulative.available_efficiency = 0.82;
	t = text(false, false);
	has(t,
	    "windows (UTC)\n    2025-01-01 10:00:00 to 2025-01-01 10:02:49    2 m 49 s   59.2 %  █████▉\n"
	    "      program startup 17.8 %, training preparation 11.8 %\n");
	has(t, "no answer\n      ValueError: No log entries found");
	has(t, "as of (UTC)\n    2025-01-01 10:02:49");
	has(t, "without 1 excluded interval");
	has(t, "= what is left\n");
	has(t, "10.0 s excluded, 2 m 39 s left");
	has(t, "warnings      steps without a record of their own: 3");
	has(t, "71.0 % stepping, 82.0 % available");
	free(t);
}

static void json_keys(void **state)
{
	cJSON *j;

	(void)state;
	set_steps(50);
	set(&answer.cumulative, BADPUT_HANG, 0);
	j = json();
	keys_are(j, "job cumulative step_time_s");
	assert_string_equal(at(j, "job")->valuestring, "llama");
	keys_are(
		at(j, "cumulative"),
		"goodput_pct badput_pct total_job_time_s productive_time_s unproductive_time_s "
		"max_productive_step last_recorded_step disruptions closure_residual_s ideal_step_time_s "
		"step_deviation_s step_deviation_mean_s step_time_deviation_metric_s");
	keys_are(at(j, "cumulative/unproductive_time_s"),
		 "TPU_INITIALIZATION TRAINING_PREP PROGRAM_STARTUP DATA_LOADING_ASYNC "
		 "WASTED_PROGRESS_FROM_DISRUPTION CUSTOM_BADPUT_EVENTS OTHER");
	assert_true(fabs(number(j, "cumulative/badput_pct/CUSTOM_BADPUT_EVENTS/EVAL") -
			 300 / 169.) < 1e-13);
	assert_true(number(j, "cumulative/goodput_pct") == 100 / 1.69); /* not a digit is lost */
	keys_are(at(j, "step_time_s"), "count sum max min by_step");
	assert_int_equal(cJSON_GetArraySize(at(j, "step_time_s/by_step")), 50);
	assert_true(number(j, "step_time_s/max") == 32);
	assert_true(number(j, "cumulative/step_time_deviation_metric_s/cumulative") == 0.25);
	assert_true(number(j, "cumulative/step_time_deviation_metric_s/interval") == 0.5);
	cJSON_Delete(j);
	/* What the closed ledger has in addition shows when it is something. */
	set(&answer.cumulative, BADPUT_HANG, 2);
	answer.cumulative.has_ideal = answer.cumulative.has_deviation = false;
	j = json();
	assert_true(number(j, "cumulative/unproductive_time_s/HANG") == 2);
	assert_true(cJSON_IsNull(at(j, "cumulative/ideal_step_time_s")));
	assert_null(cJSON_GetObjectItem(at(j, "cumulative"), "step_deviation_s"));
	cJSON_Delete(j);
}

static void json_maps(void **state)
{
	cJSON *j;

	(void)state;
	j = json();
	keys_are(at(j, "step_time_s"), "count sum max min by_step");
	assert_true(cJSON_IsNull(at(j, "step_time_s/max")));
	cJSON_Delete(j);
	set_steps(400);
	j = json();
	keys_are(at(j, "step_time_s"), "count sum max min by_step");
	cJSON_Delete(j);
	free(answer.step_times);
	free(answer.deviations);
	set_steps(999);
	j = json();
	keys_are(at(j, "step_time_s"), "count sum max min sampled_by_step last_step");
	keys_are(at(j, "cumulative/step_deviation_s"),
		 "count sum max min sampled_by_step last_step");
	assert_int_equal(cJSON_GetArraySize(at(j, "step_time_s/sampled_by_step")),
			 111); /* every ninth */
	assert_string_equal(at(j, "step_time_s/sampled_by_step")->child->next->string, "9");
	assert_true(number(j, "step_time_s/last_step") == 998);
	cJSON_Delete(j);
}

static void json_parts(void **state)
{
	static const struct goodput_span span = {T0_US - 1, T0_US + 10000000};
	static const int64_t instant = T0_US + 5000000;
	cJSON *j;

	(void)state;
	query.windows = query.excludes = &span;
	query.at_us = &instant;
	query.window_count = 2;
	query.at_count = query.exclude_count = 1;
	answer.windows = calloc(2, sizeof(*answer.windows));
	answer.at = calloc(1, sizeof(*answer.at));
	answer.window_count = 2;
	answer.at_count = 1;
	answer.windows[0] = answer.at[0] = answer.excluded = part();
	answer.windows[0].from_us = T0_US - 1;
	answer.windows[1] = (struct goodput_part){.from_us = T0_US,
						  .to_us = T0_US + 5,
						  .error = "No entries",
						  .error_type = "ValueError"};
	answer.has_excluded = true;
	answer.excluded.excluded_s = 10;
	answer.excluded.adjusted_s = 159;
	answer.cumulative.error = "It is zero.";
	answer.cumulative.error_type = "ValueError";
	j = json();
	keys_are(j, "job cumulative step_time_s intervals exclusions sequence");
	assert_string_equal(at(j, "cumulative/error/message")->valuestring, "It is zero.");
	assert_true(number(j, "cumulative/productive_time_s") == 100);
	keys_are(
		at(j, "intervals/0"),
		"start end goodput_pct badput_pct max_productive_step total_job_time_s disruptions");
	assert_true(number(j, "intervals/0/start") == 1735725599.999999);
	keys_are(at(j, "intervals/1"), "start end error");
	assert_string_equal(
		at(j, "intervals/1/error/message")->valuestring,
		"No entries between 2025-01-01 10:00:00+00:00 and 2025-01-01 10:00:00.000005+00:00.");
	keys_are(at(j, "exclusions"),
		 "intervals goodput_pct badput_pct max_productive_step excluded_time_s "
		 "adjusted_total_time_s productive_time_s unproductive_time_s");
	assert_true(number(j, "exclusions/intervals/0/0") == 1735725599.999999);
	keys_are(
		at(j, "sequence/0"),
		"query_time goodput_pct badput_pct total_job_time_s productive_time_s unproductive_time_s "
		"max_productive_step last_recorded_step disruptions closure_residual_s ideal_step_time_s");
	cJSON_Delete(j);
}

static void hostile(void **state)
{
	static const char name[] = "\033]0;x\007\033[2J\xff\xc3\"\\\n\302\233"
				   "31m";
	char many[16], *t;
	cJSON *j;

	(void)state;
	answer.job = goodput_names_put(names, name, strlen(name));
	custom(&answer.cumulative, name, NAN);
	for (int i = 0; i < 100; i++) {
		snprintf(many, sizeof(many), "TYPE %d", i);
		custom(&answer.cumulative, many, 1e-7);
	}
	answer.step_times = steps(3);
	answer.step_time_count = 3;
	answer.step_times[0].s = -1e300;
	answer.step_times[1].s = INFINITY;
	answer.step_times[2].s = NAN;
	answer.cumulative.total_s = INFINITY;
	answer.cumulative.residual_s = -NAN;
	t = text(false, false);
	has(t, "job ?]0;x??[2J");
	has(t, "and 83 more types");
	free(t);
	free(text(false, true));
	j = json();
	assert_true(cJSON_IsNull(at(j, "cumulative/total_job_time_s")));
	cJSON_Delete(j);
}

/* The names are those of the goodput library, in its order. */
static void badputs_are_named(void **state)
{
	static const char *const library[] = {"TPU_INITIALIZATION",
					      "TRAINING_PREP",
					      "PROGRAM_STARTUP",
					      "DATA_LOADING_SYNC",
					      "DATA_LOADING_ASYNC",
					      "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME",
					      "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME",
					      "WASTED_PROGRESS_FROM_DISRUPTION",
					      "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION",
					      "CUSTOM_BADPUT_EVENTS",
					      "OTHER",
					      "ELASTIC_SLICE_DOWN",
					      "ELASTIC_SCALE_UP",
					      "ELASTIC_REINITIALIZATION",
					      "HANG",
					      "UNOBSERVED"};

	(void)state;
	for (int i = 0; i < BADPUTS; i++)
		assert_string_equal(badput_name(i), library[i]);
}

static void bar_is(const char *expected, int cells, double share)
{
	struct buffer out = {0};
	struct canvas c;

	canvas_open(&c, 40, false);
	canvas_line(&c, 0);
	canvas_bar(&c, STYLE_PLAIN, cells, share);
	canvas_put(&c, STYLE_PLAIN, "|");
	canvas_finish(&c, &out, 1);
	assert_string_equal(out.data, expected);
	buffer_free(&out);
}

static void bars(void **state)
{
	(void)state;
	bar_is("|\n", 4, 0);
	bar_is("▏|\n", 4, 0.03);
	bar_is("██▌|\n", 4, 0.625);
	bar_is("████|\n", 4, 1);
	bar_is("████|\n", 4, 7);
	bar_is("|\n", 4, -1);
	bar_is("|\n", 4, NAN);
	bar_is("|\n", -3, 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(badputs_are_named),
		cmocka_unit_test(bars),
		cmocka_unit_test_setup_teardown(long_names_are_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(table, setup, teardown),
		cmocka_unit_test_setup_teardown(running, setup, teardown),
		cmocka_unit_test_setup_teardown(long_job, setup, teardown),
		cmocka_unit_test_setup_teardown(disruptions, setup, teardown),
		cmocka_unit_test_setup_teardown(parts, setup, teardown),
		cmocka_unit_test_setup_teardown(json_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(json_maps, setup, teardown),
		cmocka_unit_test_setup_teardown(json_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
