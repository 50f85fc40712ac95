/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with ever more calls in them: the ring of what was called grows, and each step's phases are
 * known; of where it blocked the longest ones are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/loop_feed.h"
#include "userspace/model/phase/phase.h"

#define WAIT_NS 1000u /* of a call, which takes twice that from the one before */

static struct fact_step last;

static void see(void *ctx, const struct fact *f)
{
	(void)ctx;
	if (f->type == FACT_STEP)
		last = *f->step;
}

static void step(struct loop_feed *f, unsigned waits)
{
	loop_fetch(f, LOOP_PID, 100 * WAIT_NS);
	for (unsigned i = 0; i < waits; i++)
		loop_move(f, LOOP_PID, SYNC, NULL, 2 * WAIT_NS);
	loop_move(f, LOOP_PID, BACKWARD, NULL, 100 * WAIT_NS);
	loop_update(f, LOOP_PID, WAIT_NS);
}

/* A loop that is known. */
static struct model *begin(struct loop_feed *f)
{
	struct model *m = model_new(see, NULL);

	assert_non_null(m);
	loop_open(f, m, 1, LOOP_S, "job");
	for (unsigned i = 0; i < 20; i++)
		step(f, 1);
	return m;
}

static void test_more_and_more(void **state)
{
	struct loop_feed f;
	struct model *m = begin(&f);

	(void)state;
	for (unsigned waits = 1; waits < 600; waits++) {
		uint64_t before = last.step.number;

		step(&f, waits);
		loop_tick(&f);
		assert_int_equal(last.step.number, before + 1);
		assert_true(last.phases_known & 1u << PHASE_SYNC);
		/* the one in the update is among them, or is not */
		assert_in_range(last.phase_ns[PHASE_SYNC], (waits - 1) * WAIT_NS,
				(waits + 1) * WAIT_NS);
	}
	assert_false(f.refused);
	model_free(m);
}

static void no_span(void *ctx, const struct span *s)
{
	(void)ctx;
	(void)s;
}

/* Nothing was called where the step before ended: the first call that the ring has is the step's,
 * or one of it is missing. */
static void test_between_calls(void **state)
{
	struct phase_finder *pf = phase_new(no_span, NULL);
	struct signal wait = {.kind = SIGNAL_SYNC, .tid = 1, .origin = "cuda.stream_sync"};
	struct step s = {.end_ns = LOOP_S, .tier = TIER_B, .boundary = BOUNDARY_EXECUTE, .tid = 1};
	struct fact_step fs;
	uint64_t resume_ns = 0, now_ns = LOOP_S;

	(void)state;
	assert_non_null(pf);
	for (unsigned waits = 1; waits < 300; waits++) {
		for (unsigned i = 0; i < waits; i++) {
			wait.begin_ns = now_ns += WAIT_NS;
			wait.ts_ns = now_ns += WAIT_NS;
			assert_int_equal(phase_feed(pf, &wait), 0);
		}
		s.number++;
		s.start_ns = s.end_ns;
		s.end_ns = now_ns += WAIT_NS / 2;
		phase_step(pf, &s, true, &resume_ns, &fs);
		assert_true(fs.phases_known & 1u << PHASE_SYNC);
		assert_int_equal(fs.phase_ns[PHASE_SYNC], waits * WAIT_NS);
	}
	phase_free(pf);
}

/* Every third wait is a long one: those have their places, all of them where there is room. */
static void test_the_longest_waits_have_a_place(void **state)
{
	struct loop_feed f;
	struct model *m = begin(&f);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		loop_fetch(&f, LOOP_PID, 100 * WAIT_NS);
		for (unsigned w = 0; w < 3 * STEP_PIECES; w++)
			loop_move(&f, LOOP_PID, SYNC, NULL, (w % 3 ? 2 : 200) * WAIT_NS);
		loop_move(&f, LOOP_PID, BACKWARD, NULL, 100 * WAIT_NS);
		loop_update(&f, LOOP_PID, WAIT_NS);
	}
	loop_tick(&f);
	assert_int_equal(last.nblocked, STEP_PIECES);
	for (unsigned i = 0; i < STEP_PIECES; i++) {
		assert_int_equal(last.blocked[i].phase, PHASE_SYNC);
		assert_int_equal(last.blocked[i].to_ns - last.blocked[i].from_ns, 100 * WAIT_NS);
		assert_true(!i || last.blocked[i].from_ns >= last.blocked[i - 1].to_ns);
	}
	assert_false(f.refused);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_more_and_more),
					   cmocka_unit_test(test_between_calls),
					   cmocka_unit_test(test_the_longest_waits_have_a_place)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
