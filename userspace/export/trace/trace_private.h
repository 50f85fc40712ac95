/* SPDX-License-Identifier: Apache-2.0 */
/* trace_private.h - shared by trace.c, which owns the file and its bound, and trace_fact.c, which
 * draws a fact.
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

enum trace_weight {		  /* how important a line is as the file approaches its bound */
		    TRACE_DETAIL, /* dropped first */
		    TRACE_RARE,	  /* disruptions, hangs, names of tracks */
		    TRACE_LAST,	  /* the note of what was dropped */
};

struct trace {
	struct line_export lines;
	struct trace_tracks *tracks;
	uint64_t bytes, limit;
	size_t start;	/* offset of the current line */
	bool clocked;	/* the wall time has been written */
	uint32_t every; /* one in this number of steps is drawn */
	uint64_t steps, left_steps, left_others, untracked;
	int reason; /* reason of the end; -1: not known */
};

/* Something drawn on a track. */
struct trace_what {
	enum track_kind kind;
	const char *cat, *name;
	uint64_t from_ns, to_ns;
	bool async; /* may overlap others */
	bool job;   /* on the job's track */
	enum trace_weight weight;
	/* Set when it gets its track: */
	bool span;
	struct trace_track *track;
	uint32_t lane; /* 0: none, so a span becomes an async event, which needs none */
};

/* A line, from trace_begin() to trace_end(). If there is no room for the line, nothing of it is
 * kept and trace_end() returns false; the caller counts it. */
struct buffer *trace_begin(struct trace *t);
bool trace_end(struct trace *t, enum trace_weight weight);
/* Writes an event up to its args; trace_done() closes it. lane 0: an async event. */
void trace_event(struct buffer *b, const char *ph, const char *cat, const char *name,
		 const struct trace_track *track, uint32_t lane, uint64_t ts_ns);
void trace_us(struct buffer *b, const char *key, uint64_t ns);
void trace_us_value(struct buffer *b, uint64_t ns); /* writes the value without a key */
void trace_done(struct buffer *b);
/* Writes the names of the track and its lane unless that was done. Returns false if there is no
 * room for them. */
bool trace_named(struct trace *t, struct trace_track *track, uint32_t lane);
/* Begins a mark across all tracks in the current line, up to its args; trace_done() closes it. */
void trace_note_begin(struct trace *t, struct buffer *b, const char *text);
/* The same as a whole line without args. */
void trace_note(struct trace *t, const char *text);

/* Returns the track of a fact. NULL: too many tracks, which is counted. */
struct trace_track *trace_place(struct trace *t, const struct fact *f, bool job, uint64_t from_ns);
/* Begins a line with a span, up to its args; trace_finish() ends it. NULL: no room, which is
 * counted. */
struct buffer *trace_span(struct trace *t, const struct fact *f, struct trace_what *w);
struct buffer *trace_instant(struct trace *t, const struct fact *f, struct trace_what *w);
/* Writes only the span, in a line that was begun; w has its track and lane. */
void trace_span_on(struct buffer *b, const struct fact *f, const struct trace_what *w);
/* Ends the args and the line, as trace_end(). */
bool trace_finish(struct trace *t, struct buffer *b, const struct fact *f,
		  const struct trace_what *w);

void trace_step(struct trace *t, const struct fact *f);
void trace_state(struct trace *t, const struct fact *f);
void trace_fact(struct trace *t, const struct fact *f);

#endif
