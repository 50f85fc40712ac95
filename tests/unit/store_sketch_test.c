/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and sketches: what is kept is what was put in, merged or not, and hostile bytes are
 * refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/store/sketch.h"
#include "userspace/store/sums.h"
#include "userspace/store/varint.h"

#define TIMES 20000

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void near(const struct sketch *s, const uint64_t *sorted, size_t n, double part)
{
	size_t rank = (size_t)(part * (double)n + 0.999999);
	double truth = (double)sorted[rank ? rank - 1 : 0],
	       found = (double)sketch_quantile(s, part);
	double off = found > truth ? found - truth : truth - found;

	if (off > truth * sketch_error(s) + 1)
		fail_msg("quantile %g: %g instead of %g", part, found, truth);
}

static void quantiles_of(uint64_t base, uint64_t spread, unsigned max_coarse)
{
	static uint64_t times[TIMES];
	uint64_t seed = base;
	struct sketch s = {0};

	for (size_t i = 0; i < TIMES; i++) {
		times[i] = base + next(&seed) % spread;
		sketch_add(&s, times[i]);
	}
	qsort(times, TIMES, sizeof(times[0]), by_size);
	assert_true(s.coarse <= max_coarse);
	for (double part = 0; part <= 1; part += 0.01)
		near(&s, times, TIMES, part);
	assert_int_equal(s.count, TIMES);
	assert_int_equal(s.min_ns, times[0]);
	assert_int_equal(s.max_ns, times[TIMES - 1]);
}

static void test_quantiles(void **state)
{
	(void)state;
	quantiles_of(100000000, 3000000, 0); /* steps that are alike */
	quantiles_of(1, 100, 5);
	quantiles_of(1000000, 1000000000, 5); /* a thousandfold */
}

static void test_merge(void **state)
{
	struct sketch whole = {0}, part[7] = {0}, up = {0}, down = {0};
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < TIMES; i++) {
		uint64_t ns = next(&seed) % 1000 ? 30000000 + next(&seed) % 1000000 : next(&seed);

		sketch_add(&whole, ns);
		sketch_add(&part[i % 7], ns);
	}
	for (int i = 0; i < 7; i++) {
		sketch_merge(&up, &part[i]);
		sketch_merge(&down, &part[6 - i]);
	}
	assert_int_equal(up.count, whole.count);
	assert_int_equal(up.sum_ns, whole.sum_ns);
	assert_int_equal(up.min_ns, whole.min_ns);
	assert_int_equal(up.max_ns, whole.max_ns);
	assert_int_equal(up.coarse, whole.coarse);
	assert_memory_equal(&up, &down, sizeof(up));
	assert_memory_equal(up.at, whole.at, sizeof(up.at[0]) * up.used);
}

static void test_bytes(void **state)
{
	struct sketch s = {0}, back;
	struct buffer b = {0};
	uint64_t seed = 9;

	(void)state;
	assert_int_equal(sketch_read(&back, NULL, 0), 0);
	assert_int_equal(back.count, 0);
	assert_int_equal(sketch_quantile(&back, 0.5), 0);
	sketch_add(&s, 0);
	sketch_add(&s, UINT64_MAX);
	for (int i = 0; i < 600; i++)
		sketch_add(&s, 100000000 + next(&seed) % 4000000);
	sketch_write(&s, &b);
	assert_true(b.len <= 40 + 12 * SKETCH_CLASSES);
	assert_int_equal(sketch_read(&back, b.data, b.len), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	for (size_t len = 1; len < b.len; len++)
		assert_int_equal(sketch_read(&back, b.data, len), -EBADMSG);
	for (size_t i = 0; i < b.len * 8; i++) { /* any bit: refused, or harmless */
		b.data[i / 8] ^= (char)(1 << i % 8);
		if (!sketch_read(&back, b.data, b.len)) {
			sketch_quantile(&back, 0.99);
			sketch_merge(&back, &s);
			assert_true(back.used <= SKETCH_CLASSES);
		}
		b.data[i / 8] ^= (char)(1 << i % 8);
	}
	buffer_free(&b);
}

static void test_sums(void **state)
{
	struct sum_names names, fewer;
	struct sums s = {0}, back;
	struct buffer b = {0};

	(void)state;
	sum_names_init(&names);
	for (uint32_t i = 0; i < names.count; i++)
		names.id[i] = 1000 - i; /* of the store, in any order */
	assert_int_equal(sum_names_add(&names, "NEW_BUCKET", 2000), 0);
	s.ns[BUCKET_GOODPUT] = 5;
	s.ns[BUCKET_OTHER] = -7000000000ll;
	s.ns[BUCKET_COUNT] = INT64_MIN;
	sums_write(&s, &names, &b);
	assert_int_equal(sums_read(&back, &names, b.data, b.len), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	sum_names_init(&fewer); /* of a version that has no such bucket */
	for (uint32_t i = 0; i < fewer.count; i++)
		fewer.id[i] = 1000 - i;
	assert_int_equal(sums_read(&back, &fewer, b.data, b.len), -ENOENT);
	assert_int_equal(sum_names_add(&fewer, "NEW_BUCKET", 2000), 0);
	assert_int_equal(sums_read(&back, &fewer, b.data, b.len), 0);
	assert_int_equal(sums_total(&back), sums_total(&s));
	for (size_t len = 0; len < b.len; len++)
		assert_true(sums_read(&back, &names, b.data, len) == 0 ||
			    sums_read(&back, &names, b.data, len) == -EBADMSG);
	buffer_clear(&b);
	varint_write(&b, 0);
	varint_write(&b, 1);
	assert_int_equal(sums_read(&back, &names, b.data, b.len), -EBADMSG);
	buffer_free(&b);
}

/* Names beyond the slots lose their name, not their time. */
static void test_names_bounded(void **state)
{
	struct sum_names names;
	struct sums back;
	struct buffer b = {0};
	char name[16];
	int last = 0;

	(void)state;
	sum_names_init(&names);
	for (int i = 0; i < 2 * SUMS_SLOTS; i++) {
		snprintf(name, sizeof(name), "B%d", i);
		last = sum_names_add(&names, name, i + 1);
	}
	assert_int_equal(last, -ENOSPC);
	assert_int_equal(names.count, SUMS_SLOTS);
	varint_write(&b, 100);
	varint_write(&b, zigzag(77));
	assert_int_equal(sums_read(&back, &names, b.data, b.len), 0);
	assert_int_equal(back.ns[BUCKET_OTHER], 77);
	buffer_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),     cmocka_unit_test(test_merge),
		cmocka_unit_test(test_bytes),	      cmocka_unit_test(test_sums),
		cmocka_unit_test(test_names_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
