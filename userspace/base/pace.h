/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h - how often to look: often while things go on, seldom once all has been calm for a while.
 * Pure. */
#ifndef BASE_PACE_H
#define BASE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
	uint64_t often_ns, seldom_ns; /* periods */
	uint64_t calm_ns;	      /* without anything before it is seldom */
	uint64_t busy_ns;	      /* when something went on last; at first: now */
	uint64_t period_ns;	      /* until the next look; at first: often */
};

/* busy: something went on since the last look. Whether the period is another from now on. */
bool pace_changes(struct pace *p, uint64_t now_ns, bool busy);

#endif
