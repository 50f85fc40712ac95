/* SPDX-License-Identifier: Apache-2.0 */
/* csv_store.h - writes the history of a job as tables (RFC 4180): minutes.csv (one row for each
 * minute of each rank and run; the store has no single steps), checkpoints.csv, disruptions.csv.
 * Times are RFC 3339 in UTC, durations are in ns. The tables include time that the user excluded.
 */
#ifndef EXPORT_CSV_STORE_H
#define EXPORT_CSV_STORE_H

#include "userspace/store/query.h"

/* arg: the folder, made if it does not exist; files with these names are overwritten. Returns 0, or
 * -errno after logging the error. */
int csv_store_write(const char *arg, struct store *st, const struct store_job *job,
		    const struct store_span *span);

#endif
