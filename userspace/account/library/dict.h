/* SPDX-License-Identifier: Apache-2.0 */
/* dict.h - a map from numbers (of steps, of names) to values, which keeps the order of insertion.
 * If keys are added in ascending order, like the steps of a run, only the entries are stored;
 * otherwise also an index of four to eight bytes an entry. Valid when zeroed: empty. Not
 * thread-safe. */
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
	uint32_t *slots; /* hash index: 1 + index in entries; 0: free */
	size_t slot_count;
};

struct goodput_entry *goodput_dict_find(const struct goodput_dict *d,
					int64_t key); /* NULL: not found */
/* Returns the entry of a key; a missing entry is added with value 0. Pointers to entries are valid
 * until an entry is added. Returns NULL if there is no memory, or if there are 2^32 entries. */
struct goodput_entry *goodput_dict_put(struct goodput_dict *d, int64_t key);
void goodput_dict_free(struct goodput_dict *d); /* frees d's memory; d is then empty */

#endif
