/* SPDX-License-Identifier: Apache-2.0 */
/* hit_cost.h - measures the hit cost: the cost of an empty hit on this host. */
#ifndef LOADER_HIT_COST_H
#define LOADER_HIT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/attach/attach.h"
#include "loader/kernel/kernel.h"

/* Cost of a hit, by the class of the probed instruction */
struct hit_cost {
	uint32_t enter_ns[4]; /* ns by enum gp_insn; 0: could not be measured */
	/* Entry and return together, ns by enum gp_insn; 0: could not be measured */
	uint32_t return_ns[4];
};

/* Measures the hit cost in about 10 ms of CPU time. The measured probes stay attached until
 * attach_free(): detaching a probe takes longer than measuring it, and only this module calls the
 * probed functions. */
void hit_cost_measure(struct hit_cost *ret, const struct kernel *k, struct attach *at);

#endif
