/* SPDX-License-Identifier: Apache-2.0 */
/* deviation.h - step-time statistics online, in bounded memory: count, mean, quantiles, ideal step,
 * deviation, jitter. Pure. 10 KiB for the last times and a quarter of one for each power of two
 * that times fell into, so 28 KiB at most. Times in ns. */
#ifndef MODEL_DEVIATION_H
#define MODEL_DEVIATION_H

#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/recent.h"

#define DEVIATION_COUNTS 2
extern const uint32_t
	deviation_counts[DEVIATION_COUNTS]; /* windows by count: the last 128 steps, and 1024 */

/* A histogram of all steps: step i is in the first bucket whose bound, in ns, is not below it; in
 * the last where none is. The bounds stay: those who keep old histograms add new ones to them. */
#define DEVIATION_BOUNDS 20
extern const uint64_t deviation_bound_ns[DEVIATION_BOUNDS];

struct deviation_view {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t bucket[DEVIATION_BOUNDS + 1]; /* steps in each; they add up to count */
	double mean_ns;
	uint64_t min_ns, max_ns, last_ns;
	uint64_t p50_ns, p95_ns,
		p99_ns;	   /* over all steps; relative error <= 1 % beyond the first 1024 */
	uint64_t ideal_ns; /* mean of times <= median + 3 MAD, MAD unscaled, over the last 1024; 0:
			      under 3 steps */
	uint64_t mad_ns;
	double deviation_ns;			  /* mean |time - ideal| over the last 128 */
	double signed_ns;			  /* mean (time - ideal) over the same */
	struct times_view last[DEVIATION_COUNTS]; /* exact; fewer steps while there are fewer */
	double jitter; /* 1.4826 MAD / median over the last 128, a ratio */
};

struct deviation;
struct deviation *deviation_new(void);
void deviation_free(struct deviation *d);
/* The user's ideal step, instead of the one that is found; 0: as found. */
void deviation_set_ideal(struct deviation *d, uint64_t ideal_ns);
/* 0, or -ENOMEM: it is as if there had been no such step. */
int deviation_add(struct deviation *d, uint64_t step_ns);
/* Ideal and MAD alone: cheaper. 0 and 0 under 3 steps. */
void deviation_ideal(const struct deviation *d, uint64_t *ret_ideal_ns, uint64_t *ret_mad_ns);
/* Likewise p99_ns; 0: no steps. */
uint64_t deviation_p99(const struct deviation *d);
void deviation_view(const struct deviation *d, struct deviation_view *ret);
void deviation_archive(struct archive *a, struct deviation **d);

#endif
