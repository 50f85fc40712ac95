/* SPDX-License-Identifier: Apache-2.0 */
/* trace_private.h - shared by the files of the trace exporter.
 * The format is Chrome's trace event format, as an array: a line feed after the opening bracket,
 * then one line for each fact with one or more events, each followed by a comma; the last line of a
 * complete trace contains the closing bracket. The format allows an array to end anywhere, so the
 * file of a killed gp-bpf can be opened, too. ts and dur are microseconds of CLOCK_MONOTONIC. The
 * last event of a line has the number of its fact as `seq`, from which a successor continues. */
#ifndef EXPORT_TRACE_PRIVATE_H
#define EXPORT_TRACE_PRIVATE_H

#include "userspace/base/buffer.h"
#include "userspace/export/file/line_export.h"
#include "userspace/export/trace/trace_track.h"

/* Importance of a line when the file approaches its size limit. */
enum trace_weight {
	TRACE_DETAIL, /* dropped first */
	TRACE_RARE,   /* dropped later: disruptions, hangs, names of tracks */
	TRACE_LAST,   /* never dropped: the last line, which counts what was dropped */
};

struct trace {
	struct line_export lines;
	struct trace_tracks *tracks;
	uint64_t bytes, limit;
	size_t start;	/* offset of the current line in the writer's buffer */
	bool clocked;	/* the line with the wall time has been written */
	uint32_t every; /* one of this many steps is drawn */
	uint64_t steps, left_steps, left_others, untracked;
	int reason; /* why gp-bpf ends; -1: not known */
};

/* A span or instant to be drawn on a track. */
struct trace_what {
	enum track_kind kind;
	const char *cat, *name;
	uint64_t from_ns, to_ns;
	bool async; /* the span may overlap others of its track */
	bool job;   /* drawn on the job's track */
	enum trace_weight weight;
	/* Members set by trace_span() and trace_instant(): */
	bool span;
	struct trace_track *track;
	uint32_t lane; /* lane on the track; 0: none, so a span becomes an async event */
};

/* Begin and end a line. If the size limit has no room for the line, trace_end() drops all of it and
 * returns false; the caller counts the loss. */
struct buffer *trace_begin(struct trace *t);
bool trace_end(struct trace *t, enum trace_weight weight);
/* Writes an event up to its args; trace_done() closes it. lane 0: an async event. */
void trace_event(struct buffer *b, const char *ph, const char *cat, const char *name,
		 const struct trace_track *track, uint32_t lane, uint64_t ts_ns);
void trace_us(struct buffer *b, const char *key, uint64_t ns);
void trace_us_value(struct buffer *b, uint64_t ns); /* writes the value without a key */
void trace_done(struct buffer *b);
/* Writes the names of the track and lane, unless they were written before. Returns false if there
 * is no room for them. */
bool trace_named(struct trace *t, struct trace_track *track, uint32_t lane);
/* Begins a mark across all tracks in the current line, up to its args; trace_done() closes it. */
void trace_note_begin(struct trace *t, struct buffer *b, const char *text);
/* Like trace_note_begin(), but writes a whole line without args. */
void trace_note(struct trace *t, const char *text);

/* Returns the track of a fact. NULL: too many tracks; the loss is counted. */
struct trace_track *trace_place(struct trace *t, const struct fact *f, bool job, uint64_t from_ns);
/* Begins a line with a span, up to its args; trace_finish() ends the line. NULL: no room; the loss
 * is counted. */
struct buffer *trace_span(struct trace *t, const struct fact *f, struct trace_what *w);
struct buffer *trace_instant(struct trace *t, const struct fact *f, struct trace_what *w);
/* Writes only the span, into a line that was begun; w->track and w->lane are set. */
void trace_span_on(struct buffer *b, const struct fact *f, const struct trace_what *w);
/* Ends the args and the line. Returns the same as trace_end(). */
bool trace_finish(struct trace *t, struct buffer *b, const struct fact *f,
		  const struct trace_what *w);

void trace_step(struct trace *t, const struct fact *f);
void trace_state(struct trace *t, const struct fact *f);
void trace_fact(struct trace *t, const struct fact *f);

#endif
