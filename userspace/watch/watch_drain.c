/* SPDX-License-Identifier: Apache-2.0 */
/* watch_drain.c - reading the rings. */
#include "userspace/base/clock.h"
#include "userspace/ingest/event.h"
#include "userspace/ingest/stream.h"
#include "userspace/watch/watch_private.h"

#define DRAIN_MUCH     (128u << 10) /* bytes at once */
#define DRAIN_ROUNDS   16	    /* a drain that cannot keep up ends without its mark */
#define PEEK_MAX_BYTES (4u << 20)

/* Process life matters here and now, before it is put in order: libraries are looked for, slots
 * freed. */
static void react(struct watch *w, const struct buffer *b)
{
	const struct gp_rec *r;
	struct event ev;

	for (size_t at = 0; (r = gp_rec_next(b->data, b->len, &at));) {
		if (event_decode(r, r->len, &ev))
			continue;
		if (r->kind == GP_KIND_exit) { /* its last calls come before its end */
			w->count_ns = r->ts_ns - 1;
			loader_sample_process(w->loader, (pid_t)r->pid, ev.exit->slot, watch_count,
					      w);
			w->count_ns = 0;
		}
		w->event_ns = r->ts_ns;
		processes_event(w->processes, &ev);
		node_event(w->node, &ev);
		w->event_ns = 0;
	}
}

static void calls_seen(struct watch *w, const struct buffer *b)
{
	loader_spent(w->loader, b->data, b->len);
	codes_records(w->codes, b->data, b->len);
}

/* Empties one ring; false: not certain that all that was there at the start has been read. */
static bool drain_ring(struct watch *w, int i)
{
	bool busy = false;

	for (int round = 0; round < DRAIN_ROUNDS; round++) {
		uint64_t from, to;
		long n;

		buffer_clear(&w->batch);
		n = ring_peek(w->ring[i], &w->batch, PEEK_MAX_BYTES, &busy);
		ring_position(w->ring[i], &from, &to);
		if (n < 0 || from == to)
			return n == 0 && !busy;
		if (journal_batch(w->journal, watch_source[i], &w->batch, from, to))
			return false;
		ring_advance(w->ring[i]);
		w->busy |= watch_source[i] == TAPE_RING_LIFE || w->batch.len > DRAIN_MUCH;
		if (watch_source[i] == TAPE_RING_LIFE)
			react(w, &w->batch);
		else
			calls_seen(w, &w->batch);
		if (!ring_pending(w->ring[i]))
			return !busy;
	}
	return false;
}

void watch_drain(struct watch *w)
{
	uint64_t silent_ns, before = clock_mono_ns();
	struct gp_drain *mark;
	bool whole;

	whole = drain_ring(w, 0);
	whole = drain_ring(w, 1) && whole;
	codes_poll(w->codes);
	loader_heartbeat(w->loader, &silent_ns);
	if (silent_ns)
		watch_gap(w, silent_ns);
	if (whole && before > STREAM_SLACK_NS) {
		mark = journal_record(w->journal, GP_KIND_drain, 0, 0);
		if (mark)
			mark->upto_ns = before - STREAM_SLACK_NS;
	}
	journal_flush(w->journal);
	loader_settled(w->loader);
}
