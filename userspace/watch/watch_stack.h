/* SPDX-License-Identifier: Apache-2.0 */
/* watch_stack.h - reads the Python stacks of silent processes in a helper process, every five
 * seconds, and records them, so that a replay has them too. Single-threaded. */
#ifndef WATCH_WATCH_STACK_H
#define WATCH_WATCH_STACK_H

#include "userspace/output/journal.h"

struct stacks;

/* Returns 0 or -ENOMEM. */
int stacks_new(struct stacks **ret);
void stacks_free(struct stacks *s); /* NULL is fine */
/* Records the stacks that were read, and requests the next ones. Call once a second, before the
 * tick record is written. */
void stacks_tick(struct stacks *s, struct journal *j, const struct output *out);

#endif
