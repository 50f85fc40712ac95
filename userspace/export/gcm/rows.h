/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - what is written to Cloud Monitoring: the table of our own series, and the goodput
 * library's (compute.googleapis.com/workload/..., as ml-goodput-measurement 0.2.3 writes them).
 * Pure.
 *
 * Job-level series are written by the node of the job's reference rank alone; rank-level ones by
 * each node. */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "userspace/account/log/answer.h"
#include "userspace/export/gcm/series.h"
#include "userspace/model/snapshot.h"

struct gcm_identity { /* "" where it is not known */
	char project[64], location[64], cluster[64], node[128], instance_id[32];
	char accelerator[32]; /* "NVIDIA-H100", "UNKNOWN" */
	char replica[64];     /* "0" unless told */
};

#define GCM_ROLLING_MAX 8
struct gcm_options {
	bool library;			    /* the library's series too */
	int64_t rolling_s[GCM_ROLLING_MAX]; /* windows of these; 0: no more */
};

/* "86400,300": of o the windows alone. -EINVAL: no list of different seconds, or too many. */
int gcm_rolling_read(const char *text, struct gcm_options *o);
/* An id or a number, as it may stand in a path. */
bool gcm_project_valid(const char *id);

extern const struct series_row *const gcm_rows[]; /* our own, NULL-terminated */

/* All that a snapshot says. Cumulative series count from when this began to count them, in UTC. */
void gcm_own(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id);
/* What the model keeps of jobs that train here: of rolling_s the windows that it has
 * (--window-length), in percent of what was observed. Time that was not observed is in no series
 * but total_elapsed_time. Steps have numbers from 0, as the library's. Nothing where the location
 * is not known: the service wants it. */
void gcm_library(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id,
		 const struct gcm_options *o);
/* The same from a log of the instrumented library, as of answer->now_us, in the library's own
 * semantics: where it raises there is nothing, and nothing without a job start. windows are those
 * of the query, as many as o has, in its order; their slice efficiency is over what of them the job
 * lived through, as their percentages are (the library's is over all of them). */
struct goodput_names;
void gcm_library_answer(struct series_set *out, const struct goodput_answer *answer,
			const struct goodput_names *names, const struct gcm_identity *id,
			const struct gcm_options *o);

#endif
