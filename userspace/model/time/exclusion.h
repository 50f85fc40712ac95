/* SPDX-License-Identifier: Apache-2.0 */
/* exclusion.h - time that the user excluded (maintenance, for example) and that counts nowhere.
 *
 * The user gives spans in UTC; the latest clock record converts them to CLOCK_MONOTONIC. Spans that
 * overlap or touch are merged. Pure, bounded. */
#ifndef MODEL_EXCLUSION_H
#define MODEL_EXCLUSION_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"

#define EXCLUSIONS_MAX 64

struct exclusion_span {
	uint64_t from_ns, to_ns;
};

struct excluded {
	struct {
		int64_t from_ns, to_ns; /* UTC ns */
	} said[EXCLUSIONS_MAX];
	uint32_t nsaid;
	struct exclusion_span span[EXCLUSIONS_MAX]; /* in ascending order, disjoint */
	uint32_t count;
};

/* Adds the span "FROM TO" (UTC ns). It takes effect at the next exclusion_place(). Returns 0,
 * -EINVAL (TO is not after FROM) or -E2BIG (too many spans). */
int exclusion_say(struct excluded *a, const char *text);
/* Removes all spans. */
void exclusion_forget(struct excluded *a);
/* Converts all spans to CLOCK_MONOTONIC. mono_ns (CLOCK_MONOTONIC) and real_ns (UTC) are the same
 * instant. */
void exclusion_place(struct excluded *a, uint64_t mono_ns, int64_t real_ns);

/* Returns true when at_ns is excluded. *to_ns is lowered to the end of the excluded span, or to the
 * start of the next one. a may be NULL: nothing is excluded. */
bool exclusion_at(const struct excluded *a, uint64_t at_ns, uint64_t *to_ns);
/* Returns how many ns between two instants are excluded. */
uint64_t exclusion_within(const struct excluded *a, uint64_t from_ns, uint64_t to_ns);

void exclusion_archive(struct archive *ar, struct excluded *a);

#endif
