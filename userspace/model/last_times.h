/* SPDX-License-Identifier: Apache-2.0 */
/* last_times.h - the last 1024 step times and their order, kept as they come: a snapshot asks for a
 * dozen order statistics of each rank, once a second, and sorts nothing. Pure. 10 KiB at most.
 * Times in ns. */
#ifndef MODEL_LAST_TIMES_H
#define MODEL_LAST_TIMES_H

#include <stdint.h>

#include "userspace/base/archive.h"

#define LAST_TIMES 1024

struct last_times {
	uint64_t *ns;	 /* time i of all is at i % LAST_TIMES */
	uint16_t *order; /* places in ns: by time, then by place */
	uint32_t cap, order_cap;
};

void last_times_free(struct last_times *l);
/* count: of times before this one. 0, or -ENOMEM: nothing was added. */
int last_times_add(struct last_times *l, uint64_t count, uint64_t ns);
/* The newest n of count times, ascending; ret has room for LAST_TIMES. Returns how many there are.
 */
uint32_t last_times_sorted(const struct last_times *l, uint64_t count, uint32_t n, uint64_t *ret);
/* What is read without memory for it has no times: the caller's count must become 0 where ns is
 * NULL. */
void last_times_archive(struct archive *a, struct last_times *l, uint64_t count);

#endif
