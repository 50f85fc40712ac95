/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.h - hands the history of jobs from node to node: when a job begins here, reads what other
 * nodes stored for it, and writes that to the tape; stores what this node knows
 * (carry_file.h). A shared folder may hang: only carrier_start() and carrier_close() wait for
 * it, some seconds at most. Single-threaded. */
#ifndef HANDOVER_CARRIER_H
#define HANDOVER_CARRIER_H

#include "userspace/output/journal.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"

#define CARRIER_JOBS 64 /* at a time; further jobs are not handed over, which is logged */

struct carrier;

/* *ret is NULL if --carry is not given; all functions accept that. o, out, j: borrowed. Returns 0,
 * or -errno after a line. */
int carrier_new(struct carrier **ret, const struct options *o, struct output *out,
		struct journal *j);
/* Before watching begins: reads the history of the job named by the options. */
void carrier_start(struct carrier *c);
/* A process runs at this location, or will: reads the history of its job, which may have run on
 * another node. */
void carrier_job(struct carrier *c, const struct gp_place *p);
/* Call often: takes answers that have arrived. */
void carrier_poll(struct carrier *c);
/* Once a second: stores changed histories. */
void carrier_tick(struct carrier *c);
/* Stores all histories, after the last records and before the record of the end. */
void carrier_finish(struct carrier *c);
void carrier_free(struct carrier *c);

#endif
