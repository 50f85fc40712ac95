/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/log/deviation_batch.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RECENT	 100
#define BASELINE 1000
/* Bits of a radix digit: a double has 6 digits, and the counters for one digit fit in the L1
 * cache. */
#define DIGIT_BITS 11

/* Numbers of which the median is computed. distance false: the values that are at least `least`;
 * true: the distances of these values from `center`. */
struct sample {
	const double *values;
	size_t count;
	double least, center;
	bool distance;
};

/* Maps a double to an integer, so that integers have the same order as the doubles. */
static uint64_t batch_rank_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double batch_value_of(uint64_t rank)
{
	uint64_t bits = rank >> 63 ? rank & ~(1ull << 63) : ~rank;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static bool deviation_batch_sample_value(const struct sample *s, size_t i, double *ret)
{
	if (s->values[i] < s->least)
		return false;
	*ret = s->distance ? fabs(s->values[i] - s->center) : s->values[i];
	return true;
}

/* Returns the k-th smallest value, counted from 0. Selects digit by digit, so that the time does
 * not depend on the order of the values. */
static double deviation_batch_select_kth(const struct sample *s, size_t k)
{
	uint32_t counts[1 << DIGIT_BITS];
	uint64_t prefix = 0, known = 0;
	double v;

	for (int shift = 64; shift > 0;) {
		int bits = shift < DIGIT_BITS ? shift : DIGIT_BITS;
		uint64_t digit = 0;

		shift -= bits;
		memset(counts, 0, sizeof(counts));
		for (size_t i = 0; i < s->count; i++) {
			uint64_t rank;

			if (!deviation_batch_sample_value(s, i, &v))
				continue;
			rank = batch_rank_of(v);
			if ((rank & known) == prefix)
				counts[rank >> shift & ((1u << bits) - 1)]++;
		}
		while (k >= counts[digit])
			k -= counts[digit++];
		prefix |= digit << shift;
		known |= (uint64_t)((1u << bits) - 1) << shift;
	}
	return batch_value_of(prefix);
}

static double batch_median(const struct sample *s)
{
	double low, high = INFINITY, v;
	size_t n = 0, upto = 0;

	for (size_t i = 0; i < s->count; i++)
		n += deviation_batch_sample_value(s, i, &v);
	if (!n)
		return 0;
	low = deviation_batch_select_kth(s, (n - 1) / 2);
	if (n % 2)
		return low;
	for (size_t i = 0; i < s->count; i++) {
		if (!deviation_batch_sample_value(s, i, &v))
			continue;
		if (v <= low)
			upto++;
		else if (v < high)
			high = v;
	}
	return (low + (upto > n / 2 ? low : high)) / 2;
}

bool deviation_batch_ideal(const double *times_s, size_t count, double least_s, double *ret_ideal_s)
{
	struct sample s = {.values = times_s, .count = count, .least = least_s};
	double mid, limit, sum = 0, v;
	size_t n = 0;

	mid = batch_median(&s);
	s.center = mid;
	s.distance = true;
	limit = mid + batch_median(&s) * 3;
	s.distance = false;
	for (size_t i = 0; i < count; i++) {
		if (!deviation_batch_sample_value(&s, i, &v) || v > limit)
			continue;
		sum += v;
		n++;
	}
	if (!n)
		return false;
	*ret_ideal_s = sum / (double)n;
	return true;
}

double deviation_batch_mean(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : 0;
}

static int batch_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double deviation_batch_metric(const double *deviations_s, size_t count, bool interval)
{
	double recent[RECENT], baseline[BASELINE], at, spike, sum = 0;
	struct sample s = {.values = baseline, .count = BASELINE, .least = -INFINITY};
	size_t low;

	if (count < RECENT) {
		for (size_t i = 0; i < count; i++)
			sum += fabs(deviations_s[i]);
		return count ? sum / (double)count : 0;
	}
	for (size_t i = 0; i < RECENT; i++)
		recent[i] = fabs(deviations_s[count - RECENT + i]);
	qsort(recent, RECENT, sizeof(*recent), batch_compare);
	at = (RECENT - 1) * (90 / 100.0);
	low = (size_t)at;
	spike = recent[low] + (recent[low + 1] - recent[low]) * (at - (double)low);
	if (interval || count < RECENT + BASELINE)
		return spike;
	for (size_t i = 0; i < BASELINE; i++)
		baseline[i] = fabs(deviations_s[count - RECENT - BASELINE + i]);
	return spike - batch_median(&s);
}
