/* SPDX-License-Identifier: Apache-2.0 */
/* owners.h - the jobs and processes of a snapshot that have series, by one rule for all ways out.
 *
 * A series is identified by its job's name, and of a process by its rank in the job, or by its pid
 * if the rank is not known: so a restart continues the series of the process before it, and the
 * number of series is bounded. Of several jobs of one name, the one that runs has the series, else
 * the newest; of several processes, one that is alive, then one that trains, then the newest.
 * Ended ones keep their series for OWNERS_GRACE_NS; an ended process only until the next run of its
 * job begins. On a node, processes that do not train have none. Pure. */
#ifndef EXPORT_OWNERS_H
#define EXPORT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/export/job_name.h"
#include "userspace/export/measure/measure.h"
#include "userspace/model/snapshot.h"

/* Longer than JOB_WAIT_NS, so that the end of a job is seen. */
#define OWNERS_GRACE_NS 1800000000000ull

struct owner_job {
	const struct job_view *job;
	/* The process with the lowest rank that trains, or trained, in its last run; NULL: none. */
	const struct rank_view *first;
};

struct owner_rank {
	const struct rank_view *rank;
	const struct job_view *job; /* NULL: none */
	char name[EXPORT_JOB_ROOM]; /* of a job without a name */
	const char *job_id;	    /* name of the job; "": none */
	bool by_pid;		    /* its series have the pid as a label */
	bool job_shown;		    /* its job is among the jobs, and is reported by this node */
};

struct owners {
	const struct snapshot *snapshot;
	struct owner_job *jobs; /* in the snapshot's order, running ones first, as ranks */
	struct owner_rank *ranks;
	size_t njobs, nranks;
	/* Those that have no series: beyond the bounds, or another one has their name. Ended ones
	 * are not counted. */
	size_t jobs_no_room, jobs_same_name, ranks_no_room, ranks_same_rank;
};

/* Selects the owners. most_jobs, most_ranks: bounds. The result points into s. Returns 0 or
 * -ENOMEM; owners_free() in both cases. */
int owners_select(struct owners *ret, const struct snapshot *s, size_t most_jobs,
		  size_t most_ranks);
void owners_free(struct owners *o);

/* Calls point for each point of a measure: of all its jobs that this node reports, or of the
 * processes from <= i < to that train or have trained. (A Prometheus page has all processes.) */
void owners_points(const struct owners *o, const struct measure *m, size_t from, size_t to,
		   measure_point_fn *point, void *ctx);

#endif
