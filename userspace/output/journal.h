/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - passes every record of a live run, in order of arrival, to the tape (if there is
 * one), then to the output. Also makes records of events that user space sees. Single-threaded. */
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

/* out, d: borrowed. tape: file to record to, or NULL; d: state directory to update, or NULL.
 * Returns 0, or -errno after logging one line. */
int journal_open(struct journal **ret, struct output *out, const char *tape, struct durable *d);
/* Returns -errno if the tape is incomplete. NULL is fine. */
int journal_close(struct journal *j);

/* Returns the zeroed payload of a new record of user space with the present time; the caller fills
 * it in. It is sent by journal_flush(). NULL: no memory. */
void *journal_record(struct journal *j, unsigned kind, uint32_t pid, uint32_t probe);
void journal_flush(struct journal *j);
/* Takes records read from a ring buffer. from, to: positions in the ring before and after the
 * records. An empty batch: all records up to `to` were discarded. Advance the ring only if this
 * returns 0. */
int journal_batch(struct journal *j, enum tape_source source, const struct buffer *batch,
		  uint64_t from, uint64_t to);

/* Saves the state if its interval has passed, or if writing the tape failed and may succeed again.
 * Call once a second. */
void journal_keep(struct journal *j);
int journal_save(struct journal *j); /* saves the state now */
/* Saves the state from which a successor continues. Call when watching ends: later records are
 * processed, but not saved. journal_stopped() then saves only the number of the last fact. */
void journal_stop(struct journal *j);
void journal_stopped(struct journal *j);
/* Passes the records of a predecessor's tape to the output. fn (may be NULL) is called first for
 * each frame of the tape. */
int journal_replay(struct journal *j, durable_frame_fn *fn, void *ctx);

struct journal_session {
	bool run;	     /* gp-bpf starts the program to watch */
	bool node;	     /* gp-bpf finds the processes to watch */
	const char *command; /* the command line that the user typed */
};
/* Writes the records with which every tape begins: session, clock, settings, meaning of the
 * probes. */
void journal_begin(struct journal *j, const struct options *o, const struct probe_table *probes,
		   const struct journal_session *session);
/* Records the ranges and excluded times that were changed in the configuration. */
void journal_settings(struct journal *j, const struct options *o);
/* Records the wall clock at each interval, and when the clock was set. */
void journal_clock(struct journal *j);

#endif
