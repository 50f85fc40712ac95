/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - passes every record of a live run, in order of arrival, to the tape (if there is
 * one), then to the output. Also makes the records of user space. Single-threaded. */
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
 * Returns 0, or -errno after one line. */
int journal_open(struct journal **ret, struct output *out, const char *tape, struct durable *d);
/* Returns -errno if the tape is incomplete. NULL is fine. */
int journal_close(struct journal *j);

/* Returns the zeroed payload of a new record of user space with the present time; the caller fills
 * it in. It is sent by journal_flush(). NULL: no memory. */
void *journal_record(struct journal *j, unsigned kind, uint32_t pid, uint32_t probe);
void journal_flush(struct journal *j);
/* Takes records read from a ring, with the ring's positions before and after them; no records if
 * all were discarded. After a return of 0 the ring may be advanced. */
int journal_batch(struct journal *j, enum tape_source source, const struct buffer *batch,
		  uint64_t from, uint64_t to);

/* Saves the state if that is due, or if writing the tape failed and may succeed again. Call once a
 * second. */
void journal_keep(struct journal *j);
int journal_save(struct journal *j); /* saves the state now */
/* Saves the state from which a successor continues. Call when watching ends: later records are
 * processed, but not saved. journal_stopped() then saves only the numbers of their facts. */
void journal_stop(struct journal *j);
void journal_stopped(struct journal *j);
/* Feeds a predecessor's tape to the output. fn (may be NULL) gets each frame first. */
int journal_replay(struct journal *j, durable_frame_fn *fn, void *ctx);

struct journal_session {
	bool run;	     /* gp-bpf starts the target */
	bool node;	     /* gp-bpf finds the targets */
	const char *command; /* the user's command line */
};
/* Writes the records with which every tape begins: session, clock, settings, meaning of the
 * probes. */
void journal_begin(struct journal *j, const struct options *o, const struct probe_table *probes,
		   const struct journal_session *session);
/* Records changed ranges and excluded times. */
void journal_settings(struct journal *j, const struct options *o);
/* Records the wall clock if it is due, or if the clock was set. */
void journal_clock(struct journal *j);

#endif
