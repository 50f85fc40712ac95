/* SPDX-License-Identifier: Apache-2.0 */
/* overhead.h - the cost of observing one process: number of probe hits times the cost of an empty
 * hit, since the start and for the last ticks. Times in ns. */
#ifndef MODEL_OVERHEAD_H
#define MODEL_OVERHEAD_H

#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define OVERHEAD_TICKS 10 /* number of ticks (seconds) that "recent" covers */

struct overhead_sum {
	uint64_t all_ns;
	/* Part of all_ns that is for probes that find steps. The budget never detaches these
	 * probes. */
	uint64_t marker_ns;
};

struct overhead {
	struct overhead_sum sum;
	struct overhead_sum then[OVERHEAD_TICKS]; /* sums at each of the last ticks */
	uint64_t ts_ns[OVERHEAD_TICKS];
	uint64_t ticks; /* number of ticks so far */
};

struct overhead_view {
	struct overhead_sum sum;
	/* cost of the last recent_ns */
	struct overhead_sum recent;
	uint64_t recent_ns; /* time that `recent` covers; 0: unknown yet */
};

/* Adds the cost of hits of a probe. group: group of the probe (enum gp_group). */
void overhead_add(struct overhead *o, unsigned group, uint64_t cost_ns);
/* Adds an estimate of the cost of `lost` hits whose records were lost: each costs the average of
 * the other `hits`. */
void overhead_lost(struct overhead *o, uint64_t hits, uint64_t lost);
void overhead_tick(struct overhead *o, uint64_t now_ns);
void overhead_view(const struct overhead *o, struct overhead_view *ret);
void overhead_archive(struct archive *a, struct overhead *o);

#endif
