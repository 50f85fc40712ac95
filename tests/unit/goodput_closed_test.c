/* SPDX-License-Identifier: Apache-2.0 */
/* One small log for each rule of account/closed/closed.h about runs and steps; what is expected is
 * worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/goodput_ask.h"

static void test_clean(void **state)
{
	(void)state;
	tell(BOOT "steps 0 9 5 2; end 25", 100);
	assert_true(answer.ended);
	assert_seconds(answer.cumulative.total_s, 25); /* after the end nothing is counted */
	good(20);
	bad(BADPUT_INIT, 1);
	bad(BADPUT_PREP, 2);
	bad(BADPUT_LOAD_SYNC, 1);
	bad(BADPUT_STARTUP, 1); /* what no phase claims before the first step */
	assert_int_equal(answer.cumulative.max_productive_step, 9);
	assert_int_equal(answer.cumulative.last_recorded_step, 9);
	assert_int_equal(answer.step_time_count, 9);
	assert_seconds(answer.cumulative.ideal_s, 2);
	tell(BOOT "steps 0 9 5 2", 24.5); /* still running: the tenth is in flight */
	good(18);
	bad(BADPUT_OTHER, 1.5);
	assert_int_equal(answer.cumulative.max_productive_step, 8);
	disrupted(0);
	tell(BOOT "steps 0 9 5 2", NEVER);
	assert_seconds(answer.cumulative.total_s, 23);
	tell(BOOT "steps 0 9 5 2", 15); /* before the log ends: cut off there */
	assert_seconds(answer.cumulative.total_s, 15);
	good(10);
	tell("", 10);
	assert_seconds(answer.cumulative.total_s, 0);
}

static void test_startup(void **state)
{
	(void)state;
	tell("start 0; step 0 5; steps 1 9 35 2; end 53", NEVER);
	bad(BADPUT_STARTUP, 5 + 28);
	good(20);
	tell("start 0; step 0 5; step 1 13; step 2 16; step 3 19; start 40; step 2 45; step 3 53; step 4 56; end 59",
	     NEVER); /* of four times two began a run */
	bad(BADPUT_STARTUP, 5 + 5 + 5 + 5);
	good(15);
	tell("start 0; steps 0 9 5 2; save 8 1; end 25",
	     NEVER); /* a shorter step makes no startup of the others */
	good(19);
	tell("start 0; step 0 5; end 35", NEVER); /* nothing to compare it with */
	good(30);
	tell("start 0; steps 0 8 5 2; step 9 121; end 123",
	     NEVER);	       /* a slow step: 20 s are a step's */
	bad(BADPUT_HANG, 100); /* without a word */
	tell("start 0; steps 0 8 5 2; custom E 22 31; step 9 121; end 123", NEVER);
	bad(BADPUT_CUSTOM, 9);
	bad(BADPUT_HANG, 90);
	tell("start 0; steps 0 8 5 2; step 9 47; end 49", NEVER);
	bad(BADPUT_OTHER, 6);
	good(18 + 20 + 0);
}

static void test_no_start(void **state)
{
	(void)state;
	tell("steps 0 9 0 2", NEVER);
	warned(WARN_NO_START, 1);
	good(18);
	assert_seconds(answer.cumulative.total_s, 18);
	tell("init 1 2; start 0; steps 0 9 2 2; end 22", NEVER); /* it was told late */
	warned(WARN_NO_START, 0);
	bad(BADPUT_INIT, 1);
	assert_seconds(answer.cumulative.total_s, 22);
}

static void test_stale_end(void **state)
{
	const struct disruption *d;

	(void)state;
	/* Ended with grace, resumed where it was: all is kept, the outage is recovery. */
	tell("start 0; steps 0 9 5 2; end 25; start 125; steps 10 19 130 2; end 150", NEVER);
	warned(WARN_STALE_END, 1);
	d = disrupted(1);
	assert_true(d->graceful);
	assert_seconds(at_s(d->at_ns), 25);
	good(40);
	bad(BADPUT_RECOVERY, 100);
	bad(BADPUT_STARTUP, 10);
	assert_seconds(answer.cumulative.total_s, 150);
	tell("start 0; steps 0 9 5 2; end 25; steps 10 19 25 2", NEVER); /* it had not ended */
	warned(WARN_STALE_END, 1);
	disrupted(0);
	good(38);
}

static void test_rewind(void **state)
{
	const struct disruption *d;

	(void)state;
	/* Step 9 in flight at 23 s; down for 77 s; from step 6 on again. */
	tell("start 0; steps 0 9 5 2; start 100; steps 6 15 110 2; end 130", NEVER);
	d = disrupted(1);
	assert_seconds(at_s(d->at_ns), 23);
	assert_seconds(at_s(d->resumed_ns), 110);
	assert_int_equal(d->step, 9);
	assert_int_equal(d->resumed_step, 6);
	assert_int_equal(d->wasted_ns, 6000000000);
	assert_int_equal(d->recovery_ns, 87000000000);
	assert_int_equal(d->down_ns, 77000000000);
	assert_int_equal(d->starts, 1);
	assert_false(d->graceful);
	bad(BADPUT_WASTED, 6);
	bad(BADPUT_RECOVERY, 77);
	bad(BADPUT_STARTUP, 15);
	good(12 + 20);
	assert_int_equal(answer.cumulative.max_productive_step, 15);
	/* A checkpoint that the lost run wrote is lost with it, and it lived that long. */
	tell("start 0; steps 0 9 5 2; save 19 1; save 24 3; start 100; steps 6 15 110 2; end 130",
	     NEVER);
	bad(BADPUT_SAVE, 0 + 0);
	bad(BADPUT_WASTED, 10);
	bad(BADPUT_RECOVERY, 73);
	/* What was saved before it stopped, and restored by a boot that failed, is where it was. */
	tell("start 0; steps 0 9 5 2; save 25 30; start 100; steps 10 19 110 2; end 130", NEVER);
	bad(BADPUT_SAVE, 30);
	bad(BADPUT_RECOVERY, 45);
	tell("start 0; steps 0 9 5 2; save 25 30; steps 10 12 55 2; save 61 9; step 10 100; step 11 102; end 104",
	     NEVER);
	bad(BADPUT_SAVE, 30);
	bad(BADPUT_WASTED, 70 - 55);
	bad(BADPUT_RECOVERY, 30);
	tell("start 0; restore 5 20; start 100; steps 0 9 110 2; end 130", NEVER);
	bad(BADPUT_RESTORE, 20);
	bad(BADPUT_RECOVERY, 75);
}

static void test_from_zero(void **state)
{
	(void)state;
	tell("start 0; steps 0 9 5 2; start 100; steps 0 9 105 2; end 125", NEVER);
	assert_int_equal(disrupted(1)->wasted_ns, 18000000000);
	bad(BADPUT_WASTED, 18);
	good(20);
	assert_int_equal(answer.step_time_count, 9);
}

static void test_below_runs(void **state)
{
	(void)state;
	/* 0-9, 5-14, then from 2: of the first run two steps are left, of the second none. */
	tell("start 0; steps 0 9 5 2; start 100; steps 5 14 105 2; start 200; steps 2 11 205 2; end 225",
	     NEVER);
	disrupted(2);
	assert_int_equal(answer.disruptions[0].wasted_ns, 8000000000);
	assert_int_equal(answer.disruptions[1].wasted_ns, 18000000000 + 6000000000);
	bad(BADPUT_WASTED, 18 + 14);
	good(4 + 20);
}

static void test_next_step(void **state)
{
	const struct disruption *d;

	(void)state;
	tell("start 0; steps 0 9 5 2; start 100; steps 10 19 110 2; end 130", NEVER);
	d = disrupted(1);
	assert_int_equal(d->wasted_ns, 0);
	assert_seconds(at_s(d->at_ns), 25); /* with the credit */
	good(40);
	bad(BADPUT_RECOVERY, 75);
	tell("start 0; steps 0 9 5 2; start 24; steps 10 19 30 2; end 50", NEVER);
	good(39); /* no more than there was */
	bad(BADPUT_RECOVERY, 0);
	tell("start 0; steps 0 9 5 2; start 100; steps 15 19 110 2; end 120", NEVER);
	assert_int_equal(disrupted(1)->wasted_ns, 0);
	good(30);
	tell("start 0; steps 0 9 5 2; start 100", 120); /* not resumed: nobody knows yet */
	assert_int_equal(disrupted(1)->resumed_ns, 0);
	assert_int_equal(answer.disruptions[0].resumed_step, DISRUPTION_NO_STEP);
	good(18);
	bad(BADPUT_RECOVERY, 77);
	assert_int_equal(answer.cumulative.max_productive_step, 8);
	tell("start 0; steps 0 9 5 2; start 100; step 6 110", 111);
	assert_int_equal(answer.cumulative.max_productive_step, 5);
	bad(BADPUT_STARTUP, 5 + 10);
	bad(BADPUT_OTHER, 1); /* in flight */
	assert_int_equal(answer.cumulative.last_recorded_step, 6);
}

static void test_failed_boots(void **state)
{
	const struct disruption *d;

	(void)state;
	tell("start 0; steps 0 9 5 2; start 100; init 101 110; start 150; init 151 160; start 200; init 201 210;"
	     "steps 6 15 210 2; end 230",
	     NEVER);
	d = disrupted(1);
	assert_int_equal(d->starts, 3);
	assert_int_equal(d->down_ns, (77 + 40 + 40) * 1000000000ull);
	bad(BADPUT_RECOVERY, 177);
	bad(BADPUT_INIT, 9); /* the boots that failed are recovery */
	tell("start 0; init 1 10; start 50; init 51 60; steps 0 9 60 2; end 80", NEVER);
	disrupted(0);
	bad(BADPUT_INIT, 18);
	bad(BADPUT_RECOVERY, 40);
	bad(BADPUT_STARTUP, 2);
}

static void test_in_place(void **state)
{
	const struct disruption *d;

	(void)state;
	tell("start 0; steps 0 9 5 2; restore 40 5; steps 6 15 60 2; end 80", NEVER);
	d = disrupted(1);
	assert_int_equal(d->starts, 0);
	assert_int_equal(d->down_ns, 0);
	assert_int_equal(d->wasted_ns, 6000000000);
	assert_int_equal(d->recovery_ns, 37000000000);
	bad(BADPUT_WASTED, 6);
	bad(BADPUT_RECOVERY, 17);
	bad(BADPUT_RESTORE, 5);
	good(12 + 20);
}

static void test_writers(void **state)
{
	(void)state;
	tell("start 0; start 0.3; start 0; step 0 5; step 0 5.1; step 1 7; step 1 7; step 2 9; step 2 9.9; step 3 11;"
	     "step 1 7.2; end 13; end 13.1",
	     NEVER);
	disrupted(0);
	warned(WARN_WRITERS, 5);
	warned(WARN_DUPLICATE, 2);
	good(8.1);
}

static void test_disorder(void **state)
{
	(void)state;
	tell("start 0; step 0 5; step 2 9; step 1 7; step 3 11; end 13", NEVER);
	warned(WARN_DISORDER, 1);
	warned(WARN_GAPS, 0);
	disrupted(0);
	good(8);
	/* The first two of a run swapped; and the last of a run after the next start. */
	tell("start 0; steps 0 8 5 2; start 100; step 9 23; step 7 112; step 6 110; steps 8 15 114 2; end 130",
	     NEVER);
	assert_int_equal(disrupted(1)->resumed_step, 6);
	bad(BADPUT_WASTED, 6);
	good(12 + 20);
	/* One of the middle, after the next start. */
	tell("start 0; step 0 0; step 2 20; start 50; step 1 10; step 2 60; step 3 70", NEVER);
	warned(WARN_DISORDER, 1);
	assert_int_equal(disrupted(1)->resumed_step, 2);
	bad(BADPUT_RECOVERY, 30);
	bad(BADPUT_STARTUP, 10);
	good(20 + 10);
}

static void test_gaps(void **state)
{
	(void)state;
	tell("start 0; step 0 5; step 10 25; step 20 45; step 30 65; step 40 85; end 87", NEVER);
	warned(WARN_GAPS, 36);
	good(82);
	assert_seconds(answer.cumulative.ideal_s, 2);
	disrupted(0);
	/* The restart is at a step that has no record: half way between 20 and 30. */
	tell("start 0; step 0 5; step 10 25; step 20 45; step 30 65; start 100; step 25 110; step 35 130; end 132",
	     NEVER);
	bad(BADPUT_WASTED, 10);
	good(50 + 22);
	assert_int_equal(disrupted(1)->wasted_ns, 10000000000);
}

static void test_skew(void **state)
{
	(void)state;
	/* The second run's clock is 60 s behind. */
	tell("start 0; steps 0 19 5 2; start 10; steps 15 34 15 2", NEVER);
	warned(WARN_SKEW, 1);
	disrupted(1);
	assert_seconds(answer.cumulative.total_s, 53);
	bad(BADPUT_WASTED, 8);
	good(30 + 10);
	/* It ends before the first one did, by its clock: the job does not. */
	tell("start 0; steps 0 3 1 1; start 2; step 2 3; end 3", NEVER);
	disrupted(1);
	assert_seconds(answer.cumulative.total_s, 4);
	assert_int_equal(answer.cumulative.disruptions, 1);
}

/* Of windows side by side one has each disruption, where a clock went back too. */
static void test_skew_windows(void **state)
{
	const struct goodput_span windows[] = {{0, script_us(1010)},
					       {script_us(1010), script_us(1018)},
					       {script_us(1018), GOODPUT_TIME_MAX_US}};
	struct goodput_query q = {.now_us = GOODPUT_UNKNOWN, .windows = windows, .window_count = 3};

	(void)state;
	ask("start 1000; steps 0 9 1000 2; start 100; steps 5 7 102 2; start 200; steps 6 9 201 2",
	    &q);
	disrupted(2);
	assert_seconds(answer.cumulative.total_s, 18);
	assert_int_equal(answer.windows[0].disruptions, 0);
	assert_int_equal(answer.windows[1].disruptions, 2);
	assert_int_equal(answer.windows[2].disruptions, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),	     cmocka_unit_test(test_startup),
		cmocka_unit_test(test_no_start),     cmocka_unit_test(test_stale_end),
		cmocka_unit_test(test_rewind),	     cmocka_unit_test(test_from_zero),
		cmocka_unit_test(test_below_runs),   cmocka_unit_test(test_next_step),
		cmocka_unit_test(test_failed_boots), cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_writers),	     cmocka_unit_test(test_disorder),
		cmocka_unit_test(test_gaps),	     cmocka_unit_test(test_skew),
		cmocka_unit_test(test_skew_windows),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
