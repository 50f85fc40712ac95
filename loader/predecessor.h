/* SPDX-License-Identifier: Apache-2.0 */
/* predecessor.h - what an earlier gp-bpf of this state directory left attached: taken over, or
 * removed. */
#ifndef LOADER_PREDECESSOR_H
#define LOADER_PREDECESSOR_H

#include <stdbool.h>

#include "bpf/gp_private.h"
#include "loader/loader.h"
#include "loader/pin.h"

/* Fills own with what a kernel side must be for us to take it over. With cfg->durable *ret are its
 * pins, and *ret_adopt says whether there is such a kernel side; any other is detached, with a line
 * that says why. 0 or -errno after one line. */
int predecessor_open(struct pins **ret, const struct loader_config *cfg, struct gp_meta *own,
		     bool *ret_adopt);
/* Last of all: whoever finds this finds everything. */
void predecessor_become(struct gp_meta *meta, const struct gp_meta *own);

#endif
