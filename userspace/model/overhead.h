/* SPDX-License-Identifier: Apache-2.0 */
/* overhead.h - what observing costs one process: hits times the price of an empty one, ever and
 * lately. */
#ifndef MODEL_OVERHEAD_H
#define MODEL_OVERHEAD_H

#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define OVERHEAD_TICKS 10 /* "lately": since so many ticks */

struct overhead_sum {
	uint64_t all_ns;
	uint64_t marker_ns; /* part of it: what finds steps, which is never given up */
};

struct overhead {
	struct overhead_sum sum;
	struct overhead_sum then[OVERHEAD_TICKS]; /* at the last ticks */
	uint64_t ts_ns[OVERHEAD_TICKS];
	uint64_t ticks; /* ever */
};

struct overhead_view {
	struct overhead_sum sum;
	struct overhead_sum recent; /* within the last ... */
	uint64_t recent_ns;	    /* 0: not known yet */
};

void overhead_add(struct overhead *o, unsigned group, uint64_t cost_ns);
void overhead_tick(struct overhead *o, uint64_t now_ns);
void overhead_view(const struct overhead *o, struct overhead_view *ret);
void overhead_archive(struct archive *a, struct overhead *o);

#endif
