/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/deviation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/model/time/last_times.h"
#include "userspace/base/order.h"
#include "userspace/model/time/time_class.h"

/* Number of last times from which the ideal step is computed. Until there are more, quantiles are
 * exact. */
#define WINDOW	  LAST_TIMES
#define RECENT	  128 /* number of last times from which deviation and jitter are computed */
#define IDEAL_MIN 3   /* steps needed to compute an ideal */

const uint32_t deviation_counts[DEVIATION_COUNTS] = {RECENT, WINDOW};

#define US 1000ull
#define MS (1000 * US)
#define S  (1000 * MS)

/* The range is from steps of a small model on a CPU to those of a large model on thousands of
 * accelerators. */
const uint64_t deviation_bound_ns[DEVIATION_BOUNDS] = {
	500 * US, 1 * MS,   2500 * US, 5 * MS,	10 * MS,   25 * MS, 50 * MS,
	100 * MS, 250 * MS, 500 * MS,  1 * S,	2500 * MS, 5 * S,   10 * S,
	20 * S,	  30 * S,   60 * S,    120 * S, 300 * S,   600 * S,
};

/* Factor from the median absolute deviation (MAD) to the standard deviation of a normal
 * distribution: 1 / Phi^-1(3/4). */
#define MAD_SCALE 1.4826

/* Histogram of all times. Below EXACT ns each time has its own class; above, each power of two has
 * 64 classes, so the middle of a class is within 1/128 of its times. Memory is allocated for a
 * power of two when a time falls into it. */
#define FINE	6
#define EXACT	(2u << FINE)
#define CLASSES (EXACT + ((64 - FINE - 1) << FINE))
#define OCTAVE	(1u << FINE)
#define OCTAVES (CLASSES / OCTAVE)

struct deviation {
	uint64_t count, sum_ns, min_ns, max_ns;
	uint64_t ideal_ns; /* ideal step set by the user; 0: compute it */
	struct last_times last;
	uint64_t bucket[DEVIATION_BOUNDS + 1];
	uint32_t *octaves[OCTAVES]; /* OCTAVE classes for each power of two; NULL: no times there */
};

struct deviation *deviation_new(void)
{
	return calloc(1, sizeof(struct deviation));
}

void deviation_free(struct deviation *d)
{
	for (uint32_t i = 0; d && i < OCTAVES; i++)
		free(d->octaves[i]);
	if (d)
		last_times_free(&d->last);
	free(d);
}

void deviation_set_ideal(struct deviation *d, uint64_t ideal_ns)
{
	d->ideal_ns = ideal_ns;
}

static uint32_t deviation_bucket(uint64_t step_ns)
{
	uint32_t i = 0;

	while (i < DEVIATION_BOUNDS && step_ns > deviation_bound_ns[i])
		i++;
	return i;
}

int deviation_add(struct deviation *d, uint64_t step_ns)
{
	uint32_t class = time_class(step_ns, FINE), octave = class / OCTAVE;

	if (!d->octaves[octave])
		d->octaves[octave] = calloc(OCTAVE, sizeof(uint32_t));
	if (!d->octaves[octave] || last_times_add(&d->last, d->count, step_ns))
		return -ENOMEM;
	if (!d->count || step_ns < d->min_ns)
		d->min_ns = step_ns;
	if (step_ns > d->max_ns)
		d->max_ns = step_ns;
	d->count++;
	d->sum_ns += step_ns;
	d->octaves[octave][class % OCTAVE]++;
	d->bucket[deviation_bucket(step_ns)]++;
	return 0;
}

/* Returns a quantile of all times, including those that are no longer in d->last. The result is the
 * middle of a class of the histogram. */
static uint64_t deviation_class_quantile(const struct deviation *d, unsigned percent)
{
	/* the time with this rank is the quantile; ranks count from 1 */
	uint64_t rank = (d->count * percent + 99) / 100, seen = 0, ns;
	uint32_t i;

	for (i = 0; i < CLASSES - 1; i++) {
		if (!d->octaves[i / OCTAVE]) {
			i |= OCTAVE - 1;
			continue;
		}
		seen += d->octaves[i / OCTAVE][i % OCTAVE];
		if (seen >= rank)
			break;
	}
	ns = time_class_middle(i, FINE);
	return ns < d->min_ns ? d->min_ns : ns > d->max_ns ? d->max_ns : ns;
}

/* Returns a quantile of all times. sorted: the n times in d->last. */
static uint64_t deviation_quantile(const struct deviation *d, const uint64_t *sorted, uint32_t n,
				   unsigned percent)
{
	return d->count <= WINDOW ? order_sorted_quantile(sorted, n, percent)
				  : deviation_class_quantile(d, percent);
}

static void deviation_ideal_of(const struct deviation *d, const uint64_t *sorted, uint32_t n,
			       uint64_t *ret_ideal_ns, uint64_t *ret_mad_ns)
{
	uint64_t med, limit, sum = 0;
	uint32_t count = 0;

	*ret_ideal_ns = *ret_mad_ns = 0;
	if (n < IDEAL_MIN)
		return;
	med = order_sorted_median(sorted, n);
	*ret_mad_ns = order_sorted_spread(sorted, n, med);
	limit = med + 3 * *ret_mad_ns;
	while (count < n && sorted[count] <= limit)
		sum += sorted[count++];
	/* Many long steps may raise the mean above the median. The ideal is never above the
	 * median. */
	*ret_ideal_ns = d->ideal_ns ? d->ideal_ns : count && sum / count < med ? sum / count : med;
}

void deviation_ideal(const struct deviation *d, uint64_t *ret_ideal_ns, uint64_t *ret_mad_ns)
{
	uint64_t sorted[WINDOW];
	uint32_t n = last_times_sorted(&d->last, d->count, WINDOW, sorted);

	deviation_ideal_of(d, sorted, n, ret_ideal_ns, ret_mad_ns);
}

/* Fills deviation and jitter in *v. sorted: the last n times, at most RECENT. */
static void deviation_recent_view(const uint64_t *sorted, uint32_t n, struct deviation_view *v)
{
	uint64_t med = order_sorted_median(sorted, n);
	double sum = 0, sign = 0;

	for (uint32_t i = 0; i < n; i++) {
		sign += (double)sorted[i] - (double)v->ideal_ns;
		sum += sorted[i] > v->ideal_ns ? (double)(sorted[i] - v->ideal_ns)
					       : (double)(v->ideal_ns - sorted[i]);
	}
	v->deviation_ns = sum / n;
	v->signed_ns = sign / n;
	if (med)
		v->jitter = MAD_SCALE * (double)order_sorted_spread(sorted, n, med) / (double)med;
}

static void deviation_last_view(const uint64_t *sorted, uint32_t n, struct times_view *ret)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)sorted[i];
	*ret = (struct times_view){
		.count = n,
		.mean_ns = sum / n,
		.p50_ns = order_sorted_quantile(sorted, n, 50),
		.p95_ns = order_sorted_quantile(sorted, n, 95),
		.p99_ns = order_sorted_quantile(sorted, n, 99),
	};
}

uint64_t deviation_p99(const struct deviation *d)
{
	uint64_t sorted[WINDOW];
	uint32_t n = d->count <= WINDOW ? last_times_sorted(&d->last, d->count, WINDOW, sorted) : 0;

	return d->count ? deviation_quantile(d, sorted, n, 99) : 0;
}

static void times_view(const struct deviation *d, struct deviation_view *v)
{
	uint64_t sorted[WINDOW];
	uint32_t n = last_times_sorted(&d->last, d->count, WINDOW, sorted);

	v->p50_ns = deviation_quantile(d, sorted, n, 50);
	v->p95_ns = deviation_quantile(d, sorted, n, 95);
	v->p99_ns = deviation_quantile(d, sorted, n, 99);
	deviation_ideal_of(d, sorted, n, &v->ideal_ns, &v->mad_ns);
	deviation_last_view(sorted, n, &v->last[1]);
	n = last_times_sorted(&d->last, d->count, RECENT, sorted);
	deviation_last_view(sorted, n, &v->last[0]);
	if (v->ideal_ns)
		deviation_recent_view(sorted, n, v);
}

void deviation_view(const struct deviation *d, struct deviation_view *ret)
{
	struct deviation_view v = {.count = d->count, .sum_ns = d->sum_ns};

	memcpy(v.bucket, d->bucket, sizeof(v.bucket));
	if (d->count) {
		v.mean_ns = (double)d->sum_ns / (double)d->count;
		v.min_ns = d->min_ns;
		v.max_ns = d->max_ns;
		v.last_ns = d->last.ns[(d->count - 1) % WINDOW];
		times_view(d, &v);
	}
	*ret = v;
}

static void deviation_bucket_archive(struct archive *a, struct deviation *d)
{
	uint64_t left = d->count;

	for (uint32_t i = 0; i < DEVIATION_BOUNDS; i++) {
		archive_below(a, &d->bucket[i], left + 1);
		left -= d->bucket[i];
	}
	d->bucket[DEVIATION_BOUNDS] = left;
}

void deviation_archive(struct archive *a, struct deviation **at)
{
	struct deviation *d = *at = archive_object(a, *at, sizeof(*d));

	if (!d)
		return;
	archive_fields(a, d, count, sum_ns, min_ns, max_ns, ideal_ns);
	deviation_bucket_archive(a, d);
	last_times_archive(a, &d->last, d->count);
	if (!d->last.ns)
		d->count = 0;
	for (uint32_t i = 0; i < OCTAVES; i++) {
		d->octaves[i] = archive_object(a, d->octaves[i], OCTAVE * sizeof(uint32_t));
		for (uint32_t k = 0; d->octaves[i] && k < OCTAVE; k++)
			archive_field(a, d->octaves[i][k]);
	}
}
