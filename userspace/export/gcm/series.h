/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - points for Cloud Monitoring, before they are a request: each is one point of one time
 * series. Contract: google/monitoring/v3 metric.proto, metric_service.proto;
 * google/api/distribution.proto. A set is what is written at one instant. Pure, no thread of its
 * own; what a set points to it owns, but for rows. */
#ifndef EXPORT_SERIES_H
#define EXPORT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define SERIES_LABELS	   8
#define SERIES_LABEL_MAX   1024		/* bytes of a value; longer ones are cut at a character */
#define SERIES_BUCKETS	   200		/* of a distribution: likewise */
#define SERIES_SET_MAX	   20000	/* of a set; more are counted, not kept */
#define SERIES_CLOCK_NS	   1000000000ll /* clocks are corrected by less while the same goes on */
#define SERIES_OWN_PREFIX  "custom.googleapis.com/gp_bpf/"
#define SERIES_WORK_PREFIX "workload.googleapis.com/gp_bpf/"
#define SERIES_LIB_PREFIX  "compute.googleapis.com/workload/"

enum series_kind { SERIES_GAUGE, SERIES_CUMULATIVE };
enum series_value { SERIES_INT64, SERIES_DOUBLE, SERIES_BOOL, SERIES_DISTRIBUTION };

struct series_label_row {
	const char *name, *help;
	bool number; /* an INT64 label; its values are strings all the same */
};

/* A kind of series: what its descriptor says. Rows are static. */
struct series_row {
	const char *name; /* what follows the prefix */
	enum series_kind kind;
	enum series_value value;
	const char *unit; /* UCUM: "s", "1"; "" where it is not said */
	const char *title, *help;
	struct series_label_row label[SERIES_LABELS]; /* name NULL: no more */
	/* One of the goodput library's: no descriptor of ours, kind, type and unit are not sent. */
	bool library;
};

struct series_distribution {
	uint64_t count;
	double mean; /* 0 where count is */
	/* Explicit, increasing. A value equal to a bound is in the bucket above it
	 * (google/api/distribution.proto). */
	const double *bounds;
	const uint64_t *buckets; /* nbounds + 1 of them */
	uint32_t nbounds;
};

struct series {
	const struct series_row *row;
	uint32_t label[SERIES_LABELS]; /* offsets of values in the set's text, by row->label; 0:
					  absent */
	uint32_t resource;	       /* number in the set */
	/* UTC; start 0 for a gauge. Else since when it counts, as far as the clock knows that now:
	 * later by SERIES_CLOCK_NS where the count began anew, which can be before the end of the
	 * old one's last point. What is sent stays while the count goes on, and lies behind that
	 * end else: the sender's care. */
	int64_t start_ns, end_ns;
	union {
		int64_t i64;
		double real;
		bool yes;
		uint32_t distribution; /* number in the set */
	} value;
};

struct series_resource {
	const char *type;		 /* static: "gce_instance" */
	const char *name[SERIES_LABELS]; /* static; NULL: no more */
	uint32_t value[SERIES_LABELS];	 /* offsets in the set's text */
};

struct series_set {
	struct series *item;
	uint32_t count, cap;
	struct series_resource *resource;
	uint32_t nresources, cap_resources;
	struct series_distribution *distribution; /* bounds are owned, with buckets behind them */
	uint32_t ndistributions, cap_distributions;
	struct buffer text; /* offset 0 is "" */
	uint64_t unkept;    /* beyond SERIES_SET_MAX, or for want of memory */
};

void series_set_init(struct series_set *s);
void series_set_free(struct series_set *s);
/* names: NULL-terminated, static; values: as many, "" allowed. Its number, or UINT32_MAX: no
 * memory. The same twice has one number. */
uint32_t series_resource(struct series_set *s, const char *type, const char *const *names,
			 const char *const *values);
/* A point: value and start are the caller's to fill. NULL: not kept, counted. Valid until the next
 * call. */
struct series *series_put(struct series_set *s, const struct series_row *row, uint32_t resource,
			  int64_t end_ns);
/* Sets a label of the series added last; name is a label of its row; value "": absent. Not UTF-8
 * becomes U+FFFD. Without memory the series is not fit. */
void series_label(struct series_set *s, const char *name, const char *value);
/* Likewise; bounds and buckets are copied. */
void series_distribution(struct series_set *s, const struct series_distribution *d);
const char *series_text(const struct series_set *s, uint32_t at);
/* "custom.googleapis.com/gp_bpf/step_count" */
void series_type(struct buffer *out, const struct series_row *row, const char *own_prefix);
/* What tells series apart: type, labels, resource; stable over runs and machines. */
uint64_t series_key(const struct series_set *s, const struct series *p, const char *own_prefix);
/* Whether what would be written can be: finite, counts that add up, an interval of its kind. */
bool series_fit(const struct series_set *s, const struct series *p);

#endif
