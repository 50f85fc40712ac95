/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - is a run's step time another one than its peers'? A test that says how sure it is.
 * Pure.
 *
 * A run is the series of its minutes, each the mean step time in it, as logarithms: differences are
 * ratios. Minutes that stick out by more than COMPARE_OUTLIER robust deviations count as if they
 * stuck out by that. Minutes that follow each other are alike (a slow neighbour stays for a while),
 * so their plain scatter understates how far the mean of a run may be off. It is estimated from the
 * B slowest cosines of the series instead, and held against Student's t of B degrees of freedom,
 * which errs as often as it says also where minutes are correlated: E. Lazarus, D. Lewis, J. Stock,
 * M. Watson, "HAR Inference: Recommendations for Practice", J. Business & Economic Statistics
 * 36(4), 2018. B is half of what they advise for economic series, 2 to COMPARE_COSINES, as ours are
 * short; tests/unit/compare_test.c measures false alarms.
 *
 * Against one peer: Welch's test. That tells two runs apart, not their causes: another node may be
 * slower for good. Against several, their own scatter is what a further run is held against (a
 * prediction interval), so what runs differ by anyway is no difference. */
#ifndef MODEL_COMPARE_H
#define MODEL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPARE_LEAST	20 /* minutes of a run; shorter ones are not compared */
#define COMPARE_COSINES 12
#define COMPARE_OUTLIER 5.0
#define COMPARE_LEVEL	0.95

struct compare_run {
	uint32_t minutes;
	double mean;	 /* logarithm of a time in ns */
	double variance; /* of the mean, ... */
	double freedom;	 /* ... with so many degrees of freedom */
};

enum compare_verdict { COMPARE_SAME, COMPARE_SLOWER, COMPARE_FASTER };

struct compare_answer {
	enum compare_verdict verdict;
	double ratio;	  /* of step times, own to peers': best guess */
	double low, high; /* it lies between, in COMPARE_LEVEL of all cases */
	double p;	  /* how often so large a difference comes by chance */
	double freedom;
	uint32_t peers;
};

/* minutes: mean step time in each, in ns, above 0, in order; changed. -ERANGE: too few. */
int compare_reduce(double *minutes, size_t n, struct compare_run *ret);
/* npeers is at least 1. */
void compare_runs(const struct compare_run *own, const struct compare_run *peers, uint32_t npeers,
		  struct compare_answer *ret);

/* Of Student's t: the part of cases that lies within -t and t, and the t within which such a part
 * lies. */
double compare_within(double t, double freedom);
double compare_bound(double part, double freedom);

#endif
