/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with ever more calls in them: the ring of what was called grows, and each step's phases are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/loop_feed.h"

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

static void test_more_and_more(void **state)
{
	struct model *m = model_new(see, NULL);
	struct loop_feed f;

	(void)state;
	assert_non_null(m);
	loop_open(&f, m, 1, LOOP_S, "job");
	for (unsigned i = 0; i < 20; i++)
		step(&f, 1);
	for (unsigned waits = 1; waits < 600; waits++) {
		uint64_t before = last.step.number;

		step(&f, waits);
		loop_tick(&f);
		assert_int_equal(last.step.number, before + 1);
		assert_true(last.phases_known & 1u << PHASE_SYNC);
		/* the one in the update is among them, or is not */
		assert_in_range(last.phase_ns[PHASE_SYNC], (waits - 1) * WAIT_NS, (waits + 1) * WAIT_NS);
	}
	assert_false(f.refused);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_more_and_more)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
