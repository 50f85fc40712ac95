/* SPDX-License-Identifier: Apache-2.0 */
/* One small log for each rule of goodput_closed.h; what is expected is worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/goodput_script.h"

#define NEVER (-1.0)

static struct goodput_answer answer;
static int64_t ideal_us; /* 0: found */

static int feed(void *ctx, const struct goodput_record *r)
{
	return goodput_closed.feed(ctx, r);
}

static void ask(const char *script, const struct goodput_query *q)
{
	void *e = goodput_closed.create(q, script_scale_up, NULL);
	double sum;

	goodput_answer_free(&answer);
	assert_int_equal(script_tell(script, feed, e), 0);
	assert_int_equal(goodput_closed.answer(e, &answer), 0);
	goodput_closed.destroy(e);
	sum = answer.cumulative.productive_s;
	for (int i = 0; i < BADPUTS; i++)
		sum += answer.cumulative.badput_s[i];
	assert_seconds(sum, answer.cumulative.total_s);
	assert_seconds(answer.cumulative.residual_s, 0);
}

static void tell(const char *script, double now)
{
	struct goodput_query q = {.now_us = now == NEVER ? GOODPUT_UNKNOWN : script_us(now),
				  .ideal_us = ideal_us};

	ask(script, &q);
}

static void good(double s)
{
	assert_seconds(answer.cumulative.productive_s, s);
}

static void bad(enum goodput_badput b, double s)
{
	assert_seconds(answer.cumulative.badput_s[b], s);
}

static void warned(enum goodput_warning w, uint64_t n)
{
	assert_int_equal(answer.warnings[w], n);
}

static const struct disruption *disrupted(size_t n)
{
	assert_int_equal(answer.cumulative.disruptions, n);
	assert_int_equal(answer.disruption_count, n);
	return answer.disruptions;
}

static double at_s(uint64_t ns)
{
	return (double)((int64_t)(ns / 1000) - T0_US) / 1e6;
}

/* 5 s of boot, ten steps of 2 s, end. */
#define BOOT "start 0; init 1 2; prep 2 4; load 4 5;"

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
	tell("start 0; step 0 5; step 1 13; step 2 16; step 3 19; start 40; step 2 45; step 3 53; step 4 56; "
	     "end 59",
	     NEVER); /* of four times two began a run */
	bad(BADPUT_STARTUP, 5 + 5 + 5 + 5);
	good(15);
	tell("start 0; steps 0 9 5 2; save 8 1; end 25",
	     NEVER); /* a shorter step makes no startup of the others */
	good(19);
	tell("start 0; step 0 5; end 35", NEVER); /* nothing to compare it with */
	good(30);
	tell("start 0; steps 0 8 5 2; step 9 121; end 123", NEVER); /* a slow step: 20 s are a step's */
	bad(BADPUT_HANG, 100);					    /* without a word */
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
	tell("start 0; steps 0 9 5 2; save 19 1; save 24 3; start 100; steps 6 15 110 2; end 130", NEVER);
	bad(BADPUT_SAVE, 0 + 0);
	bad(BADPUT_WASTED, 7);
	bad(BADPUT_RECOVERY, 76);
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
	tell("start 0; steps 0 9 5 2; start 100; init 101 110; start 150; init 151 160; start 200; init 201 "
	     "210;"
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
	tell("start 0; start 0.3; start 0; step 0 5; step 0 5.1; step 1 7; step 1 7; step 2 9; step 2 9.9; "
	     "step 3 11;"
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
	tell("start 0; steps 0 8 5 2; start 100; step 9 23; step 7 112; step 6 110; steps 8 15 114 2; end "
	     "130",
	     NEVER);
	assert_int_equal(disrupted(1)->resumed_step, 6);
	bad(BADPUT_WASTED, 6);
	good(12 + 20);
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
	tell("start 0; step 0 5; step 10 25; step 20 45; step 30 65; start 100; step 25 110; step 35 130; "
	     "end 132",
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
}

static void test_phases(void **state)
{
	(void)state;
	ideal_us = 2000000;
	tell("start 0; steps 0 9 5 2; load 8 9; load 12.5 13.5; end 25", NEVER); /* inside, and across */
	bad(BADPUT_LOAD_SYNC, 2);
	bad(BADPUT_LOAD_ASYNC, 0);
	good(18);
	tell("start 0; lost I 1; lost P 3; steps 0 9 5 2; lost L 8; lost L 10.5; end 25", NEVER);
	warned(WARN_OPEN, 4);
	bad(BADPUT_INIT, 4); /* until the step: it outranks what was begun in it */
	bad(BADPUT_PREP, 0);
	bad(BADPUT_LOAD_SYNC, 0.5);
	tell("start 0; finish A 3; steps 0 9 5 2; begin A 20; begin A 22", 40); /* alive, and in it */
	warned(WARN_ORPHANS, 1);
	warned(WARN_OPEN, 2);
	bad(BADPUT_CUSTOM, 18);
	tell("start 0; steps 0 9 5 2; begin A 22; start 100; steps 10 19 110 2; end 130",
	     NEVER); /* dead: until its last sign */
	bad(BADPUT_CUSTOM, 1);
	ideal_us = 0;
}

static void test_custom(void **state)
{
	(void)state;
	ideal_us = 2000000;
	tell("start 0; steps 0 9 5 2; custom A 6 12; custom B 7 8; custom C 11 14; end 25", NEVER);
	bad(BADPUT_CUSTOM, 8);
	assert_int_equal(answer.cumulative.custom_count, 3);
	assert_seconds(answer.cumulative.custom[0].s, 4); /* A: 6-7, 8-11 */
	assert_seconds(answer.cumulative.custom[1].s, 1);
	assert_seconds(answer.cumulative.custom[2].s, 3); /* begun last: 11-14 */
	good(12);
	warned(WARN_MERGED, 0);
	ideal_us = 0;
}

static void test_checkpoints(void **state)
{
	struct goodput_query q = {.now_us = GOODPUT_UNKNOWN};
	struct goodput_record r = script_record(GOODPUT_SAVE, 12);
	void *e;

	(void)state;
	ideal_us = 2000000;
	/* Two hosts, and a local copy. */
	tell("start 0; restore 1 2; restore 2 2; steps 0 9 5 2; save 9 1; save 9 1.5; save 9.5 2; save 15; "
	     "end 25",
	     NEVER);
	bad(BADPUT_RESTORE, 3);
	bad(BADPUT_SAVE, 2.5);
	warned(WARN_NULLS, 1);
	good(17.5);
	/* Without a start it ends when it was written. */
	e = goodput_closed.create(&q, NULL, NULL);
	script_tell("start 0; steps 0 3 5 2", feed, e);
	r.time_us = GOODPUT_UNKNOWN;
	r.duration_us = 3000000;
	r.written = true;
	feed(e, &r);
	script_tell("steps 4 9 13 2; end 25", feed, e);
	goodput_answer_free(&answer);
	goodput_closed.answer(e, &answer);
	goodput_closed.destroy(e);
	bad(BADPUT_SAVE, 3);
	assert_seconds(answer.step_times[1].s, 2); /* 7-9; 9-12 is the save's */
	assert_seconds(answer.step_times[2].s, 0);
	assert_seconds(answer.step_times[3].s, 1);
	ideal_us = 0;
}

static void test_elastic(void **state)
{
	struct goodput_query q = {.now_us = GOODPUT_UNKNOWN, .elastic = true};

	(void)state;
	ask("start 0; slices 0 2 4 4; steps 0 9 5 2; wait D 6 9; wait U 12 14; reinit 14 16; init 14.5 15; "
	    "slices 15 4 4 4; end 25",
	    &q);
	bad(BADPUT_SLICE_DOWN, 3);
	bad(BADPUT_SCALE_UP, 2);
	bad(BADPUT_REINIT, 2);
	bad(BADPUT_INIT, 0);
	good(13);
	assert_true(answer.cumulative.has_slices);
	assert_seconds(answer.cumulative.stepping_efficiency, (15 * 0.5 + 10) / 25);
	assert_seconds(answer.cumulative.available_efficiency, 1);
}

static void test_hang(void **state)
{
	(void)state;
	tell(BOOT "steps 0 9 5 2", 23 + 29); /* five times 2 s, but 30 s at least */
	bad(BADPUT_HANG, 0);
	tell(BOOT "steps 0 9 5 2", 23 + 31); /* and then from its first instant */
	bad(BADPUT_HANG, 31);
	tell(BOOT "steps 0 9 5 2; step 10 70; steps 11 20 72 2; end 92", NEVER);
	bad(BADPUT_HANG, 47);
	tell(BOOT "steps 0 9 5 2; begin E 24", 24 + 1700); /* it says what it does */
	bad(BADPUT_HANG, 0);
	tell("start 0; init 1 2", 1700);
	bad(BADPUT_HANG, 0);
	tell("start 0; init 1 2", 2000);
	bad(BADPUT_HANG, 1998);
	tell("start 0; steps 0 9 5 1000", 5 + 9000 + 2900); /* steps that are longer than all limits */
	bad(BADPUT_HANG, 0);
	tell("start 0; step 0 5; step 100 205; step 200 405; step 300 605; step 400 805", 1005);
	bad(BADPUT_HANG, 0); /* a word every hundred steps */
}

static void test_insane(void **state)
{
	(void)state;
	tell("start 0; step 0 5; raw 1 1000000; step 1 7; raw 2 4102444800000000; step 2 9; end 11", NEVER);
	warned(WARN_INSANE, 2);
	good(6);
	assert_seconds(answer.cumulative.total_s, 11);
	tell("start 0; step -1 4; steps 0 9 5 2; raw 5 4102444800000000", NEVER); /* the last one */
	warned(WARN_INSANE, 2);
	assert_seconds(answer.cumulative.total_s, 23);
	tell("raw 5 4102444800000000; start 0; steps 0 9 5 2; end 25", NEVER); /* the first one */
	warned(WARN_INSANE, 1);
	assert_seconds(answer.cumulative.total_s, 25);
	tell("start 0; steps 0 9 5 2; start 3e7; steps 10 19 3.00001e7 2; end 3.000012e7",
	     NEVER); /* a year later */
	warned(WARN_INSANE, 0);
	good(40);
}

static void test_parts(void **state)
{
	static const struct goodput_span windows[] = {{T0_US, T0_US + 15000000},
						      {T0_US + 15000000, T0_US + 60000000},
						      {T0_US - 50000000, T0_US - 10000000}};
	static const struct goodput_span cuts[] = {{T0_US + 30000000, T0_US + 40000000},
						   {T0_US + 2000000, T0_US + 7000000},
						   {T0_US + 5000000, T0_US + 9000000}};
	struct goodput_query q = {.now_us = script_us(60),
				  .windows = windows,
				  .window_count = 3,
				  .excludes = cuts,
				  .exclude_count = 3};
	int64_t at[] = {script_us(14.5), script_us(60), script_us(-5)};

	(void)state;
	ask("start 0; steps 0 9 5 2", &q);
	assert_seconds(answer.windows[0].total_s, 15);
	assert_seconds(answer.windows[0].productive_s, 10);
	assert_int_equal(answer.windows[0].max_productive_step, 4);
	assert_seconds(answer.windows[1].total_s, 45); /* silence counts */
	assert_seconds(answer.windows[1].productive_s, 8);
	assert_seconds(answer.windows[1].badput_s[BADPUT_HANG], 37);
	assert_seconds(answer.windows[2].total_s, 0);
	assert_true(answer.has_excluded);
	assert_seconds(answer.excluded.excluded_s, 17);
	assert_seconds(answer.excluded.adjusted_s, 43);
	assert_seconds(answer.excluded.productive_s, 14);
	assert_seconds(answer.excluded.badput_s[BADPUT_HANG], 27);
	q = (struct goodput_query){.now_us = script_us(60), .at_us = at, .at_count = 3};
	ask("start 0; steps 0 9 5 2", &q);
	assert_seconds(answer.at[0].total_s, 14.5);
	assert_seconds(answer.at[0].productive_s, 8); /* the fifth was in flight then */
	assert_seconds(answer.at[1].badput_s[BADPUT_HANG], 37);
	assert_seconds(answer.at[2].total_s, 0);
}

static int teardown(void **state)
{
	(void)state;
	goodput_answer_free(&answer);
	return 0;
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
		cmocka_unit_test(test_phases),	     cmocka_unit_test(test_custom),
		cmocka_unit_test(test_checkpoints),  cmocka_unit_test(test_elastic),
		cmocka_unit_test(test_hang),	     cmocka_unit_test(test_insane),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
