/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "userspace/model/time/ledger.h"

#define MS 1000000ull
#define S  1000000000ull

static uint64_t bucket(const struct ledger *l, enum bucket b)
{
	struct ledger_view v;

	ledger_view(l, &v);
	return v.ns[b];
}

static struct ledger_view viewed(const struct ledger *l)
{
	struct ledger_view v;

	ledger_view(l, &v);
	return v;
}

static void check(const struct ledger *l)
{
	struct ledger_view v;
	uint64_t sum_ns = 0;

	ledger_view(l, &v);
	for (int i = 0; i < BUCKET_COUNT; i++)
		sum_ns += v.ns[i];
	assert_int_equal(sum_ns, v.now_ns - v.start_ns);
	assert_true(v.unsettled_ns <= v.ns[BUCKET_OTHER]);
	assert_true(ledger_check(l));
}

static void test_steps_and_gaps(void **state)
{
	struct ledger *l = ledger_new(0, 0);

	(void)state;
	ledger_step(l, 100 * MS, 200 * MS, 1, false);
	check(l);
	assert_int_equal(bucket(l, BUCKET_PROGRAM_STARTUP), 100 * MS);
	assert_int_equal(bucket(l, BUCKET_GOODPUT), 100 * MS);
	ledger_step(l, 230 * MS, 300 * MS, 2, false);
	assert_int_equal(bucket(l, BUCKET_OTHER), 30 * MS);
	ledger_advance(l, 400 * MS);
	assert_int_equal(bucket(l, BUCKET_OTHER), 130 * MS);
	ledger_advance(l, 350 * MS); /* time does not go back */
	check(l);
	ledger_end(l, 450 * MS);
	check(l);
	assert_int_equal(bucket(l, BUCKET_OTHER), 180 * MS);
	assert_int_equal(bucket(l, BUCKET_GOODPUT), 170 * MS);
	ledger_step(l, 450 * MS, 500 * MS, 3, false); /* after the end: nothing changes */
	ledger_interval(l, BUCKET_EVAL, 450 * MS, 500 * MS);
	ledger_advance(l, 600 * MS);
	check(l);
	assert_int_equal(bucket(l, BUCKET_OTHER), 180 * MS);
	ledger_free(l);
}

/* Every pair of buckets overlaps in the middle of a step: the one listed first gets it. */
static void test_priority(void **state)
{
	(void)state;
	for (int a = 0; a < BUCKET_GOODPUT; a++) {
		for (int b = 0; b < BUCKET_GOODPUT; b++) {
			struct ledger *l = ledger_new(0, 0);

			if (a == b) {
				ledger_free(l);
				continue;
			}
			ledger_interval(l, (enum bucket)a, 10, 30);
			ledger_interval(l, (enum bucket)b, 20, 40);
			ledger_step(l, 0, 100, 1, false);
			check(l);
			assert_int_equal(bucket(l, (enum bucket)a), a < b ? 20 : 10);
			assert_int_equal(bucket(l, (enum bucket)b), a < b ? 10 : 20);
			assert_int_equal(bucket(l, BUCKET_GOODPUT), 70);
			ledger_free(l);
		}
	}
}

static void test_interval_across_steps(void **state)
{
	struct ledger *l = ledger_new(0, 0);

	(void)state;
	ledger_interval(l, BUCKET_CHECKPOINT_SAVE, 80, 250); /* over two steps and into the third */
	ledger_step(l, 0, 100, 1, false);
	ledger_step(l, 100, 200, 2, false);
	ledger_step(l, 200, 300, 3, false);
	check(l);
	assert_int_equal(bucket(l, BUCKET_CHECKPOINT_SAVE), 170);
	assert_int_equal(bucket(l, BUCKET_GOODPUT), 130);
	ledger_interval(l, BUCKET_EVAL, 290, 310); /* the edge is at 300 */
	assert_int_equal(viewed(l).late_ns, 10);
	ledger_interval(l, BUCKET_EVAL, 100, 200);
	assert_int_equal(viewed(l).late_ns, 110);
	ledger_end(l, 320);
	check(l);
	assert_int_equal(bucket(l, BUCKET_EVAL), 10);
	ledger_free(l);
}

static void test_parallel_loops(void **state)
{
	struct ledger *l = ledger_new(0, 0);

	(void)state;
	ledger_step(l, 0, 100, 1, false);
	ledger_step(l, 50, 150, 1, false);
	ledger_step(l, 20, 90, 1, false); /* all of it was there already */
	check(l);
	assert_int_equal(bucket(l, BUCKET_GOODPUT), 150);
	ledger_free(l);
}

static void test_unobserved(void **state)
{
	struct ledger *l = ledger_new(1000, 5000);
	struct ledger_view v;

	(void)state;
	check(l);
	assert_int_equal(bucket(l, BUCKET_UNOBSERVED), 4000);
	ledger_view(l, &v);
	assert_int_equal(v.now_ns - v.start_ns, 4000);
	ledger_free(l);
	l = ledger_new(1000, 10); /* observed before it began: since it began */
	check(l);
	assert_int_equal(bucket(l, BUCKET_UNOBSERVED), 0);
	ledger_free(l);
}

/* Attached late: what was seen before the first step is startup only if it is long, as steps go. */
static void test_midway(void **state)
{
	static const struct {
		uint64_t lead_ms, step_ms;
		bool startup;
	} all[] = {{150, 100, false},
		   {1000, 100, false},
		   {1001, 100, true},
		   {3000, 1500, false},
		   {3001, 1500, true}};

	(void)state;
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		struct ledger *l = ledger_new(0, 10 * S);
		uint64_t lead_ns = all[k].lead_ms * MS, step_ns = all[k].step_ms * MS,
			 at_ns = 10 * S + lead_ns;

		for (uint64_t i = 0; i < 10; i++, at_ns += step_ns)
			ledger_step(l, at_ns, at_ns + step_ns, i + 1, false);
		assert_int_equal(bucket(l, BUCKET_PROGRAM_STARTUP), lead_ns);
		ledger_ideal(l, step_ns, 0);
		check(l);
		assert_int_equal(bucket(l, BUCKET_PROGRAM_STARTUP), all[k].startup ? lead_ns : 0);
		assert_int_equal(bucket(l, BUCKET_UNOBSERVED),
				 10 * S + (all[k].startup ? 0 : lead_ns));
		ledger_free(l);
	}
}

static void test_first_steps(void **state)
{
	static const uint64_t ms[] = {2000, 400, 109, 500, 100, 100, 100, 100};
	struct ledger *l = ledger_new(0, 0);
	struct ledger_view v;
	uint64_t at_ns = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); at_ns += ms[i] * MS, i++)
		ledger_step(l, at_ns, at_ns + ms[i] * MS, i + 1, false);
	ledger_view(l, &v);
	assert_int_equal(v.ns[BUCKET_GOODPUT], 3409 * MS);
	assert_int_equal(v.productive_gross_ns, 0); /* it could still fall */
	ledger_ideal(l, 100 * MS, 3 * MS);
	check(l);
	/* The third is within 100 + 3 x 3 ms: what comes after it is no startup, however slow. */
	assert_int_equal(bucket(l, BUCKET_PROGRAM_STARTUP), 1900 * MS + 300 * MS);
	assert_int_equal(bucket(l, BUCKET_GOODPUT), 1209 * MS);
	ledger_ideal(l, 90 * MS, 0); /* only the first time */
	assert_int_equal(bucket(l, BUCKET_GOODPUT), 1209 * MS);
	ledger_view(l, &v);
	assert_int_equal(v.productive_gross_ns, 1209 * MS);
	ledger_free(l);
}

/* At most five first steps are startup. */
static void test_first_steps_bound(void **state)
{
	struct ledger *l = ledger_new(0, 0);

	(void)state;
	for (uint64_t i = 0; i < 7; i++)
		ledger_step(l, i * 300 * MS, (i + 1) * 300 * MS, i + 1, false);
	ledger_ideal(l, 100 * MS, 0);
	check(l);
	assert_int_equal(bucket(l, BUCKET_PROGRAM_STARTUP), 5 * 200 * MS);
	ledger_free(l);
}

static void test_slow_step(void **state)
{
	struct ledger *l = ledger_new(0, 0);
	uint64_t at_ns = 0;

	(void)state;
	for (int i = 0; i < 8; i++, at_ns += 200 * MS)
		ledger_step(l, at_ns, at_ns + 200 * MS, (uint64_t)i + 1, false);
	ledger_ideal(l, 200 * MS, 0);
	ledger_step(l, at_ns, at_ns + 2 * S, 9, false); /* ten times the ideal: still a step */
	assert_int_equal(bucket(l, BUCKET_OTHER), 0);
	at_ns += 2 * S;
	ledger_interval(l, BUCKET_DATA_LOADING, at_ns, at_ns + 3 * S);
	ledger_step(l, at_ns, at_ns + 5 * S, 10,
		    false); /* two seconds of it are its own: no excess */
	assert_int_equal(bucket(l, BUCKET_OTHER), 0);
	at_ns += 5 * S;
	ledger_step(l, at_ns, at_ns + 7 * S, 11, false);
	check(l);
	assert_int_equal(bucket(l, BUCKET_OTHER), 5 * S);
	ledger_ideal(l, 10 * MS, 0); /* a short step may take a second */
	at_ns += 7 * S;
	ledger_step(l, at_ns, at_ns + 1500 * MS, 12, false);
	check(l);
	assert_int_equal(bucket(l, BUCKET_OTHER), 5500 * MS);
	ledger_free(l);
}

static void test_no_step(void **state)
{
	struct ledger *l = ledger_new(0, 0);

	(void)state;
	ledger_interval(l, BUCKET_DATA_LOADING, 100, 300);
	ledger_end(l, 1000);
	check(l);
	assert_int_equal(bucket(l, BUCKET_PROGRAM_STARTUP), 800);
	assert_int_equal(bucket(l, BUCKET_DATA_LOADING), 200);
	ledger_free(l);
}

/* A hang is told of while it lasts, and shown at once; the step around it keeps the rest. */
static void test_hang(void **state)
{
	struct ledger *l = ledger_new(0, 0);

	(void)state;
	ledger_step(l, 0, 1000, 1, false);
	for (uint64_t at = 1200; at < 1200 + 5000;
	     at++) { /* longer than what is kept, in one piece */
		assert_int_equal(ledger_interval(l, BUCKET_HANG, at, at + 1), 0);
		check(l);
	}
	assert_int_equal(viewed(l).merged, 0);
	assert_int_equal(bucket(l, BUCKET_HANG), 5000);
	assert_int_equal(bucket(l, BUCKET_OTHER), 200);
	ledger_interval(l, BUCKET_UNOBSERVED, 2000, 2100); /* of higher priority */
	assert_int_equal(bucket(l, BUCKET_HANG), 4900);
	assert_int_equal(bucket(l, BUCKET_OTHER), 300); /* not settled yet */
	ledger_step(l, 1000, 6500, 2, false);
	check(l);
	assert_int_equal(bucket(l, BUCKET_HANG), 4900);
	assert_int_equal(bucket(l, BUCKET_UNOBSERVED), 100);
	assert_int_equal(bucket(l, BUCKET_GOODPUT), 1500);
	assert_int_equal(bucket(l, BUCKET_OTHER), 0);
	ledger_interval(l, BUCKET_HANG, 7000, 8000);
	ledger_end(l, 8000); /* killed in it */
	check(l);
	assert_int_equal(bucket(l, BUCKET_HANG), 5900);
	assert_int_equal(bucket(l, BUCKET_OTHER), 500);
	ledger_free(l);
}

/* More intervals than are kept: their sum stays. */
static void test_flood(void **state)
{
	struct ledger *l = ledger_new(0, 0);
	uint64_t n = 20 * LEDGER_PENDING;

	(void)state;
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(ledger_interval(l, BUCKET_DATA_LOADING, i * 10, i * 10 + 3), 0);
		assert_true(ledger_check(l));
	}
	assert_true(viewed(l).merged > 0);
	assert_int_equal(viewed(l).late_ns, 0);
	ledger_step(l, 0, n * 10, 1, false);
	check(l);
	assert_int_equal(bucket(l, BUCKET_DATA_LOADING), n * 3);
	assert_int_equal(bucket(l, BUCKET_GOODPUT), n * 7);
	ledger_free(l);
}

static void test_flood_mixed(void **state)
{
	static const enum bucket taking_turns[] = {BUCKET_DATA_LOADING, BUCKET_CHECKPOINT_SAVE};
	struct ledger *l = ledger_new(0, 0);
	uint64_t n = 10 * LEDGER_PENDING;

	(void)state;
	for (uint64_t i = 0; i < n; i++)
		ledger_interval(l, taking_turns[i % 2], i * 10, i * 10 + 3);
	for (uint64_t i = 0; i < n; i++) /* and all at once, open to the end */
		ledger_interval(l, BUCKET_EVAL, n * 10 + i, n * 20);
	check(l);
	ledger_end(l, n * 20);
	check(l);
	assert_int_equal(bucket(l, BUCKET_DATA_LOADING), n / 2 * 3);
	assert_int_equal(bucket(l, BUCKET_CHECKPOINT_SAVE), n / 2 * 3);
	assert_int_equal(bucket(l, BUCKET_EVAL), n * 10);
	ledger_free(l);
}

/* What each nanosecond should be, kept in the simplest way there is. */
#define LINE 4000

static void test_against_model(void **state)
{
	static unsigned char owner[LINE];
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct ledger *l = ledger_new(0, 0);
		uint64_t at = 0, want[BUCKET_COUNT] = {0};
		bool any = false;

		for (int i = 0; i < LINE; i++)
			owner[i] = BUCKET_COUNT;
		for (int i = 0; at < LINE - 200; i++) {
			uint64_t from = at + (unsigned)rand_r(&seed) % 20,
				 to = from + 1 + (unsigned)rand_r(&seed) % 90;

			for (int k = rand_r(&seed) % 5; k > 0; k--) {
				enum bucket b = (enum bucket)(rand_r(&seed) % BUCKET_GOODPUT);
				uint64_t a = at + (unsigned)rand_r(&seed) % 120,
					 z = a + (unsigned)rand_r(&seed) % 80;

				ledger_interval(l, b, a, z);
				for (uint64_t n = a; n < z && n < LINE; n++)
					owner[n] = owner[n] < (unsigned char)b ? owner[n]
									       : (unsigned char)b;
			}
			for (uint64_t n = at; n < to; n++)
				want[owner[n] < BUCKET_GOODPUT ? owner[n]
				     : n >= from	       ? (unsigned char)BUCKET_GOODPUT
				     : any		       ? (unsigned char)BUCKET_OTHER
					   : (unsigned char)BUCKET_PROGRAM_STARTUP]++;
			ledger_step(l, from, to, (uint64_t)i + 1, false);
			check(l);
			any = true;
			at = to;
		}
		for (uint64_t n = at; n < LINE; n++) /* told before what is around it is settled */
			want[BUCKET_HANG] += owner[n] == BUCKET_HANG;
		for (int b = 0; b < BUCKET_COUNT; b++) {
			struct ledger_view v;

			ledger_view(l, &v);
			if (b == BUCKET_OTHER)
				v.ns[b] -= v.unsettled_ns;
			assert_int_equal(v.ns[b], want[b]);
		}
		ledger_free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_and_gaps),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_interval_across_steps),
		cmocka_unit_test(test_parallel_loops),
		cmocka_unit_test(test_unobserved),
		cmocka_unit_test(test_midway),
		cmocka_unit_test(test_first_steps),
		cmocka_unit_test(test_first_steps_bound),
		cmocka_unit_test(test_slow_step),
		cmocka_unit_test(test_no_step),
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_flood_mixed),
		cmocka_unit_test(test_against_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
