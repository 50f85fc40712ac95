/* SPDX-License-Identifier: Apache-2.0 */
/* poll_interval.h - chooses a poll interval: short during activity, long after a calm time. Pure.
 */
#ifndef BASE_POLL_INTERVAL_H
#define BASE_POLL_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* Settings and state of a poll interval */
struct poll_interval {
	uint64_t often_ns, seldom_ns; /* the short and the long interval */
	/* after this time without activity the long interval is used */
	uint64_t calm_ns;
	/* time of the last activity; the caller sets it to the present time at first */
	uint64_t busy_ns;
	/* the present interval; the caller sets it to often_ns at first */
	uint64_t period_ns;
};

/* Call at each poll. busy: there was activity since the last poll. Returns true if the interval has
 * changed. */
bool poll_interval_changes(struct poll_interval *p, uint64_t now_ns, bool busy);

#endif
