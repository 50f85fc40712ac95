/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - step times over a run of any length, in fixed memory: CURVE_COLUMNS columns of time,
 * which become twice as wide whenever they do not reach. Each keeps least, greatest and quantiles
 * of its steps, so a single slow step among a million is still there. Pure. Times in ns. */
#ifndef TEXT_CURVE_H
#define TEXT_CURVE_H

#include <stdint.h>

#include "userspace/store/sketch.h"

#define CURVE_COLUMNS 1024

struct curve {
	int64_t from_ns;   /* where the first column begins */
	uint64_t width_ns; /* of a column */
	uint32_t used;	   /* columns up to the last that holds something */
	uint64_t count;	   /* steps; 0: from_ns is not known yet */
	struct sketch at[CURVE_COLUMNS];
};

/* Zeroed memory and this: no steps. width_ns: of a column at first; at least 1. */
void curve_init(struct curve *s, uint64_t width_ns);
/* A step that ended at at_ns. One that ended before the first that was added counts to its
 * column. */
void curve_add(struct curve *s, int64_t at_ns, uint64_t step_ns);
/* Steps of which no more is known than when they ended and how long they took. */
void curve_merge(struct curve *s, int64_t at_ns, const struct sketch *times);

#endif
