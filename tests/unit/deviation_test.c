/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/time/deviation.h"

#define MS 1000000ull

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank: the smallest value with at least percent of all values at or below it. */
static uint64_t quantile(const uint64_t *sorted, uint64_t n, unsigned percent)
{
	return sorted[(n * percent + 99) / 100 - 1];
}

static void test_empty(void **state)
{
	struct deviation *d = deviation_new();
	struct deviation_view v;
	uint64_t ideal_ns = 1, mad_ns = 1;

	(void)state;
	deviation_view(d, &v);
	assert_int_equal(v.count, 0);
	assert_int_equal(v.p99_ns, 0);
	deviation_add(d, 5);
	deviation_add(d, 7);
	deviation_view(d, &v);
	assert_int_equal(v.count, 2);
	assert_int_equal(v.min_ns, 5);
	assert_int_equal(v.max_ns, 7);
	assert_int_equal(v.last_ns, 7);
	assert_int_equal(v.p50_ns, 5);
	assert_true(v.mean_ns == 6);
	assert_int_equal(v.ideal_ns, 0); /* under three steps */
	deviation_ideal(d, &ideal_ns, &mad_ns);
	assert_int_equal(ideal_ns, 0);
	assert_int_equal(mad_ns, 0);
	deviation_free(d);
}

/* By hand: 100 100 110 90 400: median 100, MAD 10, limit 130, ideal 100. */
static void test_ideal(void **state)
{
	static const uint64_t ms[] = {100, 110, 90, 100, 400};
	struct deviation *d = deviation_new();
	struct deviation_view v;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		deviation_add(d, ms[i] * MS);
	deviation_view(d, &v);
	assert_int_equal(v.ideal_ns, 100 * MS);
	assert_int_equal(v.mad_ns, 10 * MS);
	assert_int_equal(v.p50_ns, 100 * MS);
	assert_int_equal(v.p99_ns, 400 * MS);
	assert_int_equal(v.max_ns, 400 * MS);
	/* (0 + 10 + 10 + 0 + 300) / 5; 1.4826 x 10 / 100 */
	assert_true(fabs(v.deviation_ns - 64e6) < 1);
	assert_true(fabs(v.jitter - 0.14826) < 1e-9);
	assert_true(fabs(v.signed_ns - 60e6) < 1); /* (0 + 10 - 10 + 0 + 300) / 5 */
	deviation_set_ideal(d, 80 * MS);
	deviation_view(d, &v);
	assert_int_equal(v.ideal_ns, 80 * MS);
	assert_int_equal(v.mad_ns, 10 * MS);
	assert_true(fabs(v.deviation_ns - 80e6) < 1); /* (20 + 30 + 10 + 20 + 320) / 5 */
	deviation_free(d);
}

static void test_even_median(void **state)
{
	static const uint64_t ns[] = {10, 40, 20, 30};
	struct deviation *d = deviation_new();
	struct deviation_view v;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		deviation_add(d, ns[i]);
	deviation_view(d, &v);
	assert_int_equal(v.mad_ns, 10); /* of 15 5 5 15 around 25 */
	assert_int_equal(v.ideal_ns, 25);
	deviation_free(d);
}

static void test_constant(void **state)
{
	struct deviation *d = deviation_new();
	struct deviation_view v;

	(void)state;
	for (int i = 0; i < 5000; i++)
		deviation_add(d, 31234567);
	deviation_view(d, &v);
	assert_int_equal(v.p50_ns, 31234567); /* the middle of its class, held within min and max */
	assert_int_equal(v.p99_ns, 31234567);
	assert_int_equal(v.ideal_ns, 31234567);
	assert_true(v.deviation_ns == 0 && v.jitter == 0);
	deviation_free(d);
}

/* Times from 1 ns to hours, exact to 1024 steps and within 1 % beyond. */
static void test_quantiles(void **state)
{
	static const unsigned percents[] = {50, 95, 99};
	uint64_t *times = calloc(20000, sizeof(*times)), *sorted = calloc(20000, sizeof(*sorted));
	struct deviation *d = deviation_new();
	unsigned seed = 3;

	(void)state;
	for (uint64_t n = 1; n <= 20000; n++) {
		struct deviation_view v;
		uint64_t got[3];

		times[n - 1] = (uint64_t)exp(0.001 * (double)(rand_r(&seed) % 31000));
		deviation_add(d, times[n - 1]);
		if (n > 40 && n % 997 && n != 1024 && n != 1025)
			continue;
		memcpy(sorted, times, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), compare);
		deviation_view(d, &v);
		got[0] = v.p50_ns, got[1] = v.p95_ns, got[2] = v.p99_ns;
		for (int i = 0; i < 3; i++) {
			double want = (double)quantile(sorted, n, percents[i]);

			if (n <= 1024)
				assert_true((double)got[i] == want);
			else
				assert_true(fabs((double)got[i] - want) <= 0.01 * want);
		}
		assert_int_equal(v.min_ns, sorted[0]);
		assert_int_equal(v.max_ns, sorted[n - 1]);
	}
	deviation_free(d);
	free(times);
	free(sorted);
}

/* The ideal follows the last 1024 steps: what was before is forgotten. */
static void test_window(void **state)
{
	struct deviation *d = deviation_new();
	struct deviation_view v;

	(void)state;
	for (int i = 0; i < 3000; i++)
		deviation_add(d, 100 * MS);
	for (int i = 0; i < 1024; i++)
		deviation_add(d, 50 * MS);
	deviation_view(d, &v);
	assert_int_equal(v.ideal_ns, 50 * MS);
	assert_true(v.deviation_ns == 0);
	assert_int_equal(v.last[0].count, 128);
	assert_int_equal(v.last[1].count, 1024);
	assert_int_equal(v.last[1].p99_ns, 50 * MS);
	assert_true(v.last[0].mean_ns == 50e6);
	assert_int_equal(v.count, 4024);
	assert_true(fabs((double)v.p50_ns - 100e6) <= 1e6); /* quantiles are over all steps */
	assert_true(fabs(v.mean_ns - (3000.0 * 100e6 + 1024.0 * 50e6) / 4024) < 1);
	deviation_free(d);
}

static void test_histogram(void **state)
{
	struct deviation *d = deviation_new();
	struct deviation_view v;
	uint64_t sum_ns = 0;

	(void)state;
	for (int i = 0; i < DEVIATION_BOUNDS; i++) { /* a bound belongs to the bucket below it */
		assert_true(!i || deviation_bound_ns[i] > deviation_bound_ns[i - 1]);
		for (uint64_t k = 0; k < 2; k++) {
			assert_int_equal(deviation_add(d, deviation_bound_ns[i] + k), 0);
			sum_ns += deviation_bound_ns[i] + k;
		}
	}
	deviation_view(d, &v);
	assert_int_equal(v.count, 2 * DEVIATION_BOUNDS);
	assert_int_equal(v.sum_ns, sum_ns);
	assert_int_equal(v.bucket[0], 1);
	for (int i = 1; i < DEVIATION_BOUNDS; i++)
		assert_int_equal(v.bucket[i], 2);
	assert_int_equal(v.bucket[DEVIATION_BOUNDS], 1);
	deviation_free(d);
}

static void test_extremes(void **state)
{
	struct deviation *d = deviation_new();
	struct deviation_view v;

	(void)state;
	for (int i = 0; i < 1100; i++)
		deviation_add(d, i % 2 ? 0 : UINT64_MAX / 4096);
	deviation_view(d, &v);
	assert_int_equal(v.min_ns, 0);
	assert_int_equal(v.p50_ns, 0);
	assert_int_equal(v.max_ns, UINT64_MAX / 4096);
	assert_true(fabs((double)v.p99_ns / (double)v.max_ns - 1) < 0.01);
	deviation_free(d);
}

/* A restart in the middle: what is told then is told of the same times. */
static void archived(struct deviation **d)
{
	struct buffer out = {0};
	struct archive a;

	archive_write(&a, &out, "GPTIMES", 1);
	deviation_archive(&a, d);
	assert_int_equal(archive_end(&a), 0);
	deviation_free(*d);
	archive_read(&a, out.data, out.len, "GPTIMES", 1);
	deviation_archive(&a, d);
	assert_int_equal(archive_end(&a), 0);
	buffer_free(&out);
}

/* Median and median absolute deviation, sorted from nothing. */
static uint64_t median(const uint64_t *sorted, uint64_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static uint64_t spread(const uint64_t *sorted, uint64_t n)
{
	uint64_t a[1024], med = median(sorted, n);

	for (uint64_t i = 0; i < n; i++)
		a[i] = sorted[i] > med ? sorted[i] - med : med - sorted[i];
	qsort(a, n, sizeof(*a), compare);
	return median(a, n);
}

/* Each step, among few times (many are equal) and among many: as if the last ones were sorted
 * anew. */
static void as_sorted(unsigned range)
{
	struct deviation *d = deviation_new();
	static uint64_t times[4000], sorted[1024];
	unsigned seed = range;

	for (uint64_t n = 1; n <= 4000; n++) {
		uint64_t kept = n < 1024 ? n : 1024, newest = n < 128 ? n : 128, sum = 0, count = 0,
			 med;
		struct deviation_view v;

		times[n - 1] = 1000 + (uint64_t)rand_r(&seed) % range;
		assert_int_equal(deviation_add(d, times[n - 1]), 0);
		if (n % 701 == 0)
			archived(&d);
		deviation_view(d, &v);
		memcpy(sorted, times + n - kept, kept * sizeof(*sorted));
		qsort(sorted, kept, sizeof(*sorted), compare);
		assert_int_equal(v.last[1].count, kept);
		assert_int_equal(v.last[1].p50_ns, quantile(sorted, kept, 50));
		assert_int_equal(v.last[1].p95_ns, quantile(sorted, kept, 95));
		assert_int_equal(v.last[1].p99_ns, quantile(sorted, kept, 99));
		if (n >= 3) {
			assert_int_equal(v.mad_ns, spread(sorted, kept));
			for (uint64_t i = 0; i < kept; i++)
				if (sorted[i] <= median(sorted, kept) + 3 * v.mad_ns)
					sum += sorted[i], count++;
			med = median(sorted, kept);
			assert_int_equal(v.ideal_ns, sum / count < med ? sum / count : med);
		}
		memcpy(sorted, times + n - newest, newest * sizeof(*sorted));
		qsort(sorted, newest, sizeof(*sorted), compare);
		med = median(sorted, newest);
		assert_int_equal(v.last[0].count, newest);
		assert_int_equal(v.last[0].p95_ns, quantile(sorted, newest, 95));
		if (n >= 3)
			assert_true(fabs(v.jitter - 1.4826 * (double)spread(sorted, newest) /
							    (double)med) < 1e-12);
	}
	deviation_free(d);
}

static void test_as_sorted(void **state)
{
	(void)state;
	as_sorted(1);
	as_sorted(5);
	as_sorted(1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	    cmocka_unit_test(test_ideal),
		cmocka_unit_test(test_even_median), cmocka_unit_test(test_constant),
		cmocka_unit_test(test_quantiles),   cmocka_unit_test(test_window),
		cmocka_unit_test(test_histogram),   cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_as_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
