/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - gives probe rows their place in the kernel's gp_rows. A row takes one place, or several
 * when the same function's arguments lie at different stack offsets in different libraries. */
#ifndef LOADER_ROWS_H
#define LOADER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/kernel.h"
#include "loader/probe_file.h"

struct rows; /* opaque */

/* Goes on with the places that a predecessor gave, where the kernel side was taken over from one.
 */
int rows_new(struct rows **ret, struct kernel *k, const struct probe_table *probes);
void rows_free(struct rows *r);

/* Replacing every link under load: cookies that are asked for between the two calls are of the next
 * generation, and do not count yet; the second call makes them count instead of those before, for
 * each hit exactly one. Once the old links are closed (or, without rows_swap(), the new ones)
 * rows_swapped() ends it.
 */
void rows_swap_begin(struct rows *r);
void rows_swap(struct rows *r);
void rows_swapped(struct rows *r);

/* Cookie for a probe of row (index in the table) at an instruction where sp has moved by pushed
 * bytes. -ENOSPC: more hot, returning or stack rows than there is room for; -EINVAL: an argument is
 * out of reach. */
int rows_place(struct rows *r, size_t row, int pushed, uint64_t *ret_cookie);

/* Rows are silent when they get their place. This makes them speak, all at once: where each probe
 * has a link of its own a job takes many steps while they are attached one by one, and half of the
 * calls would tell of other steps than all of them. Begins of ranges stay silent until an end of
 * the same runtime is attached: a begin that nothing closes would shift every later one of its
 * thread. */
void rows_speak(struct rows *r);
/* Whether begins of the runtime may speak ... */
bool rows_runtime_ends(const struct rows *r, const char *runtime);
/* ... as this announces. */
void rows_runtime_set_ends(struct rows *r, const char *runtime);

/* Probe hash of a hot counter, 0 when it is not in use. */
uint32_t rows_hot_probe(const struct rows *r, size_t hot);

/* Probe hash of a place in gp_rows (0: nothing is there), and of the probe that ends the ranges
 * which that one begins; 0: it begins none, or nothing ends them. */
uint32_t rows_probe(const struct rows *r, size_t place, uint32_t *ret_ends);
/* Hits of a row (index in the table) are counted, not sent; or sent again. For rows that are sent.
 */
void rows_set_unsent(struct rows *r, size_t row, bool unsent);
/* Next place from *place on whose hits are not all sent; false: there is none. */
bool rows_next_bounded(const struct rows *r, size_t *place);

#endif
