/* SPDX-License-Identifier: Apache-2.0 */
/* Time that moves to another bucket after its minute was written moves there: a hang, lost
 * progress, the excess of first steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/store_fed.h"
#include "userspace/store/store_private.h"

#define MINUTES 64

struct rows {
	int64_t from_ns; /* of the first minute */
	int64_t ns[MINUTES][BUCKET_COUNT];
	uint32_t count;
};

static int row(void *ctx, int64_t from_ns, int64_t to_ns, const struct store_totals *t)
{
	struct rows *r = ctx;
	uint32_t at;

	if (!r->count)
		r->from_ns = from_ns;
	at = (uint32_t)((from_ns - r->from_ns) / (int64_t)MINUTE);
	assert_true(at < MINUTES);
	for (int b = 0; b < BUCKET_COUNT; b++) {
		assert_true(t->sums.ns[b] >= 0);
		r->ns[at][b] += t->sums.ns[b];
	}
	assert_true(sums_total(&t->sums) <= to_ns - from_ns + (int64_t)S);
	r->count = at + 1;
	return 0;
}

static void minutes_read(const struct feed *f, bool of_job, struct rows *ret)
{
	static struct feed_found found;
	static struct store_job job;
	struct store *st = opened(STORE_READ);
	int64_t bad = -1, id;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(feed_find(st, f->job.name, &job, &found), 0);
	id = found.rank[0].id;
	if (of_job)
		assert_int_equal(store_number(st, &id, "SELECT id FROM ranks WHERE kind = 1", ""),
				 0);
	assert_int_equal(store_minutes(st, id, &everything, row, ret), 0);
	assert_int_equal(
		store_number(st, &bad, "SELECT count(*) FROM minutes WHERE held_ns = 0", ""), 0);
	assert_int_equal(bad, 0);
	store_close(st);
}

static void rows_read(const struct feed *f, struct rows *ret)
{
	minutes_read(f, false, ret);
}

/* The feed's rank and its job have this ledger; a snapshot of it. */
static void show(struct feed *f, struct ledger *l, uint64_t now_ns)
{
	f->s.mono_ns = now_ns;
	f->s.real_ns = FEED_REAL + (int64_t)now_ns;
	ledger_advance(l, now_ns);
	ledger_view(l, &f->ranks[0].ledger);
	f->job.ledger = f->ranks[0].ledger;
	feed_look(f);
}

static void steps(struct feed *f, struct ledger *l, uint64_t *at_ns, uint64_t seconds,
		  uint64_t step_ns)
{
	uint64_t end_ns = *at_ns + seconds * S, shown_ns = *at_ns,
		 number = f->ranks[0].ledger.max_step;

	while (*at_ns + step_ns <= end_ns) {
		for (; shown_ns + S <= *at_ns + step_ns; shown_ns += S)
			show(f, l, shown_ns + S);
		ledger_step(l, *at_ns, *at_ns + step_ns, ++number, false);
		*at_ns += step_ns;
	}
}

static void silence(struct feed *f, struct ledger *l, uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t at_ns = from_ns + S; at_ns <= to_ns; at_ns += S)
		show(f, l, at_ns);
}

/* As a hang is booked: from its onset when it is recognised, then second by second. */
static void hang(struct feed *f, struct ledger *l, uint64_t onset_ns, uint64_t known_ns,
		 uint64_t over_ns)
{
	silence(f, l, onset_ns, known_ns);
	for (uint64_t at_ns = known_ns, from_ns = onset_ns; at_ns <= over_ns;
	     from_ns = at_ns, at_ns += S) {
		assert_int_equal(ledger_interval(l, BUCKET_HANG, from_ns, at_ns), 0);
		show(f, l, at_ns);
	}
}

static void is_about(int64_t ns, uint64_t truth_ns)
{
	assert_in_range(ns + 2 * (int64_t)S, truth_ns + S / 2, truth_ns + 2 * S + 3 * S / 2);
}

static void test_hang(void **state)
{
	uint64_t at_ns = 30 * MINUTE, start_ns = at_ns;
	struct ledger *l = ledger_new(at_ns, at_ns);
	static struct feed f;
	struct rows r;

	(void)state;
	begin(&f, "hang", 1, at_ns);
	ledger_ideal(l, S / 2, 0);
	steps(&f, l, &at_ns, 30, S / 2);
	/* 30 s of it lie in the first minute; recognised in the second, over in the fourth. */
	hang(&f, l, at_ns, at_ns + 45 * S, at_ns + 165 * S);
	at_ns += 165 * S;
	steps(&f, l, &at_ns, 20, S / 2);
	finish(&f);
	rows_read(&f, &r);
	is_about(r.ns[0][BUCKET_GOODPUT], 30 * S);
	is_about(r.ns[0][BUCKET_HANG], 30 * S);
	is_about(r.ns[0][BUCKET_OTHER], 0);
	is_about(r.ns[1][BUCKET_HANG], 60 * S);
	is_about(r.ns[1][BUCKET_OTHER], 0);
	is_about(r.ns[2][BUCKET_HANG], 60 * S);
	is_about(r.ns[3][BUCKET_HANG], 15 * S);
	is_about(r.ns[3][BUCKET_GOODPUT], 20 * S);
	assert_int_equal(r.from_ns, FEED_REAL + (int64_t)start_ns);
	ledger_free(l);
}

/* Progress that a restart disproves was the last; the excess of first steps was the first. */
static void test_disproved(void **state)
{
	uint64_t at_ns = 30 * MINUTE;
	struct ledger *l = ledger_new(at_ns, at_ns);
	static struct feed f;
	struct rows r;

	(void)state;
	begin(&f, "lost", 1, at_ns);
	steps(&f, l, &at_ns, 100, 50 * S);
	steps(&f, l, &at_ns, 80, S);
	ledger_ideal(l, S, 0);
	steps(&f, l, &at_ns, 120, S);
	show(&f, l, at_ns);
	ledger_disprove(l, 150 * S);
	show(&f, l, at_ns);
	finish(&f);
	rows_read(&f, &r);
	is_about(r.ns[0][BUCKET_PROGRAM_STARTUP], 59 * S);
	is_about(r.ns[1][BUCKET_PROGRAM_STARTUP], 39 * S);
	is_about(r.ns[1][BUCKET_GOODPUT], 21 * S);
	is_about(r.ns[2][BUCKET_GOODPUT], 30 * S);
	is_about(r.ns[2][BUCKET_WASTED], 30 * S);
	is_about(r.ns[3][BUCKET_WASTED], 60 * S);
	is_about(r.ns[4][BUCKET_WASTED], 60 * S);
	ledger_free(l);
}

/* A job's row spans runs: the excess of the second run's first step lies in that run, and progress
 * that the restart disproves in the last minutes of the first one, though startup grows at the same
 * time. */
static void test_two_runs(void **state)
{
	uint64_t at_ns = 30 * MINUTE;
	struct ledger_view *job;
	static struct feed f;
	struct rows r;

	(void)state;
	begin(&f, "twice", 1, at_ns);
	f.job.run_start_ns = at_ns;
	job = &f.job.ledger;
	for (int s = 0; s < 480; s++) {
		f.s.mono_ns += S;
		f.s.real_ns += (int64_t)S;
		job->now_ns += S;
		if (s == 180)
			f.job.run_start_ns = f.s.mono_ns - S;
		job->ns[s < 180 || s >= 200 ? BUCKET_GOODPUT : BUCKET_PROGRAM_STARTUP] += S;
		if (s == 190) {
			job->ns[BUCKET_GOODPUT] -= 30 * S;
			job->ns[BUCKET_WASTED] += 30 * S;
		}
		if (s == 400) {
			job->ns[BUCKET_GOODPUT] -= 100 * S;
			job->ns[BUCKET_PROGRAM_STARTUP] += 100 * S;
		}
		feed_look(&f);
	}
	finish(&f);
	minutes_read(&f, true, &r);
	is_about(r.ns[0][BUCKET_GOODPUT], 60 * S);
	is_about(r.ns[1][BUCKET_GOODPUT], 60 * S);
	is_about(r.ns[2][BUCKET_GOODPUT], 30 * S);
	is_about(r.ns[2][BUCKET_WASTED], 30 * S);
	is_about(r.ns[3][BUCKET_PROGRAM_STARTUP], 60 * S);
	is_about(r.ns[4][BUCKET_PROGRAM_STARTUP], 60 * S);
	is_about(r.ns[5][BUCKET_GOODPUT], 60 * S);
	is_about(r.ns[7][BUCKET_GOODPUT], 60 * S);
}

static int overfull_read(void *ctx, struct store *st)
{
	*(uint64_t *)ctx = st->overfull;
	return 0;
}

/* Minutes are as long as what they hold: where the clock was set back that is so, else it is a
 * fault, and said. */
static void test_overfull(void **state)
{
	static struct feed f;
	uint64_t overfull;

	(void)state;
	begin(&f, "overfull", 1, 30 * MINUTE);
	for (int s = 0; s < 600; s++) {
		f.s.mono_ns += S;
		f.s.real_ns += s == 250 ? -30 * (int64_t)S : (int64_t)S;
		f.job.ledger.now_ns += S;
		f.job.ledger.ns[BUCKET_GOODPUT] += S;
#ifndef GP_LEDGER_ABORT
		if (s == 400)
			f.job.ledger.ns[BUCKET_GOODPUT] += 90 * S;
#endif
		feed_look(&f);
		if (s == 350) {
			assert_int_equal(store_writer_read(f.writer, overfull_read, &overfull), 0);
			assert_int_equal(overfull, 0);
		}
	}
	assert_int_equal(store_writer_read(f.writer, overfull_read, &overfull), 0);
#ifndef GP_LEDGER_ABORT
	assert_true(overfull);
#endif
	finish(&f);
}

/* Whatever happens: no bucket of a minute is negative, none is longer than it is, and all of them
 * add up. */
static void test_random(void **state)
{
	static struct feed f;
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 12; round++) {
		uint64_t at_ns = 30 * MINUTE + (uint64_t)round * 7 * S,
			 stop_ns = at_ns + 40 * MINUTE;
		struct ledger *l = ledger_new(at_ns, at_ns);
		char name[16];
		struct rows r;

		snprintf(name, sizeof(name), "random %d", round);
		begin(&f, name, 1, at_ns);
		while (at_ns < stop_ns) {
			uint64_t dice, for_s;

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			dice = seed >> 33;
			for_s = 1 + dice / 16 % 150;
			switch (dice % 6) {
			case 0:
				hang(&f, l, at_ns, at_ns + for_s * S, at_ns + 2 * for_s * S);
				at_ns += 2 * for_s * S;
				break;
			case 1: /* one long step that begins with a batch */
				silence(&f, l, at_ns, at_ns + for_s * S);
				ledger_interval(l, BUCKET_DATA_LOADING, at_ns,
						at_ns + for_s * S / 3);
				steps(&f, l, &at_ns, for_s, for_s * S);
				break;
			case 2:
				ledger_disprove(l, for_s * S);
				show(&f, l, at_ns);
				break;
			case 3:
				ledger_ideal(l, S / 2, 0);
				break;
			default:
				steps(&f, l, &at_ns, for_s, S / 2);
			}
		}
		show(&f, l, at_ns);
		finish(&f);
		rows_read(&f, &r);
		for (int b = 0; b < BUCKET_COUNT; b++) {
			int64_t sum_ns = 0;

			for (uint32_t i = 0; i < r.count; i++)
				sum_ns += r.ns[i][b];
			assert_int_equal(sum_ns, (int64_t)f.ranks[0].ledger.ns[b]);
		}
		ledger_free(l);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {TEST(test_hang), TEST(test_disproved),
					   TEST(test_two_runs), TEST(test_overfull),
					   TEST(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
