/* SPDX-License-Identifier: Apache-2.0 */
/* poll_interval.h - chooses a poll interval: short during activity, long after a calm time. Pure.
 */
#ifndef BASE_POLL_INTERVAL_H
#define BASE_POLL_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

struct poll_interval {
	uint64_t often_ns, seldom_ns; /* the short and the long interval */
	uint64_t calm_ns;	      /* time without activity after which the interval is long */
	uint64_t busy_ns;	      /* last activity; initially: now */
	uint64_t period_ns;	      /* the present interval; initially often_ns */
};

/* busy: there was activity since the last poll. Returns true if the interval has changed. */
bool poll_interval_changes(struct poll_interval *p, uint64_t now_ns, bool busy);

#endif
