/* SPDX-License-Identifier: Apache-2.0 */
/* report_csv.h - writes the history of a job as tables (RFC 4180): minutes.csv of each rank of each
 * run, checkpoints.csv, disruptions.csv. Times are RFC 3339 in UTC, durations ns. The store keeps
 * minutes, not single steps. Excluded times are included. */
#ifndef COMMAND_REPORT_CSV_H
#define COMMAND_REPORT_CSV_H

#include "userspace/store/query.h"

/* dir is made if it does not exist; files with these names are overwritten. Returns 0, or -errno
 * after one line. */
int report_csv(struct store *st, const struct store_job *job, const struct store_span *span,
	       const char *dir);

#endif
