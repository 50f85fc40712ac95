/* SPDX-License-Identifier: Apache-2.0 */
/* rows_private.h - what rows_own.c and rows_library.c share. */
#ifndef GCM_ROWS_PRIVATE_H
#define GCM_ROWS_PRIVATE_H

#include "userspace/gcm/rows.h"

#define ROWS_NS_PER_S 1e9
/* What has ended is written for so long: a job is known to be over JOB_WAIT_NS after it fell, and
 * the last word gets through an outage of five minutes. */
#define ROWS_AFTER_NS (JOB_WAIT_NS + 300000000000ull)

/* Its name; of one that has none, by its first process. */
#define ROWS_NAME_MAX 64
const char *rows_job_name(const struct job_view *j, char out[ROWS_NAME_MAX]);
/* They are called the same. */
bool rows_same_job(const struct job_view *a, const struct job_view *b);
/* Its figures are this node's to write, it has not ended long ago, and it has its name: of several
 * that are called the same the newest that goes on, or the newest where all have ended. */
bool rows_job_shown(const struct snapshot *s, const struct job_view *j);

#endif
