/* SPDX-License-Identifier: Apache-2.0 */
/* deviation.h - step-time statistics, computed online in bounded memory: count, mean, quantiles,
 * ideal step, deviation, jitter. Pure; times in ns. Uses 28 KiB at most: 10 KiB for the last times,
 * and 256 bytes for each range [2^k, 2^(k+1)) with a time. */
#ifndef MODEL_DEVIATION_H
#define MODEL_DEVIATION_H

#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/recent.h"

#define DEVIATION_COUNTS 2
/* Statistics are computed for this many last steps: 128 and 1024. */
extern const uint32_t deviation_counts[DEVIATION_COUNTS];

/* Upper bounds (ns) of a histogram of all steps. A step counts in the first bucket whose bound is
 * not below the step time, else in the bucket after the last bound. Never change the bounds: stored
 * histograms are added to new ones. */
#define DEVIATION_BOUNDS 20
extern const uint64_t deviation_bound_ns[DEVIATION_BOUNDS];

struct deviation_view {
	uint64_t count;
	uint64_t sum_ns;
	/* number of steps in each bucket; their sum is count */
	uint64_t bucket[DEVIATION_BOUNDS + 1];
	double mean_ns;
	uint64_t min_ns, max_ns, last_ns;
	/* Quantiles of all steps. Beyond the first 1024 steps the relative error is at most 1 %. */
	uint64_t p50_ns, p95_ns, p99_ns;
	/* Mean of the last 1024 times without those above the median + 3 MAD (not multiplied by
	 * 1.4826); 0 with less than 3 steps. */
	uint64_t ideal_ns;
	uint64_t mad_ns;
	double deviation_ns; /* mean of |time - ideal| of the last 128 steps */
	double signed_ns;    /* mean of (time - ideal) of the last 128 steps */
	/* Exact statistics of the last deviation_counts[i] steps, or of all if there are fewer. */
	struct times_view last[DEVIATION_COUNTS];
	double jitter; /* 1.4826 * MAD / median of the last 128 steps, a ratio */
};

struct deviation;
/* Returns NULL when there is no memory. */
struct deviation *deviation_new(void);
void deviation_free(struct deviation *d);
/* Sets the ideal step given by the user; 0: use the computed one. */
void deviation_set_ideal(struct deviation *d, uint64_t ideal_ns);
/* Adds a step. Returns 0, or -ENOMEM: d is unchanged. */
int deviation_add(struct deviation *d, uint64_t step_ns);
/* Computes only the ideal step and the MAD, which is cheaper than a view. Both are 0 with less than
 * 3 steps. */
void deviation_ideal(const struct deviation *d, uint64_t *ret_ideal_ns, uint64_t *ret_mad_ns);
/* Returns the p99 of all step times, which is cheaper than a view; 0: no steps. */
uint64_t deviation_p99(const struct deviation *d);
void deviation_view(const struct deviation *d, struct deviation_view *ret);
void deviation_archive(struct archive *a, struct deviation **d);

#endif
