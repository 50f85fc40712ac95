/* SPDX-License-Identifier: Apache-2.0 */
/* watch_blocked.h - once a second: calls that do not return, and processes that have fallen silent.
 * What is seen becomes records, so that a replay sees the same. */
#ifndef WATCH_WATCH_BLOCKED_H
#define WATCH_WATCH_BLOCKED_H

#include "userspace/output/journal.h"

struct blocked;
struct loader;
struct probe_table;

/* All borrowed. root: where /proc is looked for. 0 or -ENOMEM. */
int blocked_new(struct blocked **ret, struct loader *l, const struct probe_table *probes,
		const char *root);
void blocked_free(struct blocked *b); /* NULL is fine */
/* before the tick of this second. */
void blocked_tick(struct blocked *b, struct journal *j, const struct output *out);

#endif
