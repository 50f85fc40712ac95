/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - what gp-bpf measures of jobs, processes and training loops, for all ways out that
 * send numbers: Prometheus, OpenTelemetry, Cloud Monitoring. A measure is one row of the table in
 * measure.c; the ways out only write the points of its rows. Which jobs and processes have series
 * is decided in owners.h.
 *
 * Metrics of gp-bpf itself, and those that only a Prometheus page has, are in
 * prometheus_{job,rank,own}.c. Pure. */
#ifndef EXPORT_MEASURE_H
#define EXPORT_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/snapshot.h"

enum measure_owner {
	MEASURE_JOB,  /* of a job: written by the node of its reference rank */
	MEASURE_RANK, /* of a process */
	MEASURE_LOOP, /* of a training loop of a process */
};

enum measure_type {
	MEASURE_COUNT,
	MEASURE_NS, /* sent as seconds */
	MEASURE_REAL,
	MEASURE_YES,   /* 0 or 1 */
	MEASURE_TIMES, /* a distribution of step times */
};

/* Labels of a series besides those of its owner. */
enum measure_label_rule {
	MEASURE_LABEL_FIXED,
	/* The label of one series changes with its value, and is absent at times. A way out whose
	 * readers keep the last value of each series (Cloud Monitoring) omits it. */
	MEASURE_LABEL_CHANGES,
	/* A point whose value is 0 is omitted, except where readers keep the last value. */
	MEASURE_LABEL_SPARSE,
};

struct measure_put;

struct measure {
	/* "job.elapsed": in OpenTelemetry its name is gpbpf.job.elapsed. */
	const char *id;
	const char *prometheus; /* NULL: not on the page */
	const char *gcm;	/* NULL: not sent */
	const char *title;	/* in Cloud Monitoring */
	enum measure_owner owner;
	enum measure_type type;
	bool counter;	  /* only increases, from when the owner began to be counted */
	const char *unit; /* UCUM */
	const char *label, *label_help; /* NULL: none */
	enum measure_label_rule rule;
	/* It says of a process what another measure says of its job: a Prometheus page omits it
	 * where the job has series. */
	bool job_has_it;
	const char *help; /* without quotes, backslashes or line breaks */
	void (*put)(struct measure_put *m);
};

/* All measures, in the order of the table; NULL: no more. */
const struct measure *measure_at(size_t i);
/* The measure with that name on a Prometheus page; NULL: none. */
const struct measure *measure_of_prometheus(const char *name);

struct measure_point {
	const char *label; /* value of the measure's own label; NULL: absent */
	uint64_t count;	   /* MEASURE_COUNT, MEASURE_YES; ns of MEASURE_NS */
	double real;	   /* MEASURE_REAL */
	const struct deviation_view *times;
};
/* Called for each point; its texts are valid during the call. */
typedef void measure_point_fn(void *ctx, const struct measure_put *m,
			      const struct measure_point *p);

/* One measure of one owner: rank and loop are NULL where the owner has none, job is NULL of a
 * process without one. */
struct measure_put {
	const struct measure *measure;
	const struct type_names *types; /* of custom badput */
	const struct job_view *job;
	const struct rank_view *rank;
	const struct loop_view *loop;
	measure_point_fn *point;
	void *ctx;
};

/* Whether the times of a loop's steps mean something: it counts steps, and is certain enough. */
bool measure_loop_known(const struct loop_view *l);

#endif
