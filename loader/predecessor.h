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
 * cfg->durable, opens the pins of the predecessor. Sets *ret_adopt to true if the predecessor can
 * be taken over; otherwise logs the reason and detaches the predecessor's probes. Returns 0, or
 * -errno after logging the reason. */
int predecessor_open(struct pins **ret, const struct loader_config *cfg, struct gp_meta *own,
		     bool *ret_adopt);
/* Marks the kernel side as complete. Call this last: a successor takes over only a complete kernel
 * side. */
void predecessor_become(struct gp_meta *meta, const struct gp_meta *own);

#endif
