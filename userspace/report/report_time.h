/* SPDX-License-Identifier: Apache-2.0 */
/* report_time.h - the table that says where the time went. */
#ifndef REPORT_REPORT_TIME_H
#define REPORT_REPORT_TIME_H

#include "userspace/model/time/ledger.h"
#include "userspace/model/time/program.h"
#include "userspace/text/canvas.h"

struct report_worth { /* two more columns: time of accelerators, and what it costs */
	const double *accelerator_ns; /* by bucket */
	double running_ns;	      /* part of that of OTHER: what runs now */
	const struct program_config *config;
};

/* w may be NULL. */
void report_time(struct canvas *c, const struct ledger_view *l, const struct type_names *types,
		 const struct report_worth *w);

#endif
