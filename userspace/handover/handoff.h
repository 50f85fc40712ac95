/* SPDX-License-Identifier: Apache-2.0 */
/* handoff.h - hands the history of jobs from node to node: when a job begins here, reads what other
 * nodes stored for it, and writes that to the tape; stores what this node knows
 * (carry_file.h). A shared folder may hang: only handoff_start() and handoff_close() wait for
 * it, some seconds at most. Single-threaded. */
#ifndef HANDOVER_HANDOFF_H
#define HANDOVER_HANDOFF_H

#include "userspace/output/journal.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"

/* Limit of jobs at a time; further jobs are not handed over, which is logged. */
#define HANDOFF_JOBS 64

struct handoff;

/* *ret is NULL if --carry is not given; all functions accept NULL. o, out, j: borrowed. Returns 0,
 * or -errno after a line. */
int handoff_new(struct handoff **ret, const struct options *o, struct output *out,
		struct journal *j);
/* Reads the history of the job named by the options. Call before watching begins. */
void handoff_start(struct handoff *c);
/* Requests the history of a job that may have run on another node. Call when a process of it runs
 * here, or will run. */
void handoff_job(struct handoff *c, const struct gp_place *p);
/* Takes answers that have arrived. Call often. */
void handoff_poll(struct handoff *c);
/* Stores changed histories. Call once a second. */
void handoff_tick(struct handoff *c);
/* Stores all histories. Call after the last records and before the record of the end. */
void handoff_finish(struct handoff *c);
void handoff_free(struct handoff *c);

#endif
