/* SPDX-License-Identifier: Apache-2.0 */
/* watch_examine.h - examines what training threads wait for, and which processes run while they
 * could: for some seconds, when a slowdown or silence begins, and once for gp-bpf explain. The
 * results are records on the tape, so that a replay has them too. Single-threaded. */
#ifndef WATCH_WATCH_EXAMINE_H
#define WATCH_WATCH_EXAMINE_H

#include "loader/loader.h"
#include "userspace/output/journal.h"

struct examines;

/* root: "", or the folder that contains proc and sys. l and root are borrowed. explain_ns: length
 * of the watch of gp-bpf explain, in which all training threads are examined once; 0: it is another
 * command. Returns 0 or -ENOMEM. */
int examines_new(struct examines **ret, struct loader *l, const char *root, uint64_t explain_ns);
void examines_free(struct examines *e); /* NULL is fine */
/* Call before the tick record of this second. */
void examines_tick(struct examines *e, struct journal *j, const struct output *out);

#endif
