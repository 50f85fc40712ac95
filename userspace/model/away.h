/* SPDX-License-Identifier: Apache-2.0 */
/* away.h - time that is left out (maintenance): spans that people named, on the monotonic clock.
 *
 * They are said in UTC and have their place by the latest clock anchor. Those that overlap or touch
 * are one. Pure, bounded. */
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
		int64_t from_ns, to_ns; /* UTC */
	} said[AWAY_MAX];
	uint32_t nsaid;
	struct away_span span[AWAY_MAX]; /* in order, apart from each other */
	uint32_t count;
};

/* "FROM TO" in UTC ns. 0, -EINVAL: TO is not after FROM, -E2BIG. It counts from the next
 * away_place() on. */
int away_say(struct away *a, const char *text);
/* Nothing more is left out, until it is said again. */
void away_forget(struct away *a);
/* It is mono_ns on the one clock and real_ns on the other. */
void away_place(struct away *a, uint64_t mono_ns, int64_t real_ns);

/* Whether an instant is left out; *to_ns: until when (at most what it was) that holds. a NULL:
 * nothing is. */
bool away_at(const struct away *a, uint64_t at_ns, uint64_t *to_ns);
/* How much between two instants is left out. */
uint64_t away_within(const struct away *a, uint64_t from_ns, uint64_t to_ns);

void away_archive(struct archive *ar, struct away *a);

#endif
