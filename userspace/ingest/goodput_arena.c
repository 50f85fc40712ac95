/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/goodput_arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Size of an arena: enough for usual log entries. For the rest of a larger entry, malloc() is
 * used. */
#define ARENA_BYTES ((size_t)64 << 10)

struct goodput_arena {
	size_t used; /* number of bytes[] in use */
	/* sum of the bytes requested for the current entry; limited by GOODPUT_ARENA_MAX */
	size_t asked;
	bool spilled;
	char bytes[ARENA_BYTES] __attribute__((aligned(16)));
};

static __thread struct goodput_arena *current;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *arena_alloc(size_t size)
{
	struct goodput_arena *a = current;
	void *p;

	if (!a)
		return malloc(size);
	size = (size + 15) & ~(size_t)15;
	if (size > GOODPUT_ARENA_MAX - a->asked)
		return NULL;
	a->asked += size;
	if (size > ARENA_BYTES - a->used) {
		a->spilled = true;
		return malloc(size);
	}
	p = a->bytes + a->used;
	a->used += size;
	return p;
}

static void arena_release(void *p)
{
	const struct goodput_arena *a = current;

	if (!a || (uintptr_t)p - (uintptr_t)a->bytes >= ARENA_BYTES)
		free(p);
}

static void arena_hook(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){arena_alloc, arena_release});
}

struct goodput_arena *goodput_arena_new(void)
{
	pthread_once(&once, arena_hook);
	return calloc(1, sizeof(struct goodput_arena));
}

void goodput_arena_free(struct goodput_arena *a)
{
	free(a);
}

void goodput_arena_enter(struct goodput_arena *a)
{
	current = a;
	a->used = a->asked = 0;
	a->spilled = false;
}

void goodput_arena_leave(struct goodput_arena *a, cJSON *parsed)
{
	if (a->spilled)
		cJSON_Delete(parsed);
	current = NULL;
}
