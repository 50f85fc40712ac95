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

/* out and d are borrowed. tape: file to record to, or NULL. d: state directory to update, or NULL.
 * Returns 0, or -errno after logging the reason. */
int journal_open(struct journal **ret, struct output *out, const char *tape, struct durable *d);
/* Closes the tape and frees j (NULL is fine). Returns 0, or -errno if the tape is incomplete. */
int journal_close(struct journal *j);

/* Makes a record of an event seen by user space, with the present time. Returns its zeroed payload,
 * which the caller fills in; NULL: no memory. journal_flush() sends the record. */
void *journal_record(struct journal *j, unsigned kind, uint32_t pid, uint32_t probe);
void journal_flush(struct journal *j);
/* Takes records that were read from a ring buffer. from, to: positions in the ring before and after
 * the records. If the batch is empty, all records up to `to` were discarded. Returns 0 or -errno;
 * after an error, do not advance the consumer position of the ring. */
int journal_batch(struct journal *j, enum tape_source source, const struct buffer *batch,
		  uint64_t from, uint64_t to);

/* Saves the state if its interval has passed, or if the tape could not be written and may be
 * writable again. Call once a second. */
void journal_keep(struct journal *j);
int journal_save(struct journal *j); /* saves the state now */
/* Saves the state from which a successor continues. Call when watching ends: records that follow
 * are processed, but not saved. journal_stopped() then saves only the number of the last fact. */
void journal_stop(struct journal *j);
void journal_stopped(struct journal *j);
/* Passes the records on a predecessor's tape to the output. fn (may be NULL) is called for each
 * frame of the tape, before its records are passed. */
int journal_replay(struct journal *j, durable_frame_fn *fn, void *ctx);

struct journal_session {
	bool run;	     /* gp-bpf starts the process to watch (`run`, `record`) */
	bool node;	     /* gp-bpf finds the processes to watch (`node`) */
	const char *command; /* the command line that the user typed */
};
/* Writes the records that begin every tape: session, clock, settings, and the probes with their
 * meanings. */
void journal_begin(struct journal *j, const struct options *o, const struct probe_table *probes,
		   const struct journal_session *session);
/* Records the ranges and excluded times of the configuration if they have changed. */
void journal_settings(struct journal *j, const struct options *o);
/* Records the wall clock at regular intervals, and when the clock was set. */
void journal_clock(struct journal *j);

#endif
