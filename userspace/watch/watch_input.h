/* SPDX-License-Identifier: Apache-2.0 */
/* watch_input.h - records once a second what the workers of data loaders used and waited for, while
 * their training process waits for input (model_starved()). A replay shows the same figures.
 * Single-threaded. */
#ifndef WATCH_WATCH_INPUT_H
#define WATCH_WATCH_INPUT_H

#include "userspace/output/journal.h"

struct inputs;

/* root: "", or the folder that contains proc and sys; borrowed. Returns 0 or -ENOMEM. */
int inputs_new(struct inputs **ret, const char *root);
void inputs_free(struct inputs *in); /* NULL is fine */
/* Samples the processes that wait for input, and records the samples. Call once a second, before
 * the tick record is written. */
void inputs_tick(struct inputs *in, struct journal *j, const struct output *out);

#endif
