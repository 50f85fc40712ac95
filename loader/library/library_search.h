/* SPDX-License-Identifier: Apache-2.0 */
/* library_search.h - functions of a runtime's table (rows with slot) that the library's file does
 * not show.
 *
 * Once the library's probes send, the memory of the processes that use it is searched, one process
 * after the other; also where a call has just returned the table (role: table). A file that could
 * not be read quickly enough is read again. */
#ifndef LOADER_LIBRARY_SEARCH_H
#define LOADER_LIBRARY_SEARCH_H

#include "loader/library/library.h"
#include "loader/library/library_private.h"

/* Bit in a reader's ticket, besides the library's tag. */
#define LIBRARY_SEARCHING (1ull << 62)

/* Notes which probes return a table. */
void searches_new(struct libraries *ls);
/* The library was just attached, or has a new user: searches its users if a function is missing. */
void library_search_due(struct libraries *ls, struct library *lib);
/* Requests some searches, and reports functions that no process shows. */
void searches_turn(struct libraries *ls);
/* Returns the number of libraries with a search due now. */
size_t searches_waiting(const struct libraries *ls);
/* Takes a reader's answer; keeps nothing of it. */
void library_searched(struct libraries *ls, struct library *lib, const struct reader_answer *a);
/* Takes records read from a ring: some return a table. */
void searches_spent(struct libraries *ls, const void *records, size_t len);

#endif
