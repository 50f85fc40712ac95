/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/job_name.h"

#include <stdio.h>
#include <string.h>

const char *export_job_name(const struct job_view *j, char room[EXPORT_JOB_ROOM])
{
	if (*j->name)
		return j->name;
	snprintf(room, EXPORT_JOB_ROOM, "pid-%u", j->first_pid);
	return room;
}

bool export_job_same(const struct job_view *a, const struct job_view *b)
{
	char room[2][EXPORT_JOB_ROOM];

	if (*a->name && *b->name)
		return !strcmp(a->name, b->name);
	if (!*a->name && !*b->name)
		return a->first_pid == b->first_pid;
	if (strncmp(*a->name ? a->name : b->name, "pid-", 4) != 0)
		return false;
	return !strcmp(export_job_name(a, room[0]), export_job_name(b, room[1]));
}
