/* SPDX-License-Identifier: Apache-2.0 */
/* owners.h - selects the jobs and processes of a snapshot that have series, for all exporters.
 *
 * A job's series are identified by its name, those of a process by job and rank, or by its pid if
 * the rank is unknown: so a restarted process continues the series, and the number of series is
 * bounded. If several jobs have one name, the running one has the series, else the newest; if
 * several processes have one rank, one that is alive has the series; if several are alive, one that
 * trains; if several train, the newest. After their end, jobs and processes keep series for
 * OWNERS_GRACE_NS, processes at most until the next run of the job begins. In a node service,
 * processes that do not train have no series. Pure.
 */
#ifndef EXPORT_OWNERS_H
#define EXPORT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/export/job_name.h"
#include "userspace/export/measure/measure.h"
#include "userspace/model/snapshot.h"

/* How long ended jobs keep their series: longer than JOB_WAIT_NS, so that readers see the end. */
#define OWNERS_GRACE_NS 1800000000000ull

struct owner_job {
	const struct job_view *job;
	/* The process with the lowest rank that trains or trained in the job's last run; NULL:
	 * none. */
	const struct rank_view *first;
};

struct owner_rank {
	const struct rank_view *rank;
	const struct job_view *job; /* NULL: none */
	char name[EXPORT_JOB_ROOM]; /* memory for job_id if the job has no name */
	const char *job_id;	    /* name of the job; "": none */
	bool by_pid;		    /* series have the pid as a label, not the rank */
	bool job_shown;		    /* this node writes series of the process's job */
};

struct owners {
	const struct snapshot *snapshot;
	/* jobs and ranks are in the snapshot's order, but running ones first */
	struct owner_job *jobs;
	struct owner_rank *ranks;
	size_t njobs, nranks;
	/* Number of jobs and processes without series: the limit was reached (no_room), or another
	 * job or process with the same name or rank has the series. Ended jobs and processes are
	 * not counted. */
	size_t jobs_no_room, jobs_same_name, ranks_no_room, ranks_same_rank;
};

/* Selects at most most_jobs jobs and most_ranks processes. The result points into s. Returns 0 or
 * -ENOMEM; call owners_free() in both cases. */
int owners_select(struct owners *ret, const struct snapshot *s, size_t most_jobs,
		  size_t most_ranks);
void owners_free(struct owners *o);

/* Calls `point` for each point of a measure: if its owner is a job, for all jobs that this node
 * reports; else for processes from <= i < to that train or have trained. */
void owners_points(const struct owners *o, const struct measure *m, size_t from, size_t to,
		   measure_point_fn *point, void *ctx);

#endif
