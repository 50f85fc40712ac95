/* SPDX-License-Identifier: Apache-2.0 */
/* trace_event.c - begins and ends spans and instants of the trace, on their tracks and lanes. */
#include <stdio.h>

#include "userspace/base/json_text.h"
#include "userspace/export/trace/trace_private.h"

struct trace_track *trace_place(struct trace *t, const struct fact *f, bool job, uint64_t from_ns)
{
	struct trace_track *track = trace_tracks_find(t->tracks, f, job, from_ns);

	t->untracked += !track;
	return track;
}

static uint64_t trace_event_end_of(const struct trace_what *w)
{
	return w->to_ns > w->from_ns ? w->to_ns : w->from_ns;
}

static void trace_event_async_id(struct buffer *b, const struct fact *f)
{
	char id[24];

	snprintf(id, sizeof(id), "0x%llx", (unsigned long long)f->number);
	json_string(b, "id", id);
}

void trace_span_on(struct buffer *b, const struct fact *f, const struct trace_what *w)
{
	trace_event(b, w->lane ? "X" : "b", w->cat, w->name, w->track, w->lane, w->from_ns);
	if (w->lane)
		trace_us(b, "dur", trace_event_end_of(w) - w->from_ns);
	else
		trace_event_async_id(b, f);
	json_open(b, "args", '{');
}

struct buffer *trace_span(struct trace *t, const struct fact *f, struct trace_what *w)
{
	struct buffer *b;

	w->span = true;
	w->track = trace_place(t, f, w->job, w->from_ns);
	if (!w->track)
		return NULL;
	w->lane = w->async ? 0
			   : trace_lane(w->track, w->kind, 0, w->from_ns, trace_event_end_of(w));
	if (!trace_named(t, w->track, w->lane)) {
		t->left_others++;
		return NULL;
	}
	b = trace_begin(t);
	trace_span_on(b, f, w);
	return b;
}

struct buffer *trace_instant(struct trace *t, const struct fact *f, struct trace_what *w)
{
	struct buffer *b;

	w->track = trace_place(t, f, w->job, w->from_ns);
	if (!w->track)
		return NULL;
	w->lane = w->kind;
	if (!trace_named(t, w->track, w->lane)) {
		t->left_others++;
		return NULL;
	}
	b = trace_begin(t);
	trace_event(b, "i", w->cat, w->name, w->track, w->lane, w->from_ns);
	json_string(b, "s", w->job ? "p" : "t");
	json_open(b, "args", '{');
	return b;
}

bool trace_finish(struct trace *t, struct buffer *b, const struct fact *f,
		  const struct trace_what *w)
{
	json_uint(b, "seq", f->number);
	trace_done(b);
	if (w->span && !w->lane) {
		trace_event(b, "e", w->cat, w->name, w->track, 0, trace_event_end_of(w));
		trace_event_async_id(b, f);
		json_close(b, '}');
	}
	return trace_end(t, w->weight);
}
