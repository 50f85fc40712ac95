/* SPDX-License-Identifier: Apache-2.0 */
/* job_names.h - lists the names of jobs in a store quickly, for shell completion. Writes and logs
 * nothing, does not check or migrate the file, and waits at most 0.1 s for a lock. */
#ifndef STORE_JOB_NAMES_H
#define STORE_JOB_NAMES_H

/* Receives the name of a job, or its key if it has none; any bytes. */
typedef void job_name_fn(void *ctx, const char *name);
/* Lists the latest 256 jobs. Returns 0 or -errno. */
int store_job_names(const char *path, job_name_fn *fn, void *ctx);

#endif
