/* SPDX-License-Identifier: Apache-2.0 */
/* handoff.h - shares the history of jobs between nodes (--carry). When a job starts on this node,
 * the history that other nodes stored is read and put on the tape, from which the model gets it.
 * The history that this node has is stored for other nodes (carry_file.h, carry_map.h).
 *
 * A shared folder may not respond: only handoff_start() and handoff_finish() wait for it, for some
 * seconds at most. Single-threaded. */
#ifndef HANDOVER_HANDOFF_H
#define HANDOVER_HANDOFF_H

#include "userspace/output/journal.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"

/* Limit of jobs whose histories are shared at the same time. If there are more, this is logged. */
#define HANDOFF_JOBS 64

struct handoff;

/* Opens the transport. If --carry is not given, *ret is NULL, which all other functions accept. o,
 * out and j are borrowed. Returns 0, or -errno after logging the reason. */
int handoff_new(struct handoff **ret, const struct options *o, struct output *out,
		struct journal *j);
/* Reads the history of the job named by --job. Call before the watch begins. */
void handoff_start(struct handoff *c);
/* Requests the history that other nodes have of a job. Call when a process of the job is found on
 * this node, or will be started. */
void handoff_job(struct handoff *c, const struct gp_place *p);
/* Processes the answer to a request if it has arrived. Call often. */
void handoff_poll(struct handoff *c);
/* Stores histories that have changed. Call once a second. */
void handoff_tick(struct handoff *c);
/* Stores all histories that have changed. Call at the end of the watch, after the last records and
 * before the end record. */
void handoff_finish(struct handoff *c);
void handoff_free(struct handoff *c);

#endif
