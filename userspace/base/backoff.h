/* SPDX-License-Identifier: Apache-2.0 */
/* backoff.h - how long to wait before retrying after a failure. The pause grows with each failure,
 * is random, so that many nodes do not retry at once, and is never shorter than the server asks.
 * Pure: the caller adds the pause to its own clock. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

/* Limits of the pauses */
struct backoff_rule {
	uint64_t first_ns; /* upper limit of the first pause; the limit doubles with each failure */
	uint64_t most_ns;  /* the limit does not grow beyond this */
	/* A pause is a random time between least_ns and the limit. 0: every pause equals the
	 * limit. */
	uint64_t least_ns;
	/* Longest pause that the server can ask for; a longer one is reduced to this. 0: no
	 * limit. */
	uint64_t asked_most_ns;
};

struct backoff { /* zeroed: no failure yet. The caller zeroes it after a success. */
	unsigned failures;
};

#define BACKOFF_UNASKED (-1) /* value of asked_ms if the server does not say how long to wait */

/* Counts a failure and returns a random pause (ns). If the server requires a longer pause, returns
 * the server's pause plus the random one. asked_ms: the server's pause (Retry-After), or
 * BACKOFF_UNASKED. random: a number, 0 <= random < 1. */
uint64_t backoff_next(struct backoff *b, const struct backoff_rule *rule, int64_t asked_ms,
		      double random);
/* Returns a random number from 0 up to, but not including, 1. Thread-safe. */
double backoff_random(void);

#endif
