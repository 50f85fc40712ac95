/* SPDX-License-Identifier: Apache-2.0 */
/* Families of markers: each alone, and which one counts. */
#include "tests/unit/step_run.h"

/* zero_grad alone: called first, the last step has none after it; called last, it has. */
static void test_compiled_optimizer(void **state)
{
	struct run r;

	(void)state;
	for (int first = 0; first < 2; first++) {
		for (uint32_t n = 1; n <= 200; n = n < 6 ? n + 1 : n + 97) {
			run_open(&r, plain);
			for (uint32_t i = 0; i < n; i++) {
				fetch(&r);
				if (first)
					zero_grad(&r, 1);
				backward(&r);
				pass(&r, 100 * US);
				if (!first)
					zero_grad(&r, 1);
			}
			fetch(&r);
			run_close(&r);
			check_steps(&r, 0, n);
			assert_int_equal(r.steps[0].boundary, BOUNDARY_ZERO_GRAD);
		}
	}
}

/* An optimizer that steps once an epoch beside a compiled one; then a job whose ranges come
 * late. */
static void test_election_again(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		fetch(&r);
		zero_grad(&r, 1);
		backward(&r);
		if (i % 50 == 49)
			update(&r, 2, 2);
	}
	run_close(&r);
	check_steps(&r, 0, 200);
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		fetch(&r);
		zero_grad(&r, 1);
		backward(&r);
		if (i >= 100)
			update(&r, 1, 1);
	}
	run_close(&r);
	check_steps(&r, 0, 200);
	assert_int_equal(r.steps[199].boundary, BOUNDARY_UPDATE_EXIT);
}

static void test_manual(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 300; i++) {
		fetch(&r);
		backward(&r);
		pass(&r, 100 * US);
	}
	assert_int_equal(state_of(&r, 0).tier, TIER_B);
	assert_non_null(strstr(state_of(&r, 0).reason, "--multiply N"));
	run_close(&r);
	check_steps(&r, 0, 300);
	for (uint32_t n = 1; n < 9; n++) {
		run_open(&r, plain);
		for (uint32_t i = 0; i < n; i++)
			backward(&r);
		run_close(&r);
		check_steps(&r, 0, n > 1 ? n : 0);
	}
}

/* Each family alone. */
static void test_families(void **state)
{
	static const enum step_boundary families[] = {BOUNDARY_UPDATE_EXIT, BOUNDARY_ZERO_GRAD,
						      BOUNDARY_UPDATE_OP, BOUNDARY_REDUCER,
						      BOUNDARY_BACKWARD};
	struct run r;

	(void)state;
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
		run_open(&r, (struct step_config){.from_start = true, .force = families[f]});
		for (uint32_t i = 0; i < 100; i++) {
			fetch(&r);
			backward(&r);
			tell(&r, (struct signal){.kind = SIGNAL_REDUCER});
			pass(&r, 10 * US);
			tell(&r, (struct signal){.kind = SIGNAL_UPDATE_OP, .ident = 7});
			pass(&r, 10 * US);
			tell(&r, (struct signal){.kind = SIGNAL_UPDATE_OP, .ident = 8});
			update(&r, 1, 7);
			zero_grad(&r, 1);
		}
		run_close(&r);
		check_steps(&r, 0, 100);
		assert_int_equal(r.steps[30].boundary, families[f]);
	}
}

static void test_election(void **state)
{
	struct run r;

	(void)state;
	for (int ops = 0; ops < 2; ops++) {
		run_open(&r, plain);
		for (uint32_t i = 0; i < 100; i++) {
			fetch(&r);
			backward(&r);
			tell(&r, (struct signal){.kind = SIGNAL_REDUCER});
			pass(&r, 10 * US);
			if (ops)
				tell(&r, (struct signal){.kind = SIGNAL_UPDATE_OP, .ident = 7});
			pass(&r, 10 * US);
		}
		run_close(&r);
		check_steps(&r, 0, 100);
		assert_int_equal(r.steps[30].boundary, ops ? BOUNDARY_UPDATE_OP : BOUNDARY_REDUCER);
	}
}

static void anon_range(struct run *r)
{
	tell(r, (struct signal){.kind = SIGNAL_ANON_RANGE});
	pass(r, 50 * US);
}

static void test_anonymous(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 100; i++) {
		anon_range(&r);
		backward(&r);
		anon_range(&r);
		anon_range(&r);
		if (i % 10 == 9) {
			for (uint32_t k = 0; k < 7; k++)
				anon_range(&r);
		}
	}
	run_close(&r);
	check_steps(&r, 0, 100);
	assert_int_equal(r.steps[5].tier, TIER_B);
	for (uint32_t steps = 1; steps < 41; steps += 13) {
		run_open(&r, plain);
		for (uint32_t i = 0; i < steps; i++) {
			for (uint32_t k = 0; k < 4; k++) {
				anon_range(&r);
				backward(&r);
			}
			anon_range(&r);
			anon_range(&r);
		}
		anon_range(&r);
		run_close(&r);
		check_steps(&r, 0, steps);
		assert_int_equal(r.steps[0].micro_batches, 4);
	}
}

static void test_anonymous_no_loader(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 50; i++) {
		for (uint32_t k = 0; k < 4; k++)
			backward(&r);
		anon_range(&r);
		anon_range(&r);
	}
	run_close(&r);
	check_steps(&r, 0, 50);
}

/* DDP's reducer opens ranges inside the backward, and its forward is one; with no_sync it is silent
 * for all but the last micro-batch. */
static void test_anonymous_ddp(void **state)
{
	struct run r;

	(void)state;
	for (uint32_t micro = 1; micro <= 3; micro += 2) {
		run_open(&r, plain);
		for (uint32_t i = 0; i < 60; i++) {
			anon_range(&r); /* zero_grad */
			for (uint32_t k = 0; k < micro; k++) {
				anon_range(&r); /* next */
				anon_range(&r); /* forward */
				backward(&r);
				if (k + 1 < micro)
					continue;
				anon_range(&r);
				if (i == 1)
					anon_range(&r);
				tell(&r, (struct signal){.kind = SIGNAL_REDUCER});
			}
			anon_range(&r); /* step */
		}
		run_close(&r);
		check_steps(&r, 0, 60);
		assert_int_equal(r.steps[40].micro_batches, micro);
		assert_int_equal(r.steps[40].tier, TIER_B);
	}
}

/* Two loops; and a thread that only runs the nested passes of the first one (as a GPU's does). */
static void test_anonymous_threads(void **state)
{
	struct run r;

	(void)state;
	for (int nested = 0; nested < 2; nested++) {
		run_open(&r, plain);
		for (uint32_t i = 0; i < 100; i++) {
			for (r.tid = 101; r.tid <= 102; r.tid++) {
				if (r.tid == 102 && nested)
					break;
				anon_range(&r);
				anon_range(&r);
			}
			for (r.tid = 101; r.tid <= 102; r.tid++)
				backward(&r);
			r.tid = 101;
			anon_range(&r);
			r.tid = 102;
			if (!nested)
				anon_range(&r);
		}
		if (!nested)
			assert_int_equal(state_of(&r, 0).loops, 2);
		run_close(&r);
		check_steps(&r, 0, 100);
		assert_int_equal(r.n, nested ? 100 : 200);
	}
}

/* A closure: zero_grad and backward inside the step's range, whose end is not seen. */
static void test_anonymous_closure(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 40; i++) {
		anon_range(&r); /* next */
		anon_range(&r); /* step */
		for (uint32_t k = 0; k < 4; k++) {
			anon_range(&r);
			backward(&r);
		}
	}
	run_close(&r);
	check_steps(&r, 0, 40);
	assert_true(r.steps[39].flags & STEP_imputed);
}

static void operators(struct run *r, uint32_t micro_batches, enum signal_kind kind, uint64_t ident)
{
	for (uint32_t k = 0; k < micro_batches; k++)
		backward(r);
	tell(r, (struct signal){.kind = kind, .ident = ident});
	pass(r, 100 * US);
}

/* No ranges at all: an optimizer's operators tell updates from micro-batches, and optimizers from
 * each other. */
static void test_operators(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++)
		operators(&r, 4, SIGNAL_UPDATE_OP, 7);
	st = state_of(&r, 0);
	run_close(&r);
	check_steps(&r, 0, 200);
	assert_int_equal(r.steps[100].micro_batches, 4);
	assert_int_equal(r.steps[100].flags, 0);
	assert_int_equal(st.tier, TIER_A);
	run_open(&r, plain);
	for (uint32_t i = 0; i < 600; i++)
		operators(&r, 1, SIGNAL_UPDATE_OP, 7 + i % 3);
	run_close(&r);
	check_steps(&r, 0, 200);
}

/* Others use the operator of SGD, too: without micro-batches it may be of anything. */
static void test_operators_shared(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	for (uint32_t micro_batches = 1; micro_batches <= 4; micro_batches += 3) {
		run_open(&r, plain);
		for (uint32_t i = 0; i < 200; i++)
			operators(&r, micro_batches, SIGNAL_PARAM_OP, 7);
		st = state_of(&r, 0);
		run_close(&r);
		check_steps(&r, 0, 200);
		assert_int_equal(!!(r.steps[150].flags & STEP_ambiguous), micro_batches == 1);
		assert_int_equal(strstr(st.reason, "--multiply N") != NULL, micro_batches == 1);
		assert_int_equal(st.confidence < 0.8, micro_batches == 1);
	}
}

/* Adam, then SGD; Adam and SGD in turns; Adam until it is compiled. */
static void test_operators_change(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++)
		operators(&r, 1, i < 100 ? SIGNAL_UPDATE_OP : SIGNAL_PARAM_OP, 7);
	run_close(&r);
	check_steps(&r, 0, 200);
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++)
		operators(&r, 1, i % 2 ? SIGNAL_PARAM_OP : SIGNAL_UPDATE_OP, 7 + i % 2);
	assert_non_null(strstr(state_of(&r, 0).reason, "others (SGD's?)"));
	run_close(&r);
	run_open(&r, plain);
	operators(&r, 1, SIGNAL_UPDATE_OP, 7);
	for (uint32_t i = 0; i < 29; i++)
		backward(&r);
	run_close(&r);
	check_steps(&r, 0, 30);
	assert_true(r.steps[20].flags & STEP_ambiguous);
}

/* Backward passes alone may be micro-batches: four of a step, told as four steps, are not sure. */
static void test_backwards_doubt(void **state)
{
	struct step_state st;
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 400; i++)
		backward(&r);
	tell(&r, (struct signal){.kind = SIGNAL_EXIT});
	st = state_of(&r, 0);
	step_finder_free(r.sf);
	check_steps(&r, 0, 400);
	assert_true(st.confidence < 0.8);
	assert_non_null(strstr(st.reason, "--multiply N if a step takes N micro-batches"));
	assert_true(r.steps[300].flags & STEP_ambiguous);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compiled_optimizer),
		cmocka_unit_test(test_election_again),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_election),
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_operators_shared),
		cmocka_unit_test(test_operators_change),
		cmocka_unit_test(test_backwards_doubt),
		cmocka_unit_test(test_anonymous),
		cmocka_unit_test(test_anonymous_no_loader),
		cmocka_unit_test(test_anonymous_ddp),
		cmocka_unit_test(test_anonymous_closure),
		cmocka_unit_test(test_anonymous_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
