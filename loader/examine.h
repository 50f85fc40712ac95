/* SPDX-License-Identifier: Apache-2.0 */
/* examine.h - runs examinations (loader.h): loads the programs of examine.bpf.c at the first one,
 * attaches them for some seconds, and collects what they summed. All that may take long happens in
 * a thread; the functions return at once, except examine_free(), which waits for the thread to
 * detach. Not thread-safe. */
#ifndef LOADER_EXAMINE_H
#define LOADER_EXAMINE_H

#include "loader/loader.h"

struct examine;

/* overhead_ns: limit of the CPU time that the BPF programs use in a second, on any CPU; 0: none.
 * Returns 0 or -ENOMEM. */
int examine_new(struct examine **ret, uint64_t overhead_ns);
void examine_free(struct examine *e); /* NULL is allowed */
/* Like loader_examine(), loader_examined() and loader_examines() in loader.h. */
int examine_begin(struct examine *e, const struct examine_request *r);
const struct examine_result *examine_take(struct examine *e);
bool examine_busy(const struct examine *e);

#endif
