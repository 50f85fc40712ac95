/* SPDX-License-Identifier: Apache-2.0 */
/* dict.h - numbers (of steps, of names) with a value each, in order of insertion. While they come
 * in ascending order, as the steps of a run do, the entries are all there is; else an index of four
 * to eight bytes an entry is kept beside them. Zero is an empty one. Not thread-safe. */
#ifndef ACCOUNT_DICT_H
#define ACCOUNT_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct goodput_entry {
	int64_t key;
	union {
		int64_t value;
		double real;
	};
};

struct goodput_dict {
	struct goodput_entry *entries;
	size_t count, room;
	uint32_t *slots; /* 1 + place in entries; 0: free */
	size_t slot_count;
};

struct goodput_entry *goodput_dict_find(const struct goodput_dict *d,
					int64_t key); /* NULL: not there */
/* The entry of the key, which is added with value 0 where it is not there yet. Pointers to entries
 * are good until the next one is added. NULL: no memory, or 2^32 entries. */
struct goodput_entry *goodput_dict_put(struct goodput_dict *d, int64_t key);
void goodput_dict_free(struct goodput_dict *d); /* empty again */

/* Room for one more at the end of any array; false: no memory, nothing changed. */
bool goodput_room(void *array, size_t count, size_t *room, size_t size);

#endif
