/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - the series for Cloud Monitoring: the table of gp-bpf's own, and those of the goodput
 * library (compute.googleapis.com/workload/..., as ml-goodput-measurement 0.2.3 writes them). Pure.
 * Series of a job are written only by the node of its reference rank, series of a rank by each
 * node. */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "userspace/account/log/answer.h"
#include "userspace/export/gcm/series.h"
#include "userspace/model/snapshot.h"

struct gcm_identity { /* "": unknown */
	char project[64], location[64], cluster[64], node[128], instance_id[32];
	char accelerator[32]; /* "NVIDIA-H100", "UNKNOWN" */
	char replica[64];     /* "0" unless set */
};

#define GCM_ROLLING_MAX 8
struct gcm_options {
	bool library;			    /* also write the series of the goodput library */
	int64_t rolling_s[GCM_ROLLING_MAX]; /* lengths of rolling windows; 0: unused */
};

/* Reads "86400,300" into the windows of o. Returns -EINVAL if it is not a list of different
 * seconds, or too long. */
int gcm_rolling_read(const char *text, struct gcm_options *o);
/* Returns true for a project id or number that may stand in a path. */
bool gcm_project_valid(const char *id);

/* The rows of gp-bpf's own series; NULL: no more. From any thread. */
const struct series_row *gcm_row(size_t i);

/* Adds all own series of a snapshot. Cumulative series count from the instant (UTC) at which
 * counting began. */
void gcm_own(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id);
/* Adds the goodput library's series for jobs that train on this node: for each window of rolling_s
 * that the model has (--window-length), in percent of the observed time. Unobserved time is only in
 * total_elapsed_time. Steps are numbered from 0, as in the library. Adds nothing when the location
 * is unknown, because the service requires it. */
void gcm_library(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id,
		 const struct gcm_options *o);
/* The same from a log of the instrumented library, as of answer->now_us, in library semantics:
 * nothing where the library raises an exception, or without a job start. The query's windows are
 * those of o, in the same order. Slice efficiency of a window covers the part in which the job ran,
 * as its percentages do (the library's covers all of it). */
struct goodput_names;
void gcm_library_answer(struct series_set *out, const struct goodput_answer *answer,
			const struct goodput_names *names, const struct gcm_identity *id,
			const struct gcm_options *o);

#endif
