/* SPDX-License-Identifier: Apache-2.0 */
/* library_search.h - searches a slow file again for functions without symbols: the parts that were
 * read are in memory, so the next attempt gets further. */
#ifndef LOADER_LIBRARY_SEARCH_H
#define LOADER_LIBRARY_SEARCH_H

#include "loader/library/library.h"
#include "loader/library/library_private.h"

/* Bit in a reader's ticket, besides the library's tag. */
#define LIBRARY_SEARCHING (1ull << 62)

/* Call when a library was just attached or has a new user. */
void library_search_due(struct libraries *ls, struct library *lib);
/* Requests some searches, and reports functions that are not searched again. */
void searches_turn(struct libraries *ls);
/* Handles a reader's answer, which stays the caller's. */
void library_searched(struct libraries *ls, struct library *lib, const struct reader_answer *a);

#endif
