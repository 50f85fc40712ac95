/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - keeps records until the next drain record, then delivers them as events, sorted by
 * time. */
#include "userspace/ingest/stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/archive.h"

/* Limits of waiting records and of their bytes, in case no drain record arrives. If a limit is
 * exceeded, the older half of the records is delivered. */
#define STREAM_HELD_RECORDS ((size_t)1 << 20)
#define STREAM_HELD_BYTES   ((size_t)256 << 20)

#define STREAM_ITEMS_MIN 1024
#define STREAM_BYTES_MIN ((size_t)64 << 10)

#define MAGIC "gpstream"
/* Format of a saved stream. It changes with the ABI version, because a saved stream contains
 * records. */
#define FORMAT GP_ABI_VERSION

struct stream_item {
	uint64_t ts_ns;
	uint64_t arrival;
	size_t at; /* offset of the record in stream_held.bytes */
};

struct stream_list {
	struct stream_item *items;
	/* head: index of the first waiting item (used only in the queue) */
	size_t head, len, cap;
};

/* Records that wait, because older ones may still arrive. They are returned in order of (time,
 * arrival). Nearly all records arrive in this order and go to a queue, at constant cost; the others
 * go to a heap, at O(log n). Single records need no allocation. A zeroed struct is valid and
 * empty. */
struct stream_held {
	/* bytes: the waiting records; spare: a second buffer, to which they are copied to free the
	 * bytes of delivered records */
	char *bytes, *spare;
	size_t len, cap, spare_cap;
	struct stream_list queue, heap;
	uint64_t arrivals;
	size_t held_bytes;
};

struct stream {
	stream_fn *sink;
	void *ctx;
	struct stream_held held;
	uint64_t last_ns; /* time of the last event delivered */
	uint64_t events;
	/* numbers of records dropped since the last loss event, because they were too late for
	 * their order, or could not be decoded */
	uint64_t late, malformed;
};

/* ---- records that are held ------------------------------------------------------------------- */

static bool stream_item_before(const struct stream_item *a, const struct stream_item *b)
{
	return a->ts_ns != b->ts_ns ? a->ts_ns < b->ts_ns : a->arrival < b->arrival;
}

static size_t stream_record_bytes(const struct gp_rec *rec)
{
	return ((size_t)rec->len + 7) & ~(size_t)7;
}

static int stream_list_room(struct stream_list *l)
{
	struct stream_item *items;
	size_t cap;

	if (l->len < l->cap)
		return 0;
	/* Compact only if more items have left the list than remain, so that the cost for each item
	 * is constant. */
	if (l->head > l->len / 2) {
		l->len -= l->head;
		memmove(l->items, l->items + l->head, l->len * sizeof(*l->items));
		l->head = 0;
		return 0;
	}
	cap = l->cap ? l->cap * 2 : STREAM_ITEMS_MIN;
	items = realloc(l->items, cap * sizeof(*items));
	if (!items)
		return -ENOMEM;
	l->items = items;
	l->cap = cap;
	return 0;
}

static void stream_heap_add(struct stream_list *h, struct stream_item item)
{
	size_t at = h->len++, parent;

	for (; at; at = parent) {
		parent = (at - 1) / 2;
		if (!stream_item_before(&item, &h->items[parent]))
			break;
		h->items[at] = h->items[parent];
	}
	h->items[at] = item;
}

static void stream_heap_drop_first(struct stream_list *h)
{
	struct stream_item item = h->items[--h->len];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < h->len) {
		if (child + 1 < h->len &&
		    stream_item_before(&h->items[child + 1], &h->items[child]))
			child++;
		if (!stream_item_before(&h->items[child], &item))
			break;
		h->items[at] = h->items[child];
		at = child;
	}
	if (h->len)
		h->items[at] = item;
}

static int stream_bytes_room(char **bytes, size_t *cap, size_t need)
{
	size_t grown = *cap ? *cap : STREAM_BYTES_MIN;
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

static size_t stream_held_count(const struct stream_held *r)
{
	return r->queue.len - r->queue.head + r->heap.len;
}

/* Copies raw records to the buffer, 8-aligned. *ret: the copy, valid until stream_held_trim(). The
 * records are not waiting yet: call stream_held_push() for each of them. */
static int stream_held_load(struct stream_held *r, const void *bytes, size_t len, const char **ret)
{
	size_t at = (r->len + 7) & ~(size_t)7;
	int err;

	if (len > SIZE_MAX / 4)
		return -ENOMEM;
	if (!len) {
		*ret = "";
		return 0;
	}
	err = stream_bytes_room(&r->bytes, &r->cap, at + len);
	if (err)
		return err;
	memcpy(r->bytes + at, bytes, len);
	r->len = at + len;
	*ret = r->bytes + at;
	return 0;
}

/* Adds a record, which is in the buffer already, to the waiting records. Returns 0 or -ENOMEM. */
static int stream_held_push(struct stream_held *r, const struct gp_rec *rec)
{
	struct stream_list *q = &r->queue;
	struct stream_item item = {rec->ts_ns, r->arrivals, (size_t)((const char *)rec - r->bytes)};
	bool in_order = q->head == q->len || q->items[q->len - 1].ts_ns <= item.ts_ns;
	struct stream_list *l = in_order ? q : &r->heap;
	int err = stream_list_room(l);

	if (err)
		return err;
	if (in_order)
		q->items[q->len++] = item;
	else
		stream_heap_add(&r->heap, item);
	r->arrivals++;
	r->held_bytes += stream_record_bytes(rec);
	return 0;
}

/* Removes and returns the earliest record; NULL if no record has a time up to until_ns. The record
 * is valid until stream_held_trim(). */
static const struct gp_rec *stream_held_pop(struct stream_held *r, uint64_t until_ns)
{
	struct stream_list *q = &r->queue, *h = &r->heap;
	const struct stream_item *item = q->head < q->len ? &q->items[q->head] : NULL;
	bool from_heap = h->len && (!item || stream_item_before(&h->items[0], item));
	const struct gp_rec *rec;

	if (from_heap)
		item = &h->items[0];
	if (!item || item->ts_ns > until_ns)
		return NULL;
	rec = (const void *)(r->bytes + item->at);
	r->held_bytes -= stream_record_bytes(rec);
	if (from_heap)
		stream_heap_drop_first(h);
	else if (++q->head == q->len)
		q->head = q->len = 0;
	return rec;
}

static void stream_list_move(struct stream_held *r, struct stream_list *l, size_t *at)
{
	for (size_t i = l->head; i < l->len; i++) {
		const char *from = r->bytes + l->items[i].at;
		size_t len = stream_record_bytes((const void *)from);

		memcpy(r->spare + *at, from, len);
		l->items[i].at = *at;
		*at += len;
	}
}

/* Frees the bytes of delivered records, by copying the waiting ones. Without memory for the copy,
 * does nothing. */
static void stream_held_trim(struct stream_held *r)
{
	size_t at = 0, cap = r->cap;
	char *bytes = r->bytes;

	if (!stream_held_count(r)) {
		r->len = 0;
		return;
	}
	/* Compact only if this frees at least as many bytes as it copies, so that the cost for each
	 * byte is constant. */
	if (r->len - r->held_bytes < r->held_bytes + STREAM_BYTES_MIN)
		return;
	if (stream_bytes_room(&r->spare, &r->spare_cap, r->held_bytes))
		return;
	stream_list_move(r, &r->queue, &at);
	stream_list_move(r, &r->heap, &at);
	r->bytes = r->spare;
	r->cap = r->spare_cap;
	r->spare = bytes;
	r->spare_cap = cap;
	r->len = at;
}

static void stream_held_free(struct stream_held *r)
{
	free(r->bytes);
	free(r->spare);
	free(r->queue.items);
	free(r->heap.items);
}

/* ---- from records to events ------------------------------------------------------------------ */

struct stream *stream_new(stream_fn *sink, void *ctx)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sink = sink;
	s->ctx = ctx;
	return s;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	stream_held_free(&s->held);
	free(s);
}

/* Delivers a record to the consumer as an event. The length of the record was checked when it
 * arrived. */
static void stream_deliver(struct stream *s, const struct gp_rec *rec)
{
	const struct event ev = {.rec = rec, .payload = rec + 1};

	s->last_ns = rec->ts_ns;
	s->events++;
	s->sink(s->ctx, &ev);
}

static void stream_report_loss(struct stream *s, uint64_t ts_ns, unsigned cause, uint64_t *count)
{
	_Alignas(struct gp_rec) char buf[GP_RECORD_MAX];
	struct gp_loss *loss;

	if (!*count)
		return;
	loss = event_init(buf, GP_KIND_loss, ts_ns, 0, 0);
	loss->cause = cause;
	loss->count = *count;
	*count = 0;
	stream_deliver(s, (const void *)buf);
}

static void stream_report_losses(struct stream *s, uint64_t ts_ns)
{
	if (ts_ns < s->last_ns)
		ts_ns = s->last_ns;
	stream_report_loss(s, ts_ns, GP_LOSS_late, &s->late);
	stream_report_loss(s, ts_ns, GP_LOSS_malformed, &s->malformed);
}

static void stream_release(struct stream *s, uint64_t until_ns)
{
	const struct gp_rec *rec;

	while ((rec = stream_held_pop(&s->held, until_ns)))
		stream_deliver(s, rec);
}

static void stream_release_half(struct stream *s)
{
	size_t keep = stream_held_count(&s->held) / 2, keep_bytes = s->held.held_bytes / 2;
	const struct gp_rec *rec;

	while (stream_held_count(&s->held) > keep || s->held.held_bytes > keep_bytes) {
		rec = stream_held_pop(&s->held, UINT64_MAX);
		if (!rec)
			break;
		stream_deliver(s, rec);
	}
	stream_report_losses(s, s->last_ns);
}

static int stream_take(struct stream *s, const struct gp_rec *rec)
{
	struct event ev;
	int err;

	if (event_decode(rec, rec->len, &ev)) {
		s->malformed++;
		return 0;
	}
	if (rec->kind == GP_KIND_drain) {
		if (ev.drain->upto_ns)
			stream_release(s, ev.drain->upto_ns - 1);
		stream_report_losses(s, ev.drain->upto_ns);
		return 0;
	}
	if (rec->ts_ns < s->last_ns) {
		s->late++;
		return 0;
	}
	err = stream_held_push(&s->held, rec);
	if (!err && (stream_held_count(&s->held) > STREAM_HELD_RECORDS ||
		     s->held.held_bytes > STREAM_HELD_BYTES))
		stream_release_half(s);
	return err;
}

int stream_feed(struct stream *s, const void *records, size_t len)
{
	const struct gp_rec *rec;
	const char *at, *end;
	size_t step;
	int err = stream_held_load(&s->held, records, len, &at);

	if (err)
		return err;
	for (end = at + len; !err && at < end; at += step) {
		rec = (const void *)at;
		step = (size_t)(end - at);
		/* the length in this record is impossible, so the next record cannot be found */
		if (step < sizeof(*rec) || rec->len < sizeof(*rec) ||
		    ((size_t)rec->len + 7) / 8 * 8 > step) {
			s->malformed++;
			break;
		}
		step = ((size_t)rec->len + 7) / 8 * 8;
		err = stream_take(s, rec);
	}
	stream_held_trim(&s->held);
	return err;
}

void stream_finish(struct stream *s)
{
	stream_release(s, UINT64_MAX);
	stream_report_losses(s, s->last_ns);
	stream_held_trim(&s->held);
}

uint64_t stream_events(const struct stream *s)
{
	return s->events;
}

/* ---- state ----------------------------------------------------------------------------------- */

static int stream_item_order(const void *a, const void *b)
{
	return stream_item_before(a, b) ? -1 : 1;
}

/* Writes the waiting records in the order of delivery, so that all go to the queue when they are
 * loaded. */
static void stream_held_write(struct archive *a, const struct stream_held *r)
{
	const struct stream_list *lists[] = {&r->queue, &r->heap};
	struct stream_item *items = calloc(stream_held_count(r) + 1, sizeof(*items));
	size_t n = 0;

	if (!items) {
		a->error = -ENOMEM;
		return;
	}
	for (int l = 0; l < 2; l++) {
		for (size_t i = lists[l]->head; i < lists[l]->len; i++)
			items[n++] = lists[l]->items[i];
	}
	qsort(items, n, sizeof(*items), stream_item_order);
	for (size_t i = 0; i < n; i++) {
		struct gp_rec *rec = (void *)(r->bytes + items[i].at);

		archive_field(a, items[i].arrival);
		archive_field(a, rec->len);
		archive_bytes(a, rec, rec->len);
	}
	free(items);
}

static void stream_held_read(struct archive *a, struct stream_held *r, uint64_t *last_ns)
{
	_Alignas(struct gp_rec) char record[GP_RECORD_MAX];
	const struct gp_rec *rec = (const void *)record;
	uint64_t arrivals = r->arrivals, arrival = 0;
	const char *at = NULL;
	struct event ev;
	uint16_t len = 0;
	int err;

	archive_field(a, arrival);
	archive_below(a, &len, GP_RECORD_MAX + 1);
	archive_bytes(a, record, len);
	archive_require(a, !event_decode(record, len, &ev) && rec->ts_ns >= *last_ns &&
				   arrival < arrivals);
	if (a->error)
		return;
	*last_ns = rec->ts_ns;
	r->arrivals = arrival;
	err = stream_held_load(r, record, len, &at);
	err = err ? err : stream_held_push(r, (const void *)at);
	r->arrivals = arrivals;
	a->error = err;
}

/* Loads waiting records into an empty list. Rejects records that cannot be decoded, more than max
 * records, and more than max_bytes. */
static void stream_held_archive(struct archive *a, struct stream_held *r, size_t max,
				size_t max_bytes)
{
	uint32_t n = (uint32_t)stream_held_count(r);
	uint64_t last_ns = 0;

	archive_field(a, r->arrivals);
	archive_count(a, &n, (uint32_t)max, sizeof(struct gp_rec));
	if (!archive_reads(a))
		stream_held_write(a, r);
	for (uint32_t i = 0; archive_reads(a) && i < n && !a->error; i++) {
		stream_held_read(a, r, &last_ns);
		archive_require(a, r->held_bytes <= max_bytes);
	}
}

static void stream_archive(struct archive *a, struct stream *s)
{
	archive_struct(a, sizeof(*s));
	archive_fields(a, s, last_ns, events, late, malformed);
	stream_held_archive(a, &s->held, STREAM_HELD_RECORDS, STREAM_HELD_BYTES);
}

int stream_save(const struct stream *s, struct buffer *out)
{
	struct archive a;

	archive_write(&a, out, MAGIC, FORMAT);
	/* Casting const away is safe: an archive that is opened for writing does not change the
	 * stream. */
	stream_archive(&a, (struct stream *)s);
	return archive_end(&a);
}

int stream_load(struct stream **ret, stream_fn *sink, void *ctx, const void *data, size_t len)
{
	struct stream *s = stream_new(sink, ctx);
	struct archive a;
	int err;

	if (!s)
		return -ENOMEM;
	archive_read(&a, data, len, MAGIC, FORMAT);
	stream_archive(&a, s);
	err = archive_end(&a);
	if (err) {
		stream_free(s);
		return err;
	}
	*ret = s;
	return 0;
}
