/* SPDX-License-Identifier: Apache-2.0 */
/* report_times.h - computes statistics of step times, from a store or from a live run. Pure. */
#ifndef REPORT_REPORT_TIMES_H
#define REPORT_REPORT_TIMES_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/time/deviation.h"
#include "userspace/store/sketch.h"

/* Statistics of step times in ns. count 0: there are no times; other members 0: unknown. */
struct report_times {
	uint64_t count, mean_ns, min_ns, p50_ns, p95_ns, p99_ns, max_ns;
	uint64_t ideal_ns; /* 0: unknown, because there are fewer than 3 times */
	/* Deviation of the latest steps from the ideal step; valid if `spread` is set and ideal_ns
	 * is not 0. */
	bool spread;
	double deviation_ns, signed_ns, jitter;
};

/* Fill *ret. ideal_ns: result of report_ideal_ns(); 0: unknown. */
void report_times_of_sketch(struct report_times *ret, const struct sketch *t, uint64_t ideal_ns);
void report_times_of_view(struct report_times *ret, const struct deviation_view *t);
/* Returns the mean, in ns, of the times up to the median plus three median absolute deviations. It
 * is computed from the classes of a sketch (model/time/deviation.h uses single times). 0: fewer
 * than 3 times. */
uint64_t report_ideal_ns(const struct sketch *times);
/* Appends "step_time": {...}, with deviations only if `spread` is set. */
void report_times_json(struct buffer *out, const struct report_times *t);
#endif
