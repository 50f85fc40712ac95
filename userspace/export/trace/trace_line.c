/* SPDX-License-Identifier: Apache-2.0 */
/* trace_line.c - writes lines of the trace until the size limit is reached, and the names of tracks
 * and of their lanes (the pid and tid of trace events). */
#include <stdio.h>

#include "userspace/base/json_text.h"
#include "userspace/export/trace/trace_private.h"

/* Bytes below the size limit that are reserved. */
#define LAST_BYTES 4096u       /* reserved for the last line */
#define RARE_BYTES (64u << 10) /* reserved for rare events (TRACE_RARE) */

struct buffer *trace_begin(struct trace *t)
{
	struct buffer *b = line_writer_buffer(t->lines.file[0].writer);

	t->start = b->len;
	return b;
}

bool trace_end(struct trace *t, enum trace_weight weight)
{
	static const uint32_t keep[] = {[TRACE_DETAIL] = LAST_BYTES + RARE_BYTES,
					[TRACE_RARE] = LAST_BYTES,
					[TRACE_LAST] = 0};
	struct buffer *b = line_writer_buffer(t->lines.file[0].writer);
	uint64_t len;

	buffer_add(b, ",\n", 2);
	if (!b->failed && t->bytes + (b->len - t->start) > t->limit - keep[weight]) {
		b->len = t->start;
		if (b->data)
			b->data[b->len] = '\0';
		return false;
	}
	len = b->failed ? 0 : b->len - t->start;
	if (line_writer_line(t->lines.file[0].writer))
		t->bytes += len;
	return true;
}

static void trace_fraction(struct buffer *b, uint64_t ns)
{
	char text[4] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10),
			(char)('0' + ns % 10)};

	buffer_add(b, text, sizeof(text));
}

void trace_us(struct buffer *b, const char *key, uint64_t ns)
{
	json_uint(b, key, ns / 1000);
	trace_fraction(b, ns);
}

void trace_us_value(struct buffer *b, uint64_t ns)
{
	buffer_uint(b, ns / 1000);
	trace_fraction(b, ns);
}

void trace_event(struct buffer *b, const char *ph, const char *cat, const char *name,
		 const struct trace_track *track, uint32_t lane, uint64_t ts_ns)
{
	json_open(b, NULL, '{');
	json_string(b, "ph", ph);
	if (cat)
		json_string(b, "cat", cat);
	json_string(b, "name", name);
	json_uint(b, "pid", track->number);
	json_uint(b, "tid", lane ? lane : TRACK_OTHERS);
	trace_us(b, "ts", ts_ns);
}

void trace_done(struct buffer *b)
{
	buffer_add(b, "}}", 2);
}

static void trace_line_name_event(struct buffer *b, const char *what,
				  const struct trace_track *track, uint32_t lane)
{
	trace_event(b, "M", NULL, what, track, lane, 0);
	json_open(b, "args", '{');
}

static void trace_line_name_process(struct buffer *b, const struct trace_track *track)
{
	struct buffer name = {0};
	char label[24];

	if (track->number == TRACK_OWN)
		buffer_printf(&name, "gp-bpf");
	else if (!track->pid)
		buffer_printf(&name, "job %s", *track->job ? track->job : "without a name");
	else if (track->rank >= 0)
		buffer_printf(&name, "%s%srank %d", track->job, *track->job ? " " : "",
			      track->rank);
	else
		buffer_printf(&name, "%s%sprocess %u", track->job, *track->job ? " " : "",
			      track->pid);
	trace_line_name_event(b, "process_name", track, 0);
	json_string(b, "name", name.data ? name.data : "");
	trace_done(b);
	trace_line_name_event(b, "process_sort_index", track, 0);
	json_uint(b, "sort_index", track->order);
	trace_done(b);
	buffer_free(&name);
	if (!track->pid)
		return;
	trace_line_name_event(b, "process_labels", track, 0);
	snprintf(label, sizeof(label), "pid %u", track->pid);
	json_string(b, "labels", label);
	trace_done(b);
}

bool trace_named(struct trace *t, struct trace_track *track, uint32_t lane)
{
	char name[32];
	struct buffer *b;

	if (!track->named) {
		trace_line_name_process(trace_begin(t), track);
		track->named = trace_end(t, TRACE_RARE);
	}
	if (!track->named || !lane || track->lane_named[lane])
		return track->named;
	b = trace_begin(t);
	trace_line_name_event(b, "thread_name", track, lane);
	json_string(b, "name", trace_lane_name(name, sizeof(name), lane));
	trace_done(b);
	trace_line_name_event(b, "thread_sort_index", track, lane);
	json_uint(b, "sort_index", lane);
	trace_done(b);
	if (!trace_end(t, TRACE_RARE))
		return false;
	track->lane_named[lane] = true;
	return true;
}

void trace_note_begin(struct trace *t, struct buffer *b, const char *text)
{
	static const struct trace_track own = {.number = TRACK_OWN};

	trace_event(b, "i", "gp-bpf", text, &own, 0, t->lines.mono_ns);
	json_string(b, "s", "g");
	json_open(b, "args", '{');
}

void trace_note(struct trace *t, const char *text)
{
	struct buffer *b = trace_begin(t);

	trace_note_begin(t, b, text);
	trace_done(b);
	trace_end(t, TRACE_RARE);
}
