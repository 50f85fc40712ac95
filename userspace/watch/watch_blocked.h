/* SPDX-License-Identifier: Apache-2.0 */
/* watch_blocked.h - checks once a second for calls that do not return, and for silent processes.
 * The results are recorded, so that a replay shows them too. */
#ifndef WATCH_WATCH_BLOCKED_H
#define WATCH_WATCH_BLOCKED_H

#include "userspace/output/journal.h"

struct blocked;
struct loader;
struct probe_table;

/* All arguments are borrowed. root: "", or the folder that contains proc. Returns 0 or -ENOMEM. */
int blocked_new(struct blocked **ret, struct loader *l, const struct probe_table *probes,
		const char *root);
void blocked_free(struct blocked *b); /* NULL is fine */
/* Records blocked calls and silent processes. Call once a second, before the tick record. */
void blocked_tick(struct blocked *b, struct journal *j, const struct output *out);

#endif
