/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/base/buffer.h"
#include "userspace/base/order.h"
#include "userspace/model/time/recent.h"

#define MS     1000000ull
#define SECOND 1000000000ull

/* "No data" is no zero: after silence nothing is left, first of the minute, then of the ten. */
static void test_silence(void **state)
{
	struct recent *r = recent_new();
	struct times_view v[RECENT_CLOCKS];

	(void)state;
	recent_view(r, 5 * SECOND, v);
	assert_int_equal(v[0].count, 0);
	for (uint64_t at_ns = 1000 * SECOND; at_ns < 1060 * SECOND; at_ns += 100 * MS)
		recent_add(r, at_ns, 100 * MS);
	recent_view(r, 1060 * SECOND, v);
	assert_int_equal(v[0].count, 600);
	assert_int_equal(v[1].count, 600);
	assert_true(v[0].mean_ns == 100e6);
	assert_true(fabs((double)v[0].p99_ns / 100e6 - 1) <= 1 / 32.0);
	recent_view(r, 1119 * SECOND, v);
	assert_int_equal(v[0].count, 100);
	recent_view(r, 1120 * SECOND, v);
	assert_int_equal(v[0].count, 0);
	assert_int_equal(v[1].count, 600);
	recent_view(r, 1800 * SECOND, v);
	assert_int_equal(v[1].count, 0);
	recent_free(r);
}

/* Against the steps themselves: within 1/32, in windows no shorter than their name nor longer by a
 * slot. */
static void test_quantiles(void **state)
{
	enum { N = 40000 };
	uint64_t *ns = calloc(N, sizeof(*ns)), *end_ns = calloc(N, sizeof(*end_ns)),
		 *a = calloc(N, sizeof(*a));
	struct recent *r = recent_new();
	struct times_view v[RECENT_CLOCKS];
	uint64_t now_ns = 77 * SECOND;
	unsigned seed = 3;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		ns[i] = (uint64_t)(20e6 * exp(0.001 * (rand_r(&seed) % 4000)));
		if (i == 0 || i == 20000) /* it compiles */
			ns[i] = 60 * SECOND;
		now_ns += ns[i];
		end_ns[i] = now_ns;
		recent_add(r, now_ns, ns[i]);
		if (i % 1777)
			continue;
		recent_view(r, now_ns, v);
		for (int k = 0; k < RECENT_CLOCKS; k++) {
			uint64_t slot_ns = k ? 60 * SECOND : 10 * SECOND;
			uint64_t least_ns = now_ns > recent_clock_ns[k]
						    ? now_ns - recent_clock_ns[k]
						    : 0;
			uint64_t from_ns = least_ns / slot_ns * slot_ns, want;
			uint32_t n = 0;

			for (uint32_t j = 0; j <= i; j++)
				if (end_ns[j] >= from_ns)
					a[n++] = ns[j];
			assert_int_equal(v[k].count, n);
			want = order_quantile(a, n, 50);
			assert_true(fabs((double)v[k].p50_ns / (double)want - 1) <= 1 / 32.0);
			want = order_quantile(a, n, 95);
			assert_true(fabs((double)v[k].p95_ns / (double)want - 1) <= 1 / 32.0);
		}
	}
	recent_free(r);
	free(ns);
	free(end_ns);
	free(a);
}

/* A slot that began with a long step, and one that began with a short one. */
static void test_range(void **state)
{
	struct recent *r = recent_new();
	struct times_view v[RECENT_CLOCKS];

	(void)state;
	recent_add(r, 600 * SECOND, 500 * SECOND);
	for (uint64_t i = 1; i <= 99; i++)
		recent_add(r, 600 * SECOND + i, MS);
	recent_view(r, 601 * SECOND, v);
	assert_true(fabs((double)v[0].p50_ns / 1e6 - 1) <= 1 / 32.0);
	assert_true(fabs((double)v[0].p99_ns / 1e6 - 1) <= 1 / 32.0);
	recent_add(r, 602 * SECOND, UINT64_MAX / 2);
	recent_add(r, 602 * SECOND, 0);
	recent_view(r, 603 * SECOND, v);
	assert_int_equal(v[0].count, 102);
	recent_free(r);
}

static void test_archive(void **state)
{
	struct recent *r = recent_new(), *loaded = NULL;
	struct times_view a[RECENT_CLOCKS], b[RECENT_CLOCKS];
	struct buffer bytes = {0};
	struct archive ar;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		recent_add(r, i * 130 * MS, (i * 7919) % 300 * MS);
	archive_write(&ar, &bytes, "gp-test!", 1);
	recent_archive(&ar, &r);
	assert_int_equal(archive_end(&ar), 0);
	archive_read(&ar, bytes.data, bytes.len, "gp-test!", 1);
	recent_archive(&ar, &loaded);
	assert_int_equal(archive_end(&ar), 0);
	recent_add(r, 5001 * 130 * MS, MS);
	recent_add(loaded, 5001 * 130 * MS, MS);
	recent_view(r, 5002 * 130 * MS, a);
	recent_view(loaded, 5002 * 130 * MS, b);
	assert_memory_equal(a, b, sizeof(a));
	recent_free(r);
	recent_free(loaded);
	buffer_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
