/* SPDX-License-Identifier: Apache-2.0 */
/* job_name.h - what exporters call a job: its name, or pid- and its first process. Pure. */
#ifndef EXPORT_JOB_NAME_H
#define EXPORT_JOB_NAME_H

#include <stdbool.h>

#include "userspace/model/job/job.h"

#define EXPORT_JOB_ROOM 16 /* bytes of pid- and the largest process number */

/* Returns the name; it is in room where the job has none. */
const char *export_job_name(const struct job_view *j, char room[EXPORT_JOB_ROOM]);
/* Returns true when both are called the same: a name may read like that of a job without one. */
bool export_job_same(const struct job_view *a, const struct job_view *b);

#endif
