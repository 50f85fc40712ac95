/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - sets of points for Cloud Monitoring, before they are written as requests: one point of
 * each time series at one instant. Contract: google/monitoring/v3 metric.proto,
 * metric_service.proto; google/api/distribution.proto. A set owns what it points to, except rows.
 * Pure; not thread-safe. */
#ifndef EXPORT_SERIES_H
#define EXPORT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define SERIES_LABELS	 8
#define SERIES_LABEL_MAX 1024  /* limit of a label's value in bytes; longer values are cut */
#define SERIES_BUCKETS	 200   /* limit of the buckets of a distribution */
#define SERIES_SET_MAX	 20000 /* limit of points in a set; further ones are only counted */
/* A start time that differs by less than this (ns) is a correction of the clock, not a new
 * start. */
#define SERIES_CLOCK_NS	   1000000000ll
#define SERIES_OWN_PREFIX  "custom.googleapis.com/gp_bpf/"
#define SERIES_WORK_PREFIX "workload.googleapis.com/gp_bpf/"
#define SERIES_LIB_PREFIX  "compute.googleapis.com/workload/"

enum series_kind { SERIES_GAUGE, SERIES_CUMULATIVE };
enum series_value { SERIES_INT64, SERIES_DOUBLE, SERIES_BOOL, SERIES_DISTRIBUTION };

struct series_label_row {
	const char *name, *help;
	bool number; /* an INT64 label in the descriptor; values are passed as strings */
};

/* A kind of series, as in its descriptor. Rows are static. */
struct series_row {
	const char *name; /* name without the prefix */
	enum series_kind kind;
	enum series_value value;
	const char *unit; /* unit in UCUM, like "s" or "1"; "": none */
	const char *title, *help;
	struct series_label_row label[SERIES_LABELS]; /* name NULL: unused */
	/* A series of the goodput library: gp-bpf makes no descriptor and sends no kind, type or
	 * unit. */
	bool library;
};

struct series_distribution {
	uint64_t count;
	double mean; /* 0 if count is 0 */
	/* Upper bounds of the buckets, in increasing order. A value equal to a bound belongs to the
	 * bucket above it (google/api/distribution.proto). */
	const double *bounds;
	const uint64_t *buckets; /* nbounds + 1 counts */
	uint32_t nbounds;
};

struct series {
	const struct series_row *row;
	/* offsets of the values in the set's text, in the order of row->label; 0: absent */
	uint32_t label[SERIES_LABELS];
	uint32_t resource; /* index in the set */
	/* UTC. start_ns is 0 for a gauge; otherwise the time at which counting began, by the
	 * current clock. A start that is later by SERIES_CLOCK_NS means that counting began again.
	 * The sender keeps the first start that it sent; a new start is moved to after the end of
	 * the series' previous point. */
	int64_t start_ns, end_ns;
	union {
		int64_t i64;
		double real;
		bool yes;
		uint32_t distribution; /* index in the set */
	} value;
};

/* The monitored resource of series: the machine or container to which they belong. */
struct series_resource {
	const char *type;		 /* type of the resource, such as "gce_instance"; static */
	const char *name[SERIES_LABELS]; /* names of its labels; static; NULL: unused */
	uint32_t value[SERIES_LABELS];	 /* values of the labels, as offsets in the set's text */
};

struct series_set {
	struct series *item;
	uint32_t count, cap;
	struct series_resource *resource;
	uint32_t nresources, cap_resources;
	struct series_distribution *distribution; /* the set owns their bounds and buckets */
	uint32_t ndistributions, cap_distributions;
	struct buffer text; /* offset 0 is "" */
	uint64_t unkept;    /* points dropped: over SERIES_SET_MAX, or no memory */
};

void series_set_init(struct series_set *s);
void series_set_free(struct series_set *s);
/* Adds a resource. names: NULL-terminated, static; values: one for each name, "" is allowed. Equal
 * resources get the same index. Returns the index, or UINT32_MAX when there is no memory. */
uint32_t series_resource(struct series_set *s, const char *type, const char *const *names,
			 const char *const *values);
/* Adds a point; the caller sets value and start. Returns NULL when it was not kept, which is
 * counted. Valid until the next call. */
struct series *series_put(struct series_set *s, const struct series_row *row, uint32_t resource,
			  int64_t end_ns);
/* Sets a label of the series added last. name is a label of its row; value "": absent. Invalid
 * UTF-8 becomes U+FFFD. When there is no memory the series is not valid. */
void series_label(struct series_set *s, const char *name, const char *value);
/* Sets the distribution of the series added last; copies bounds and buckets. When there is no
 * memory the series is not valid. */
void series_distribution(struct series_set *s, const struct series_distribution *d);
const char *series_text(const struct series_set *s, uint32_t at);
/* Appends the metric type, like "custom.googleapis.com/gp_bpf/step_count". */
void series_type(struct buffer *out, const struct series_row *row, const char *own_prefix);
/* Returns the identity of a series: hash of type, labels and resource; the same in all runs and on
 * all machines. */
uint64_t series_key(const struct series_set *s, const struct series *p, const char *own_prefix);
/* Returns true if the point can be written: finite, with consistent counts and an interval of its
 * kind. */
bool series_fit(const struct series_set *s, const struct series *p);

#endif
