/* SPDX-License-Identifier: Apache-2.0 */
/* predecessor.h - takes over or removes what an earlier gp-bpf with the same state directory left
 * attached. */
#ifndef LOADER_PREDECESSOR_H
#define LOADER_PREDECESSOR_H

#include <stdbool.h>

#include "bpf/gp_private.h"
#include "loader/loader.h"
#include "loader/attach/pin.h"

/* Fills own with the values that the kernel side of a predecessor must have to be taken over. With
 * cfg->durable, *ret is set to its pins, and *ret_adopt to true when it can be taken over; one that
 * cannot is detached, and the reason logged. Returns 0, or -errno after a line in the log. */
int predecessor_open(struct pins **ret, const struct loader_config *cfg, struct gp_meta *own,
		     bool *ret_adopt);
/* Declares the kernel side complete. Call last: a successor that finds this finds everything. */
void predecessor_become(struct gp_meta *meta, const struct gp_meta *own);

#endif
