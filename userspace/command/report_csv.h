/* SPDX-License-Identifier: Apache-2.0 */
/* report_csv.h - what a store keeps of a job as tables (RFC 4180): minutes.csv of each rank of each
 * run, checkpoints.csv, disruptions.csv. Times are RFC 3339 in UTC, durations ns. Steps are kept as
 * minutes alone. What the store leaves out by exclusions is in them. */
#ifndef COMMAND_REPORT_CSV_H
#define COMMAND_REPORT_CSV_H

#include "userspace/store/query.h"

/* dir is made if need be, files of these names are emptied. 0 or -errno after one line. */
int report_csv(struct store *st, const struct store_job *job, const struct store_span *span,
	       const char *dir);

#endif
