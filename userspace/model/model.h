/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - the model: makes ranks, steps, jobs, and the use of their time from events.
 *
 * Pure: no clock, no file, no lock, no global. Time moves only with events, so a replay gives the
 * same result to the byte. One thread calls these functions; snapshots are immutable and may be
 * read by any thread. Memory is bounded for each process (constants in the .c files) and processes
 * are bounded by MODEL_RANKS. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/event.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"

#define MODEL_RANKS 4096 /* processes followed at once; further ones are only counted */

struct carry;
struct model;

/* Makes a model. sink may be NULL; it is called during model_feed(), in order, with facts that
 * never change later. Returns NULL when there is no memory. */
struct model *model_new(fact_fn *sink, void *ctx);
void model_free(struct model *m);

/* Takes the next event, in order of time (ingest/stream.h). Returns 0, or -ENOMEM: the event counts
 * as lost.
 *
 * Settings are gp_config events: "marker=zero_grad", "multiply=8", "ideal_ns=...", "hang_ns=...",
 * "windows_ns=...,...", "ranges=N", "range=BUCKET MATCH", and those of program.h. */
int model_feed(struct model *m, const struct event *ev);

/* Returns the state as of the last event. The caller owns one reference. NULL: no memory. */
struct snapshot *model_snapshot(struct model *m);
/* Like model_snapshot(), without step-time statistics and windows, which are zero: they are most of
 * the cost. For a recording with a snapshot every second. */
struct snapshot *model_snapshot_brief(struct model *m);

/* Appends the whole state to out. Returns 0 or -ENOMEM. */
int model_save(const struct model *m, struct buffer *out);
/* Makes a model that continues from a saved state and reports the same facts as the saved model
 * would. Returns 0, -EPROTO (other version), -EBADMSG (damaged) or -ENOMEM. Hostile bytes are
 * refused or harmless. */
int model_load(struct model **ret, fact_fn *sink, void *ctx, const void *data, size_t len);

/* Returns the number of the last fact reported. model_reported_upto() raises it in a model restored
 * from a state if later facts were reported: facts of an end that the model has not seen, or facts
 * lost with the state. */
uint64_t model_reported(const struct model *m);
void model_reported_upto(struct model *m, uint64_t number);

/* Calls fn for each followed process that has not ended. identified: its identity was reported. */
typedef void model_process_fn(void *ctx, uint32_t pid, uint64_t start_ns, bool identified);
void model_processes(const struct model *m, model_process_fn *fn, void *ctx);

/* Calls fn for processes that trained and are silent for longer than usual (hang.h). The caller
 * should examine them and feed the result as gp_blocked. tid: thread that trained last; since_ns:
 * last sign of life. */
typedef void model_silent_fn(void *ctx, uint32_t pid, uint32_t tid, uint64_t since_ns);
void model_silent(const struct model *m, model_silent_fn *fn, void *ctx);
/* Calls fn for processes that train. The caller should feed the usage of their threads as gp_usage
 * and gp_pressure, once a second. tid: thread that trained last. */
typedef void model_trainer_fn(void *ctx, uint32_t pid, uint32_t tid);
void model_trainers(const struct model *m, model_trainer_fn *fn, void *ctx);
/* Returns the roles (bit 1ull << enum gp_role) by which steps are found, or may be as long as that
 * is not known. Without those of group marker, which the budget never removes. */
uint64_t model_roles(const struct model *m);
/* Returns the hash of the probe that the user named to end steps; 0: none. */
uint32_t model_chosen(const struct model *m);

/* Fills the handoff of job i (0, 1...; see carry.h), as of the last event. Returns 1: *ret is set;
 * 0: another node has to report the job; -ENOENT: there are no more jobs. */
int model_carry(const struct model *m, uint32_t i, struct carry *ret);

/* Returns how often the sum of a ledger was wrong. Not 0: a bug of gp-bpf. */
uint64_t model_ledger_violations(const struct model *m);

#endif
