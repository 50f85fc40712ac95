/* SPDX-License-Identifier: Apache-2.0 */
/* watch_stack.h - samples the Python lines of processes that train, once a second at a random
 * instant, ten times while they are slow; of silent processes it also reads the whole stack every
 * five seconds. A helper process reads, at most 16 processes a second. All is recorded, so that a
 * replay has it too. Single-threaded. */
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
