/* SPDX-License-Identifier: Apache-2.0 */
/* dict.h - a map from numbers (of steps, of names) to values, in order of insertion. While keys are
 * added in ascending order, as the steps of a run are, only the entries are stored; otherwise also
 * an index of four to eight bytes an entry. Zeroed: empty. Not thread-safe. */
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
	uint32_t *slots; /* 1 + index in entries; 0: free */
	size_t slot_count;
};

struct goodput_entry *goodput_dict_find(const struct goodput_dict *d,
					int64_t key); /* NULL: not found */
/* Returns the entry of the key, added with value 0 if it is missing. Pointers to entries are valid
 * until the next entry is added. NULL: no memory, or 2^32 entries. */
struct goodput_entry *goodput_dict_put(struct goodput_dict *d, int64_t key);
void goodput_dict_free(struct goodput_dict *d); /* frees the memory; d is empty afterwards */

#endif
