/* SPDX-License-Identifier: Apache-2.0 */
/* library_follow.h - functions that no file names, only a call does: what a framework asks to be
 * called back at (`follow` in probes/README.md). The address is the job's word. It counts where a
 * file that the row names is mapped executable, and a function begins there; each process has 16
 * such, each file too. */
#ifndef LOADER_LIBRARY_FOLLOW_H
#define LOADER_LIBRARY_FOLLOW_H

#include "loader/library.h"
#include "loader/library_private.h"

/* In a reader's ticket, beside the library's tag. */
#define LIBRARY_FOLLOWING (1ull << 63)

struct follows;

struct follows *follows_new(const struct probe_table *probes); /* NULL: no memory */
void follows_free(struct follows *f);

/* Looks for what records told of, a little at a time. */
void follows_turn(struct libraries *ls);
/* What a reader says of one; nothing of it is kept. */
void library_followed(struct libraries *ls, struct library *lib, struct reader_answer *a);
/* The process maps the library no more: what lay there may come back, elsewhere. */
void follows_left(struct follows *f, const struct library *lib, pid_t pid);
void follows_forget(struct follows *f, pid_t pid);
/* Once a second: of a predecessor's links those go that no call told of. */
void follows_second(struct libraries *ls);

#endif
