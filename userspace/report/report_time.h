/* SPDX-License-Identifier: Apache-2.0 */
/* report_time.h - the table of time by bucket. */
#ifndef REPORT_REPORT_TIME_H
#define REPORT_REPORT_TIME_H

#include "userspace/model/time/ledger.h"
#include "userspace/model/time/program.h"
#include "userspace/text/canvas.h"

struct report_cost {		      /* two more columns: accelerator time and its cost */
	const double *accelerator_ns; /* by bucket */
	/* the unsettled part of OTHER, which may move to another bucket */
	double running_ns;
	const struct program_config *config;
};

/* Shows the table; w may be NULL. */
void report_time(struct canvas *c, const struct ledger_view *l, const struct type_names *types,
		 const struct report_cost *w);

#endif
