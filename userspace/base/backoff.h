/* SPDX-License-Identifier: Apache-2.0 */
/* backoff.h - how long to wait before retrying after a failure: longer after each failure, random,
 * so that many nodes do not retry at once, and never shorter than a server asks. Without clock and
 * thread: the caller adds the pause to its own clock. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

struct backoff_rule {
	uint64_t first_ns; /* limit of the first pause; it doubles with each failure */
	uint64_t most_ns;  /* highest limit of a pause */
	/* pauses are random between this and their limit; 0: a pause equals its limit */
	uint64_t least_ns;
	uint64_t asked_most_ns; /* longest pause that a server may ask for; 0: any */
};

struct backoff { /* zero: no failure yet; zero it after a success */
	unsigned failures;
};

#define BACKOFF_UNASKED (-1) /* asked_ms: the server does not say how long to wait */

/* Counts a failure and returns the pause in ns. asked_ms: how long the server asks to wait
 * (Retry-After), or BACKOFF_UNASKED; the pause is added to that, unless it is longer by itself.
 * random: 0 <= x < 1. */
uint64_t backoff_next(struct backoff *b, const struct backoff_rule *rule, int64_t asked_ms,
		      double random);
/* Returns a random number, 0 <= x < 1. From any thread. */
double backoff_random(void);

#endif
