/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - where every record of a live run passes, in order of arrival: onto the tape (when
 * there is one), then into the output. Also makes the records of user space. Single-threaded. */
#ifndef OUTPUT_JOURNAL_H
#define OUTPUT_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/durable.h"
#include "userspace/ingest/tape.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"

struct journal;
struct probe_table;

/* out, d: borrowed. tape: file to record to, or NULL; d: state directory to keep, or NULL. 0 or
 * -errno after one line. */
int journal_open(struct journal **ret, struct output *out, const char *tape, struct durable *d);
/* -errno when the tape is not whole. NULL is fine. */
int journal_close(struct journal *j);

/* A zeroed record of user space, stamped now; the caller fills in the payload that is returned. It
 * waits for journal_flush(). NULL: no memory. */
void *journal_record(struct journal *j, unsigned kind, uint32_t pid, uint32_t probe);
void journal_flush(struct journal *j);
/* Records that were read from a ring, with its positions; none where all were discarded. Once it
 * returns 0 the ring may be advanced. */
int journal_batch(struct journal *j, enum tape_source source, const struct buffer *batch,
		  uint64_t from, uint64_t to);

/* Once a second: saves the state when it is due, or when the tape could not be written and may be
 * again. */
void journal_keep(struct journal *j);
int journal_save(struct journal *j); /* now */
/* Nobody watches from here on: saves the state, and that alone is what a successor goes on from.
 * Records after it (the end) are processed but not kept; journal_stopped() keeps the numbers of
 * their facts. */
void journal_stop(struct journal *j);
void journal_stopped(struct journal *j);
/* Feeds the output what a predecessor's tape holds. fn (may be NULL) sees each frame first. */
int journal_replay(struct journal *j, durable_frame_fn *fn, void *ctx);

struct journal_session {
	bool run;	     /* the targets are started by us */
	bool node;	     /* they are found by us */
	const char *command; /* what the user asked for */
};
/* What every tape begins with: session, clock, settings, meaning of the probes. */
void journal_begin(struct journal *j, const struct options *o, const struct probe_table *probes,
		   const struct journal_session *session);
/* Ranges and excluded times are others from here on. */
void journal_settings(struct journal *j, const struct options *o);
/* The wall clock, when it is due or has been stepped. */
void journal_clock(struct journal *j);

#endif
