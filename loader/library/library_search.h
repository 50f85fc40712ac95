/* SPDX-License-Identifier: Apache-2.0 */
/* library_search.h - searches a library on a slow disk again for functions without symbols: parts
 * of the file that an attempt has read stay in memory, so the next attempt gets further. */
#ifndef LOADER_LIBRARY_SEARCH_H
#define LOADER_LIBRARY_SEARCH_H

#include "loader/library/library.h"
#include "loader/library/library_private.h"

/* Bit of a reader's ticket that marks requests of this module; the other bits are the library's
 * tag. */
#define LIBRARY_SEARCHING (1ull << 62)

/* Schedules another search of the library if some functions were not found in time. Call when the
 * library was just attached or has a new user. */
void library_search_due(struct libraries *ls, struct library *lib);
/* Requests some searches, and reports functions that are not searched again. */
void searches_turn(struct libraries *ls);
/* Handles a reader's answer. The caller frees the answer. */
void library_searched(struct libraries *ls, struct library *lib, const struct reader_answer *a);

#endif
