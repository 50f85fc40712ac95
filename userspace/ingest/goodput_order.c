/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/goodput_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A record in the heap that waits to be released. Records stay in their slots; only times and slot
 * numbers move within the heap. */
struct held {
	struct goodput_entry entry;
	uint64_t arrival;
};

struct place {
	int64_t us;
	size_t slot;
};

struct goodput_order {
	struct held *slots;
	/* Elements from index `count` to `cap` - 1 contain the free slots. */
	struct place *heap;
	size_t count, cap;
	uint64_t arrivals, duplicates, late;
	/* how often a record was later (increases) or earlier (decreases) than the previous one;
	 * decides whether the log is in reverse order */
	uint64_t increases, decreases;
	int64_t last_us; /* write time of the last record that had one */
	/* time by which a record without a write time is sorted: the latest write time that
	 * directly preceded such a record */
	int64_t floor_us;
	struct goodput_entry left;
	bool any_left, whole, direction_known, flushing;
};

struct goodput_order *goodput_order_new(void)
{
	struct goodput_order *o = calloc(1, sizeof(*o));

	if (o)
		o->last_us = o->floor_us = INT64_MIN;
	return o;
}

void goodput_order_free(struct goodput_order *o)
{
	if (!o)
		return;
	free(o->slots);
	free(o->heap);
	free(o);
}

bool goodput_order_empty(const struct goodput_order *o)
{
	return !o->count;
}

static int order_sign(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Compares two records by insertId. A record without a write time or without an insertId comes
 * last. */
static int order_id_compare(const struct goodput_entry *a, const struct goodput_entry *b)
{
	int sign;

	if (!a->record.written || !b->record.written)
		return a->record.written ? -1 : b->record.written;
	if (!a->id_hash || !b->id_hash)
		return !a->id_hash - !b->id_hash;
	sign = memcmp(a->id, b->id, sizeof(a->id));
	return sign ? sign : (a->id_hash > b->id_hash) - (a->id_hash < b->id_hash);
}

static bool goodput_order_place_before(const struct goodput_order *o, const struct place *a,
				       const struct place *b)
{
	const struct held *x, *y;
	int sign = order_sign(a->us, b->us);

	if (sign)
		return sign < 0;
	x = &o->slots[a->slot];
	y = &o->slots[b->slot];
	sign = order_id_compare(&x->entry, &y->entry);
	return sign ? sign < 0 : x->arrival < y->arrival;
}

static void goodput_order_heap_up(struct goodput_order *o, size_t at)
{
	struct place p = o->heap[at];

	for (size_t above; at; at = above) {
		above = (at - 1) / 2;
		if (!goodput_order_place_before(o, &p, &o->heap[above]))
			break;
		o->heap[at] = o->heap[above];
	}
	o->heap[at] = p;
}

static void goodput_order_heap_down(struct goodput_order *o)
{
	struct place p = o->heap[0];
	size_t at = 0, below;

	for (; (below = 2 * at + 1) < o->count; at = below) {
		if (below + 1 < o->count &&
		    goodput_order_place_before(o, &o->heap[below + 1], &o->heap[below]))
			below++;
		if (!goodput_order_place_before(o, &o->heap[below], &p))
			break;
		o->heap[at] = o->heap[below];
	}
	o->heap[at] = p;
}

static int order_grow(struct goodput_order *o)
{
	size_t cap = o->cap ? 2 * o->cap : 1024;
	struct place *heap;
	struct held *slots;

	slots = realloc(o->slots, cap * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	o->slots = slots;
	heap = realloc(o->heap, cap * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	o->heap = heap;
	for (size_t i = o->cap; i < cap; i++)
		heap[i].slot = i;
	o->cap = cap;
	return 0;
}

/* Returns the time by which a record is sorted, in microseconds. */
static int64_t order_time(struct goodput_order *o, const struct goodput_record *r)
{
	if (!r->written) {
		if (o->last_us > o->floor_us)
			o->floor_us = o->last_us;
		return o->floor_us;
	}
	if (o->last_us != INT64_MIN) {
		o->increases += r->write_us > o->last_us;
		o->decreases += r->write_us < o->last_us;
	}
	o->last_us = r->write_us;
	return r->write_us;
}

int goodput_order_put(struct goodput_order *o, const struct goodput_entry *e)
{
	size_t slot;

	if (o->count == o->cap && order_grow(o))
		return -ENOMEM;
	slot = o->heap[o->count].slot;
	o->slots[slot] = (struct held){*e, o->arrivals++};
	o->heap[o->count].us = order_time(o, &e->record);
	goodput_order_heap_up(o, o->count++);
	return 0;
}

void goodput_order_flush(struct goodput_order *o)
{
	o->flushing = o->count;
}

/* Returns true if the log is in reverse order: 7 of 8 records are earlier than the previous one.
 * There may be exceptions, because several exports may be joined in one log. */
static bool order_backwards(struct goodput_order *o)
{
	if (!o->direction_known) {
		o->direction_known = true;
		o->whole = o->decreases > 7 * o->increases;
	}
	return o->whole;
}

static bool order_due(struct goodput_order *o)
{
	if (o->flushing)
		return o->count;
	return o->count >= GOODPUT_ORDER_KEPT && !order_backwards(o);
}

/* Removes the earliest record from the heap and frees its slot. */
static const struct held *order_first(struct goodput_order *o)
{
	struct place first = o->heap[0];

	o->heap[0] = o->heap[--o->count];
	o->heap[o->count] = first;
	if (o->count)
		goodput_order_heap_down(o);
	else
		o->flushing = false;
	return &o->slots[first.slot];
}

bool goodput_order_take(struct goodput_order *o, struct goodput_record *ret)
{
	const struct goodput_entry *e;

	while (order_due(o)) {
		e = &order_first(o)->entry;
		if (!e->record.written) {
			*ret = e->record;
			return true;
		}
		if (o->any_left && e->id_hash && e->record.write_us == o->left.record.write_us &&
		    e->id_hash == o->left.id_hash && !order_id_compare(e, &o->left)) {
			o->duplicates++;
			continue;
		}
		o->late += o->any_left && e->record.write_us < o->left.record.write_us;
		if (!o->any_left || e->record.write_us >= o->left.record.write_us)
			o->left = *e;
		o->any_left = true;
		*ret = e->record;
		return true;
	}
	return false;
}

uint64_t goodput_order_duplicates(const struct goodput_order *o)
{
	return o->duplicates;
}

uint64_t goodput_order_late(const struct goodput_order *o)
{
	return o->late;
}
