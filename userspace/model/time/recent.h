/* SPDX-License-Identifier: Apache-2.0 */
/* recent.h - step times of the last minute and the last ten minutes, by the clock, in bounded
 * memory.
 *
 * A minute is kept in 6 slots, ten minutes in 10. Each slot is a histogram of 16 classes for each
 * of ten powers of two, so a quantile is accurate to 1/32; times outside the ten powers count in
 * the lowest or highest class. A window is as long as its name, or longer by less than a slot.
 * Pure. 4 KiB as a rule, under 14 KiB when the times differ a lot. Times in ns. */
#ifndef MODEL_RECENT_H
#define MODEL_RECENT_H

#include <stdint.h>

#include "userspace/base/archive.h"

#define RECENT_CLOCKS 2
extern const uint64_t recent_clock_ns[RECENT_CLOCKS]; /* one minute, ten minutes */

struct times_view { /* statistics of some steps; count 0: no steps, the rest is invalid */
	uint64_t count;
	double mean_ns;
	uint64_t p50_ns, p95_ns, p99_ns;
};

struct recent;
struct recent *recent_new(void); /* NULL: no memory */
void recent_free(struct recent *r);
/* Adds a step that ended at end_ns; steps come in order. Returns 0, or -ENOMEM: the step may be
 * missing. */
int recent_add(struct recent *r, uint64_t end_ns, uint64_t step_ns);
void recent_view(const struct recent *r, uint64_t now_ns, struct times_view ret[RECENT_CLOCKS]);
void recent_archive(struct archive *a, struct recent **r);

#endif
