/* SPDX-License-Identifier: Apache-2.0 */
/* What is handed out to be written, and the number of facts that goes with it, are of the same moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_feed.h"
#include "userspace/store/intake_private.h"

static void tell_steps(struct intake *t, struct feed *f, int n)
{
	for (int i = 0; i < n; i++) {
		struct fact_step step = {
			.step = {.number = ++f->step[0], .start_ns = i * MS, .end_ns = (i + 1) * MS}};
		struct fact told = {
			.type = FACT_STEP,
			.step = &step,
			.number = ++f->facts,
			.pid = f->ranks[0].pid,
		};

		intake_fact(t, &told);
	}
}

/* A place becomes known between two snapshots: a kill right after it must count no step twice, or never. */
static void test_placed_between(void **state)
{
	struct intake_place place = {.id = 1};
	struct intake *t = intake_new();
	static struct feed f;
	struct intake_rank *r;

	(void)state;
	assert_non_null(t);
	feed_init(&f, "between", 1, 1000 * S);
	f.s.njobs = 0;
	tell_steps(t, &f, 7);
	intake_snapshot(t, &f.s);
	tell_steps(t, &f, 4);
	r = t->ranks[0];
	intake_place(t, r, &place);
	assert_int_equal(t->closed, 7);
	assert_int_equal(r->running.steps, 7);
	assert_int_equal(r->running.times.count, 7);
	intake_snapshot(t, &f.s);
	assert_int_equal(t->closed, 11);
	assert_int_equal(r->running.steps, 11);
	/* The store was lost: what is written anew is of the last snapshot too. */
	tell_steps(t, &f, 2);
	intake_again(t);
	intake_place(t, r, &place);
	assert_int_equal(r->running.steps, 11);
	intake_snapshot(t, &f.s);
	assert_int_equal(r->running.steps, 13);
	assert_int_equal(r->running.times.count, 13);
	intake_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_placed_between)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
