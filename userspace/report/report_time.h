/* SPDX-License-Identifier: Apache-2.0 */
/* report_time.h - draws the table of a job's or rank's time by bucket. */
#ifndef REPORT_REPORT_TIME_H
#define REPORT_REPORT_TIME_H

#include "userspace/model/time/ledger.h"
#include "userspace/model/time/program.h"
#include "userspace/text/canvas.h"

struct report_cost {		      /* Data of two more columns: accelerator time and its cost. */
	const double *accelerator_ns; /* by bucket */
	/* part of OTHER that is not final: the current step may move it to another bucket */
	double running_ns;
	const struct program_config *config;
};

/* Draws the table. w: data of the cost columns; NULL: none. */
void report_time(struct canvas *c, const struct ledger_view *l, const struct type_names *types,
		 const struct report_cost *w);

#endif
