/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - what gp-bpf measures of jobs, processes and training loops, for all exporters that
 * send numbers: Prometheus, OpenTelemetry, Cloud Monitoring. A measure is one row of the table in
 * measure.c; the exporters write its points in their formats. owners.h decides which jobs and
 * processes have series.
 *
 * Metrics of gp-bpf itself, and metrics that only a Prometheus page has, are in
 * prometheus_{job,rank,own}.c. Pure. */
#ifndef EXPORT_MEASURE_H
#define EXPORT_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/snapshot.h"

enum measure_owner {
	MEASURE_JOB,  /* a job; written by the node of its reference rank */
	MEASURE_RANK, /* a process */
	MEASURE_LOOP, /* a training loop of a process */
};

enum measure_type {
	MEASURE_COUNT,
	MEASURE_NS, /* sent as seconds */
	MEASURE_REAL,
	MEASURE_YES,   /* 0 or 1 */
	MEASURE_TIMES, /* a distribution of step times */
};

/* Rules for a measure's own label, which a series has besides the labels that identify its
 * owner. */
enum measure_label_rule {
	MEASURE_LABEL_FIXED,
	/* The label of a series changes with the value, and is absent at times. Exporters whose
	 * readers keep the last value of each series (Cloud Monitoring) omit the label. */
	MEASURE_LABEL_CHANGES,
	/* Points whose value is 0 are omitted, except by exporters whose readers keep the last
	 * value. */
	MEASURE_LABEL_SPARSE,
};

struct measure_put;

struct measure {
	/* like "job.elapsed"; the name in OpenTelemetry is gpbpf.job.elapsed */
	const char *id;
	const char *prometheus; /* name in Prometheus; NULL: not on the page */
	const char *gcm;	/* name in Cloud Monitoring; NULL: not sent */
	const char *title;	/* display name in Cloud Monitoring */
	enum measure_owner owner;
	enum measure_type type;
	bool counter;			/* the value never decreases while its owner exists */
	const char *unit;		/* UCUM */
	const char *label, *label_help; /* NULL: none */
	enum measure_label_rule rule;
	/* The job has an equivalent measure: a Prometheus page omits this one for processes whose
	 * job has series. */
	bool job_has_it;
	const char *help; /* without quotes, backslashes or line breaks */
	void (*put)(struct measure_put *m);
};

/* Returns measure i in the order of the table; NULL: no more. */
const struct measure *measure_at(size_t i);
/* Returns the measure with this name in Prometheus; NULL: none. */
const struct measure *measure_of_prometheus(const char *name);

struct measure_point {
	const char *label; /* value of the measure's label; NULL: absent */
	uint64_t count;	   /* value for MEASURE_COUNT, MEASURE_YES, and MEASURE_NS (ns) */
	double real;	   /* value for MEASURE_REAL */
	const struct deviation_view *times;
};
/* Called for each point of a measure. Texts of the point are valid during the call. */
typedef void measure_point_fn(void *ctx, const struct measure_put *m,
			      const struct measure_point *p);

/* One measure of one owner. rank and loop: NULL if the owner is a job; loop: NULL if it is a
 * process; job: NULL for a process without a job. */
struct measure_put {
	const struct measure *measure;
	const struct type_names *types; /* of custom badput */
	const struct job_view *job;
	const struct rank_view *rank;
	const struct loop_view *loop;
	measure_point_fn *point;
	void *ctx;
};

/* Returns true if the loop's step times are meaningful: it counts steps, with enough confidence. */
bool measure_loop_known(const struct loop_view *l);

#endif
