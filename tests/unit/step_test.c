/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of training loop as a stream of signals; what each shows was measured on real torch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/step.h"

#define US	  1000ull
#define MS	  1000000ull
#define SEC	  1000000000ull
#define STEPS_MAX 8192

struct run { /* a process that trains, as the finder is told of it */
	struct step_finder *sf;
	uint64_t now_ns;
	uint32_t tid;
	bool deaf_ranges, deaf_zero_grad; /* this torch shows none */
	uint64_t true_end_ns;		  /* of the last update */
	struct step steps[STEPS_MAX];
	uint32_t n;
};

static void run_open(struct run *r, struct step_config cfg)
{
	memset(r, 0, sizeof(*r));
	r->sf = step_finder_new(&cfg);
	assert_non_null(r->sf);
	r->now_ns = 5 * SEC;
	r->tid = 100;
}

static void run_drain(struct run *r)
{
	struct step s;

	while (step_finder_next(r->sf, &s)) {
		assert_true(r->n < STEPS_MAX);
		r->steps[r->n++] = s;
	}
}

static void tell(struct run *r, struct signal s)
{
	s.tid = s.tid ? s.tid : r->tid;
	s.ts_ns = r->now_ns;
	s.begin_ns = s.begin_ns ? s.begin_ns : r->now_ns;
	s.text = s.text ? s.text : "";
	assert_int_equal(step_finder_feed(r->sf, &s), 0);
	run_drain(r);
}

static void pass(struct run *r, uint64_t ns)
{
	while ((r->now_ns + ns) / SEC > r->now_ns / SEC) {
		uint64_t to = (r->now_ns / SEC + 1) * SEC;

		ns -= to - r->now_ns;
		r->now_ns = to;
		tell(r, (struct signal){.kind = SIGNAL_TICK});
	}
	r->now_ns += ns;
}

static void fetch(struct run *r)
{
	uint64_t begin_ns = r->now_ns;

	tell(r, (struct signal){.kind = SIGNAL_FETCH_BEGIN});
	pass(r, 50 * US);
	tell(r, (struct signal){.kind = SIGNAL_FETCH, .begin_ns = begin_ns});
	pass(r, 300 * US);
}

static void backward(struct run *r)
{
	tell(r, (struct signal){.kind = SIGNAL_BACKWARD, .outer = true});
	pass(r, 500 * US);
}

static void zero_grad(struct run *r, uint32_t name)
{
	uint64_t begin_ns = r->now_ns;

	if (!r->deaf_zero_grad)
		tell(r, (struct signal){.kind = SIGNAL_ZERO_GRAD_BEGIN, .name = name});
	pass(r, 20 * US);
	if (!r->deaf_zero_grad)
		tell(r, (struct signal){.kind = SIGNAL_ZERO_GRAD, .name = name, .begin_ns = begin_ns});
}

static void update_begin(struct run *r, uint32_t name)
{
	if (!r->deaf_ranges)
		tell(r, (struct signal){.kind = SIGNAL_UPDATE_BEGIN, .name = name, .text = "SGD"});
}

static void update_end(struct run *r, uint32_t name, uint64_t ident, uint64_t begin_ns)
{
	if (!r->deaf_ranges)
		tell(r, (struct signal){.kind = SIGNAL_UPDATE,
					.name = name,
					.ident = ident,
					.begin_ns = begin_ns,
					.text = "SGD"});
	r->true_end_ns = r->now_ns;
}

static void update(struct run *r, uint32_t name, uint64_t ident)
{
	uint64_t begin_ns = r->now_ns;

	update_begin(r, name);
	pass(r, 100 * US);
	update_end(r, name, ident, begin_ns);
	pass(r, 10 * US);
}

static void run_close(struct run *r)
{
	tell(r, (struct signal){.kind = SIGNAL_EXIT});
	step_finder_free(r->sf);
}

/* Numbers from 1, in order, adjacent, never backwards; per loop. Skipped ones take no number. */
static void check_steps(const struct run *r, uint32_t loop, uint32_t want)
{
	uint64_t number = 0, end_ns = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct step *s = &r->steps[i];

		if (s->loop != loop)
			continue;
		number += !(s->flags & STEP_skipped_update);
		assert_int_equal(s->number, number);
		assert_true(s->start_ns <= s->end_ns && (s->start_ns < s->end_ns || number == 1));
		if (end_ns)
			assert_int_equal(s->start_ns, end_ns);
		end_ns = s->end_ns;
	}
	assert_int_equal(number, want);
}

static struct step_state state_of(struct run *r, uint32_t loop)
{
	struct step_state st;

	assert_true(step_finder_state(r->sf, loop, &st, NULL));
	return st;
}

static const struct step_config plain = {.from_start = true};

/* ---- loops -------------------------------------------------------------------------------------- */

static void plain_steps(struct run *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fetch(r);
		backward(r);
		update(r, 1, 0x1000);
		zero_grad(r, 1);
	}
}

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

static void gan(struct run *r, uint32_t steps, uint32_t critics, bool fetch_each, uint64_t d, uint64_t g)
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

/* Authors count this one differently: updates are counted, and it is said. */
static void test_gan_ambiguous(void **state)
{
	struct run r;
	struct step_state st;

	(void)state;
	run_open(&r, plain);
	gan(&r, 200, 5, true, 7, 8);
	st = state_of(&r, 0);
	run_close(&r);
	check_steps(&r, 0, 1200);
	assert_true(r.steps[1100].flags & STEP_ambiguous);
	assert_int_equal(st.period, 6);
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

/* An optimizer that steps once an epoch beside a compiled one; then a job whose ranges come late. */
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
	assert_non_null(strstr(state_of(&r, 0).reason, "cannot be told apart"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		cmocka_unit_test(test_compiled_optimizer),
		cmocka_unit_test(test_election_again),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_inference),
		cmocka_unit_test(test_no_backward),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_two_threads_uneven),
		cmocka_unit_test(test_two_loops_in_a_row),
		cmocka_unit_test(test_plain_then_gan),
		cmocka_unit_test(test_hook_thread),
		cmocka_unit_test(test_evaluation),
		cmocka_unit_test(test_late_attach),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_tick),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_election),
		cmocka_unit_test(test_anonymous),
		cmocka_unit_test(test_anonymous_no_loader),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
