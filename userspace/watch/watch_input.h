/* SPDX-License-Identifier: Apache-2.0 */
/* watch_input.h - records once a second what the data loaders' workers of training processes used
 * and waited for, while these wait for input (model_starved()). A replay has the same figures.
 * Single-threaded. */
#ifndef WATCH_WATCH_INPUT_H
#define WATCH_WATCH_INPUT_H

#include "userspace/output/journal.h"

struct inputs;

/* root: "", or the folder that contains proc and sys; borrowed. Returns 0 or -ENOMEM. */
int inputs_new(struct inputs **ret, const char *root);
void inputs_free(struct inputs *in); /* NULL is fine */
/* Takes the samples of this second. Call before its tick record. */
void inputs_tick(struct inputs *in, struct journal *j, const struct output *out);

#endif
