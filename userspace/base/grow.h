/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h - arrays that grow: grow_items() doubles them, up to a bound; grow_append() adds half,
 * without a bound. An append within the present capacity costs one comparison. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <errno.h>
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

/* Adds an item to the end of such an array and returns it; NULL: no memory, or max are there, and
 * nothing is changed. An item of a place that was used before is not zeroed. array, count and cap
 * are fields. */
#define grow_add(array, count, cap, max)                                                           \
	grow_add_item(&(array), &(count), &(cap), (max), sizeof(*(array)))
static inline void *grow_add_item(void *array, uint32_t *count, uint32_t *cap, uint32_t max,
				  size_t size)
{
	void *items;

	memcpy(&items, array, sizeof(items));
	items = *count < max ? grow_items(items, cap, *count + 1, max, size) : NULL;
	if (!items)
		return NULL;
	memcpy(array, &items, sizeof(items));
	return (char *)items + (size_t)(*count)++ * size;
}

/* Doubles a ring, in which item i is at i & (cap - 1), and keeps the items from first to next - 1.
 * cap is 0 or a power of two; least, one too, is that of the first time. Returns -ENOMEM, and the
 * ring is unchanged, or 0. */
#define grow_ring(ring, first, next, cap, least)                                                   \
	grow_ring_items(&(ring), (first), (next), &(cap), (least), sizeof(*(ring)))
static inline int grow_ring_items(void *ring, uint64_t first, uint64_t next, uint32_t *cap,
				  uint32_t least, size_t size)
{
	uint32_t more = *cap ? 2 * *cap : least;
	char *items, *larger = calloc(more, size);

	if (!larger)
		return -ENOMEM;
	memcpy(&items, ring, sizeof(items));
	for (uint64_t i = first; items && i < next; i++)
		memcpy(larger + (i & (more - 1)) * size, items + (i & (*cap - 1)) * size, size);
	free(items);
	memcpy(ring, &larger, sizeof(larger));
	*cap = more;
	return 0;
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
