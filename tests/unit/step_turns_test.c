/* SPDX-License-Identifier: Apache-2.0 */
/* Several optimizers of one class, each with its own backward, that fetch no batch: whose updates
 * are the steps. Where that cannot be known, each step is flagged and the reason names the
 * --multiply that would be right. */
#include <stdio.h>

#include "tests/unit/step_run.h"

enum { CRITIC = 7, ACTOR, TEMPERATURE };

/* One update of one of them: all are of class 1. */
static void turn(struct run *r, uint64_t ident)
{
	zero_grad(r, 1);
	backward(r);
	update(r, 1, ident);
}

static uint32_t flagged(const struct run *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n; i++)
		n += !!(r->steps[i].flags & STEP_ambiguous);
	return n;
}

/* The process ends; what is known of it stays. */
static struct step_state turns_end(struct run *r)
{
	struct step_state st;

	tell(r, (struct signal){.kind = SIGNAL_EXIT});
	st = state_of(r, 0);
	step_finder_free(r->sf);
	return st;
}

static void check_sure(const struct run *r, const struct step_state *st, uint32_t steps)
{
	check_steps(r, 0, steps);
	assert_int_equal(flagged(r), 0);
	assert_string_equal(st->reason, "");
	assert_true(st->confidence == 1);
}

/* early: updates before it shows that there is another optimizer. */
static void check_doubt(const struct run *r, const struct step_state *st, uint32_t steps,
			uint32_t early, const char *reason)
{
	check_steps(r, 0, steps);
	assert_true(flagged(r) + early >= steps);
	assert_int_equal(st->state, STATE_ENDED);
	assert_non_null(strstr(st->reason, "ambiguous: "));
	assert_non_null(strstr(st->reason, reason));
	assert_true(st->confidence < 0.95 && st->confidence >= STEP_CONFIDENCE);
}

/* Soft actor-critic, with its temperature learnt or fixed: one step is one update of each. */
static void test_each_once(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	for (uint64_t optimizers = 2; optimizers <= 16; optimizers++) {
		for (uint32_t steps = 1; steps <= 200;
		     steps = steps < 5 ? steps + 1 : steps + 195) {
			run_open(&r, plain);
			for (uint32_t i = 0; i < steps; i++) {
				for (uint64_t k = 0; k < optimizers; k++)
					turn(&r, CRITIC + k);
				pass(&r, 2 * MS);
			}
			st = turns_end(&r);
			check_sure(&r, &st, steps);
			assert_int_equal(r.steps[0].updates, optimizers);
		}
	}
}

/* Attached in the middle of a step. */
static void test_late(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, (struct step_config){0});
	turn(&r, TEMPERATURE);
	for (uint32_t i = 0; i < 100; i++) {
		for (uint64_t k = CRITIC; k <= TEMPERATURE; k++)
			turn(&r, k);
	}
	turns_end(&r);
	assert_in_range(r.steps[r.n - 1].number, 100, 101);
}

/* The actor follows every nth update of the critic. */
static void test_delayed(void **state)
{
	struct step_state st;
	struct run r;
	char reason[112];

	(void)state;
	for (uint32_t n = 2; n <= 24; n++) {
		run_open(&r, plain);
		for (uint32_t i = 1; i <= 300; i++) {
			turn(&r, CRITIC);
			if (i % n == 0)
				turn(&r, ACTOR);
		}
		st = turns_end(&r);
		snprintf(
			reason, sizeof(reason),
			"--multiply %u if %u updates make a step; 2 optimizers take turns, only the %u by one optimizer count",
			n + 1, n + 1, n);
		check_doubt(&r, &st, 300, n, n <= 31 ? reason : "no fixed order");
	}
}

/* ... with a batch from a loader for each step. */
static void test_delayed_loader(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 1; i <= 300; i++) {
		fetch(&r);
		turn(&r, CRITIC);
		if (i % 2 == 0)
			turn(&r, ACTOR);
	}
	st = turns_end(&r);
	check_doubt(&r, &st, 300, 2, "--multiply 3");
}

/* Three of unlike frequency; then by chance. */
static void test_rates(void **state)
{
	struct step_state st;
	uint32_t seed = 1;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 400; i++) {
		turn(&r, CRITIC);
		if (i % 2 == 1)
			turn(&r, ACTOR);
		if (i % 3 == 2)
			turn(&r, TEMPERATURE);
	}
	st = turns_end(&r);
	check_doubt(
		&r, &st, 400, 0,
		"--multiply 11 if 11 updates make a step; 3 optimizers take turns, only the 6 by one optimizer count");
	run_open(&r, plain);
	for (uint32_t i = 0; i < 400; i++) {
		turn(&r, CRITIC);
		seed = seed * 1103515245 + 12345;
		if (seed >> 16 & 1)
			turn(&r, ACTOR);
	}
	st = turns_end(&r);
	assert_in_range(r.steps[r.n - 1].number, 395,
			425); /* an order that it seemed to have at first */
	assert_non_null(strstr(st.reason, "no fixed order"));
}

/* The actor and the temperature at every second step, twice then. */
static void test_compensated(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 300; i++) {
		turn(&r, CRITIC);
		for (uint32_t k = 0; k < 2 * (i % 2); k++) {
			turn(&r, ACTOR);
			turn(&r, TEMPERATURE);
		}
	}
	st = turns_end(&r);
	check_doubt(&r, &st, 300, 0, "--multiply 6");
}

/* Four of one, then four of the other: a step is one of both, or all, or each. */
static void test_phases(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 40; i++) {
		for (uint32_t k = 0; k < 8; k++)
			turn(&r, k < 4 ? ACTOR : CRITIC);
	}
	st = turns_end(&r);
	check_doubt(
		&r, &st, 320, 24,
		"--multiply 2 if one update of each optimizer makes a step, 8 if the whole repeated sequence does");
	run_open(&r, (struct step_config){.from_start = true, .multiply = 8});
	for (uint32_t i = 0; i < 40; i++) {
		for (uint32_t k = 0; k < 8; k++)
			turn(&r, k < 4 ? ACTOR : CRITIC);
	}
	st = turns_end(&r);
	check_sure(&r, &st, 40);
}

/* ... of as many as there are optimizers on the average: no update of each. */
static void test_phases_uneven(void **state)
{
	static const uint64_t body[] = {CRITIC,	     CRITIC,	  ACTOR,
					TEMPERATURE, TEMPERATURE, TEMPERATURE};
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 240; i++)
		turn(&r, body[i % 6]);
	st = turns_end(&r);
	check_doubt(&r, &st, 240, 24, "--multiply 6 if 6 updates make a step; their order repeats");
}

/* One after a setup; then another follows it now and then. */
static void test_follower(void **state)
{
	uint32_t steps = 41;
	struct run r;

	(void)state;
	run_open(&r, plain);
	turn(&r, TEMPERATURE);
	for (uint32_t i = 0; i < 40; i++)
		turn(&r, CRITIC);
	turn(&r, ACTOR);
	for (uint32_t i = 0; i < 30; i++, steps++)
		turn(&r, CRITIC);
	turns_end(&r);
	check_steps(&r, 0, steps);
}

/* ... for long: forty of each. One batch for each update makes it a step. */
static void test_stages(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	for (int loader = 0; loader < 2; loader++) {
		run_open(&r, plain);
		for (uint32_t i = 0; i < 480; i++) {
			if (loader)
				fetch(&r);
			turn(&r, i / 40 % 2 ? ACTOR : CRITIC);
		}
		st = turns_end(&r);
		check_steps(&r, 0, 480);
		assert_int_equal(strstr(st.reason, "optimizers take turns, many updates each") !=
					 NULL,
				 !loader);
		assert_int_equal(flagged(&r) > 200, !loader);
		assert_int_equal(st.confidence < 0.95, !loader);
	}
}

/* First-order meta-learning: an optimizer lives for three updates. It is told of when it is made,
 * or what it updates lies elsewhere. */
static void test_inner_loop(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	for (int told = 0; told < 2; told++) {
		run_open(&r, plain);
		for (uint64_t task = 0; task < 60; task++) {
			if (told)
				tell(&r, (struct signal){.kind = SIGNAL_OPTIMIZER});
			for (uint32_t k = 0; k < 3; k++)
				turn(&r, told ? CRITIC : 1000 + task);
		}
		st = turns_end(&r);
		check_doubt(&r, &st, 180, 24, "--multiply");
		for (uint32_t i = 60; told && i < r.n; i++)
			assert_true(r.steps[i].optimizer == r.steps[59].optimizer);
	}
}

/* Five trainings one after the other, of 100 steps each: no inner loop. */
static void test_trainings(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint64_t fold = 0; fold < 5; fold++) {
		tell(&r, (struct signal){.kind = SIGNAL_OPTIMIZER});
		for (uint32_t i = 0; i < 100; i++) {
			fetch(&r);
			turn(&r, CRITIC);
		}
	}
	st = turns_end(&r);
	check_sure(&r, &st, 500);
	for (uint32_t i = 150; i < 500;
	     i++) /* the last step of a model may be given out after the next is made */
		assert_true(i % 100 >= 98 ||
			    (r.steps[i].optimizer == r.steps[i - i % 100 + 50].optimizer &&
			     r.steps[i].optimizer != r.steps[i - 100].optimizer));
}

/* Nothing tells optimizers of one class apart: one, or several of them. */
static void test_no_identity(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 100; i++)
		turn(&r, 0);
	st = turns_end(&r);
	check_doubt(&r, &st, 100, 0, "cannot be distinguished");
}

/* What told them apart is not sent any more: it is over the budget. */
static void test_identity_lost(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		for (uint64_t k = 0; k < 3; k++)
			turn(&r, i < 50 ? CRITIC + k : 0);
	}
	st = turns_end(&r);
	check_sure(&r, &st, 200);
}

/* ... of one optimizer: it still is the same. */
static void test_identity_lost_alone(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		fetch(&r);
		turn(&r, i < 50 ? CRITIC : 0);
	}
	turns_end(&r);
	check_steps(&r, 0, 200);
	for (uint32_t i = 1; i < 200; i++)
		assert_true(r.steps[i].optimizer == r.steps[0].optimizer);
}

/* ... or it is missing now and then: two updates of one, then one of the other. */
static void test_identity_missing(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	for (uint32_t each = 5; each <= 95; each += 6) {
		run_open(&r, plain);
		for (uint32_t i = 1; i <= 900; i++)
			turn(&r, i % each == 0 ? 0 : i % 3 ? CRITIC : ACTOR);
		st = turns_end(&r);
		check_doubt(
			&r, &st, 600, 3,
			"--multiply 3 if 3 updates make a step; 2 optimizers take turns, only the 2 by one optimizer count");
	}
	run_open(&r, plain);
	for (uint32_t i = 1, seed = 1; i <= 400; i++) { /* in no fixed order */
		turn(&r, i % 50 == 0 ? 0 : CRITIC);
		seed = seed * 1103515245 + 12345;
		if (seed >> 16 & 1)
			turn(&r, ACTOR);
	}
	st = turns_end(&r);
	assert_in_range(r.steps[r.n - 1].number, 398, 425);
}

/* A stage that could not be known, then one that is: the end says so. */
static void test_partly(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 80; i++)
		turn(&r, i % 8 < 4 ? ACTOR : CRITIC);
	for (uint32_t i = 0; i < 400; i++) {
		fetch(&r);
		turn(&r, CRITIC);
	}
	st = turns_end(&r);
	assert_non_null(
		strstr(st.reason, "ambiguous: how many updates make a step was not known in"));
	assert_true(flagged(&r) > 50 && flagged(&r) < 200);
	assert_true(st.confidence < 1 && st.confidence > 0.8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_delayed),
		cmocka_unit_test(test_delayed_loader),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_compensated),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_inner_loop),
		cmocka_unit_test(test_trainings),
		cmocka_unit_test(test_no_identity),
		cmocka_unit_test(test_phases_uneven),
		cmocka_unit_test(test_follower),
		cmocka_unit_test(test_identity_missing),
		cmocka_unit_test(test_identity_lost),
		cmocka_unit_test(test_identity_lost_alone),
		cmocka_unit_test(test_partly),
		cmocka_unit_test(test_stages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
