/* SPDX-License-Identifier: Apache-2.0 */
/* watch_stack.h - samples the Python lines that training processes execute: once a second at a
 * random instant, and ten times a second while a process is slow. Also reads the whole stack of
 * silent processes every five seconds.
 *
 * A helper process reads at most 16 processes a second. The samples are recorded, so that a replay
 * shows them too. Single-threaded. */
#ifndef WATCH_WATCH_STACK_H
#define WATCH_WATCH_STACK_H

#include "userspace/output/journal.h"

struct stacks;

/* Returns 0 or -ENOMEM. */
int stacks_new(struct stacks **ret);
void stacks_free(struct stacks *s); /* NULL is fine */
/* Call before the tick record of this second. */
void stacks_tick(struct stacks *s, struct journal *j, const struct output *out);

#endif
