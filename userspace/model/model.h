/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - from events to what they mean: ranks, steps, and where the time went.
 *
 * Pure: no clock, no file, no lock, no global; time moves only when an event says so, so a replay
 * gives the same answer to the byte. One thread feeds; snapshots are immutable and may be read by
 * any. Memory is bounded per process (constants in the .c files) and processes are bounded by
 * MODEL_RANKS.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/event.h"
#include "userspace/model/fact.h"
#include "userspace/model/snapshot.h"

#define MODEL_RANKS 4096 /* processes followed at once; more are counted, not followed */

struct carry;
struct model;

/* sink may be NULL. It is called during model_feed(), in order, with facts that are never taken
 * back. */
struct model *model_new(fact_fn *sink, void *ctx);
void model_free(struct model *m);

/* Events in order of time (ingest/stream.h). 0 or -ENOMEM (the event is then counted as lost).
 * Settings come as gp_config events ("marker=zero_grad", "multiply=8", "ideal_ns=...",
 * "hang_ns=...", "windows_ns=...,...", "ranges=N", "range=BUCKET MATCH", and those of program.h).
 */
int model_feed(struct model *m, const struct event *ev);

/* What is known now, as of the last event. The caller owns one reference; NULL: no memory. */
struct snapshot *model_snapshot(struct model *m);
/* The same without step-time statistics (time and late of loops) and windows, which are most of its
 * cost: they are zero. For who wants one of every second of a tape. */
struct snapshot *model_snapshot_brief(struct model *m);

/* The whole state, appended to out. 0 or -ENOMEM. */
int model_save(const struct model *m, struct buffer *out);
/* A model that goes on where the saved one stood: what it tells from there on, it would have told
 * too. -EPROTO: of another version; -EBADMSG: damaged; -ENOMEM. Hostile bytes are refused or
 * harmless. */
int model_load(struct model **ret, fact_fn *sink, void *ctx, const void *data, size_t len);

/* Number of the last fact that was told. A model that goes on from a state may be told of more:
 * those that came of an end, which it has not seen, or of what the state has lost. */
uint64_t model_told(const struct model *m);
void model_told_on(struct model *m, uint64_t number);

/* Each process that is followed and has not ended. identified: somebody said who it is. */
typedef void model_process_fn(void *ctx, uint32_t pid, uint64_t start_ns, bool identified);
void model_processes(const struct model *m, model_process_fn *fn, void *ctx);

/* Processes that trained and have shown no sign of life for longer than is usual for them (hang.h):
 * somebody should look, and feed what was seen as gp_blocked. tid: the thread that trained last. */
typedef void model_silent_fn(void *ctx, uint32_t pid, uint32_t tid, uint64_t since_ns);
void model_silent(const struct model *m, model_silent_fn *fn, void *ctx);
/* By which roles (bit 1ull << enum gp_role) steps are found now, or may be, while that is not known
 * yet; those of group marker left out, which nobody takes. */
uint64_t model_roles(const struct model *m);
/* Hash of the probe that the user named to end steps. 0: none. */
uint32_t model_chosen(const struct model *m);

/* What is to go with the i-th job to the next node (carry.h), as of the last event. 1: *ret; 0: it
 * is not this node's to tell; -ENOENT: there are no more. */
int model_carry(const struct model *m, uint32_t i, struct carry *ret);

/* How often the ledger did not add up; anything but 0 is a bug of ours. */
uint64_t model_ledger_violations(const struct model *m);

#endif
