/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_text.h - a snapshot as text for Prometheus: its format 0.0.4, or OpenMetrics 1.0.
 * Pure.
 *
 * A value that is unknown has no sample: a reader must be able to tell "none" from "not known". The
 * job is `job_id`, because `job` is a label that Prometheus itself sets on everything it scrapes.
 *
 * Series are bounded, however often processes end and come again. A process is called by its job
 * and its rank, so that a restart goes on with the series of the one before it; by its job and pid
 * where it has no rank. What ended has series until the next run of its job begins,
 * PROMETHEUS_GRACE_NS at most. There is room for PROMETHEUS_JOBS jobs and PROMETHEUS_RANKS
 * processes, those that live first; what the page leaves out gpbpf_jobs_unshown and
 * gpbpf_ranks_unshown count. */
#ifndef EXPORT_PROMETHEUS_TEXT_H
#define EXPORT_PROMETHEUS_TEXT_H

#include "userspace/base/buffer.h"
#include "userspace/http/http_accept.h"
#include "userspace/model/snapshot.h"

#define PROMETHEUS_RANKS 512
#define PROMETHEUS_JOBS	 128
#define PROMETHEUS_GRACE_NS                                                                        \
	1800000000000ull /* longer than JOB_WAIT_NS: that a job is over is seen */
#define PROMETHEUS_CONFIDENCE STEP_CONFIDENCE

/* s NULL: nothing is known yet. */
void prometheus_text(struct buffer *out, const struct snapshot *s, enum prometheus_format format);

/* gp-bpf's own process; 0 is unknown. */
struct prometheus_own {
	uint64_t cpu_ns, resident_bytes, fds;
	int64_t start_ns;  /* UTC; once known it stays */
	uint64_t began_ns; /* when this was read, on the monotonic clock: the making of the page
			      begins */
};
/* Reads clocks and /proc/self. Zero before the first time. */
void prometheus_own_read(struct prometheus_own *own);
/* prometheus_text(), and own. Not pure: it tells how long making the page took. */
void prometheus_text_own(struct buffer *out, const struct snapshot *s,
			 const struct prometheus_own *own, enum prometheus_format format);

/* Every metric that a page can have: a line of name, type, unit, labels and help, separated by
 * tabs. */
void prometheus_metrics(struct buffer *out);

#endif
