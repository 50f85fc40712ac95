/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h - arrays that grow: by doubling, up to a bound, or by half, without one. An append within
 * the present capacity costs one comparison. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GROW_FIRST 4   /* items allocated the first time */
#define GROW_LARGE 128 /* bytes; arrays of larger items begin with one item */

/* Returns the array with room for at least `need` of at most `max` items (need <= max); new items
 * are zeroed and *cap is updated. The array may move. NULL: no memory, and the array is
 * unchanged. */
static inline void *grow_items(void *have, uint32_t *cap, uint32_t need, uint32_t max, size_t size)
{
	uint32_t more = *cap < max / 2 ? 2 * *cap : max;
	char *array;

	if (need <= *cap)
		return have;
	if (!*cap && size < GROW_LARGE)
		more = max < GROW_FIRST ? max : GROW_FIRST;
	more = more < need ? need : more;
	array = realloc(have, more * size);
	if (!array)
		return NULL;
	memset(array + *cap * size, 0, (more - *cap) * size);
	*cap = more;
	return array;
}

#define GROW_FEW 16 /* items that grow_append() allocates the first time */

/* Adds an item to the end of an array of any length, and returns it, not initialized; NULL: no
 * memory, and nothing is changed. array: the address of the pointer to the array, which may move.
 */
static inline void *grow_append(void *array, size_t *count, size_t *cap, size_t size)
{
	void *items, *larger;

	memcpy(&items, array, sizeof(items));
	if (*count == *cap) {
		size_t more = *cap < GROW_FEW ? GROW_FEW : *cap + *cap / 2;

		larger = reallocarray(items, more, size);
		if (!larger)
			return NULL;
		memcpy(array, &larger, sizeof(larger));
		items = larger;
		*cap = more;
	}
	return (char *)items + (*count)++ * size;
}

/* Frees an array that holds nothing any more. */
static inline void *grow_free(void *have, uint32_t *cap)
{
	free(have);
	*cap = 0;
	return NULL;
}

#endif
