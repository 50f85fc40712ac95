/* SPDX-License-Identifier: Apache-2.0 */
/* report_times.h - statistics of step times, whether from a store or a live run. Pure. */
#ifndef REPORT_REPORT_TIMES_H
#define REPORT_REPORT_TIMES_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/time/deviation.h"
#include "userspace/store/sketch.h"

struct report_times { /* statistics; count 0: no times; other members 0: unknown */
	uint64_t count, mean_ns, min_ns, p50_ns, p95_ns, p99_ns, max_ns;
	uint64_t ideal_ns; /* 0: fewer than 3 times */
	/* Deviation of the last steps from the ideal step; valid with `spread` and ideal_ns. */
	bool spread;
	double deviation_ns, signed_ns, jitter;
};

/* ideal_ns: from report_ideal_ns(), or 0. */
void report_times_of_sketch(struct report_times *ret, const struct sketch *t, uint64_t ideal_ns);
void report_times_of_view(struct report_times *ret, const struct deviation_view *t);
/* Returns the mean of the times up to median + 3 MAD, from classes (model/time/deviation.h computes
 * it from single times). 0: fewer than 3 times. */
uint64_t report_ideal_ns(const struct sketch *times);
/* Appends "step_time": {...}; deviations only if `spread` is set. */
void report_times_json(struct buffer *out, const struct report_times *t);
#endif
