/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h - arrays that are as long as they had to be so far, up to a bound: they double, so that
 * one that is at its length costs a comparison and no memory is asked for in the long run. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GROW_FIRST 4   /* items at once, the first time */
#define GROW_LARGE 128 /* bytes of an item that come one by one at first */

/* The array with room for at least `need` items, of at most `max` (need <= max): new ones are
 * zeroed, *cap follows. NULL: no memory; the array is as it was. It may move. */
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

/* What it grew to is given back, where nothing is in it. */
static inline void *grow_free(void *have, uint32_t *cap)
{
	free(have);
	*cap = 0;
	return NULL;
}

#endif
