/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the library's cumulative answer, one by one. */
#include "goodput_run.h"

static void test_total(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 50);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_JOB_START, 10, 0); /* the first counts */
	p = run_answer(&r);
	assert_close(p->total_s, 50);
	assert_null(p->error);
	assert_close(PERCENT(p, OTHER), 0); /* a bucket that is all of the total shows none */
	assert_close(SECONDS(p, OTHER), 50);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_JOB_END, 20, 0);
	run_put(&r, GOODPUT_JOB_END, 30, 0); /* the last counts */
	assert_close(run_answer(&r)->total_s, 30);
	assert_true(r.a.ended);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_JOB_START, 45, 0); /* and stays in force */
	assert_close(run_answer(&r)->total_s, 30);
	assert_false(r.a.ended);
	assert_int_equal(r.a.warnings[WARN_STALE_END], 1);
	run_close(&r);
}

static void test_errors(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 50);
	run_steps(&r, 0, 5, 0, 2);
	p = run_answer(&r);
	assert_string_equal(p->error_type, "ValueError");
	assert_non_null(strstr(p->error, "Total job time is zero"));
	assert_close(p->productive_s, 10); /* what can be told is told */
	assert_int_equal(r.a.warnings[WARN_NO_START], 1);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_JOB_END, 1, 0); /* before the last step: 10 - 9 of 1 is still valid */
	p = run_answer(&r);
	assert_null(p->error);
	assert_close(p->productive_s, 1);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_STEP, 12, 6);
	run_put(&r, GOODPUT_STEP, 30, 7); /* 30 - 29: still */
	run_put(&r, GOODPUT_STEP, 31, 0); /* 24 - 30 */
	p = run_answer(&r);
	assert_string_equal(p->error_type, "ValueError");
	assert_non_null(strstr(p->error, "Productive training time is invalid"));
	goodput_answer_free(&r.a);
	run_save(&r, GOODPUT_SAVE, 20, 4, NAN, true);
	assert_string_equal(run_answer(&r)->error_type, "TypeError");
	assert_int_equal(r.a.warnings[WARN_NULLS], 1);
	run_close(&r);
}

/* Only a number that the segment has is a disruption. */
static void test_disruptions(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 200);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_steps(&r, 10, 15, 0, 2);
	run_put(&r, GOODPUT_JOB_START, 20, 0); /* a start is none */
	run_steps(&r, 16, 18, 30, 2);	       /* nor is going on */
	run_put(&r, GOODPUT_STEP, 40, 30);     /* nor a gap */
	run_put(&r, GOODPUT_STEP, 42, 5);      /* nor a lower number that was not there */
	assert_int_equal(run_answer(&r)->disruptions, 0);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_STEP, 50, 12);
	p = run_answer(&r);
	assert_int_equal(p->disruptions, 1);
	assert_int_equal(p->last_recorded_step, 12);
	assert_int_equal(p->max_productive_step, 0); /* of the last segment alone */
	run_close(&r);
}

/* Boundary 3 of steps 0 (10 s) 1 2 3 4 5 (2 s each): three productive, two wasted, startup against
 * the mean. */
static void test_segment(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_STEP, 0, 0);
	run_steps(&r, 1, 5, 10, 2);
	run_put(&r, GOODPUT_JOB_START, 40, 0);
	run_put(&r, GOODPUT_STEP, 50, 3);
	p = run_answer(&r);
	assert_close(p->productive_s, 6); /* 14 less 8 of startup */
	assert_close(SECONDS(p, STARTUP), 8);
	assert_close(SECONDS(p, WASTED), 4);
	assert_close(SECONDS(p, RECOVERY), 22); /* 40 - 18 */
	assert_close(SECONDS(p, OTHER), 100 - 6 - 8 - 4 - 22);
	assert_close(p->residual_s, 0);
	goodput_answer_free(&r.a);
	run_steps(&r, 4, 6, 60, 3); /* a 10 s first step again: 10, 3, 3 */
	p = run_answer(&r);
	assert_close(p->productive_s, 6 + 9);
	assert_close(SECONDS(p, STARTUP), 8 + 7);
	assert_int_equal(p->max_productive_step, 5);
	assert_int_equal(p->last_recorded_step, 6);
	run_close(&r);
}

static void test_segment_of_one_pair(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_steps(&r, 0, 1, 0, 30); /* a lone step is goodput, its compilation too */
	p = run_answer(&r);
	assert_close(p->productive_s, 30);
	assert_true(HAS(p, STARTUP));
	assert_close(SECONDS(p, STARTUP), 0);
	run_close(&r);
}

/* From step 0 again: the segment leaves nothing at all, and no names of badput. */
static void test_restart_from_zero(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_steps(&r, 0, 5, 0, 2);
	run_put(&r, GOODPUT_JOB_START, 20, 0);
	run_put(&r, GOODPUT_STEP, 30, 0);
	p = run_answer(&r);
	assert_close(p->productive_s, 0);
	assert_false(HAS(p, STARTUP) || HAS(p, WASTED) || HAS(p, CUSTOM));
	assert_close(SECONDS(p, RECOVERY), 10);
	assert_close(SECONDS(p, OTHER), 90);
	run_close(&r);
}

/* Steps, but none with its next: waste is told of, startup is not. And a last segment of step 0
 * alone. */
static void test_no_pair(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_STEP, 0, 1);
	run_put(&r, GOODPUT_STEP, 10, 4);
	p = run_answer(&r);
	assert_true(HAS(p, WASTED));
	assert_false(HAS(p, STARTUP) || HAS(p, CUSTOM));
	goodput_answer_free(&r.a);
	run_steps(&r, 5, 8, 20, 1);
	run_put(&r, GOODPUT_STEP, 30, 7);
	run_put(&r, GOODPUT_STEP, 32, 0);
	run_put(&r, GOODPUT_STEP, 34, 0);
	p = run_answer(&r);
	assert_int_equal(p->disruptions, 2);
	assert_int_equal(p->max_productive_step, 0);
	run_close(&r);
}

/* Numbers that do not follow count nothing up to the boundary, and are waste beyond it. */
static void test_gaps(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_STEP, 0, 1);
	run_put(&r, GOODPUT_STEP, 10, 4);
	run_put(&r, GOODPUT_STEP, 12, 5);
	run_put(&r, GOODPUT_STEP, 20, 9);
	run_put(&r, GOODPUT_STEP, 30, 5);
	p = run_answer(&r);
	assert_close(p->productive_s, 2);     /* from 4 to 5 */
	assert_close(SECONDS(p, STARTUP), 0); /* the least step, 1, has no time */
	assert_close(SECONDS(p, WASTED), 8);
	assert_true(HAS(p, STARTUP));
	assert_int_equal(r.a.warnings[WARN_GAPS], 2 + 3);
	run_close(&r);
}

static void test_recovery(void **state)
{
	struct log_run r = {0};

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_steps(&r, 0, 5, 0, 2);
	run_put(&r, GOODPUT_STEP, 30, 3); /* in the same process: nothing */
	assert_false(HAS(run_answer(&r), RECOVERY));
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_JOB_START, 29, 0); /* a clock behind: nothing */
	run_put(&r, GOODPUT_STEP, 40, 3);
	assert_false(HAS(run_answer(&r), RECOVERY));
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_JOB_START, 50, 0); /* a start that fails */
	run_put(&r, GOODPUT_JOB_START, 60, 0);
	run_put(&r, GOODPUT_STEP, 70, 3);
	assert_close(SECONDS(run_answer(&r), RECOVERY), 20);
	run_close(&r);
}

static void test_job_end(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_JOB_END, 7, 0);
	p = run_answer(&r); /* no step: nothing is productive */
	assert_close(p->productive_s, 0);
	assert_int_equal(p->max_productive_step, 0);
	assert_false(HAS(p, WASTED));
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_STEP, 1, 0);
	run_put(&r, GOODPUT_JOB_END, 20, 0);
	p = run_answer(&r); /* [0] and an end: the step is productive */
	assert_close(p->productive_s, 19);
	assert_int_equal(p->max_productive_step, 0);
	assert_false(HAS(p, WASTED)); /* up to 0 there is no segment */
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_STEP, 5, 1);
	p = run_answer(&r);
	assert_close(p->productive_s, 4 + 15);
	assert_int_equal(p->max_productive_step, 1);
	run_close(&r);
}

static void test_phases(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_put(&r, GOODPUT_INIT_END, 1, 0); /* without a start: nothing */
	run_put(&r, GOODPUT_INIT_START, 2, 0);
	run_put(&r, GOODPUT_INIT_START, 4, 0); /* the later one counts */
	run_put(&r, GOODPUT_INIT_END, 9, 0);
	run_put(&r, GOODPUT_INIT_END, 10, 0);
	run_put(&r, GOODPUT_PREP_START, 10, 0);
	run_put(&r, GOODPUT_PREP_END, 13, 0);
	run_put(&r, GOODPUT_PREP_START, 20, 0);
	run_put(&r, GOODPUT_PREP_END, 22, 0);
	run_put(&r, GOODPUT_PREP_START, 30, 0); /* open: not yet */
	p = run_answer(&r);
	assert_close(SECONDS(p, INIT), 5);
	assert_close(SECONDS(p, PREP), 5);
	assert_close(SECONDS(p, OTHER), 90);
	assert_close(PERCENT(p, INIT), 5);
	assert_int_equal(r.a.warnings[WARN_ORPHANS], 2);
	assert_int_equal(r.a.warnings[WARN_OPEN], 2);
	run_close(&r);
}

static void load(struct log_run *r, double s, double took_s)
{
	run_put(r, GOODPUT_LOAD_START, s, 0);
	run_put(r, GOODPUT_LOAD_END, s + took_s, 0);
}

static void test_loads(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	assert_false(HAS(run_answer(&r), LOAD_SYNC));
	goodput_answer_free(&r.a);
	load(&r, 0, 3); /* the first is synchronous */
	run_steps(&r, 0, 4, 10, 2);
	load(&r, 18, 1); /* the others are not ... */
	p = run_answer(&r);
	assert_close(SECONDS(p, LOAD_SYNC), 3);
	assert_close(SECONDS(p, LOAD_ASYNC), 1);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_STEP, 20, 2); /* ... but for the one before a disruption */
	p = run_answer(&r);
	assert_close(SECONDS(p, LOAD_SYNC), 4);
	assert_close(SECONDS(p, LOAD_ASYNC), 0);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_STEP, 22, 2); /* once */
	load(&r, 22, 5);		  /* and the one after it */
	load(&r, 30, 1);
	p = run_answer(&r);
	assert_close(SECONDS(p, LOAD_SYNC), 9);
	assert_close(SECONDS(p, LOAD_ASYNC), 1);
	assert_close(SECONDS(p, OTHER),
		     100 - p->productive_s - SECONDS(p, WASTED) - 9); /* async is beside */
	run_close(&r);
}

static void test_saves(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 0, 0);
	run_steps(&r, 0, 20, 0, 2);
	run_save(&r, GOODPUT_SAVE, 5, 2, 4, true);
	run_save(&r, GOODPUT_SAVE, 5, 2, 8, true);  /* the mean of a step ... */
	run_save(&r, GOODPUT_SAVE, 5, 2, 1, false); /* ... and of each place */
	run_save(&r, GOODPUT_SAVE, 9, 4, 2, true);
	run_save(&r, GOODPUT_RESTORE, 0, 2, 3, true);
	run_save(&r, GOODPUT_EMERGENCY_RESTORE, 0, 2, 5, true);
	p = run_answer(&r);
	assert_close(SECONDS(p, SAVE), 6 + 1 + 2);
	assert_close(SECONDS(p, RESTORE), 4);
	assert_close(p->productive_s, 40 - 9); /* restores take nothing from it */
	assert_close(SECONDS(p, OTHER), 100 - 31 - 9 - 4);
	run_close(&r);
}

static void test_insane(void **state)
{
	struct log_run r = {0};
	const struct goodput_part *p;

	(void)state;
	run_open(&r, 100);
	run_put(&r, GOODPUT_JOB_START, 10, 0);
	run_put(&r, GOODPUT_INIT_START, 10, 0);
	run_put(&r, GOODPUT_INIT_END, 5, 0); /* negative: 0 */
	run_put(&r, GOODPUT_PREP_START, 0, 0);
	run_put(&r, GOODPUT_PREP_END, 99, 0); /* more than all: 0, not all */
	p = run_answer(&r);
	assert_close(SECONDS(p, INIT), 0);
	assert_close(SECONDS(p, PREP), 0);
	assert_close(SECONDS(p, OTHER), 90);
	assert_int_equal(r.a.warnings[WARN_INSANE], 2);
	goodput_answer_free(&r.a);
	run_put(&r, GOODPUT_LOAD_START, 0, 0);
	run_put(&r, GOODPUT_LOAD_END, 60, 0);
	run_steps(&r, 0, 30, 0, 2);
	p = run_answer(&r); /* parts that share time: nothing is other, and the residual tells */
	assert_close(SECONDS(p, OTHER), 0);
	assert_close(p->residual_s, -30);
	run_close(&r);
}

/* Sums of what a clock of 2^-22 s tells, as the library's doubles do: 0.1 s is not 0.1 s. */
static void test_to_the_last_bit(void **state)
{
	struct log_run r = {0};
	double first = (double)run_us(0.1) / 1e6, last = (double)run_us(0.7) / 1e6;

	(void)state;
	run_open(&r, NAN);
	run_put(&r, GOODPUT_JOB_START, 0.1, 0);
	run_put(&r, GOODPUT_STEP, 0.1, 0);
	run_put(&r, GOODPUT_JOB_END, 0.7, 0);
	assert_true(run_answer(&r)->total_s == last - first);
	assert_true(r.a.cumulative.productive_s == last - first);
	assert_null(r.a.cumulative.error);
	run_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_total),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_disruptions),
		cmocka_unit_test(test_segment),
		cmocka_unit_test(test_segment_of_one_pair),
		cmocka_unit_test(test_restart_from_zero),
		cmocka_unit_test(test_no_pair),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_recovery),
		cmocka_unit_test(test_job_end),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_saves),
		cmocka_unit_test(test_insane),
		cmocka_unit_test(test_to_the_last_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
