/* SPDX-License-Identifier: Apache-2.0 */
/* What is handed out to be written, and the number of facts that goes with it, are of the same
 * moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_folder.h"
#include "userspace/store/intake.h"

static void tell_steps(struct intake *t, struct feed *f, int n)
{
	for (int i = 0; i < n; i++) {
		struct fact_step step = {.step = {.number = ++f->step[0],
						  .start_ns = i * MS,
						  .end_ns = (i + 1) * MS}};
		struct fact told = {
			.type = FACT_STEP,
			.step = &step,
			.number = ++f->facts,
			.pid = f->ranks[0].pid,
		};

		intake_fact(t, &told);
	}
}

/* A place becomes known between two snapshots: a kill right after it must count no step twice, or
 * never. */
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

/* The process runs another program before it was looked at again: what that does is not the first
 * one's. */
static void test_replaced(void **state)
{
	struct intake *t = intake_new();
	struct fact_step step = {.step = {.number = 1, .end_ns = MS}};
	struct fact told = {.type = FACT_STEP, .step = &step};
	static struct feed f;

	(void)state;
	assert_non_null(t);
	feed_init(&f, "replaced", 1, 1000 * S);
	f.s.njobs = 0;
	tell_steps(t, &f, 7);
	intake_snapshot(t, &f.s);
	told.number = ++f.facts;
	told.pid = f.ranks[0].pid;
	told.start_ns = 1001 * S;
	intake_fact(t, &told);
	f.ranks[1] = f.ranks[0];
	f.ranks[0].alive = false;
	f.ranks[1].start_mono_ns = 1001 * S;
	f.s.nranks = 2;
	intake_snapshot(t, &f.s);
	assert_int_equal(t->count, 2);
	assert_int_equal(t->ranks[0]->shown_steps, 7);
	assert_int_equal(t->ranks[1]->shown_steps, 1);
	intake_free(t);
}

static void watch(struct feed *f)
{
	struct store_writer_options o = {.path = path};

	feed_init(f, "away", 1, 1000 * S);
	f->wait = true;
	f->ranks[0].rank =
		-1; /* nobody knows it: only its end tells that the next one is of another run */
	assert_int_equal(store_writer_open(&f->writer, &o), 0);
	feed_open(f, f->writer);
}

/* Its process ended and the next one began while nobody wrote: those are two runs. */
static void test_ended_meanwhile(void **state)
{
	static struct feed_found found;
	static struct store_job job;
	static struct feed f;
	struct store *st;

	(void)state;
	watch(&f);
	feed_go(&f, S);
	assert_int_equal(store_writer_close(f.writer), 0);
	watch(&f);
	f.s.mono_ns += S;
	f.s.real_ns += (int64_t)S;
	f.ranks[0].alive = false;
	f.ranks[0].ledger.ended = true;
	feed_ledger(&f.ranks[0].ledger, S);
	f.ranks[1] = f.ranks[0];
	f.ranks[1].pid++;
	f.ranks[1].alive = true;
	f.ranks[1].start_mono_ns = f.s.mono_ns + MS;
	f.ranks[1].ledger = (struct ledger_view){.start_ns = f.s.mono_ns + MS,
						 .now_ns = f.s.mono_ns + MS};
	f.s.nranks = 2;
	feed_go(&f, S);
	assert_int_equal(store_writer_close(f.writer), 0);
	st = opened(STORE_READ);
	assert_int_equal(feed_find(st, "away", &job, &found), 0);
	assert_int_equal(found.ranks, 2);
	assert_int_equal(found.runs, 2);
	store_close(st);
}

static void found_of(struct store_job *ret_job, struct feed_found *ret)
{
	struct store *st = opened(STORE_READ);

	assert_int_equal(feed_find(st, "away", ret_job, ret), 0);
	store_close(st);
}

/* The next one trains in a process that is older than the end of the one before it, a shell's:
 * which run it is of the model says. One more of the same run is of that, though another one has
 * ended. */
static void test_older_process(void **state)
{
	static struct feed_found found;
	static struct store_job job;
	static struct feed f;

	(void)state;
	watch(&f);
	f.ranks[0].run = 1;
	feed_go(&f, S);
	feed_end(&f, 1);
	f.job.state = JOB_RUNNING;
	f.ranks[1] = f.ranks[0];
	f.ranks[1].pid = 99;
	f.ranks[1].run = 2;
	f.ranks[1].alive = true;
	f.ranks[1].start_mono_ns -= 100 * MS;
	f.ranks[2] = f.ranks[1];
	f.ranks[2].pid = 98;
	f.ranks[2].start_mono_ns = f.s.mono_ns + S;
	f.s.nranks = 2;
	feed_go(&f, S);
	f.s.nranks = 3;
	feed_go(&f, S);
	assert_int_equal(store_writer_close(f.writer), 0);
	found_of(&job, &found);
	assert_int_equal(found.ranks, 3);
	assert_int_equal(found.runs, 2);
	assert_int_equal(job.runs, 2);
	assert_int_equal(found.rank[0].pid, 100);
}

/* A process whose program was seen to begin goes on, for who comes late and knows the process's
 * start alone. */
static void test_program_late(void **state)
{
	static struct feed_found found;
	static struct store_job job;
	static struct feed f;

	(void)state;
	watch(&f);
	f.ranks[0].run = 1;
	feed_go(&f, S);
	assert_int_equal(store_writer_close(f.writer), 0);
	watch(&f);
	f.s.mono_ns += 2 * S;
	f.s.real_ns += 2 * (int64_t)S;
	f.ranks[0].run = 1;
	f.ranks[0].start_mono_ns -= 5 * S;
	f.ranks[0].ledger.start_ns -= 5 * S;
	f.ranks[0].ledger.ns[BUCKET_UNOBSERVED] = 7 * S;
	f.ranks[0].ledger.now_ns += 2 * S;
	feed_go(&f, S);
	assert_int_equal(store_writer_close(f.writer), 0);
	found_of(&job, &found);
	assert_int_equal(found.ranks, 1);
	assert_int_equal(found.runs, 1);
}

int main(void)
{
#define STORED(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placed_between),
		cmocka_unit_test(test_replaced),
		STORED(test_ended_meanwhile),
		STORED(test_older_process),
		STORED(test_program_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
