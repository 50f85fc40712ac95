/* SPDX-License-Identifier: Apache-2.0 */
/* report_time.h - the table that says where the time went. */
#ifndef VIEW_REPORT_TIME_H
#define VIEW_REPORT_TIME_H

#include "userspace/model/ledger.h"
#include "userspace/model/program.h"
#include "userspace/view/canvas.h"

struct report_worth { /* two more columns: time of accelerators, and what it costs */
	const double *accelerator_ns; /* by bucket */
	double running_ns;	      /* part of that of OTHER: what runs now */
	const struct program_config *config;
};

/* w may be NULL. */
void report_time(struct canvas *c, const struct ledger_view *l, const struct type_names *types,
		 const struct report_worth *w);

#endif
