/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - the series for Cloud Monitoring: gp-bpf's own, and those of the goodput library
 * (compute.googleapis.com/workload/..., as ml-goodput-measurement 0.2.3 writes them). Only the node
 * of a job's reference rank writes the job's series; each node writes the series of its ranks.
 * Pure. */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "userspace/account/log/answer.h"
#include "userspace/export/gcm/series.h"
#include "userspace/model/snapshot.h"

struct gcm_identity { /* "": unknown */
	char project[64], location[64], cluster[64], node[128], instance_id[32];
	char accelerator[32]; /* like "NVIDIA-H100", or "UNKNOWN" */
	char replica[64];     /* "0" unless set */
};

#define GCM_ROLLING_MAX 8
struct gcm_options {
	bool library;			    /* also write the series of the goodput library */
	int64_t rolling_s[GCM_ROLLING_MAX]; /* lengths of rolling windows; 0: unused */
};

/* Reads a list like "86400,300" into o->rolling_s. Returns 0; -EINVAL: not a list of different
 * numbers of seconds, or more than GCM_ROLLING_MAX. */
int gcm_rolling_read(const char *text, struct gcm_options *o);
/* Returns true if id has the form of a project id or number, and so is safe in a URL path. */
bool gcm_project_valid(const char *id);

/* Returns row i of gp-bpf's own series; NULL: no more rows. From any thread. */
const struct series_row *gcm_row(size_t i);

/* Adds all of gp-bpf's own series of a snapshot. The start of a cumulative series is the time (UTC)
 * at which counting began. */
void gcm_own(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id);
/* Adds the goodput library's series for jobs that train on this node: for each window of rolling_s
 * that the model has (--window-length), in percent of the observed time. Unobserved time is only in
 * total_elapsed_time. Steps are numbered from 0, as in the library. Adds nothing when the location
 * is unknown, because the service requires it. */
void gcm_library(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id,
		 const struct gcm_options *o);
/* Like gcm_library(), but from a log of the instrumented library, as of answer->now_us, in library
 * semantics. Adds nothing if the library raises an exception, or the log has no job start. The
 * answer's windows are those of o, in the same order. Slice efficiency of a window covers only the
 * part in which the job ran, like its percentages; in the library it covers the whole window. */
struct goodput_names;
void gcm_library_answer(struct series_set *out, const struct goodput_answer *answer,
			const struct goodput_names *names, const struct gcm_identity *id,
			const struct gcm_options *o);

#endif
