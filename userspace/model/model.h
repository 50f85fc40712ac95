/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - the model: turns events into ranks, steps and jobs, and finds out how their time was
 * used.
 *
 * The results depend on the events only: the model reads no clock and no file, and has no lock and
 * no global variable. Time passes only with events, so a replay gives the same result to the byte.
 * One thread calls these functions. Snapshots do not change and may be read by any thread. The
 * memory for each process is limited by constants in the .c files, and the number of processes by
 * MODEL_RANKS. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/event.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"

/* Maximum number of processes in the model at a time. Further processes are only counted. */
#define MODEL_RANKS 4096

struct carry;
struct model;

/* Makes a model, or returns NULL if there is no memory. sink receives the facts, in order, during
 * model_feed(); it may be NULL. ctx is passed to sink. */
struct model *model_new(fact_fn *sink, void *ctx);
void model_free(struct model *m);

/* Processes the next event. Events must come in order of time (ingest/stream.h). Returns 0, or
 * -ENOMEM: the event then counts as lost.
 *
 * The settings of the model are gp_config events: "marker=zero_grad", "multiply=8", "ideal_ns=...",
 * "hang_ns=...", "windows_ns=...,...", "ranges=N", "range=BUCKET MATCH", and those of program.h. */
int model_feed(struct model *m, const struct event *ev);

/* Returns the state after the last event, or NULL if there is no memory. The caller owns one
 * reference. */
struct snapshot *model_snapshot(struct model *m);
/* Returns a snapshot in which step-time statistics and windows are zero, because they are most of
 * the cost. For a recording, which takes a snapshot every second. */
struct snapshot *model_snapshot_brief(struct model *m);

/* Appends the whole state of the model to out. Returns 0 or -ENOMEM. */
int model_save(const struct model *m, struct buffer *out);
/* Makes a model that continues from a saved state, and sends the same facts as the saved model
 * would. Returns 0, -EPROTO if another version saved it, -EBADMSG if it is damaged, or -ENOMEM. The
 * bytes need not be trusted. */
int model_load(struct model **ret, fact_fn *sink, void *ctx, const void *data, size_t len);

/* model_reported() returns the number of the last fact that was sent. model_reported_upto() raises
 * this number in a restored model, if facts were sent after the state was saved. */
uint64_t model_reported(const struct model *m);
void model_reported_upto(struct model *m, uint64_t number);

/* Calls fn for each process in the model that has not ended. identified: a record about the process
 * itself (gp_process) has arrived. */
typedef void model_process_fn(void *ctx, uint32_t pid, uint64_t start_ns, bool identified);
void model_processes(const struct model *m, model_process_fn *fn, void *ctx);

/* Calls fn for each process that trained and has been silent for longer than usual (hang.h). The
 * caller should find out what the process waits for, and pass the result to model_feed() as
 * gp_blocked. tid: thread that trained last. since_ns: last sign of life. */
typedef void model_silent_fn(void *ctx, uint32_t pid, uint32_t tid, uint64_t since_ns);
void model_silent(const struct model *m, model_silent_fn *fn, void *ctx);
/* Calls fn for each process that model_silent() reports and that works together with other ranks.
 * The caller should ask NCCL about the job, and pass the answer to model_feed() as gp_ras.
 * world_size: number of ranks of the job; 0: unknown. */
typedef void model_stalled_fn(void *ctx, uint32_t pid, uint32_t world_size);
void model_stalled(const struct model *m, model_stalled_fn *fn, void *ctx);
/* Calls fn for each process that trains; all: also for each that the user named, even if no
 * training was seen in it, with its main thread. Once a second the caller should pass the resource
 * use and waits of its threads to model_feed() as gp_usage and gp_pressure, and its traffic as
 * gp_traffic. tid: thread that trained last. */
typedef void model_trainer_fn(void *ctx, uint32_t pid, uint32_t tid);
void model_trainers(const struct model *m, bool all, model_trainer_fn *fn, void *ctx);
/* Calls fn for each process that trains and waits for input (input_wait.h), and after it for each
 * of its children that may be a worker of its data loader. Once a second the caller should pass
 * their resource use to model_feed() as gp_input. tid: thread that trained last; child: 0 for the
 * process itself. */
typedef void model_starved_fn(void *ctx, uint32_t pid, uint32_t tid, uint32_t child);
void model_starved(const struct model *m, model_starved_fn *fn, void *ctx);
/* Calls fn for processes whose Python lines (gp_line) should be sampled more often: their steps
 * take longer than usual, or their training began a short time ago. */
void model_slow(const struct model *m, model_trainer_fn *fn, void *ctx);
/* Calls fn for threads that the caller should examine; the result goes to model_feed() as
 * gp_examined. They belong to processes that have become slow or silent since their last
 * examination, and to some workers of data loaders for which training waits. all: they belong to
 * all processes that train. */
void model_unexplained(const struct model *m, bool all, model_trainer_fn *fn, void *ctx);
/* Returns the roles of probes by which steps are found, or may be found if that is not decided yet
 * (bit 1ull << enum gp_role). Roles of the group "marker" are not included, because the overhead
 * budget never removes their probes. */
uint64_t model_roles(const struct model *m);
/* Returns the hash of the probe that the user named to end steps, or 0. */
uint32_t model_chosen(const struct model *m);

/* Fills *ret with the history, after the last event, of job number i (from 0) for the next node
 * (carry.h). Returns 1 if *ret is set, 0 if another node has to report the job, or -ENOENT if there
 * are no more jobs. */
int model_carry(const struct model *m, uint32_t i, struct carry *ret);

/* Returns how often the buckets of a ledger did not add up to its elapsed time. A number other than
 * 0 is a bug of gp-bpf. */
uint64_t model_ledger_violations(const struct model *m);

#endif
