/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of training loop, as its step ranges show it. */
#include "tests/unit/step_run.h"

static void test_plain(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	plain_steps(&r, 300);
	assert_int_equal(state_of(&r, 0).state, STATE_LOCKED);
	assert_int_equal(state_of(&r, 0).tier, TIER_A);
	assert_string_equal(state_of(&r, 0).ratios, "backward:1 fetch:1 zero_grad:1");
	assert_string_equal(state_of(&r, 0).marker, "Optimizer.step#SGD");
	fetch(&r); /* the loader says that the epoch is over */
	run_close(&r);
	check_steps(&r, 0, 300);
	assert_int_equal(r.steps[0].start_ns, 5 * SEC);
	assert_int_equal(r.steps[299].end_ns, r.true_end_ns);
	assert_int_equal(r.steps[7].micro_batches, 1);
	assert_int_equal(r.steps[7].boundary, BOUNDARY_UPDATE_EXIT);
	assert_int_equal(r.steps[7].flags, 0);
}

static void test_short(void **state)
{
	struct run r;

	(void)state;
	for (uint32_t n = 1; n <= 5; n++) {
		run_open(&r, plain);
		plain_steps(&r, n);
		run_close(&r);
		check_steps(&r, 0, n);
	}
}

/* The lock comes with the third update; nothing before it, everything from then on. */
static void test_lock(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	plain_steps(&r, 2);
	assert_int_equal(r.n, 0);
	assert_int_equal(state_of(&r, 0).state, STATE_LEARNING);
	plain_steps(&r, 1);
	fetch(&r);
	assert_int_equal(r.n, 3);
	run_close(&r);
	check_steps(&r, 0, 3);
}

static void test_accumulation(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 202; i++) {
		for (uint32_t k = 0; k < (i % 101 == 100 ? 2 : 4); k++) {
			fetch(&r);
			backward(&r);
		}
		update(&r, 1, 1);
		zero_grad(&r, 1);
		if (i % 101 == 100)
			fetch(&r);
	}
	run_close(&r);
	check_steps(&r, 0, 202);
	assert_int_equal(r.steps[1].micro_batches, 4);
	assert_int_equal(r.steps[100].micro_batches, 2);
}

/* No sign of an optimizer before 32 backwards: they must not be taken for steps. */
static void test_accumulation_long(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 10; i++) {
		for (uint32_t k = 0; k < 32; k++) {
			fetch(&r);
			backward(&r);
		}
		update(&r, 1, 1);
	}
	run_close(&r);
	check_steps(&r, 0, 10);
}

static void gan(struct run *r, uint32_t steps, uint32_t critics, bool fetch_each, uint64_t d,
		uint64_t g)
{
	for (uint32_t i = 0; i < steps; i++) {
		for (uint32_t k = 0; k < critics; k++) {
			if (!k || fetch_each)
				fetch(r);
			zero_grad(r, 1);
			backward(r);
			update(r, 1, d);
		}
		zero_grad(r, 1);
		backward(r);
		update(r, 1, g);
	}
}

static void test_gan(void **state)
{
	struct run r;

	(void)state;
	for (uint64_t ident = 0; ident < 2; ident++) { /* for-loop optimizers show none */
		run_open(&r, plain);
		gan(&r, 200, 1, true, ident * 7, ident * 8);
		assert_int_equal(state_of(&r, 0).period, 2);
		run_close(&r);
		check_steps(&r, 0, 200);
		assert_int_equal(r.steps[100].updates, 2);
		assert_int_equal(r.steps[199].end_ns, r.true_end_ns);
	}
	for (uint32_t n = 1; n < 6; n++) {
		run_open(&r, plain);
		gan(&r, n, 1, true, 7, 8);
		run_close(&r);
		check_steps(&r, 0, n);
	}
}

static void test_gan_one_batch(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	gan(&r, 200, 5, false, 7, 8);
	run_close(&r);
	check_steps(&r, 0, 200);
	assert_int_equal(r.steps[100].updates, 6);
}

/* Authors count this one differently: critics' updates are counted, and it is said. */
static void test_gan_ambiguous(void **state)
{
	struct run r;
	struct step_state st;

	(void)state;
	run_open(&r, plain);
	gan(&r, 200, 5, true, 7, 8);
	st = state_of(&r, 0);
	run_close(&r);
	check_steps(&r, 0, 1000);
	assert_true(r.steps[900].flags & STEP_ambiguous);
	assert_int_equal(st.period, 6);
	assert_non_null(strstr(
		st.reason,
		"--multiply 6 if 6 updates make a step; 2 optimizers take turns, only the 5 by one optimizer count"));
	run_open(&r, (struct step_config){.from_start = true, .multiply = 6});
	gan(&r, 200, 5, true, 7, 8);
	run_close(&r);
	check_steps(&r, 0, 200);
}

static void test_two_optimizers(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		fetch(&r);
		backward(&r);
		update(&r, 1, 7);
		update(&r, 2, 8);
	}
	run_close(&r);
	check_steps(&r, 0, 200);
	assert_int_equal(r.steps[50].updates, 2);
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		fetch(&r);
		backward(&r);
		update(&r, 1, 7);
		if (i % 2)
			update(&r, 2, 8);
	}
	run_close(&r);
	check_steps(&r, 0, 200);
	assert_int_equal(r.steps[199].end_ns, r.true_end_ns);
}

static void test_optimizer_in_backward(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		fetch(&r);
		backward(&r);
		for (uint64_t k = 0; k < 300; k++) {
			update(&r, 1, k);
			zero_grad(&r, 1);
		}
	}
	run_close(&r);
	check_steps(&r, 0, 200);
	assert_int_equal(r.steps[150].updates, 300);
}

static void test_lbfgs(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t begin_ns = r.now_ns;

		update_begin(&r, 1);
		for (uint32_t k = 0; k < 6; k++) {
			zero_grad(&r, 1);
			backward(&r);
		}
		update_end(&r, 1, 0, begin_ns);
		pass(&r, 10 * US);
	}
	run_close(&r);
	check_steps(&r, 0, 100);
	assert_int_equal(r.steps[9].micro_batches, 6);
}

static void test_nested_optimizer(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t begin_ns;

		backward(&r);
		begin_ns = r.now_ns;
		update_begin(&r, 1);
		tell(&r, (struct signal){.kind = SIGNAL_UPDATE_BEGIN, .name = 2, .depth = 1});
		pass(&r, 90 * US);
		tell(&r, (struct signal){.kind = SIGNAL_UPDATE, .name = 2, .depth = 1});
		pass(&r, 5 * US);
		update_end(&r, 1, 0, begin_ns);
		pass(&r, 5 * US);
	}
	run_close(&r);
	check_steps(&r, 0, 200);
	assert_int_equal(r.steps[100].updates, 1);
}

static void test_amp(void **state)
{
	struct run r;
	uint32_t skipped = 0;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 300; i++) {
		zero_grad(&r, 1);
		backward(&r);
		if (i % 40)
			update(&r, 1, 1);
		tell(&r, (struct signal){.kind = SIGNAL_AMP});
		pass(&r, 10 * US);
	}
	run_close(&r);
	check_steps(&r, 0, 292);
	for (uint32_t i = 0; i < r.n; i++)
		skipped += !!(r.steps[i].flags & STEP_skipped_update);
	assert_int_equal(skipped, 8);
	assert_int_equal(r.steps[0].number, 0);
}

/* An average of the parameters is kept with an operator that optimizers use, too: after steps that
 * overflowed as well. */
static void test_amp_average(void **state)
{
	struct run r;
	uint32_t skipped;

	(void)state;
	for (int first = 1; first <= 2; first++) {
		skipped = 0;
		run_open(&r, plain);
		for (int i = 1; i <= 50; i++) {
			zero_grad(&r, 1);
			backward(&r);
			if (i < first || i > first + 2)
				update(&r, 1, 1);
			tell(&r, (struct signal){.kind = SIGNAL_AMP});
			tell(&r, (struct signal){.kind = SIGNAL_PARAM_OP, .ident = 9});
			pass(&r, 10 * US);
		}
		run_close(&r);
		check_steps(&r, 0, 47);
		for (uint32_t i = 0; i < r.n; i++)
			skipped += !!(r.steps[i].flags & STEP_skipped_update);
		assert_int_equal(skipped, 3);
		assert_int_equal(r.steps[0].number, first - 1);
	}
}

static void test_inference(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 600; i++)
		fetch(&r);
	assert_int_equal(state_of(&r, 0).state, STATE_STARTING);
	run_close(&r);
	assert_int_equal(r.n, 0);
}

/* Evolution strategies: no backward at all. */
static void test_no_backward(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 80; i++) {
		update(&r, 1, 1);
		pass(&r, 5 * MS);
	}
	run_close(&r);
	check_steps(&r, 0, 80);
}

static void test_plain_then_gan(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	plain_steps(&r, 50);
	gan(&r, 50, 1, true, 7, 8);
	plain_steps(&r, 50);
	run_close(&r);
	check_steps(&r, 0, 150);
}

static void test_evaluation(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 20; i++) {
		plain_steps(&r, 10);
		for (uint32_t k = 0; k < 12; k++)
			fetch(&r);
	}
	run_close(&r);
	check_steps(&r, 0, 200);
}

static void test_late_attach(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, (struct step_config){0});
	pass(&r, 30 * US);
	update_end(&r, 1, 0x1000, r.now_ns); /* began before we came, say */
	zero_grad(&r, 1);
	plain_steps(&r, 100);
	assert_true(state_of(&r, 0).since_attach);
	run_close(&r);
	check_steps(&r, 0, 101);
	/* a GAN, in the middle of a step */
	run_open(&r, (struct step_config){0});
	backward(&r);
	update(&r, 1, 8);
	gan(&r, 50, 1, true, 7, 8);
	run_close(&r);
	check_steps(&r, 0, 51);
}

static void test_loss(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	plain_steps(&r, 50);
	fetch(&r);
	tell(&r, (struct signal){.kind = SIGNAL_LOSS, .count = 3});
	backward(&r);
	update(&r, 1, 0x1000);
	plain_steps(&r, 50);
	run_close(&r);
	check_steps(&r, 0, 101);
	assert_true(r.steps[50].flags & STEP_tainted);
	assert_int_equal(r.steps[49].flags, 0);
	assert_int_equal(r.steps[52].flags, 0);
}

/* What joins an update after a second of silence makes no new step. */
static void test_tick(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	plain_steps(&r, 10);
	fetch(&r);
	backward(&r);
	update(&r, 1, 0x1000);
	assert_int_equal(r.n, 10);
	pass(&r, 3 * SEC);
	assert_int_equal(r.n, 11);
	update(&r, 1, 0x1000);
	plain_steps(&r, 10);
	assert_int_equal(state_of(&r, 0).updates, 22);
	pass(&r, 31 * SEC);
	assert_int_equal(state_of(&r, 0).state, STATE_SUSPECT);
	run_close(&r);
	check_steps(&r, 0, 21);
}

/* Whatever comes: no crash, numbers in order, bounded memory. */
static void test_garbage(void **state)
{
	struct run r;
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (uint32_t seed = 0; seed < 4; seed++) {
		run_open(&r, (struct step_config){.from_start = seed & 1,
						  .force = seed == 3 ? BOUNDARY_ZERO_GRAD : 0});
		for (uint32_t i = 0; i < 250000; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			r.now_ns += x % 3000000;
			r.n = 0;
			tell(&r, (struct signal){
					 .kind = (enum signal_kind)((x >> 8 & 31) % SIGNAL_EXIT),
					 .tid = 1 + (uint32_t)(x >> 16 & (seed == 2 ? 3 : 127)),
					 .name = x >> 24 & 3,
					 .ident = x >> 28 & 3,
					 .depth = x >> 32 & 15 ? 0 : 1,
					 .outer = x >> 40 & 1,
					 .count = x >> 44 & 3,
					 .tainted = !(x >> 48 & 15),
				 });
		}
		r.n = 0;
		run_close(&r);
	}
}

/* Nobody watched in the middle of a step: the group before it is done, the step is tainted, and
 * what was not seen is not silence. */
static void test_gap(void **state)
{
	uint64_t from_ns;
	struct run r;

	(void)state;
	run_open(&r, plain);
	plain_steps(&r, 10);
	fetch(&r);
	backward(&r);
	update(&r, 1, 0x1000);
	from_ns = r.now_ns;
	r.now_ns += 90 * SEC;
	tell(&r, (struct signal){.kind = SIGNAL_GAP, .begin_ns = from_ns});
	assert_int_equal(r.n, 11); /* what comes cannot join it */
	assert_int_equal(state_of(&r, 0).state, STATE_LOCKED);
	update(&r, 1, 0x1000); /* whose backward was not seen */
	plain_steps(&r, 10);
	pass(&r, 29 * SEC);
	assert_int_equal(state_of(&r, 0).state, STATE_LOCKED);
	pass(&r, 2 * SEC);
	assert_int_equal(state_of(&r, 0).state, STATE_SUSPECT);
	run_close(&r);
	check_steps(&r, 0, 22);
	for (uint32_t i = 0; i < r.n; i++)
		assert_int_equal(r.steps[i].flags & STEP_tainted, i == 11 ? STEP_tainted : 0);
	assert_true(r.steps[11].end_ns - r.steps[11].start_ns > 90 * SEC);
}

/* A search for a learning rate, then an optimizer anew: all are steps, and the reason says so. */
static void test_optimizer_anew(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, (struct step_config){.from_start = true});
	tell(&r, (struct signal){.kind = SIGNAL_OPTIMIZER});
	plain_steps(&r, 50);
	assert_string_equal(state_of(&r, 0).reason, "");
	tell(&r, (struct signal){.kind = SIGNAL_OPTIMIZER});
	plain_steps(&r, 50);
	assert_non_null(strstr(state_of(&r, 0).reason, "an optimizer was made after some "));
	run_close(&r);
	assert_int_equal(r.n, 100);
	assert_true(r.steps[0].optimizer == r.steps[40].optimizer &&
		    r.steps[60].optimizer == r.steps[99].optimizer);
	assert_true(r.steps[0].optimizer != r.steps[99].optimizer); /* of the same class */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_optimizer_anew),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_accumulation),
		cmocka_unit_test(test_accumulation_long),
		cmocka_unit_test(test_gan),
		cmocka_unit_test(test_gan_one_batch),
		cmocka_unit_test(test_gan_ambiguous),
		cmocka_unit_test(test_two_optimizers),
		cmocka_unit_test(test_optimizer_in_backward),
		cmocka_unit_test(test_lbfgs),
		cmocka_unit_test(test_nested_optimizer),
		cmocka_unit_test(test_amp),
		cmocka_unit_test(test_amp_average),
		cmocka_unit_test(test_inference),
		cmocka_unit_test(test_no_backward),
		cmocka_unit_test(test_plain_then_gan),
		cmocka_unit_test(test_evaluation),
		cmocka_unit_test(test_late_attach),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_tick),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_gap),
	};

	return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
