/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - tests whether the step time of a run differs from that of its peers, and gives the
 * confidence. Pure.
 *
 * A run is the series of its minutes: the logarithm of the mean step time in each, so that
 * differences are ratios. Minutes that differ from the middle by more than COMPARE_OUTLIER robust
 * deviations are clipped to that limit. Successive minutes are alike (a slow neighbour stays for a
 * while), so their plain scatter understates the error of a run's mean. Instead the error is
 * estimated from the B slowest cosines of the series, and tested with Student's t of B degrees of
 * freedom. Its error rate also holds for correlated minutes: E. Lazarus, D. Lewis, J. Stock, M.
 * Watson, "HAR Inference: Recommendations for Practice", J. Business & Economic Statistics 36(4),
 * 2018. B is half of their advice for economic series, 2 to COMPARE_COSINES, as our series are
 * short; tests/unit/compare_test.c measures false alarms.
 *
 * Against one peer: Welch's test. It separates two runs, not their causes: another node may always
 * be slower. Against several peers: a prediction interval from the scatter between them, so the
 * usual differences between runs are not reported. */
#ifndef MODEL_COMPARE_H
#define MODEL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPARE_LEAST 20 /* a run of fewer minutes is not compared */
/* Upper bound of B. The error of a run's mean is estimated from B cosine components of its
 * minutes. */
#define COMPARE_COSINES 12
#define COMPARE_OUTLIER 5.0
#define COMPARE_LEVEL	0.95

struct compare_run {
	uint32_t minutes;
	double mean;	 /* mean logarithm of the step time in ns */
	double variance; /* variance of the mean */
	double freedom;	 /* degrees of freedom of the variance */
};

enum compare_verdict { COMPARE_SAME, COMPARE_SLOWER, COMPARE_FASTER };

struct compare_answer {
	enum compare_verdict verdict;
	double ratio;	  /* step time of the run divided by that of its peers, best estimate */
	double low, high; /* interval of the ratio with confidence COMPARE_LEVEL */
	double p;	  /* probability of so large a difference by chance */
	double freedom;
	uint32_t peers;
};

/* Reduces a run to its mean and variance. minutes: mean step time of each minute in ns, above 0, in
 * order; the array is overwritten. Returns 0 or -ERANGE (fewer than COMPARE_LEAST minutes). */
int compare_reduce(double *minutes, size_t n, struct compare_run *ret);
/* Compares a run with npeers (1 or more) others. */
void compare_runs(const struct compare_run *own, const struct compare_run *peers, uint32_t npeers,
		  struct compare_answer *ret);

/* Student's t distribution. compare_within() returns the probability, 0 to 1, of a value between -t
 * and t; compare_bound() returns the t for such a probability. */
double compare_within(double t, double freedom);
double compare_bound(double part, double freedom);

#endif
