/* SPDX-License-Identifier: Apache-2.0 */
/* watch_examine.h - examines for some seconds what training threads wait for, and which other
 * processes run on a CPU while a training thread could. An examination begins when steps become
 * slow or a process becomes silent, and once for gp-bpf explain. The results are recorded, so that
 * a replay shows them too. Single-threaded. */
#ifndef WATCH_WATCH_EXAMINE_H
#define WATCH_WATCH_EXAMINE_H

#include "loader/loader.h"
#include "userspace/output/journal.h"

struct examines;

/* root: "", or the folder that contains proc and sys. l and root are borrowed. explain_ns: for
 * gp-bpf explain, the length of its watch, in which all training threads are examined once; for
 * other commands, 0. Returns 0 or -ENOMEM. */
int examines_new(struct examines **ret, struct loader *l, const char *root, uint64_t explain_ns);
void examines_free(struct examines *e); /* NULL is fine */
/* Call once a second, before the tick record of that second is written. */
void examines_tick(struct examines *e, struct journal *j, const struct output *out);

#endif
