/* SPDX-License-Identifier: Apache-2.0 */
/* open_call.h - reads from a map of the kernel side which calls were entered and have not returned
 * yet. */
#ifndef LOADER_OPEN_CALL_H
#define LOADER_OPEN_CALL_H

#include <stdint.h>

#include "bpf/gp_private.h"
#include "loader/loader.h"

/* Limit of calls in one report. Calls of rows marked may_block come first, and then the oldest. */
#define OPEN_CALLS_MAX 256

/* Memory for reading the map, which has an entry for each pair of a thread and a row that the
 * thread has ever called. */
struct open_calls;
struct open_calls *open_calls_new(void); /* NULL: no memory */
void open_calls_free(struct open_calls *o);

/* Finds calls open since before before_ns (CLOCK_MONOTONIC). rows: show which calls may block.
 * Returns the number of calls in *ret, which is valid until the next call; or -errno. */
int open_calls_walk(struct open_calls *o, int map_fd, const struct gp_row *rows, uint64_t before_ns,
		    const struct open_call **ret);

#endif
