/* SPDX-License-Identifier: Apache-2.0 */
/* away.h - excluded time (maintenance): spans that the user named, on the monotonic clock.
 *
 * The user gives them in UTC; the latest clock anchor places them on the monotonic clock. Spans
 * that overlap or touch are merged. Pure, bounded. */
#ifndef MODEL_AWAY_H
#define MODEL_AWAY_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"

#define AWAY_MAX 64

struct away_span {
	uint64_t from_ns, to_ns;
};

struct away {
	struct {
		int64_t from_ns, to_ns; /* UTC ns */
	} said[AWAY_MAX];
	uint32_t nsaid;
	struct away_span span[AWAY_MAX]; /* ascending, disjoint */
	uint32_t count;
};

/* Adds the span "FROM TO" (UTC ns). Takes effect at the next away_place(). Returns 0, -EINVAL (TO
 * is not after FROM) or -E2BIG. */
int away_say(struct away *a, const char *text);
/* Removes all spans. */
void away_forget(struct away *a);
/* Places the spans: mono_ns (CLOCK_MONOTONIC) and real_ns (UTC) are the same instant. */
void away_place(struct away *a, uint64_t mono_ns, int64_t real_ns);

/* Returns true when at_ns is excluded. *to_ns is lowered to the instant until which the answer
 * stays the same. a may be NULL: nothing is excluded. */
bool away_at(const struct away *a, uint64_t at_ns, uint64_t *to_ns);
/* Returns how many ns between two instants are excluded. */
uint64_t away_within(const struct away *a, uint64_t from_ns, uint64_t to_ns);

void away_archive(struct archive *ar, struct away *a);

#endif
