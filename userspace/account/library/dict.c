/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/library/dict.h"

#include <stdlib.h>

#include "userspace/base/grow.h"

#define SLOTS_MIN 16

/* Spreads neighbouring keys over the slots, with the finalizer of MurmurHash3 (Appleby, public
 * domain). */
static size_t dict_slot_of(const struct goodput_dict *d, int64_t key)
{
	uint64_t x = (uint64_t)key;

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return (x ^ x >> 33) & (d->slot_count - 1);
}

static void dict_slot_fill(struct goodput_dict *d, size_t place)
{
	size_t slot = dict_slot_of(d, d->entries[place].key);

	while (d->slots[slot])
		slot = (slot + 1) & (d->slot_count - 1);
	d->slots[slot] = (uint32_t)place + 1;
}

static bool dict_index_room(struct goodput_dict *d)
{
	size_t slot_count = d->slot_count ? d->slot_count : SLOTS_MIN;
	uint32_t *slots;

	while (slot_count < 2 * (d->count + 1))
		slot_count *= 2;
	if (slot_count == d->slot_count)
		return true;
	slots = calloc(slot_count, sizeof(*slots));
	if (!slots)
		return false;
	free(d->slots);
	d->slots = slots;
	d->slot_count = slot_count;
	for (size_t i = 0; i < d->count; i++)
		dict_slot_fill(d, i);
	return true;
}

static struct goodput_entry *dict_find_ascending(const struct goodput_dict *d, int64_t key)
{
	size_t low = 0, high = d->count;

	if (!d->count || key > d->entries[d->count - 1].key)
		return NULL;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->entries[mid].key < key)
			low = mid + 1;
		else
			high = mid;
	}
	return d->entries[low].key == key ? &d->entries[low] : NULL;
}

struct goodput_entry *goodput_dict_find(const struct goodput_dict *d, int64_t key)
{
	if (!d->slots)
		return dict_find_ascending(d, key);
	for (size_t slot = dict_slot_of(d, key); d->slots[slot];
	     slot = (slot + 1) & (d->slot_count - 1))
		if (d->entries[d->slots[slot] - 1].key == key)
			return &d->entries[d->slots[slot] - 1];
	return NULL;
}

struct goodput_entry *goodput_dict_put(struct goodput_dict *d, int64_t key)
{
	struct goodput_entry *e = goodput_dict_find(d, key);
	bool ascending = !d->count || key > d->entries[d->count - 1].key;

	if (e)
		return e;
	if (d->count >= UINT32_MAX || ((d->slots || !ascending) && !dict_index_room(d)))
		return NULL;
	e = grow_append(&d->entries, &d->count, &d->room, sizeof(*d->entries));
	if (!e)
		return NULL;
	*e = (struct goodput_entry){.key = key};
	if (d->slots)
		dict_slot_fill(d, d->count - 1);
	return e;
}

void goodput_dict_free(struct goodput_dict *d)
{
	free(d->entries);
	free(d->slots);
	*d = (struct goodput_dict){0};
}
