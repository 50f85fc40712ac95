/* SPDX-License-Identifier: Apache-2.0 */
/* job_names.h - the names of a store's jobs, at once: for a shell that completes a word. Nothing is
 * written, checked, brought up to date or waited for (0.1 s at most), and nothing is logged. */
#ifndef STORE_JOB_NAMES_H
#define STORE_JOB_NAMES_H

/* A name, else a key; any bytes. */
typedef void job_name_fn(void *ctx, const char *name);
/* The latest 256 jobs. 0 or -errno. */
int store_job_names(const char *path, job_name_fn *fn, void *ctx);

#endif
