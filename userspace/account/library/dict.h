/* SPDX-License-Identifier: Apache-2.0 */
/* dict.h - a map from numbers (of steps, of names) to values that keeps the order of insertion. If
 * keys are added in ascending order, like the steps of a run, only the entries are stored.
 * Otherwise there is also an index of four to eight bytes for each entry. A zeroed map is valid and
 * empty. Not thread-safe. */
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
	uint32_t *slots; /* hash index: index in `entries` plus 1; 0: free slot */
	size_t slot_count;
};

struct goodput_entry *goodput_dict_find(const struct goodput_dict *d,
					int64_t key); /* NULL: not found */
/* Returns the entry of a key; adds a missing entry with value 0. A pointer to an entry is valid
 * until another entry is added. Returns NULL if there is no memory, or if there are 2^32
 * entries. */
struct goodput_entry *goodput_dict_put(struct goodput_dict *d, int64_t key);
void goodput_dict_free(struct goodput_dict *d); /* frees d's memory; d is then empty */

#endif
