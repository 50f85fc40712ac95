/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/report_times.h"

#include <math.h>
#include <stdlib.h>

#include "userspace/base/json_text.h"

struct weighted {
	double value;
	uint64_t count;
};

static int report_times_by_value(const void *a, const void *b)
{
	double x = ((const struct weighted *)a)->value, y = ((const struct weighted *)b)->value;

	return (x > y) - (x < y);
}

uint64_t report_ideal_ns(const struct sketch *t)
{
	struct weighted middle[SKETCH_CLASSES], away[SKETCH_CLASSES];
	double median = (double)sketch_quantile(t, 0.5), limit, sum = 0;
	uint64_t seen = 0, count = 0;
	uint16_t i = 0;

	if (t->count < 3)
		return 0;
	for (i = 0; i < t->used; i++) {
		double low = sketch_class_ns(t, t->at[i].class),
		       high = sketch_class_ns(t, t->at[i].class + 1u);

		middle[i] = (struct weighted){(low + high) / 2, t->at[i].count};
		away[i] = (struct weighted){fabs(middle[i].value - median), t->at[i].count};
	}
	qsort(away, t->used, sizeof(away[0]), report_times_by_value);
	for (i = 0; i < t->used && seen < (t->count + 1) / 2; i++)
		seen += away[i].count;
	/* Times within a class of the sketch are not distinguished, so the median deviation is
	 * taken as at least the width of a class. */
	limit = median + 3 * fmax(i ? away[i - 1].value : 0, median * sketch_error(t));
	if (limit >= (double)t->max_ns)
		return t->sum_ns / t->count;
	for (i = 0; i < t->used && middle[i].value <= limit; i++) {
		sum += middle[i].value * (double)middle[i].count;
		count += middle[i].count;
	}
	return count ? (uint64_t)(sum / (double)count) : (uint64_t)median;
}

void report_times_of_sketch(struct report_times *ret, const struct sketch *t, uint64_t ideal_ns)
{
	*ret = (struct report_times){
		.count = t->count,
		.mean_ns = t->count ? t->sum_ns / t->count : 0,
		.min_ns = t->min_ns,
		.p50_ns = sketch_quantile(t, 0.5),
		.p95_ns = sketch_quantile(t, 0.95),
		.p99_ns = sketch_quantile(t, 0.99),
		.max_ns = t->max_ns,
		.ideal_ns = ideal_ns,
	};
}

void report_times_of_view(struct report_times *ret, const struct deviation_view *t)
{
	*ret = (struct report_times){
		.count = t->count,
		.mean_ns = (uint64_t)(t->mean_ns + 0.5),
		.min_ns = t->min_ns,
		.p50_ns = t->p50_ns,
		.p95_ns = t->p95_ns,
		.p99_ns = t->p99_ns,
		.max_ns = t->max_ns,
		.ideal_ns = t->ideal_ns,
		.spread = true,
		.deviation_ns = t->deviation_ns,
		.signed_ns = t->signed_ns,
		.jitter = t->jitter,
	};
}

void report_times_json(struct buffer *out, const struct report_times *t)
{
	bool ideal = t->ideal_ns;

	json_open(out, "step_time", '{');
	json_uint(out, "count", t->count);
	json_nonzero(out, "mean_ns", t->mean_ns);
	json_nonzero(out, "min_ns", t->min_ns);
	json_nonzero(out, "p50_ns", t->p50_ns);
	json_nonzero(out, "p95_ns", t->p95_ns);
	json_nonzero(out, "p99_ns", t->p99_ns);
	json_nonzero(out, "max_ns", t->max_ns);
	json_nonzero(out, "ideal_ns", t->ideal_ns);
	if (t->spread) {
		json_uint_if(out, "deviation_ns", ideal, (uint64_t)(t->deviation_ns + 0.5));
		json_int_if(out, "signed_deviation_ns", ideal, (int64_t)t->signed_ns);
		json_real(out, "jitter", ideal ? t->jitter : NAN);
	}
	json_close(out, '}');
}
