/* SPDX-License-Identifier: Apache-2.0 */
/* What the model keeps of a rank, that it does not keep asking for more, and what it does without
 * any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/heap.h"
#include "tests/unit/loop_feed.h"
#include "userspace/model/job/carry.h"

#define RANKS	 8
#define RANK_MAX ((size_t)64 << 10) /* of a rank after the lock; docs/cost.md: measured */
#define REFUSALS 900
#define MOST	 ((size_t)9 << 20) /* rank.h: of a rank that does whatever it can */

static struct model *loop_start(struct loop_feed *f, uint32_t ranks)
{
	struct model *m = model_new(NULL, NULL);

	assert_non_null(m);
	loop_open(f, m, ranks, LOOP_S / 2, "job");
	return m;
}

static void rank_is_small(struct loop_feed *f, struct model *m, size_t before)
{
	loop_run(f, 1800 * LOOP_S);
	assert_false(f->refused);
	assert_in_range(heap.bytes - before, 1, RANKS * RANK_MAX);
	model_free(m);
	assert_int_equal(heap.bytes, before);
}

static void test_rank(void **state)
{
	size_t before = heap.bytes;
	struct loop_feed f;

	(void)state;
	rank_is_small(&f, loop_start(&f, RANKS), before);
}

static void test_rank_compiled(void **state)
{
	size_t before = heap.bytes;
	struct loop_feed f;
	struct model *m = loop_start(&f, RANKS);

	(void)state;
	f.compiled = true;
	rank_is_small(&f, m, before);
}

/* A thousand steps after the first thousand: nothing for each of them. */
static void test_steady(void **state)
{
	struct loop_feed f;
	struct model *m = loop_start(&f, 1);
	uint64_t calls;
	size_t bytes;

	(void)state;
	loop_run(&f, 700 * LOOP_S);
	calls = heap.calls;
	bytes = heap.bytes;
	loop_run(&f, 500 * LOOP_S);
	assert_in_range(heap.calls - calls, 0, 100);
	assert_in_range(heap.bytes - bytes, 0, 4096);
	model_free(m);
}

static uint32_t wild_number(struct loop_feed *f)
{
	return (f->seed = f->seed * 1664525u + 1013904223u) >> 8;
}

/* Ranges that open as deep as can be told apart and never close. */
static void wild_open(struct loop_feed *f, uint32_t word)
{
	char name[GP_NAME_MAX];

	snprintf(name, sizeof(name), "Optimizer.step#O%u.step", word % 1000);
	for (uint16_t depth = 0; depth < GP_RANGE_DEPTH; depth++) {
		struct gp_range_begin *b = loop_record(f, GP_KIND_range_begin, LOOP_PID,
						       loop_probes[BEGIN].id);

		b->depth = depth;
		snprintf(b->name, sizeof(b->name), "%s", name);
		loop_feed(f);
	}
}

/* Every thread its loop, ranges as deep and names as many as there may be, files without end. */
static void wild_move(struct loop_feed *f)
{
	uint32_t word = wild_number(f);

	f->thread = word % 300;
	loop_move(f, LOOP_PID, BACKWARD, NULL, 1000 + word % 100000);
	f->thread = wild_number(f) % 20;
	if (word % 16 == 0)
		wild_open(f, word / 16);
	else if (word % 16 == 1)
		loop_move(f, LOOP_PID, SAVE_BEGIN, "file", 1000);
	else if (word % 16 == 2)
		loop_beside(f, LOOP_PID, 100000);
	else
		loop_update(f, LOOP_PID, 100000);
}

static void test_hostile(void **state)
{
	size_t before = heap.bytes;
	struct loop_feed f;
	struct model *m = loop_start(&f, 1);

	(void)state;
	for (int i = 0; i < 200000; i++) {
		wild_move(&f);
		if (i % 1000 == 0)
			loop_tick(&f);
	}
	assert_false(f.refused);
	assert_in_range(heap.bytes - before, RANK_MAX, MOST);
	model_free(m);
	assert_int_equal(heap.bytes, before);
}

/* No memory the n-th time that it is asked for, or from then on for a while: it goes on, and gives
 * all back. */
static void test_refused(void **state)
{
	size_t before = heap.bytes;

	(void)state;
	for (uint64_t n = 1; n < REFUSALS; n++) {
		struct loop_feed f;
		struct model *m = loop_start(&f, 2);
		struct snapshot *s;

		f.threads = n % 3;
		heap.fail = heap.calls + 1 + n / 6;
		heap.fails = n % 2 ? 1 : UINT64_MAX;
		loop_run(&f, (n % 20 + 1) * LOOP_S);
		heap.fail = 0;
		loop_run(&f, 60 * LOOP_S);
		s = model_snapshot(m);
		assert_non_null(s);
		assert_int_equal(s->nranks, 2);
		assert_true(s->ranks[0].nloops && s->ranks[0].loops[0].state.state == STATE_LOCKED);
		assert_int_equal(model_ledger_violations(m), 0);
		snapshot_unref(s);
		model_free(m);
		assert_int_equal(heap.bytes, before);
	}
}

/* Feeds the record that was made, and refuses its n-th request for memory, or all of them from the
 * n-th on. Returns false when it asks for less; otherwise the model must have reported it. */
static bool refuse(struct loop_feed *f, uint64_t n, uint64_t fails)
{
	bool asked;

	heap.fail = heap.calls + n;
	heap.fails = fails;
	f->refused = false;
	loop_feed(f);
	asked = heap.calls >= heap.fail;
	heap.fail = heap.fails = 0;
	assert_int_equal(f->refused, asked);
	return asked;
}

/* A rank whose checkpoint an end cuts short, which needs memory to be kept until it is reported. */
static struct model *saving_start(struct loop_feed *f)
{
	struct model *m = loop_start(f, 1);

	loop_run(f, 10 * LOOP_S);
	loop_move(f, LOOP_PID, SAVE_BEGIN, "/out/model.pt", 1000);
	assert_false(f->refused);
	return m;
}

static void test_refused_at_exit(void **state)
{
	size_t before = heap.bytes;
	struct loop_feed f;
	struct model *m = saving_start(&f);

	(void)state;
	loop_record(&f, GP_KIND_exit, LOOP_PID, NULL);
	assert_true(refuse(&f, 1, UINT64_MAX));
	model_free(m);
	assert_int_equal(heap.bytes, before);
}

static void test_refused_at_end(void **state)
{
	size_t before = heap.bytes;
	struct loop_feed f;
	struct model *m = saving_start(&f);

	(void)state;
	loop_record(&f, GP_KIND_end, 0, NULL);
	assert_true(refuse(&f, 1, UINT64_MAX));
	model_free(m);
	assert_int_equal(heap.bytes, before);
}

/* Its exit was lost, and its pid is that of another process now, which is followed nevertheless. */
static void test_refused_when_gone(void **state)
{
	size_t before = heap.bytes;
	struct loop_feed f;
	struct model *m = saving_start(&f);
	struct gp_process *p = loop_record(&f, GP_KIND_process, LOOP_PID, NULL);

	(void)state;
	p->start_ns = p->start_mono_ns = f.now_ns;
	assert_true(refuse(&f, 1, 1));
	model_free(m);
	assert_int_equal(heap.bytes, before);
}

/* The times of a loader's workers. */
static void test_refused_at_fork(void **state)
{
	size_t before = heap.bytes;
	struct loop_feed f;
	struct model *m = saving_start(&f);
	struct gp_fork *fork = loop_record(&f, GP_KIND_fork, LOOP_PID, NULL);

	(void)state;
	fork->child = LOOP_PID + 1;
	fork->start_ns = f.now_ns;
	assert_true(refuse(&f, 1, 1));
	model_free(m);
	assert_int_equal(heap.bytes, before);
}

/* The history of a job from another node: the job itself, progress, its checkpoint. */
static void test_refused_history(void **state)
{
	size_t before = heap.bytes;
	struct loop_feed f;
	struct model *m = loop_start(&f, 1);
	struct gp_clock *clock = loop_record(&f, GP_KIND_clock, 0, NULL);
	struct carry c = {.attempt = 1,
			  .until_ns = 1795262400000000000,
			  .saves = true,
			  .saved = {.path = "/out/model.pt"},
			  .secures = true};
	uint64_t n = 1;
	bool asked = true;

	(void)state;
	clock->real_ns = c.until_ns;
	loop_feed(&f);
	for (; asked; n++) {
		struct gp_carry *text = loop_record(&f, GP_KIND_carry, 0, NULL);

		snprintf(c.job, sizeof(c.job), "job-%d", (int)n);
		text->len = (__u32)carry_text(text->text, &c);
		asked = refuse(&f, n, 1);
	}
	assert_true(n > 4);
	model_free(m);
	assert_int_equal(heap.bytes, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rank),
		cmocka_unit_test(test_rank_compiled),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_at_exit),
		cmocka_unit_test(test_refused_at_end),
		cmocka_unit_test(test_refused_when_gone),
		cmocka_unit_test(test_refused_at_fork),
		cmocka_unit_test(test_refused_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
