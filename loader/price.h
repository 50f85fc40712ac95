/* SPDX-License-Identifier: Apache-2.0 */
/* price.h - what one empty hit costs on this host, measured on functions of our own. */
#ifndef LOADER_PRICE_H
#define LOADER_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/attach.h"
#include "loader/kernel.h"

struct price {
	uint32_t enter_ns[4];  /* by enum gp_insn; 0: could not be measured */
	uint32_t return_ns[4]; /* entry and return together */
};

/* About 20 ms. The probes stay attached, since closing one takes longer than measuring: nobody else
 * calls these functions, and attach_free() takes them along. */
void price_measure(struct price *ret, const struct kernel *k, struct attach *at);

#endif
