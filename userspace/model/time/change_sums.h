/* SPDX-License-Identifier: Apache-2.0 */
/* change_sums.h - detects slowdowns that the median step does not show, because only some steps are
 * long.
 *
 * Samples (steps, or means of short steps) are added up in groups. A group is long when it exceeds
 * the usual group by half of the smallest change that is reported. The test is Page's CUSUM of the
 * likelihood that 85 % of the groups are long, against the share of long ones among the healthy
 * groups. A group is in doubt while that test suspects a slowdown; otherwise it is healthy.
 *
 * Pure; times in ns. */
#ifndef MODEL_CHANGE_SUMS_H
#define MODEL_CHANGE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/change_lasting.h"

/* Upper bound of a step time (146 years), so that the difference of two fits a signed number. */
#define CHANGE_LONGEST_NS (UINT64_MAX >> 2)

#define SUMS_GROUPS	  24 /* last healthy groups kept, and last groups in doubt kept */
#define SUMS_GROUPS_LEAST 4  /* healthy groups needed before a slowdown can be suspected */

/* A slowdown is reported when the standard error of its size is at most SUMS_PRECISE of the usual
 * step or SUMS_PRECISE_SIZE of the size, or after SUMS_PRECISE_NS. */
#define SUMS_PRECISE	  0.012
#define SUMS_PRECISE_SIZE 0.04
#define SUMS_PRECISE_NS	  45000000000ull

/* A slowdown found by sums is reported after at least this many groups in doubt. While it lasts,
 * its mean step is only updated from at least as many groups. */
#define SUMS_RUN_LEAST 6

/* Factor from the median absolute deviation (MAD) to the standard deviation of a normal
 * distribution: 1 / Phi^-1(3/4). */
#define MAD_SCALE 1.4826
/* A change must exceed the spread between blocks or groups of steps by this factor. Noise that is
 * correlated from step to step shows only in blocks. With few blocks the factor is larger: times 1
 * + DOUBTED_BLOCKS / number of blocks. */
#define BLOCK_SPREADS  8.0
#define DOUBTED_BLOCKS 4.0

/* State of one test. Several tests run in parallel, with different numbers of samples in a group.
 * run and run_*: the groups in doubt. */
struct scale {
	uint64_t sum_ns, count;	   /* sum and number of samples of the group in progress */
	uint64_t number, start_ns; /* first step of the group in progress */
	uint64_t healthy_ns[SUMS_GROUPS],
		/* mean step of the last healthy groups; number of healthy groups so far */
		healthy;
	/* mean step of the last groups in doubt; number of such groups */
	uint64_t run_ns[SUMS_GROUPS], run;
	/* number and start of the first step of the groups in doubt */
	uint64_t run_number, run_start_ns;
	uint64_t run_long_ns; /* total time of those groups in doubt that are long */
	/* score: logarithm of the likelihood ratio; most: its highest value since the first group
	 * in doubt */
	double score, most;
};

struct level { /* statistics of some groups */
	/* mean: without the lowest and the highest eighth of the groups; error: standard error of
	 * the mean. */
	double mean, median, error;
	uint64_t spread;
};

/* Computes the statistics of the last SUMS_GROUPS of `ever` groups. */
struct level change_sums_level(const uint64_t *groups, uint64_t ever);
/* Returns true if the size of a slowdown is known precisely enough to report it. error: standard
 * error of the size; both are shares of the usual step. */
bool change_sums_precise(double size, double error);
/* Adds a sample to the group in progress. Returns true when that completes a group of `samples`
 * samples; *ret_ns is its mean step. */
bool change_sums_add(struct scale *sc, uint64_t number, uint64_t start_ns, uint64_t sample_ns,
		     uint64_t samples, uint64_t *ret_ns);
/* Decides whether a complete group is healthy or in doubt, in a loop that is not known to be
 * slow. */
void change_sums_doubt(struct scale *sc, struct lasting *l, uint64_t ns, uint64_t now_ns);
/* Returns true when the groups in doubt are a slowdown to report; *ret: its onset and size. */
bool change_sums_changed(const struct scale *sc, const struct lasting *l, uint64_t now_ns,
			 struct onset *ret);
/* Makes the groups in doubt healthy ones: their step time becomes the usual one. */
void change_sums_learn_run(struct scale *sc);
/* Adds a complete group during a slowdown that was reported for this scale. Returns true when the
 * slowdown has ended. */
bool change_sums_over(struct scale *sc, uint64_t ns);
/* Drops the group in progress and those in doubt; keeps the healthy ones. */
void change_sums_restart(struct scale *sc);
void change_sums_archive(struct archive *a, struct scale *sc, uint64_t samples);

#endif
