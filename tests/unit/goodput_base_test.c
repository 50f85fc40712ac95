/* SPDX-License-Identifier: Apache-2.0 */
/* What the goodput engines count with: numbers in order, shared time, exact statistics. Against the
 * plainest way to the same. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/account/log/deviation_batch.h"
#include "userspace/account/library/cover.h"
#include "userspace/account/library/dict.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t draw(uint64_t below) /* xorshift64 (Marsaglia 2003) */
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void test_dict(void **state)
{
	struct goodput_dict d = {0};
	int64_t values[500] = {0};
	bool in[500] = {0};
	size_t count = 0;

	(void)state;
	for (int64_t k = 0; k < 100; k++) /* in order: no index */
		goodput_dict_put(&d, k * 4)->value = k;
	assert_null(d.slots);
	assert_int_equal(goodput_dict_find(&d, 40)->value, 10);
	assert_null(goodput_dict_find(&d, 41));
	assert_null(goodput_dict_find(&d, 400));
	assert_null(goodput_dict_find(&d, -1));
	goodput_dict_free(&d);
	for (int i = 0; i < 3000; i++) {
		int64_t k = (int64_t)draw(500);
		struct goodput_entry *e = goodput_dict_put(&d, k - 250);

		assert_int_equal(e->value, in[k] ? values[k] : 0);
		count += !in[k];
		in[k] = true;
		e->value = values[k] = i;
		assert_int_equal(d.count, count);
	}
	for (int64_t k = 0; k < 500; k++) {
		const struct goodput_entry *e = goodput_dict_find(&d, k - 250);

		assert_true(in[k] ? e && e->value == values[k] : !e);
	}
	goodput_dict_free(&d);
	assert_null(goodput_dict_find(&d, 1));
}

static void test_shared(void **state)
{
	struct goodput_range spans[20];
	struct goodput_cover c;

	(void)state;
	for (int round = 0; round < 500; round++) {
		size_t n = draw(20);

		for (size_t i = 0; i < n; i++)
			spans[i] = (struct goodput_range){(int64_t)draw(50), (int64_t)draw(50), 0};
		assert_true(goodput_cover_make(&c, spans, n));
		for (int k = 0; k < 20; k++) {
			int64_t from = (int64_t)draw(60) - 5, to = (int64_t)draw(60) - 5,
				expected = 0;

			for (size_t i = 0; i < n; i++) {
				int64_t low = spans[i].from > from ? spans[i].from : from;
				int64_t high = spans[i].to < to ? spans[i].to : to;

				expected += low < high ? high - low : 0;
			}
			assert_int_equal((int64_t)goodput_cover_shared(&c, from, to), expected);
		}
		goodput_cover_free(&c);
	}
}

static void test_contained(void **state)
{
	struct goodput_range outer[20], inner[20];
	goodput_wide length[20];
	uint64_t holders[20];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t n = draw(20), m = draw(20);

		for (size_t i = 0; i < n; i++)
			outer[i] = (struct goodput_range){(int64_t)draw(30), (int64_t)draw(30), 0};
		for (size_t i = 0; i < m; i++) {
			inner[i].from = (int64_t)draw(30);
			inner[i].to = inner[i].from + 1 + (int64_t)draw(10);
		}
		assert_true(goodput_contained(outer, n, inner, m, length, holders));
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < m; k++)
				if (outer[i].from <= inner[k].from && inner[k].to <= outer[i].to) {
					length[i] -= inner[k].to - inner[k].from;
					holders[k]--;
				}
		for (size_t i = 0; i < n; i++)
			assert_true(length[i] == 0);
		for (size_t k = 0; k < m; k++)
			assert_int_equal(holders[k], 0);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static bool plain_ideal(const double *v, size_t n, double least, double *ret)
{
	double kept[64], distance[64], mid, limit, sum = 0;
	size_t count = 0, normal = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i] >= least)
			kept[count++] = v[i];
	if (!count)
		return false;
	mid = median(kept, count);
	for (size_t i = 0; i < count; i++)
		distance[i] = fabs(kept[i] - mid);
	limit = mid + 3 * median(distance, count);
	for (size_t i = 0; i < count; i++)
		if (kept[i] <= limit) {
			sum += kept[i];
			normal++;
		}
	*ret = sum / (double)normal;
	return true;
}

static void test_ideal(void **state)
{
	double v[64], got = -1, expected = -1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t n = draw(64);
		double least = (double)draw(3) - 1;

		for (size_t i = 0; i < n; i++)
			v[i] = ((double)draw(400) - 20) / (draw(4) ? 128 : 8);
		assert_int_equal(deviation_batch_ideal(v, n, least, &got),
				 plain_ideal(v, n, least, &expected));
		assert_true(fabs(got - expected) < 1e-12);
	}
}

static void test_metric(void **state)
{
	double v[1200];

	(void)state;
	for (int i = 0; i < 1200; i++)
		v[i] = i < 1100 ? 5
				: -(double)(1200 -
					    i); /* the last 100: 100 99 ... 1, signs left out */
	v[50] = 1e9;
	assert_true(deviation_batch_metric(v, 0, false) == 0);
	assert_true(deviation_batch_metric(v, 50, false) == 5);
	assert_true(deviation_batch_metric(v, 99, false) > 1e7); /* the mean of all */
	assert_true(deviation_batch_metric(v, 100, false) == 5); /* from here on the percentile */
	assert_true(fabs(deviation_batch_metric(v, 1200, true) - 90.1) < 1e-9);
	assert_true(fabs(deviation_batch_metric(v, 1200, false) - 85.1) < 1e-9);
	assert_true(fabs(deviation_batch_metric(v + 101, 1099, false) - 90.1) <
		    1e-9); /* no baseline yet */
	assert_true(fabs(deviation_batch_metric(v + 100, 1100, false) - 85.1) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dict),	  cmocka_unit_test(test_shared),
		cmocka_unit_test(test_contained), cmocka_unit_test(test_ideal),
		cmocka_unit_test(test_metric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
