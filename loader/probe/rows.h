/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - entries of probe rows in the kernel's table gp_rows. A row has one entry, or several if
 * the arguments of its function are at different stack offsets in different libraries. */
#ifndef LOADER_ROWS_H
#define LOADER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/kernel/kernel.h"
#include "loader/probe/probe_file.h"

struct rows; /* opaque */

/* If the kernel side of a predecessor was taken over, continues with the predecessor's entries.
 * Returns 0 or -errno. */
int rows_new(struct rows **ret, struct kernel *k, const struct probe_table *probes);
void rows_free(struct rows *r);

/* Replace all links while they are in use. Cookies requested after rows_swap_begin() belong to the
 * next generation, whose hits are ignored. rows_swap() makes hits of the new generation count
 * instead of the old one, so that each hit counts exactly once. Call rows_swapped() once the old
 * links are closed (or, without rows_swap(), the new ones). */
void rows_swap_begin(struct rows *r);
void rows_swap(struct rows *r);
void rows_swapped(struct rows *r);

/* Computes the cookie for a probe of row (index in the table) at an instruction where sp has moved
 * by pushed bytes. Returns 0; -ENOSPC: GP_ROWS_MAX, GP_HOT_ROWS or GP_RETURN_ROWS_MAX is reached;
 * -EINVAL: an argument cannot be read. */
int rows_entry_get(struct rows *r, size_t row, int pushed, uint64_t *ret_cookie);

/* Makes all rows send. New rows send nothing: attaching probes one by one takes many steps of a
 * job, and steps found from only some of the calls would be wrong. Begins of ranges are not sent
 * until a probe that ends ranges of the same runtime is attached: a begin without an end would
 * shift every later range of its thread. */
void rows_activate(struct rows *r);
/* Returns true when begins of ranges of the runtime may be sent. */
bool rows_runtime_ends(const struct rows *r, const char *runtime);
/* Call when a probe is attached that ends ranges of the runtime. */
void rows_runtime_set_ends(struct rows *r, const char *runtime);

/* Returns the probe hash of a hot counter, 0 when it is unused. */
uint32_t rows_hot_probe(const struct rows *r, size_t hot);

/* Returns the probe hash of an entry in gp_rows, 0: unused. *ret_ends: if the probe begins ranges,
 * hash of the probe that ends them; otherwise, or if no probe ends them, 0. */
uint32_t rows_probe(const struct rows *r, size_t entry, uint32_t *ret_ends);
/* Sets whether hits of a row (index in the table) are only counted (unsent) or sent again. Do not
 * call for hot rows, whose hits are always only counted. */
void rows_set_unsent(struct rows *r, size_t row, bool unsent);
/* Finds the next entry from *entry on whose hits are not all sent. Returns false when there is
 * none. */
bool rows_next_bounded(const struct rows *r, size_t *entry);

#endif
