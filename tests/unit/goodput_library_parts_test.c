/* SPDX-License-Identifier: Apache-2.0 */
/* The library's other answers: steps, windows, instants, exclusions, elastic jobs; and custom
 * events. */
#include <stdlib.h>

#include "goodput_run.h"
#include "userspace/account/library/library.h"

#define EVAL  3
#define CHECK 4

static void event(struct log_run *r, double from, double to, int64_t name)
{
	run_put(r, GOODPUT_CUSTOM_START, from, name);
	run_put(r, GOODPUT_CUSTOM_END, to, name);
}

static double custom(const struct goodput_part *p, uint32_t name)
{
	for (size_t i = 0; i < p->custom_count; i++)
		if (p->custom[i].name == name)
			return p->custom[i].s;
	return -1;
}

static void test_custom(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 200);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_steps(&r, 0, 9, 0, 10);
	event(&r, 12, 15, EVAL);
	event(&r, 10, 20,
	      CHECK); /* ends may touch; overlap is taken twice: 10 - 13 is 0, not less */
	event(&r, 58, 57, CHECK); /* no event */
	event(&r, 28, 32, EVAL);  /* over two steps: not seen */
	run_put(&r, GOODPUT_CUSTOM_START, 40, EVAL);
	event(&r, 43, 45, EVAL);		   /* the later start counts */
	run_put(&r, GOODPUT_CUSTOM_END, 48, EVAL); /* no start any more */
	run_put(&r, GOODPUT_CUSTOM_START, 55, CHECK);
	run_put(&r, GOODPUT_CUSTOM_END, 55, CHECK); /* no length */
	p = run_answer(&r);
	assert_close(custom(p, EVAL), 5);
	assert_close(custom(p, CHECK), 10);
	assert_close(SECONDS(p, CUSTOM), 15);
	assert_close(p->productive_s,
		     90 - 10 - 2 - (10 - 68.0 / 8)); /* ... and the first step is startup */
	assert_close(SECONDS(p, OTHER), 200 - p->productive_s - 15 - SECONDS(p, STARTUP));
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_STEP, 100, 5); /* told of late, of a segment that is closed */
	event(&r, 21, 25, CHECK);
	event(&r, 81, 82, CHECK); /* of a wasted step: not taken out */
	p = run_answer(&r);
	assert_close(custom(p, CHECK), 14);
	assert_close(SECONDS(p, WASTED), 40);
	run_close(&r);
}

/* Steps whose times overlap, as two clocks make them: an event may be in several of them. */
static void test_custom_of_two_clocks(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 200);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_steps(&r, 0, 1, 0, 100);
	run_put(&r, GOODPUT_STEP, 20, 2);
	run_put(&r, GOODPUT_STEP, 60, 3);
	run_put(&r, GOODPUT_STEP, 50, 4); /* backwards: 0 s, holds nothing */
	run_put(&r, GOODPUT_STEP, 90, 5);
	event(&r, 30, 40, EVAL);  /* in 0 and 2 */
	event(&r, 50, 60, CHECK); /* in 0, 2 and 4 */
	p = run_answer(&r);
	assert_close(custom(p, EVAL), 20);
	assert_close(custom(p, CHECK), 30);
	/* 80, 0, 20, 0, 30; the first of mean 12.5 */
	assert_close(p->productive_s, 62.5);
	assert_close(SECONDS(p, STARTUP), 67.5);
	run_close(&r);
}

static void test_step_times(void **state)
{
	struct log_run r = {0};

	(void)state;
	run_open(&r, 200);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_steps(&r, 0, 3, 0, 2);
	run_steps(&r, 1, 2, 20, 5); /* again: the place of before, the time of now */
	run_put(&r, GOODPUT_STEP, 40, 7);
	run_put(&r, GOODPUT_STEP, 40.5, 8); /* under 1 s: no part of the ideal */
	run_answer(&r);
	assert_int_equal(r.a.step_time_count, 4);
	assert_int_equal(r.a.step_times[1].number, 1);
	assert_close(r.a.step_times[1].s, 5);
	assert_int_equal(r.a.step_times[3].number, 7);
	assert_close(r.a.cumulative.ideal_s, 2); /* 2 5 2: median 2, MAD 0 */
	assert_int_equal(r.a.deviation_count, 4);
	assert_close(r.a.deviations[1].s, 3);
	assert_close(r.a.deviations[3].s, 1.5);
	assert_close(r.a.cumulative.deviation_mean_s, 4.5 / 4);
	run_close(&r);

	r = (struct log_run){.q = {.ideal_us = 1500000}};
	run_open(&r, 200);
	run_answer(&r);
	assert_false(r.a.cumulative.has_ideal); /* no step, no ideal, not even a given one */
	goodput_answer_free(&r.a);
	run_steps(&r, 0, 1, 0, 0.5);
	assert_close(run_answer(&r)->ideal_s, 1.5);
	assert_close(r.a.cumulative.deviation_mean_s, 1);
	run_close(&r);
}

static void test_windows(void **state)
{
	const struct goodput_span windows[] = {{run_us(9), run_us(31)},
					       {run_us(10), run_us(30)},
					       {run_us(60), run_us(70)},
					       {run_us(39), run_us(41)}};
	struct log_run r = {.q = {.windows = windows, .window_count = 4}};
	const struct goodput_part *w;

	(void)state;
	run_open(&r, 35); /* windows are asked about at their own end */
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_INIT_START, 5, 0);
	run_put(&r, GOODPUT_INIT_END, 9.5, 0);
	run_steps(&r, 0, 10, 10, 3);
	run_answer(&r);
	w = &r.a.windows[0]; /* half a phase is none; entries from 9.5 to 31 */
	assert_null(w->error);
	assert_close(w->total_s, 31 - 9.5);
	assert_close(SECONDS(w, INIT), 0);
	assert_close(w->productive_s, 21);
	assert_int_equal(w->max_productive_step, 6);
	w = &r.a.windows[1]; /* a start is outside, an end inside */
	assert_close(w->total_s, 28 - 13);
	assert_close(w->productive_s, 15);
	w = &r.a.windows[2];
	assert_string_equal(w->error_type, "ValueError");
	assert_non_null(strstr(w->error, "No log entries"));
	w = &r.a.windows[3]; /* one entry: no length */
	assert_non_null(strstr(w->error, "Start time is on or after end time"));
	run_close(&r);
}

/* Written late: the write time says which entries, and once more their own time. */
static void test_window_of_written(void **state)
{
	const struct goodput_span windows[] = {{run_us(10), run_us(20)}};
	struct log_run r = {.q = {.windows = windows, .window_count = 1}};
	static const double times[][2] = {
		/* own, written */ {9, 11}, {12, 12}, {14, 14}, {18, 16}, {15, 21}};

	(void)state;
	run_open(&r, NAN);
	for (size_t i = 0; i < 5; i++)
		run_record(&r, (struct goodput_record){.kind = GOODPUT_STEP,
						       .time_us = run_us(times[i][0]),
						       .write_us = run_us(times[i][1]),
						       .written = true,
						       .number = (int64_t)i});
	run_answer(&r);
	assert_int_equal(r.a.windows[0].last_recorded_step, 3);
	assert_close(r.a.windows[0].productive_s, 6);
	assert_close(r.a.windows[0].total_s, 6); /* between their own times */
	run_close(&r);
}

/* One calculator asked again and again. */
static void test_sequence(void **state)
{
	static const double at_s[] = {5, 15, 16, 25, 20, 100};
	int64_t at_us[6];
	struct log_run r = {.q = {.at_us = at_us, .at_count = 6}};
	const struct goodput_part *at;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		at_us[i] = run_us(at_s[i]);
	run_open(&r, 40);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_PREP_START, 0, 0);
	run_put(&r, GOODPUT_STEP, 2, 0);
	run_put(&r, GOODPUT_STEP, 4, 1);
	run_put(&r, GOODPUT_PREP_END, 5, 0);
	run_answer(&r);
	assert_close(r.a.at[0].productive_s, 2); /* at 5 the entry of 5 is seen */
	assert_close(SECONDS(&r.a.at[0], PREP), 5);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_STEP, 14, 2);
	run_put(&r, GOODPUT_JOB_START, 18, 0);
	run_put(&r, GOODPUT_STEP, 24, 2);
	run_put(&r, GOODPUT_STEP, 60, 3); /* after now, but not after the last instant */
	run_answer(&r);
	at = r.a.at;
	assert_close(at[1].total_s, 15);
	assert_close(at[1].productive_s, 12);
	assert_close(at[2].total_s, 16); /* nothing new: the same, and the clock goes on */
	assert_close(at[2].productive_s, 12);
	assert_int_equal(at[2].disruptions, 0);
	assert_int_equal(at[3].disruptions, 1);
	assert_close(at[4].total_s, 20); /* back: what it has seen it has seen */
	assert_int_equal(at[4].disruptions, 1);
	assert_close(at[5].productive_s, 12 + 36);
	assert_close(r.a.cumulative.productive_s, 12);
	run_close(&r);
}

/* What did not fit into a short total is gone for good while nothing new is written. */
static void test_sequence_remembers(void **state)
{
	const int64_t at_us[] = {run_us(10), run_us(50)};
	struct log_run r = {.q = {.at_us = at_us, .at_count = 2}};

	(void)state;
	run_open(&r, 50);
	run_put(&r, GOODPUT_PREP_START, -30, 0);
	run_put(&r, GOODPUT_PREP_END, -10, 0);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_answer(&r);
	assert_close(SECONDS(&r.a.at[0], PREP), 0);
	assert_close(SECONDS(&r.a.at[1], PREP), 0);
	assert_close(SECONDS(&r.a.cumulative, PREP), 20);
	run_close(&r);
}

static void test_exclusions(void **state)
{
	const struct goodput_span spans[] = {
		{run_us(15), run_us(25)},
		{run_us(5), run_us(18)},  /* one with the one before */
		{run_us(60), run_us(62)}, /* a gap: only where it is told of */
		{run_us(90), run_us(80)}};
	struct log_run r = {.q = {.excludes = spans, .exclude_count = 4}};
	const struct goodput_part *x;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_INIT_START, 2, 0);
	run_put(&r, GOODPUT_INIT_END, 8, 0); /* 3 left out */
	run_put(&r, GOODPUT_LOAD_START, 8, 0);
	run_put(&r, GOODPUT_LOAD_END, 10, 0); /* all of 2 left out: synchronous, 0 */
	run_steps(&r, 0, 4, 10, 10);	      /* the first step all, the second half */
	event(&r, 35, 45, EVAL);	      /* over two steps: a part of each here */
	run_put(&r, GOODPUT_LOAD_START, 50, 0);
	run_put(&r, GOODPUT_LOAD_END, 51, 0);
	run_save(&r, GOODPUT_SAVE, 31, 2, 4, true); /* not known here */
	run_answer(&r);
	x = &r.a.excluded;
	assert_null(x->error);
	assert_close(x->excluded_s,
		     3 + 2 + 10 + 5); /* 8 to 10 and the steps; nothing twice but by records */
	assert_close(x->adjusted_s, 80);
	assert_close(SECONDS(x, INIT), 3);
	assert_close(SECONDS(x, LOAD_SYNC), 0);
	assert_close(SECONDS(x, LOAD_ASYNC), 1);
	assert_close(x->productive_s, 0 + 5 + 5 + 5);
	assert_close(custom(x, EVAL), 10);
	assert_false(HAS(x, SAVE));
	assert_close(SECONDS(x, OTHER), 80 - 15 - 3 - 10);
	assert_close(x->goodput_pct, 100 * 15 / 80.0);
	assert_int_equal(x->max_productive_step, 3);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_JOB_START, 70, 0);
	run_put(&r, GOODPUT_STEP, 75, 2);
	run_answer(&r);
	x = &r.a.excluded;
	assert_int_equal(x->max_productive_step, 1); /* of all segments */
	assert_close(SECONDS(x, WASTED), 20);
	assert_close(SECONDS(x, RECOVERY), 18);
	assert_close(x->excluded_s, 22);
	assert_close(SECONDS(x, LOAD_SYNC), 0); /* nothing is charged again */
	assert_int_equal(r.a.cumulative.max_productive_step, 0);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_LOAD_START, 76, 0);
	run_put(&r, GOODPUT_LOAD_END, 78, 0); /* but the next one is */
	run_answer(&r);
	assert_close(SECONDS(&r.a.excluded, LOAD_SYNC), 2);
	run_close(&r);

	r = (struct log_run){.q = {.excludes = spans, .exclude_count = 1}};
	run_open(&r, 100); /* no start: nothing is raised, nothing is told */
	run_steps(&r, 0, 4, 30, 1);
	run_answer(&r);
	assert_null(r.a.excluded.error);
	assert_int_equal(r.a.excluded.has_pct, 0);
	run_close(&r);
}

static void slices(struct log_run *r, double s, uint32_t active, uint32_t available)
{
	run_record(r, (struct goodput_record){.kind = GOODPUT_SLICES,
					      .time_us = run_us(s),
					      .write_us = run_us(s),
					      .active = active,
					      .total = 4,
					      .available = available});
}

static void elastic_log(struct log_run *r)
{
	run_put(r, GOODPUT_JOB_START, 0, 0);
	slices(r, 20, 2, 4); /* nothing before it: 0 */
	run_put(r, GOODPUT_ELASTIC_WAIT_START, 20, 1);
	run_put(r, GOODPUT_ELASTIC_WAIT_END, 30, 1);
	run_put(r, GOODPUT_ELASTIC_WAIT_START, 30, SCALE_UP);
	run_put(r, GOODPUT_ELASTIC_WAIT_END, 45, SCALE_UP);
	run_put(r, GOODPUT_INIT_START, 46, 0);
	run_put(r, GOODPUT_ELASTIC_REINIT_START, 50, 0);
	run_put(r, GOODPUT_INIT_END, 55, 0);
	run_put(r, GOODPUT_PREP_START, 55, 0);
	run_put(r, GOODPUT_PREP_END, 60, 0);
	run_put(r, GOODPUT_ELASTIC_REINIT_END, 70, 0);
	slices(r, 60, 4, 4);
	slices(r, 100, 0, 0); /* at the end: no time */
}

static void test_elastic(void **state)
{
	const struct goodput_span window = {run_us(40), run_us(80)};
	struct log_run r = {.q = {.elastic = true, .windows = &window, .window_count = 1}};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	elastic_log(&r);
	p = run_answer(&r);
	assert_close(SECONDS(p, SLICE_DOWN), 10);
	assert_close(SECONDS(p, SCALE_UP), 15);
	assert_close(SECONDS(p, REINIT), 20);
	assert_close(SECONDS(p, INIT), 4);
	assert_close(SECONDS(p, PREP), 0);
	assert_close(PERCENT(p, REINIT), 20);
	assert_true(p->has_slices);
	assert_close(p->stepping_efficiency, 0.2 + 0.4);
	assert_close(p->available_efficiency, 0.8);
	assert_close(r.a.windows[0].stepping_efficiency, 0.5); /* its own samples alone */
	run_close(&r);

	r = (struct log_run){0}; /* the plain calculator knows nothing of it */
	run_open(&r, 100);
	elastic_log(&r);
	p = run_answer(&r);
	assert_close(SECONDS(p, INIT), 9);
	assert_false(HAS(p, REINIT) || HAS(p, SLICE_DOWN) || p->has_slices);
	assert_false(p->has_pct >> BADPUT_REINIT & 1);
	run_close(&r);
}

/* More wasted steps than are kept: the same sums. 60 times 20000 steps of 1 s, the last 10000
 * again. */
static void test_many_wasted(void **state)
{
	const struct goodput_span spans[] = {{run_us(100), run_us(200)}};
	struct log_run r = {.q = {.excludes = spans, .exclude_count = 1}};
	const struct goodput_part *p;
	double s = 0;

	(void)state;
	run_open(&r, NAN);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	for (int64_t k = 0; k < 120; k++, s += 20000) {
		run_put(&r, GOODPUT_STEP, s, k * 10000);
		event(&r, s + 0.25, s + 0.75, EVAL);
		run_steps(&r, k * 10000 + 1, k * 10000 + 19999, s + 1, 1);
	}
	p = run_answer(&r);
	assert_true(120 * 20000 > 2 * LIBRARY_CLOSED_MAX);
	assert_int_equal(p->disruptions, 119);
	assert_close(SECONDS(p, WASTED), 119 * 9999.0);
	assert_close(custom(p, EVAL), 120 * 0.5);
	assert_close(p->productive_s, 119 * 10000 + 19999 - 120 * 0.5);
	assert_int_equal(r.a.warnings[WARN_DISORDER], 0);
	assert_close(r.a.excluded.productive_s, p->productive_s - 100);
	assert_close(r.a.excluded.excluded_s, 100);
	run_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_custom),
		cmocka_unit_test(test_custom_of_two_clocks),
		cmocka_unit_test(test_step_times),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_window_of_written),
		cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_sequence_remembers),
		cmocka_unit_test(test_exclusions),
		cmocka_unit_test(test_elastic),
		cmocka_unit_test(test_many_wasted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
