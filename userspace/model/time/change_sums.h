/* SPDX-License-Identifier: Apache-2.0 */
/* change_sums.h - detects a loss of time that the median step does not show, in sums of samples.
 *
 * Samples are added up in groups. A group is long when it exceeds the usual group by half of the
 * least change. The test is Page's CUSUM of the likelihood that 85 % of the groups are long,
 * against the share of long ones among the healthy groups.
 *
 * Pure; times in ns. */
#ifndef MODEL_CHANGE_SUMS_H
#define MODEL_CHANGE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/change_lasting.h"

/* Upper bound of a step (146 years), so that differences fit a signed number. */
#define CHANGE_LONGEST_NS (UINT64_MAX >> 2)

#define SUMS_GROUPS	  24 /* healthy groups kept, and groups in doubt kept */
#define SUMS_GROUPS_LEAST 4  /* healthy groups needed before any group is doubted */

/* A report waits, up to SUMS_PRECISE_NS, until the standard error of the change is at most
 * SUMS_PRECISE of the usual step. */
#define SUMS_PRECISE	0.012
#define SUMS_PRECISE_NS 45000000000ull

/* Factor from MAD to the standard deviation of a normal distribution: 1 / Phi^-1(3/4). */
#define MAD_SCALE 1.4826
/* A change has to exceed the spread of blocks (groups) by this factor: unlike single steps, blocks
 * show noise that is correlated from step to step. With few blocks the factor is larger: times 1 +
 * DOUBTED_BLOCKS / number. */
#define BLOCK_SPREADS  8.0
#define DOUBTED_BLOCKS 4.0

struct scale {
	uint64_t sum_ns, count;	   /* sum and number of samples of the group in progress */
	uint64_t number, start_ns; /* first step of that group */
	uint64_t healthy_ns[SUMS_GROUPS],
		/* mean step of the last healthy groups; number of healthy groups so far */
		healthy;
	/* mean step of the last groups in doubt; number of such groups */
	uint64_t run_ns[SUMS_GROUPS], run;
	uint64_t run_number, run_start_ns; /* first step of the groups in doubt */
	uint64_t run_long_ns;		   /* time of the long groups in doubt */
	double score, most;		   /* most: highest score of these groups */
};

struct level { /* statistics of groups */
	/* Mean of the groups without the lowest and highest eighth, and its standard error. */
	double mean, median, error;
	uint64_t spread;
};

/* Computes the statistics of the last `ever` groups, SUMS_GROUPS at most. */
struct level change_sums_level(const uint64_t *groups, uint64_t ever);
/* Adds a sample to the group in progress. Returns true when that completes a group of `samples`
 * samples; *ret_ns is its mean step. */
bool change_sums_add(struct scale *sc, uint64_t number, uint64_t start_ns, uint64_t sample_ns,
		     uint64_t samples, uint64_t *ret_ns);
/* Decides whether a complete group is healthy or in doubt, in a loop that is not known to be
 * slow. */
void change_sums_doubt(struct scale *sc, struct lasting *l, uint64_t ns, uint64_t now_ns);
/* Returns true when the groups in doubt are a change; *ret is its onset. */
bool change_sums_changed(const struct scale *sc, const struct lasting *l, uint64_t now_ns,
			 struct onset *ret);
/* Makes the groups in doubt healthy ones. */
void change_sums_learn_run(struct scale *sc);
/* Takes a group after a slowdown reported by this scale. Returns true when the slowdown has
 * ended. */
bool change_sums_over(struct scale *sc, uint64_t ns);
/* Drops the group in progress and those in doubt; keeps the healthy ones. */
void change_sums_restart(struct scale *sc);
void change_sums_archive(struct archive *a, struct scale *sc, uint64_t samples);

#endif
