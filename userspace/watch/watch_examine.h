/* SPDX-License-Identifier: Apache-2.0 */
/* watch_examine.h - examines what training threads wait for, and which processes run while they
 * could: for some seconds, when a slowdown or silence begins, and when a user asks. The results are
 * records on the tape, so that a replay has them too. Single-threaded. */
#ifndef WATCH_WATCH_EXAMINE_H
#define WATCH_WATCH_EXAMINE_H

#include "loader/loader.h"
#include "userspace/output/journal.h"

struct examines;

/* root: "", or the folder that contains proc and sys. Both are borrowed. Returns 0 or -ENOMEM. */
int examines_new(struct examines **ret, struct loader *l, const char *root);
void examines_free(struct examines *e); /* NULL is fine */
/* Asks for an examination of the training thread of a process, or of its main thread, as soon as
 * the present one is over. Returns 0, or -EBUSY if too many wait. */
int examines_ask(struct examines *e, pid_t pid);
/* Call before the tick record of this second. */
void examines_tick(struct examines *e, struct journal *j, const struct output *out);

#endif
