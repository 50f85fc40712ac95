/* SPDX-License-Identifier: Apache-2.0 */
/* last_times.h - the last 1024 step times, kept in order of arrival and in order of size. A
 * snapshot needs a dozen quantiles of each rank once a second, and need not sort for them. Pure. 10
 * KiB at most. Times in ns. */
#ifndef MODEL_LAST_TIMES_H
#define MODEL_LAST_TIMES_H

#include <stdint.h>

#include "userspace/base/archive.h"

#define LAST_TIMES 1024

struct last_times {
	/* time i (counted from the first one ever added) is at i % LAST_TIMES */
	uint64_t *ns;
	uint16_t *order; /* indexes of ns, in ascending order of the time, then of the index */
	uint32_t cap, order_cap;
};

void last_times_free(struct last_times *l);
/* Adds a time; count: number of times added before. Returns 0, or -ENOMEM: nothing was added. */
int last_times_add(struct last_times *l, uint64_t count, uint64_t ns);
/* Writes the newest n of `count` times to ret (room for LAST_TIMES), ascending. Returns the number
 * written. */
uint32_t last_times_sorted(const struct last_times *l, uint64_t count, uint32_t n, uint64_t *ret);
/* Saves or restores. If there is no memory to restore, ns is NULL; then the caller must set the
 * count of times to 0. */
void last_times_archive(struct archive *a, struct last_times *l, uint64_t count);

#endif
