/* SPDX-License-Identifier: Apache-2.0 */
/* recent.h - step times of the last minute and the last ten, by the clock, in bounded memory.
 *
 * Slots of a sixth and a tenth of it, each a histogram of 16 classes per power of two over ten of
 * them: a quantile is within 1/32 of a step time that had its rank; times beyond the ten powers
 * count as at their edge. A window is as long as its name or longer by less than a slot. Pure.
 * Under 14 KiB, as much as the times differ: 4 KiB as a rule. Times in ns.
 */
#ifndef MODEL_RECENT_H
#define MODEL_RECENT_H

#include <stdint.h>

#include "userspace/base/archive.h"

#define RECENT_CLOCKS 2
extern const uint64_t recent_clock_ns[RECENT_CLOCKS]; /* a minute, ten minutes */

struct times_view { /* of some steps; count 0: there were none, and nothing else is known */
	uint64_t count;
	double mean_ns;
	uint64_t p50_ns, p95_ns, p99_ns;
};

struct recent;
struct recent *recent_new(void); /* NULL: no memory */
void recent_free(struct recent *r);
/* A step that ended at end_ns; those come in order. 0, or -ENOMEM: it may be missing. */
int recent_add(struct recent *r, uint64_t end_ns, uint64_t step_ns);
void recent_view(const struct recent *r, uint64_t now_ns, struct times_view ret[RECENT_CLOCKS]);
void recent_archive(struct archive *a, struct recent **r);

#endif
