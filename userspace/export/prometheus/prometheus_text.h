/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_text.h - a snapshot as text for Prometheus: format 0.0.4, or OpenMetrics 1.0. Pure.
 * An unknown value has no sample, so that readers can distinguish 0 from "unknown". The job is
 * `job_id`, because Prometheus sets the label `job` on everything it scrapes.
 * A page has up to PROMETHEUS_JOBS jobs and PROMETHEUS_RANKS processes, running ones first, by the
 * rule of owners.h; gpbpf_jobs_unshown and gpbpf_ranks_unshown count the others. */
#ifndef EXPORT_PROMETHEUS_TEXT_H
#define EXPORT_PROMETHEUS_TEXT_H

#include "userspace/base/buffer.h"
#include "userspace/http/http_accept.h"
#include "userspace/model/snapshot.h"

#define PROMETHEUS_RANKS 512
#define PROMETHEUS_JOBS	 128

/* Writes a page. s NULL: no snapshot yet. */
void prometheus_text(struct buffer *out, const struct snapshot *s, enum prometheus_format format);

/* Resource use of the gp-bpf process. Members that are 0 are unknown. */
struct prometheus_own {
	uint64_t cpu_ns, resident_bytes, fds;
	int64_t start_ns;  /* start of the process in UTC; constant once it is known */
	uint64_t began_ns; /* CLOCK_MONOTONIC when this was read, just before the page is written */
};
/* Reads clocks and /proc/self. *own must be zeroed before the first call. */
void prometheus_own_read(struct prometheus_own *own);
/* Like prometheus_text(), with the metrics of gp-bpf itself. Not pure: measures how long writing
 * the page took. */
void prometheus_text_own(struct buffer *out, const struct snapshot *s,
			 const struct prometheus_own *own, enum prometheus_format format);

/* Writes every metric that a page can contain: one line with name, type, unit, labels and help,
 * separated by tabs. */
void prometheus_metrics(struct buffer *out);

#endif
