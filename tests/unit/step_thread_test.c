/* SPDX-License-Identifier: Apache-2.0 */
/* Training loops on several threads of one process. */
#include "tests/unit/step_run.h"

static void test_two_threads(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		r.tid = 101;
		backward(&r);
		r.tid = 102;
		backward(&r);
		r.tid = 101;
		update(&r, 1, 1);
		r.tid = 102;
		update(&r, 1, 2);
	}
	assert_int_equal(state_of(&r, 1).loops, 2);
	run_close(&r);
	check_steps(&r, 0, 200);
	check_steps(&r, 1, 200);
}

/* An optimizer that is made is of either loop: it makes none of them another. */
static void test_optimizer_of_two(void **state)
{
	const struct step *last[2] = {NULL, NULL};
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		for (r.tid = 101; r.tid <= 102; r.tid++)
			backward(&r);
		if (i == 100)
			tell(&r, (struct signal){.kind = SIGNAL_OPTIMIZER});
		for (r.tid = 101; r.tid <= 102; r.tid++)
			update(&r, 1, r.tid);
	}
	run_close(&r);
	for (uint32_t i = 0; i < r.n; i++) {
		const struct step *s = &r.steps[i], **of = &last[s->loop];

		assert_true(!*of || s->optimizer == (*of)->optimizer);
		*of = s;
	}
}

/* One thread is much slower than the other. */
static void test_two_threads_uneven(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 60; i++) {
		r.tid = 101;
		backward(&r);
		for (uint32_t k = 0; k < 20; k++) {
			r.tid = 102;
			backward(&r);
			update(&r, 1, 2);
		}
		r.tid = 101;
		update(&r, 1, 1);
	}
	run_close(&r);
	for (uint32_t loop = 0; loop < 2; loop++)
		check_steps(&r, loop,
			    r.steps[0].loop == loop && r.steps[0].tid == 101 ? 60
			    : loop					     ? 60
									     : 1200);
}

static void test_two_loops_in_a_row(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	plain_steps(&r, 100);
	r.tid = 103;
	for (uint32_t i = 0; i < 80; i++) {
		fetch(&r);
		backward(&r);
		update(&r, 2, 0x2000);
	}
	run_close(&r);
	check_steps(&r, 0, 180);
}

/* Steps taken by a hook's or a pool's thread, which never runs a backward itself. */
static void test_hook_thread(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 200; i++) {
		r.tid = 100;
		fetch(&r);
		backward(&r);
		for (uint32_t k = 0; k < 4; k++) {
			r.tid = 200 + (i + k) % 3;
			update(&r, 1, k);
		}
	}
	run_close(&r);
	check_steps(&r, 0, 200);
}

/* Two loops, and a scheduler that interrupts them anywhere: bursts of random length, up to longest.
 * Each program is fetch, backward, update begun, update ended, zero_grad. */
static void scheduled(struct run *r, uint32_t seed, uint32_t longest, const uint32_t *steps)
{
	static const uint64_t op_ns[] = {60 * US, 250 * US, 10 * US, 130 * US, 30 * US};
	uint64_t x = 88172645463325252ull + seed * 7919ull, begin_ns[2] = {0};
	uint32_t at[2] = {0}, who = seed & 1;

	while (at[0] < 5 * steps[0] || at[1] < 5 * steps[1]) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		for (uint32_t burst = 1 + (uint32_t)(x % longest); burst; burst--) {
			r->tid = 101 + who;
			if (at[who] == 5 * steps[who])
				break;
			switch (at[who]++ % 5) {
			case 0:
				tell(r, (struct signal){.kind = SIGNAL_FETCH_BEGIN});
				break;
			case 1:
				tell(r, (struct signal){.kind = SIGNAL_BACKWARD, .outer = true});
				break;
			case 2:
				begin_ns[who] = r->now_ns;
				update_begin(r, 1 + who);
				break;
			case 3:
				update_end(r, 1 + who, 0, begin_ns[who]);
				break;
			default:
				tell(r, (struct signal){.kind = SIGNAL_ZERO_GRAD_BEGIN,
							.name = 1 + who});
			}
			pass(r, op_ns[at[who] % 5]);
		}
		who ^= 1;
	}
}

static uint32_t steps_of(const struct run *r, uint32_t loop)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n; i++)
		n += r->steps[i].loop == loop;
	return n;
}

static void test_any_schedule(void **state)
{
	static const uint32_t even[] = {200, 200}, uneven[] = {300, 90};
	struct run r;

	(void)state;
	for (uint32_t seed = 0; seed < 400; seed++) {
		uint32_t longest = 1 + seed % 50;
		const uint32_t *steps = seed % 3 ? even : uneven;
		uint32_t sum = steps[0] + steps[1], first;

		run_open(&r, plain);
		scheduled(&r, seed, longest, steps);
		run_close(&r);
		assert_int_equal(r.n, sum);
		first = r.steps[0].loop == (r.steps[0].tid == 101 ? 0 : 1) ? 0 : 1;
		check_steps(&r, 0, steps[first]);
		check_steps(&r, 1, steps[!first]);
		for (uint32_t i = 0; i < r.n; i++) {
			assert_int_equal(r.steps[i].flags, 0);
			assert_int_equal(r.steps[i].micro_batches, 1);
		}
	}
}

/* Bursts of some hundred steps: perhaps no step is ever interrupted. Nothing may get lost all the
 * same. */
static void test_long_bursts(void **state)
{
	static const uint32_t steps[] = {1500, 1500};
	struct run r;

	(void)state;
	for (uint32_t seed = 0; seed < 40; seed++) {
		run_open(&r, plain);
		scheduled(&r, seed, 2000, steps);
		run_close(&r);
		assert_int_equal(steps_of(&r, 0) + steps_of(&r, 1), 3000);
	}
}

/* Whole steps on whichever thread of a pool is free: one loop. */
static void test_pool(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	for (uint32_t i = 0; i < 300; i++) {
		r.tid = 101 + i * 7 % 4;
		fetch(&r);
		backward(&r);
		update(&r, 1, 0x1000);
	}
	assert_int_equal(state_of(&r, 0).loops, 1);
	run_close(&r);
	check_steps(&r, 0, 300);
}

/* A thread that goes on where another stopped is known as such while it runs. */
static void test_handover(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, plain);
	r.tid = 101;
	plain_steps(&r, 20);
	r.tid = 102;
	pass(&r, 2 * SEC);
	plain_steps(&r, 20);
	fetch(&r);
	assert_int_equal(r.n, 40);
	run_close(&r);
	check_steps(&r, 0, 40);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_optimizer_of_two),
		cmocka_unit_test(test_two_threads_uneven),
		cmocka_unit_test(test_two_loops_in_a_row),
		cmocka_unit_test(test_hook_thread),
		cmocka_unit_test(test_any_schedule),
		cmocka_unit_test(test_long_bursts),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_handover),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
