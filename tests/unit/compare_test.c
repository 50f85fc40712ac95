/* SPDX-License-Identifier: Apache-2.0 */
/* compare_test - whether two runs differ: Student's t against tables, and how often the test errs,
 * by simulation: minutes that are correlated, runs that differ by anyway. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "userspace/model/time/compare.h"

#define LONGEST 1440
#define TRIALS	2000
#define STEP_NS 3e8

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Minutes of a run: 2 % noise, of which a share phi stays from one to the next. */
static struct compare_run run(uint32_t n, double phi, double shift)
{
	static double minute[LONGEST];
	struct compare_run ret;
	double noise = normal();

	for (uint32_t i = 0; i < n; i++) {
		minute[i] = STEP_NS * exp(shift + 0.02 * noise);
		noise = phi * noise + sqrt(1 - phi * phi) * normal();
	}
	assert_int_equal(compare_reduce(minute, n, &ret), 0);
	return ret;
}

/* Of a hundred: how often a difference is told. */
static double told(uint32_t n, double phi, uint32_t npeers, double between, double shift)
{
	struct compare_run peers[16];
	struct compare_answer a;
	int count = 0, trials = n > 480 ? TRIALS / 4 : TRIALS;

	seed = 7;
	for (int i = 0; i < trials; i++) {
		struct compare_run own = run(n, phi, shift + between * normal());

		for (uint32_t k = 0; k < npeers; k++)
			peers[k] = run(n, phi, between * normal());
		compare_runs(&own, peers, npeers, &a);
		count += a.verdict != COMPARE_SAME;
		if ((a.verdict == COMPARE_SAME) != (a.p > 1 - COMPARE_LEVEL) ||
		    (a.verdict == COMPARE_SAME) != (a.low < 1 && a.high > 1))
			fail_msg("verdict %d, p %g, interval %g to %g", a.verdict, a.p, a.low,
				 a.high);
	}
	return 100.0 * count / trials;
}

static void near(double found, double expected, double apart)
{
	if (!(fabs(found - expected) <= apart))
		fail_msg("%.9g is not %.9g", found, expected);
}

static void student(void **state)
{
	static const struct {
		double freedom, t; /* two-sided, 95 % */
	} table[] = {{1, 12.70620}, {2, 4.30265},  {3, 3.18245},   {4, 2.77645},
		     {10, 2.22814}, {30, 2.04227}, {100, 1.98397}, {1e6, 1.95997}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		near(compare_bound(0.95, table[i].freedom), table[i].t, 1e-5);
		near(compare_within(table[i].t, table[i].freedom), 0.95, 1e-6);
		near(compare_within(-table[i].t, table[i].freedom), 0.95, 1e-6);
	}
	near(compare_within(0, 5), 0, 1e-12);
	near(compare_within(1e6, 5), 1, 1e-12);
	near(compare_bound(0.99, 2.5), 7.3, 1.0); /* between those of 2 and of 3 */
}

static void reduced(void **state)
{
	double minute[60];
	struct compare_run r;

	(void)state;
	assert_int_equal(compare_reduce(minute, COMPARE_LEAST - 1, &r), -ERANGE);
	for (int i = 0; i < 60; i++)
		minute[i] = STEP_NS;
	assert_int_equal(compare_reduce(minute, 60, &r), 0);
	near(exp(r.mean) / STEP_NS, 1, 1e-9);
	assert_true(r.variance > 0 && r.variance < 1e-9);
	assert_int_equal(r.minutes, 60);
	assert_true(r.freedom >= 2);
	for (int i = 0; i < 60; i++) /* one minute of 100 times is no run of 1.08 times */
		minute[i] = STEP_NS * (i == 30 ? 100 : 1 + 1e-3 * (i % 3));
	assert_int_equal(compare_reduce(minute, 60, &r), 0);
	near(exp(r.mean) / STEP_NS, 1.001, 5e-4);
}

/* False alarms: 5 of a hundred are what it says. Twice the error of so many trials is 1. */
static void silent(void **state)
{
	static const struct {
		uint32_t n;
		double phi, at_most;
	} one[] = {{20, 0, 6},	{30, 0.5, 6},  {60, 0, 6},    {60, 0.5, 6},   {60, 0.8, 8},
		   {240, 0, 6}, {240, 0.5, 6}, {240, 0.8, 7}, {1440, 0.8, 8}, {1440, 0.9, 9}};
	static const struct {
		uint32_t n, peers;
		double phi, between;
	} several[] = {
		{30, 2, 0.5, 0.01}, {60, 3, 0.8, 0.03}, {60, 8, 0.5, 0.01}, {240, 5, 0.9, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		double wrong = told(one[i].n, one[i].phi, 1, 0, 0);

		print_message("%u minutes, correlation %.1f, one peer: %.1f %% false alarms\n",
			      one[i].n, one[i].phi, wrong);
		assert_true(wrong <= one[i].at_most);
		assert_true(wrong >= 1.5); /* nor is it silent by being deaf */
	}
	for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++) {
		double wrong = told(several[i].n, several[i].phi, several[i].peers,
				    several[i].between, 0);

		print_message(
			"%u minutes, correlation %.1f, %u peers that differ by %.0f %%: %.1f %% false alarms\n",
			several[i].n, several[i].phi, several[i].peers, 100 * several[i].between,
			wrong);
		assert_true(wrong >= 3.5 && wrong <= 7.5);
	}
}

static void found(void **state)
{
	double found;

	(void)state;
	found = told(60, 0.5, 1, 0, 0.03);
	print_message("3 %% slower, an hour, one peer: found in %.0f %%\n", found);
	assert_true(found >= 90);
	found = told(60, 0.5, 5, 0.005, 0.03);
	print_message("3 %% slower, five peers that differ by 0.5 %%: found in %.0f %%\n", found);
	assert_true(found >= 80);
}

/* A run that is shorter than its peers is known less well than they are. */
static void uneven(void **state)
{
	struct compare_run peers[6];
	struct compare_answer a;
	unsigned wrong = 0;

	(void)state;
	seed = 9;
	for (int i = 0; i < TRIALS; i++) {
		struct compare_run own = run(20, 0.5, 0);

		for (int k = 0; k < 6; k++)
			peers[k] = run(480, 0.5, 0);
		compare_runs(&own, peers, 6, &a);
		wrong += a.verdict != COMPARE_SAME;
	}
	print_message("20 minutes beside six of 480: %.1f %% false alarms\n",
		      100.0 * wrong / TRIALS);
	assert_true(wrong <= TRIALS * 8 / 100);
}

static void verdicts(void **state)
{
	struct compare_run own = {60, log(1.1e8), 1e-6, 3}, peer = {60, log(1e8), 1e-6, 3};
	struct compare_answer a;

	(void)state;
	compare_runs(&own, &peer, 1, &a);
	assert_int_equal(a.verdict, COMPARE_SLOWER);
	near(a.ratio, 1.1, 1e-9);
	assert_true(a.low > 1.09 && a.low < 1.1 && a.high > 1.1 && a.high < 1.11);
	assert_true(a.p < 1e-3);
	near(a.freedom, 6, 1e-9);
	compare_runs(&peer, &own, 1, &a);
	assert_int_equal(a.verdict, COMPARE_FASTER);
	near(a.ratio, 1 / 1.1, 1e-9);
	compare_runs(&own, &own, 1, &a);
	assert_int_equal(a.verdict, COMPARE_SAME);
	near(a.p, 1, 1e-9);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(student), cmocka_unit_test(reduced), cmocka_unit_test(silent),
		cmocka_unit_test(found),   cmocka_unit_test(uneven),  cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
