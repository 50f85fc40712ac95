/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - step times over a run of any length, in fixed memory: CURVE_COLUMNS columns of time,
 * whose width doubles when the run exceeds them. Each column keeps minimum, maximum and quantiles
 * of its steps, so that a single slow step among a million remains visible. Pure. Times in ns. */
#ifndef TEXT_CURVE_H
#define TEXT_CURVE_H

#include <stdint.h>

#include "userspace/store/sketch.h"

#define CURVE_COLUMNS 1024

struct curve {
	int64_t from_ns;   /* time at which the first column begins */
	uint64_t width_ns; /* time that a column covers */
	uint32_t used;	   /* number of columns up to the last one with steps */
	uint64_t count;	   /* number of steps; 0: from_ns is not set yet */
	struct sketch at[CURVE_COLUMNS];
};

/* Call on zeroed memory. width_ns: initial width of a column; at least 1. */
void curve_init(struct curve *s, uint64_t width_ns);
/* Adds a step that ended at at_ns. A step before the first column is added to the first column. */
void curve_add(struct curve *s, int64_t at_ns, uint64_t step_ns);
/* Adds several steps, given by the distribution of their times and the end of the last step. */
void curve_merge(struct curve *s, int64_t at_ns, const struct sketch *times);

#endif
