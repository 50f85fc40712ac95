/* SPDX-License-Identifier: Apache-2.0 */
/* job_name.h - the name of a job in exports: the job's name, or "pid-" and the pid of its first
 * process. Pure. */
#ifndef EXPORT_JOB_NAME_H
#define EXPORT_JOB_NAME_H

#include <stdbool.h>

#include "userspace/model/job/job.h"

#define EXPORT_JOB_ROOM 16 /* bytes for "pid-" and the largest pid */

/* Returns the name of the job in exports. room: memory for "pid-..." if the job has no name. */
const char *export_job_name(const struct job_view *j, char room[EXPORT_JOB_ROOM]);
/* Returns true if both jobs have the same name in exports. */
bool export_job_same(const struct job_view *a, const struct job_view *b);

#endif
