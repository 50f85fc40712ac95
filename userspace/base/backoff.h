/* SPDX-License-Identifier: Apache-2.0 */
/* backoff.h - how long to wait before something that failed is tried again: longer after each
 * failure, random, so that many nodes do not come back at once, and never shorter than a server
 * asks. Without clock and thread: the caller adds the pause to its own clock. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

struct backoff_rule {
	uint64_t first_ns; /* limit of the first pause; it doubles with each failure */
	uint64_t most_ns;  /* the limit does not exceed this */
	uint64_t least_ns; /* pauses are random between this and their limit; 0: they are the limit
			    */
	uint64_t asked_most_ns; /* of what a server asks for; 0: as long as it asks */
};

struct backoff { /* zero, or again after a success: no failure yet */
	unsigned failures;
};

#define BACKOFF_UNASKED (-1) /* as asked_ms: the server does not say how long */

/* Counts a failure. asked_ms: how long the server asks to wait (Retry-After), or BACKOFF_UNASKED;
 * the pause comes on top of it unless it is longer by itself. random: 0 <= x < 1. Returns the
 * pause in nanoseconds. */
uint64_t backoff_next(struct backoff *b, const struct backoff_rule *rule, int64_t asked_ms,
		      double random);
/* Random, 0 <= x < 1. From any thread. */
double backoff_random(void);

#endif
