/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - a hash table from 64-bit keys to pointers. It grows, and iterates in the order of
 * insertion, so that output does not depend on the hash function. Not thread-safe. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table;

struct table *table_new(void); /* NULL: no memory */
void table_free(struct table *t, void (*free_value)(void *));
void *table_get(const struct table *t, uint64_t key);
int table_put(struct table *t, uint64_t key,
	      void *value); /* value: not NULL, replaces an earlier one; returns 0 or -ENOMEM */
void *table_take(struct table *t,
		 uint64_t key); /* removes the entry and returns its value, or NULL */
size_t table_count(const struct table *t);
/* Iterates: for (size_t i = 0; (v = table_next(t, &i, &key));) ... The current entry may be removed
 * in the loop. */
void *table_next(const struct table *t, size_t *pos, uint64_t *ret_key);

#endif
