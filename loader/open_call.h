/* SPDX-License-Identifier: Apache-2.0 */
/* open_call.h - calls that were entered and have not returned, as the kernel side keeps them. */
#ifndef LOADER_OPEN_CALL_H
#define LOADER_OPEN_CALL_H

#include <stdint.h>

#include "bpf/gp_private.h"
#include "loader/loader.h"

#define OPEN_CALLS_TOLD 256 /* at once; those of rows marked may_block first, the oldest first */

/* The map has a key for each (thread, row) that was ever in a call; this is the memory to walk it.
 */
struct open_calls;
struct open_calls *open_calls_new(void); /* NULL: no memory */
void open_calls_free(struct open_calls *o);

/* Calls of the map that are open since before before_ns. rows: what is marked may_block. Returns
 * how many calls *ret points to, valid until the next call of this; or -errno. */
int open_calls_walk(struct open_calls *o, int map_fd, const struct gp_row *rows, uint64_t before_ns,
		    const struct open_call **ret);

#endif
