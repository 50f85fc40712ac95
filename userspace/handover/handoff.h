/* SPDX-License-Identifier: Apache-2.0 */
/* handoff.h - shares the history of jobs between nodes (--carry). When a job starts on this node,
 * the history that other nodes stored is read and put on the tape, from which the model gets it.
 * The history that this node has is stored for other nodes (carry_file.h, carry_map.h). A shared
 * folder may not respond: only handoff_start() and handoff_finish() wait for it, for some seconds
 * at most. Single-threaded. */
#ifndef HANDOVER_HANDOFF_H
#define HANDOVER_HANDOFF_H

#include "userspace/output/journal.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"

/* Limit of jobs at the same time. Histories of further jobs are not shared, which is logged. */
#define HANDOFF_JOBS 64

struct handoff;

/* *ret is NULL if --carry is not given; the other functions accept NULL. o, out and j are borrowed.
 * Returns 0, or -errno after logging one line. */
int handoff_new(struct handoff **ret, const struct options *o, struct output *out,
		struct journal *j);
/* Reads the history of the job that --job names. Call before the watch begins. */
void handoff_start(struct handoff *c);
/* Requests the history of a job from other nodes. Call if a process of the job runs on this node,
 * or will run. */
void handoff_job(struct handoff *c, const struct gp_place *p);
/* Processes answers that have arrived. Call often. */
void handoff_poll(struct handoff *c);
/* Stores histories that have changed. Call once a second. */
void handoff_tick(struct handoff *c);
/* Stores all histories that have changed, before the watch ends. Call after the last records, and
 * before the record of the end. */
void handoff_finish(struct handoff *c);
void handoff_free(struct handoff *c);

#endif
