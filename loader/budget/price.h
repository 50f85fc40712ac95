/* SPDX-License-Identifier: Apache-2.0 */
/* price.h - measures the hit cost: what one empty hit costs on this host, on functions of gp-bpf.
 */
#ifndef LOADER_PRICE_H
#define LOADER_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/attach/attach.h"
#include "loader/kernel/kernel.h"

struct price {
	uint32_t enter_ns[4];  /* ns by enum gp_insn; 0: could not be measured */
	uint32_t return_ns[4]; /* the same for entry and return together */
};

/* Measures, in about 10 ms of CPU time. The probes stay attached until attach_free(), since closing
 * one takes longer than measuring, and nothing else calls these functions. */
void price_measure(struct price *ret, const struct kernel *k, struct attach *at);

#endif
