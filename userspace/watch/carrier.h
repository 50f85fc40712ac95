/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.h - takes the history of jobs along from node to node: reads what other nodes left in the
 * shared folder when a job begins here, onto the tape, and leaves there what is known here
 * (store/carry_file.h). The folder may hang: nothing here waits for it, but carrier_start() and
 * carrier_close(), some seconds at most. Single-threaded. */
#ifndef WATCH_CARRIER_H
#define WATCH_CARRIER_H

#include "userspace/output/journal.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"

#define CARRIER_JOBS 64 /* at a time; beyond, jobs are not carried, which is said */

struct carrier;

/* *ret NULL where no folder is given: every function takes that. o, out, j: borrowed. 0 or -errno
 * after a line. */
int carrier_new(struct carrier **ret, const struct options *o, struct output *out,
		struct journal *j);
/* Before anything is watched: of the job that the options name. */
void carrier_start(struct carrier *c);
/* A process runs there, or is made there: its job may have come from another node. */
void carrier_job(struct carrier *c, const struct gp_place *p);
/* Often: takes what has come. */
void carrier_poll(struct carrier *c);
/* Once a second: leaves what has changed. */
void carrier_tick(struct carrier *c);
/* The last records have been fed, the end has not: leaves what is known. */
void carrier_finish(struct carrier *c);
void carrier_free(struct carrier *c);

#endif
