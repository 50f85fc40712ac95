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

#define HANDOFF_JOBS 64 /* at a time; further jobs are not handed over, which is logged */

struct handoff;

/* *ret is NULL if --carry is not given; all functions accept that. o, out, j: borrowed. Returns 0,
 * or -errno after a line. */
int handoff_new(struct handoff **ret, const struct options *o, struct output *out,
		struct journal *j);
/* Before watching begins: reads the history of the job named by the options. */
void handoff_start(struct handoff *c);
/* A process runs at this location, or will: reads the history of its job, which may have run on
 * another node. */
void handoff_job(struct handoff *c, const struct gp_place *p);
/* Call often: takes answers that have arrived. */
void handoff_poll(struct handoff *c);
/* Once a second: stores changed histories. */
void handoff_tick(struct handoff *c);
/* Stores all histories, after the last records and before the record of the end. */
void handoff_finish(struct handoff *c);
void handoff_free(struct handoff *c);

#endif
