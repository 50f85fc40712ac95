/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/base/archive.h"
#include "userspace/ingest/reorder.h"

/* Records held at most while no drain mark comes: beyond it the older half is delivered without
 * one. */
#define STREAM_HELD_RECORDS ((size_t)1 << 20)
#define STREAM_HELD_BYTES   ((size_t)256 << 20)

#define MAGIC  "gpstream"
#define FORMAT GP_ABI_VERSION /* its records are the ABI's */

struct stream {
	stream_fn *sink;
	void *ctx;
	struct reorder held;
	uint64_t last_ns; /* stamp of what was delivered last */
	uint64_t events;
	uint64_t late, malformed; /* since they were last told */
};

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
	reorder_free(&s->held);
	free(s);
}

/* Its length is its kind's: that was checked when it came. */
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

	while ((rec = reorder_pop(&s->held, until_ns)))
		stream_deliver(s, rec);
}

static void stream_release_half(struct stream *s)
{
	size_t keep = reorder_count(&s->held) / 2, keep_bytes = s->held.held_bytes / 2;
	const struct gp_rec *rec;

	while (reorder_count(&s->held) > keep || s->held.held_bytes > keep_bytes) {
		rec = reorder_pop(&s->held, UINT64_MAX);
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
	err = reorder_push(&s->held, rec);
	if (!err && (reorder_count(&s->held) > STREAM_HELD_RECORDS ||
		     s->held.held_bytes > STREAM_HELD_BYTES))
		stream_release_half(s);
	return err;
}

int stream_feed(struct stream *s, const void *records, size_t len)
{
	const struct gp_rec *rec;
	const char *at, *end;
	size_t step;
	int err = reorder_load(&s->held, records, len, &at);

	if (err)
		return err;
	for (end = at + len; !err && at < end; at += step) {
		rec = (const void *)at;
		step = (size_t)(end - at);
		/* A length that cannot be: where the next record starts is not known. */
		if (step < sizeof(*rec) || rec->len < sizeof(*rec) ||
		    ((size_t)rec->len + 7) / 8 * 8 > step) {
			s->malformed++;
			break;
		}
		step = ((size_t)rec->len + 7) / 8 * 8;
		err = stream_take(s, rec);
	}
	reorder_trim(&s->held);
	return err;
}

void stream_finish(struct stream *s)
{
	stream_release(s, UINT64_MAX);
	stream_report_losses(s, s->last_ns);
	reorder_trim(&s->held);
}

uint64_t stream_events(const struct stream *s)
{
	return s->events;
}

/* ---- state ----------------------------------------------------------------------------------- */

static void stream_archive(struct archive *a, struct stream *s)
{
	archive_struct(a, sizeof(*s));
	archive_number(a, &s->last_ns);
	archive_number(a, &s->events);
	archive_number(a, &s->late);
	archive_number(a, &s->malformed);
	reorder_archive(a, &s->held, STREAM_HELD_RECORDS, STREAM_HELD_BYTES);
}

int stream_save(const struct stream *s, struct buffer *out)
{
	struct archive a;

	archive_write(&a, out, MAGIC, FORMAT);
	stream_archive(&a, (struct stream *)s); /* writing changes nothing */
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
