/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/reorder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/ingest/event.h"

#define REORDER_ITEMS_MIN 1024
#define REORDER_BYTES_MIN ((size_t)64 << 10)

static bool reorder_item_before(const struct reorder_item *a, const struct reorder_item *b)
{
	return a->ts_ns != b->ts_ns ? a->ts_ns < b->ts_ns : a->arrival < b->arrival;
}

static size_t reorder_record_bytes(const struct gp_rec *rec)
{
	return ((size_t)rec->len + 7) & ~(size_t)7;
}

static int reorder_list_room(struct reorder_list *l)
{
	struct reorder_item *items;
	size_t cap;

	if (l->len < l->cap)
		return 0;
	/* Moving is paid for by the items that left the front since the last time. */
	if (l->head > l->len / 2) {
		l->len -= l->head;
		memmove(l->items, l->items + l->head, l->len * sizeof(*l->items));
		l->head = 0;
		return 0;
	}
	cap = l->cap ? l->cap * 2 : REORDER_ITEMS_MIN;
	items = realloc(l->items, cap * sizeof(*items));
	if (!items)
		return -ENOMEM;
	l->items = items;
	l->cap = cap;
	return 0;
}

static void reorder_heap_add(struct reorder_list *h, struct reorder_item item)
{
	size_t at = h->len++, parent;

	for (; at; at = parent) {
		parent = (at - 1) / 2;
		if (!reorder_item_before(&item, &h->items[parent]))
			break;
		h->items[at] = h->items[parent];
	}
	h->items[at] = item;
}

static void reorder_heap_drop_first(struct reorder_list *h)
{
	struct reorder_item item = h->items[--h->len];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < h->len) {
		if (child + 1 < h->len &&
		    reorder_item_before(&h->items[child + 1], &h->items[child]))
			child++;
		if (!reorder_item_before(&h->items[child], &item))
			break;
		h->items[at] = h->items[child];
		at = child;
	}
	if (h->len)
		h->items[at] = item;
}

static int reorder_bytes_room(char **bytes, size_t *cap, size_t need)
{
	size_t grown = *cap ? *cap : REORDER_BYTES_MIN;
	char *p;

	if (need <= *cap)
		return 0;
	while (grown < need)
		grown *= 2;
	p = realloc(*bytes, grown);
	if (!p)
		return -ENOMEM;
	*bytes = p;
	*cap = grown;
	return 0;
}

int reorder_load(struct reorder *r, const void *bytes, size_t len, const char **ret)
{
	size_t at = (r->len + 7) & ~(size_t)7;
	int err;

	if (len > SIZE_MAX / 4)
		return -ENOMEM;
	if (!len) {
		*ret = "";
		return 0;
	}
	err = reorder_bytes_room(&r->bytes, &r->cap, at + len);
	if (err)
		return err;
	memcpy(r->bytes + at, bytes, len);
	r->len = at + len;
	*ret = r->bytes + at;
	return 0;
}

int reorder_push(struct reorder *r, const struct gp_rec *rec)
{
	struct reorder_list *q = &r->queue;
	struct reorder_item item = {rec->ts_ns, r->arrivals,
				    (size_t)((const char *)rec - r->bytes)};
	bool in_order = q->head == q->len || q->items[q->len - 1].ts_ns <= item.ts_ns;
	struct reorder_list *l = in_order ? q : &r->heap;
	int err = reorder_list_room(l);

	if (err)
		return err;
	if (in_order)
		q->items[q->len++] = item;
	else
		reorder_heap_add(&r->heap, item);
	r->arrivals++;
	r->held_bytes += reorder_record_bytes(rec);
	return 0;
}

const struct gp_rec *reorder_pop(struct reorder *r, uint64_t until_ns)
{
	struct reorder_list *q = &r->queue, *h = &r->heap;
	const struct reorder_item *item = q->head < q->len ? &q->items[q->head] : NULL;
	bool from_heap = h->len && (!item || reorder_item_before(&h->items[0], item));
	const struct gp_rec *rec;

	if (from_heap)
		item = &h->items[0];
	if (!item || item->ts_ns > until_ns)
		return NULL;
	rec = (const void *)(r->bytes + item->at);
	r->held_bytes -= reorder_record_bytes(rec);
	if (from_heap)
		reorder_heap_drop_first(h);
	else if (++q->head == q->len)
		q->head = q->len = 0;
	return rec;
}

static void reorder_list_move(struct reorder *r, struct reorder_list *l, size_t *at)
{
	for (size_t i = l->head; i < l->len; i++) {
		const char *from = r->bytes + l->items[i].at;
		size_t len = reorder_record_bytes((const void *)from);

		memcpy(r->spare + *at, from, len);
		l->items[i].at = *at;
		*at += len;
	}
}

void reorder_trim(struct reorder *r)
{
	size_t at = 0, cap = r->cap;
	char *bytes = r->bytes;

	if (!reorder_count(r)) {
		r->len = 0;
		return;
	}
	/* Copying is paid for by the bytes that it frees. */
	if (r->len - r->held_bytes < r->held_bytes + REORDER_BYTES_MIN)
		return;
	if (reorder_bytes_room(&r->spare, &r->spare_cap, r->held_bytes))
		return;
	reorder_list_move(r, &r->queue, &at);
	reorder_list_move(r, &r->heap, &at);
	r->bytes = r->spare;
	r->cap = r->spare_cap;
	r->spare = bytes;
	r->spare_cap = cap;
	r->len = at;
}

size_t reorder_count(const struct reorder *r)
{
	return r->queue.len - r->queue.head + r->heap.len;
}

void reorder_free(struct reorder *r)
{
	free(r->bytes);
	free(r->spare);
	free(r->queue.items);
	free(r->heap.items);
}

/* ---- state ----------------------------------------------------------------------------------- */

static int reorder_item_order(const void *a, const void *b)
{
	return reorder_item_before(a, b) ? -1 : 1;
}

/* In the order in which they will be given back: then all of them are a queue to whoever reads. */
static void reorder_write(struct archive *a, const struct reorder *r)
{
	const struct reorder_list *lists[] = {&r->queue, &r->heap};
	struct reorder_item *items = calloc(reorder_count(r) + 1, sizeof(*items));
	size_t n = 0;

	if (!items) {
		a->error = -ENOMEM;
		return;
	}
	for (int l = 0; l < 2; l++) {
		for (size_t i = lists[l]->head; i < lists[l]->len; i++)
			items[n++] = lists[l]->items[i];
	}
	qsort(items, n, sizeof(*items), reorder_item_order);
	for (size_t i = 0; i < n; i++) {
		struct gp_rec *rec = (void *)(r->bytes + items[i].at);

		archive_number(a, &items[i].arrival);
		archive_number(a, &rec->len);
		archive_bytes(a, rec, rec->len);
	}
	free(items);
}

static void reorder_read_record(struct archive *a, struct reorder *r, uint64_t *last_ns)
{
	_Alignas(struct gp_rec) char record[GP_RECORD_MAX];
	const struct gp_rec *rec = (const void *)record;
	uint64_t arrivals = r->arrivals, arrival = 0;
	const char *at = NULL;
	struct event ev;
	uint16_t len = 0;
	int err;

	archive_number(a, &arrival);
	archive_below(a, &len, GP_RECORD_MAX + 1);
	archive_bytes(a, record, len);
	archive_require(a, !event_decode(record, len, &ev) && rec->ts_ns >= *last_ns &&
				   arrival < arrivals);
	if (a->error)
		return;
	*last_ns = rec->ts_ns;
	r->arrivals = arrival;
	err = reorder_load(r, record, len, &at);
	err = err ? err : reorder_push(r, (const void *)at);
	r->arrivals = arrivals;
	a->error = err;
}

void reorder_archive(struct archive *a, struct reorder *r, size_t max, size_t max_bytes)
{
	uint32_t n = (uint32_t)reorder_count(r);
	uint64_t last_ns = 0;

	archive_number(a, &r->arrivals);
	archive_count(a, &n, (uint32_t)max, sizeof(struct gp_rec));
	if (!archive_reads(a))
		reorder_write(a, r);
	for (uint32_t i = 0; archive_reads(a) && i < n && !a->error; i++) {
		reorder_read_record(a, r, &last_ns);
		archive_require(a, r->held_bytes <= max_bytes);
	}
}
