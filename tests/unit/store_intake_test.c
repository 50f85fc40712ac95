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

static void watch(struct feed *f, const char *path)
{
	struct store_writer_options o = {.path = path};

	feed_init(f, "away", 1, 1000 * S);
	f->wait = true;
	f->ranks[0].rank = -1; /* nobody knows it: only its end tells that the next one is of another run */
	assert_int_equal(store_writer_open(&f->writer, &o), 0);
	feed_open(f, f->writer);
}

/* Its process ended and the next one began while nobody wrote: those are two runs. */
static void test_ended_meanwhile(void **state)
{
	static struct feed_found found;
	static struct store_job job;
	static struct feed f;
	char dir[64], path[96];
	struct store *st;

	(void)state;
	snprintf(path, sizeof(path), "%s/store.db", feed_folder(dir));
	watch(&f, path);
	feed_go(&f, S);
	assert_int_equal(store_writer_close(f.writer), 0);
	watch(&f, path);
	f.s.mono_ns += S;
	f.s.real_ns += (int64_t)S;
	f.ranks[0].alive = false;
	f.ranks[0].ledger.ended = true;
	feed_ledger(&f.ranks[0].ledger, S);
	f.ranks[1] = f.ranks[0];
	f.ranks[1].pid++;
	f.ranks[1].alive = true;
	f.ranks[1].start_mono_ns = f.s.mono_ns + MS;
	f.ranks[1].ledger = (struct ledger_view){.start_ns = f.s.mono_ns + MS, .now_ns = f.s.mono_ns + MS};
	f.s.nranks = 2;
	feed_go(&f, S);
	assert_int_equal(store_writer_close(f.writer), 0);
	assert_int_equal(store_open(&st, path, STORE_READ), 0);
	assert_int_equal(feed_find(st, "away", &job, &found), 0);
	assert_int_equal(found.ranks, 2);
	assert_int_equal(found.runs, 2);
	store_close(st);
	feed_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placed_between),
		cmocka_unit_test(test_ended_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
