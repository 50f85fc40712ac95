/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h - arrays that grow when items are added. grow_items() doubles them, up to a limit;
 * grow_append() enlarges them by half, without a limit. If the array has room, adding an
 * item costs one comparison. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GROW_FIRST 4   /* number of items of a new array */
#define GROW_LARGE 128 /* bytes; a new array whose items are larger than this has only one item */

/* Returns an array with room for at least `need` items (need <= max, the limit). New items are
 * zeroed, and *cap is updated. The array may move. Returns NULL if there is no memory; then the
 * array is unchanged. */
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

/* Adds an item to the end of an array of grow_items(), and returns it. Returns NULL, and changes
 * nothing, if there is no memory or the array has max items. The item is not zeroed if its memory
 * was used before. array, count and cap are lvalues. */
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

/* Doubles a ring and keeps its items, from first to next - 1; item i is at i & (cap - 1). cap is 0
 * or a power of two. least: cap of a new ring, a power of two. Returns 0, or -ENOMEM: the ring is
 * unchanged. */
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

#define GROW_FEW 16 /* number of items of a new array of grow_append() */

/* Adds an item to the end of an array without a limit, and returns it; it is not initialized.
 * Returns NULL, and changes nothing, if there is no memory. array: address of the pointer to the
 * array, which may move. */
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

/* Frees an array and sets *cap to 0. Returns NULL, for the pointer to the array. */
static inline void *grow_free(void *have, uint32_t *cap)
{
	free(have);
	*cap = 0;
	return NULL;
}

#endif
