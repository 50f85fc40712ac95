/* SPDX-License-Identifier: Apache-2.0 */
/* report_job.h - a job over all its runs: where its time went, and each disruption with its
 * cost. */
#ifndef REPORT_REPORT_JOB_H
#define REPORT_REPORT_JOB_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"
#include "userspace/text/canvas.h"

/* Whether the job needs a part of its own, because it has several ranks or runs, or a
 * disruption. */
bool report_job_matters(const struct snapshot *s, const struct job_view *j);
/* The job of a rank; NULL: none. */
const struct job_view *report_job_of(const struct snapshot *s, const struct rank_view *r);
/* Whether the rank's job has a part of its own. */
bool report_job_is_shown(const struct snapshot *s, const struct rank_view *r);
void report_job(struct canvas *c, const struct snapshot *s, const struct job_view *j);
/* "jobs": [...] of the JSON report: every job. */
void report_jobs_json(struct buffer *out, const struct snapshot *s);
/* The key that groups ranks to a job. */
void report_key_json(struct buffer *out, const char *name, uint64_t key);

/* "windows": [...]: the time of a rank or job in each window. */
void report_windows_json(struct buffer *out, const struct window_view *windows,
			 const struct type_names *types);

#endif
