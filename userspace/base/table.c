/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define TABLE_MIN  16
#define TABLE_MAX  (UINT32_MAX / 4)
#define SLOT_EMPTY 0u
#define SLOT_DEAD  UINT32_MAX

struct entry {
	uint64_t key;
	void *value; /* NULL: removed */
};

/* entries: in order of insertion. slots: open-addressed hash index; a slot is the index of an entry
 * + 1, or 0. */
struct table {
	struct entry *entries;
	uint32_t *slots; /* there are 2 * cap slots, at most half of them in use */
	size_t used, cap, count;
	uint64_t seed;
};

/* Returns a random seed for the hashes. Without it a watched process could choose keys that
 * collide. */
static uint64_t table_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (random)
		memcpy(&seed, random, sizeof(seed));
	return seed;
}

/* Mixes the bits of a key: the finaliser of MurmurHash3 (Appleby, public domain). */
static uint64_t table_mix(uint64_t k)
{
	k = (k ^ k >> 33) * 0xff51afd7ed558ccdull;
	k = (k ^ k >> 33) * 0xc4ceb9fe1a85ec53ull;
	return k ^ k >> 33;
}

/* Returns the index of the key's slot, or SIZE_MAX if the key is not in the table. */
static size_t table_find(const struct table *t, uint64_t key)
{
	size_t mask = 2 * t->cap - 1, at;

	if (!t->cap)
		return SIZE_MAX;
	for (at = table_mix(key ^ t->seed) & mask; t->slots[at] != SLOT_EMPTY;
	     at = (at + 1) & mask) {
		if (t->slots[at] != SLOT_DEAD && t->entries[t->slots[at] - 1].key == key)
			return at;
	}
	return SIZE_MAX;
}

static void table_index(struct table *t, size_t entry)
{
	size_t mask = 2 * t->cap - 1, at = table_mix(t->entries[entry].key ^ t->seed) & mask;

	while (t->slots[at] != SLOT_EMPTY)
		at = (at + 1) & mask;
	t->slots[at] = (uint32_t)entry + 1;
}

/* Makes room for an entry: discards the removed entries, and doubles the table if more than half of
 * it is in use after that. */
static int table_rebuild(struct table *t)
{
	size_t cap = !t->cap ? TABLE_MIN : t->count > t->cap / 2 ? t->cap * 2 : t->cap, used = 0;
	struct entry *entries;
	uint32_t *slots;

	if (cap > TABLE_MAX)
		return -ENOMEM;
	entries = malloc(cap * sizeof(*entries));
	slots = calloc(2 * cap, sizeof(*slots));
	if (!entries || !slots) {
		free(entries);
		free(slots);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->used; i++) {
		if (t->entries[i].value)
			entries[used++] = t->entries[i];
	}
	free(t->entries);
	free(t->slots);
	t->entries = entries;
	t->slots = slots;
	t->cap = cap;
	t->used = used;
	for (size_t i = 0; i < used; i++)
		table_index(t, i);
	return 0;
}

struct table *table_new(void)
{
	struct table *t = calloc(1, sizeof(*t));

	if (t)
		t->seed = table_seed();
	return t;
}

void table_free(struct table *t, void (*free_value)(void *))
{
	if (!t)
		return;
	for (size_t i = 0; free_value && i < t->used; i++) {
		if (t->entries[i].value)
			free_value(t->entries[i].value);
	}
	free(t->entries);
	free(t->slots);
	free(t);
}

void *table_get(const struct table *t, uint64_t key)
{
	size_t at = table_find(t, key);

	return at == SIZE_MAX ? NULL : t->entries[t->slots[at] - 1].value;
}

int table_put(struct table *t, uint64_t key, void *value)
{
	size_t at = table_find(t, key);
	int err;

	if (!value)
		return -EINVAL;
	if (at != SIZE_MAX) {
		t->entries[t->slots[at] - 1].value = value;
		return 0;
	}
	if (t->used == t->cap) {
		err = table_rebuild(t);
		if (err)
			return err;
	}
	t->entries[t->used++] = (struct entry){key, value};
	table_index(t, t->used - 1);
	t->count++;
	return 0;
}

void *table_take(struct table *t, uint64_t key)
{
	size_t at = table_find(t, key);
	struct entry *e;
	void *value;

	if (at == SIZE_MAX)
		return NULL;
	e = &t->entries[t->slots[at] - 1];
	value = e->value;
	e->value = NULL;
	t->slots[at] = SLOT_DEAD;
	t->count--;
	return value;
}

size_t table_count(const struct table *t)
{
	return t->count;
}

void *table_next(const struct table *t, size_t *pos, uint64_t *ret_key)
{
	const struct entry *e;

	while (*pos < t->used) {
		e = &t->entries[(*pos)++];
		if (!e->value)
			continue;
		if (ret_key)
			*ret_key = e->key;
		return e->value;
	}
	return NULL;
}
