/* SPDX-License-Identifier: Apache-2.0 */
/* library_look.h - functions of a runtime's table (rows with slot) that the library's file does not
 * show: they are looked for in the memory of the processes that use it, one after the other, once
 * its probes speak; and where a call has just returned the table (role: table), which closes the
 * gap between the two. A file that was read too slowly to show them is read again. */
#ifndef LOADER_LIBRARY_LOOK_H
#define LOADER_LIBRARY_LOOK_H

#include "loader/library.h"
#include "loader/library_private.h"

/* In a reader's ticket, beside the library's tag. */
#define LIBRARY_LOOKING (1ull << 62)

/* Which probes return a table. */
void looks_new(struct libraries *ls);
/* It has just been attached, or has another user: whoever uses it is looked at, if anything is
 * missing. */
void library_look_due(struct libraries *ls, struct library *lib);
/* Looks at some, and tells what nobody shows. */
void looks_turn(struct libraries *ls);
/* How many libraries wait for a look that is due now. */
size_t looks_waiting(const struct libraries *ls);
/* What a reader says of one; nothing of it is kept. */
void library_looked(struct libraries *ls, struct library *lib, const struct reader_answer *a);
/* Records that were read: some return a table. */
void looks_spent(struct libraries *ls, const void *records, size_t len);

#endif
