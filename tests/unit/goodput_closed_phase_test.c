/* SPDX-License-Identifier: Apache-2.0 */
/* One small log for each rule of account/closed/closed.h about phases, silence and what is asked,
 * worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/goodput_ask.h"

static void test_phases(void **state)
{
	(void)state;
	ideal_us = 2000000;
	tell("start 0; steps 0 9 5 2; load 8 9; load 12.5 13.5; end 25",
	     NEVER); /* inside, and across */
	bad(BADPUT_LOAD_SYNC, 2);
	bad(BADPUT_LOAD_ASYNC, 0);
	good(18);
	tell("start 0; lost I 1; lost P 3; steps 0 9 5 2; lost L 8; lost L 10.5; end 25", NEVER);
	warned(WARN_OPEN, 4);
	bad(BADPUT_INIT, 4); /* until the step: it outranks what was begun in it */
	bad(BADPUT_PREP, 0);
	bad(BADPUT_LOAD_SYNC, 0.5);
	tell("start 0; finish A 3; steps 0 9 5 2; begin A 23.5; begin A 24",
	     40); /* alive, and in it */
	warned(WARN_ORPHANS, 1);
	warned(WARN_OPEN, 2);
	bad(BADPUT_CUSTOM, 16);
	tell("start 0; steps 0 9 5 2; begin A 6; end 25",
	     NEVER); /* over when the next step begins */
	bad(BADPUT_CUSTOM, 1);
	good(19);
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
	tell("start 0; steps 0 9 5 2; finish A 12; begin A 10; end 25",
	     NEVER); /* told in the wrong order */
	bad(BADPUT_CUSTOM, 2);
	warned(WARN_ORPHANS, 0);
	warned(WARN_OPEN, 0);
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
	tell("start 0; restore 1 2; restore 2 2; steps 0 9 5 2; save 9 1; save 9 1.5; save 9.5 2; save 15; end 25",
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
	ask("start 0; slices 0 2 4 4; steps 0 9 5 2; wait D 6 9; wait U 12 14; reinit 14 16; init 14.5 15; slices 15 4 4 4; end 25",
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
	tell("start 0; steps 0 9 5 1000",
	     5 + 9000 + 2900); /* steps that are longer than all limits */
	bad(BADPUT_HANG, 0);
	tell("start 0; step 0 5; step 100 205; step 200 405; step 300 605; step 400 805", 1005);
	bad(BADPUT_HANG, 0); /* a word every hundred steps */
}

static void test_insane(void **state)
{
	(void)state;
	tell("start 0; step 0 5; raw 1 1000000; step 1 7; raw 2 4102444800000000; step 2 9; end 11",
	     NEVER);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),	    cmocka_unit_test(test_custom),
		cmocka_unit_test(test_checkpoints), cmocka_unit_test(test_elastic),
		cmocka_unit_test(test_hang),	    cmocka_unit_test(test_insane),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
