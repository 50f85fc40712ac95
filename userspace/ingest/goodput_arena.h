/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_arena.h - memory for what cJSON makes of one entry, given back at once: half the time of
 * malloc.
 *
 * cJSON's hooks are the process's. Between enter and leave, allocations of the calling thread come
 * from its arena, and are refused beyond GOODPUT_ARENA_MAX; all others are malloc's, as before. */
#ifndef INGEST_GOODPUT_ARENA_H
#define INGEST_GOODPUT_ARENA_H

#include <cjson/cJSON.h>

#define GOODPUT_ARENA_MAX (16u << 20)

struct goodput_arena;
struct goodput_arena *goodput_arena_new(void); /* NULL: no memory */
void goodput_arena_free(struct goodput_arena *a);
void goodput_arena_enter(struct goodput_arena *a);
void goodput_arena_leave(struct goodput_arena *a,
			 cJSON *parsed); /* with what was parsed, or NULL */

#endif
