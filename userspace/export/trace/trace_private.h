/* SPDX-License-Identifier: Apache-2.0 */
/* trace_private.h - what trace.c, which owns the file and its bound, and trace_fact.c, which draws
 * a fact, share.
 *
 * The form is Chrome's trace event format, as an array: a line feed after the first bracket, then
 * one line for each fact, of one or more events with a comma behind each; the last line of a trace
 * that was closed has the other bracket. The format lets an array end anywhere, so what a killed
 * gp-bpf leaves opens as well. ts and dur are microseconds of CLOCK_MONOTONIC. The number of a fact
 * is `seq` in the last event of its line: by it a successor goes on. */
#ifndef EXPORT_TRACE_PRIVATE_H
#define EXPORT_TRACE_PRIVATE_H

#include "userspace/base/buffer.h"
#include "userspace/export/file/line_writer.h"
#include "userspace/export/trace/trace_track.h"

enum trace_weight {		  /* how long there is room for it as the file grows to its bound */
		    TRACE_DETAIL, /* not at the end */
		    TRACE_RARE,	  /* disruptions, hangs, who is who */
		    TRACE_LAST,	  /* what was left out */
};

struct trace {
	struct line_writer *writer;
	char *path;
	struct trace_tracks *tracks;
	uint64_t bytes, limit;
	bool replay;
	bool numbered; /* resumed: facts up to this number are in the file */
	uint64_t last;
	size_t start;	      /* of the line that is being made */
	bool clocked;	      /* wall time was told */
	uint32_t every;	      /* step that is drawn */
	uint64_t seq, now_ns; /* of the last fact */
	int64_t flushed_ns;
	uint64_t lines, steps, left_steps, left_others, untracked;
	int reason; /* of the end; -1: none was told */
};

/* Something that has a place on a track. */
struct trace_what {
	enum track_kind kind;
	const char *cat, *name;
	uint64_t from_ns, to_ns;
	bool async; /* it may lie across others */
	bool job;   /* on the job's track */
	enum trace_weight weight;
	/* Set by what places it: */
	bool span;
	struct trace_track *track;
	uint32_t lane; /* 0: none, so a span is an async event, which needs none */
};

/* A line, from trace_begin() to trace_end(). If there is no room for the line, nothing of it stays:
 * returns false; the caller counts it. */
struct buffer *trace_begin(struct trace *t);
bool trace_end(struct trace *t, enum trace_weight weight);
/* An event up to its args, which trace_done() closes. lane 0: an async event. */
void trace_event(struct buffer *b, const char *ph, const char *cat, const char *name,
		 const struct trace_track *track, uint32_t lane, uint64_t ts_ns);
void trace_us(struct buffer *b, const char *key, uint64_t ns);
void trace_us_value(struct buffer *b, uint64_t ns); /* without its key */
void trace_done(struct buffer *b);
/* The track has its name, and the lane; false: there is no room for them. */
bool trace_named(struct trace *t, struct trace_track *track, uint32_t lane);
/* A line across all tracks, in a line that was begun, up to its args, which trace_done() closes. */
void trace_note_begin(struct trace *t, struct buffer *b, const char *text);
/* The same, whole and without args. */
void trace_note(struct trace *t, const char *text);

/* NULL, counted: there are too many tracks. */
struct trace_track *trace_place(struct trace *t, const struct fact *f, bool job, uint64_t from_ns);
/* A line up to its args, which trace_finish() ends. NULL: there is no room, which was counted. */
struct buffer *trace_span(struct trace *t, const struct fact *f, struct trace_what *w);
struct buffer *trace_instant(struct trace *t, const struct fact *f, struct trace_what *w);
/* The span itself, in a line that was begun, where w has its track and its lane. */
void trace_span_on(struct buffer *b, const struct fact *f, const struct trace_what *w);
/* As trace_end(). */
bool trace_finish(struct trace *t, struct buffer *b, const struct fact *f,
		  const struct trace_what *w);

void trace_step(struct trace *t, const struct fact *f);
void trace_state(struct trace *t, const struct fact *f);
void trace_fact(struct trace *t, const struct fact *f);

#endif
