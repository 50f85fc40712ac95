/* SPDX-License-Identifier: Apache-2.0 */
/* library_follow.h - probes on functions without a symbol, whose address a call reports at run
 * time: callbacks passed to a framework (`follow` in probes/README.md). The address comes from the
 * job, so it is used only if a file that the row names is mapped executable there, and a function
 * begins there. At most 16 functions for each process, and for each file. */
#ifndef LOADER_LIBRARY_FOLLOW_H
#define LOADER_LIBRARY_FOLLOW_H

#include "loader/library/library.h"
#include "loader/library/library_private.h"

/* Bit of a reader's ticket that marks requests of this module; the other bits are the library's
 * tag. */
#define LIBRARY_FOLLOWING (1ull << 63)

struct follows;

struct follows *follows_new(const struct probe_table *probes); /* NULL: no memory */
void follows_free(struct follows *f);

/* Handles the addresses of functions that records reported; each call handles a few of them. */
void follows_turn(struct libraries *ls);
/* Handles a reader's answer. The caller frees the answer. */
void library_followed(struct libraries *ls, struct library *lib, struct reader_answer *a);
/* Forgets the addresses of a process that no longer maps the library: its functions may be mapped
 * at other addresses later. */
void follows_unmapped(struct follows *f, const struct library *lib, pid_t pid);
void follows_forget(struct follows *f, pid_t pid);
/* Call once a second: removes links of a predecessor to functions that no call has reported
 * since. */
void follows_second(struct libraries *ls);

#endif
