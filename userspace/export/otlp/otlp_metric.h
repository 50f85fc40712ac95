/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_metric.h - the measures of a snapshot (measure.h) as OTLP metrics, with units of UCUM.
 * Values that only increase are cumulative sums with a constant start; all others are gauges. Pure.
 */
#ifndef EXPORT_OTLP_METRIC_H
#define EXPORT_OTLP_METRIC_H

#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* Limit of ranks in one request, so that it is smaller than 1 MiB with all their series. */
#define OTLP_METRIC_RANKS 64
/* Appends elements of "metrics" for OTLP_METRIC_RANKS ranks from *at on, and for jobs when
 * *at is 0. Sets *at to the next rank, 0: no more. Returns the number of points; 0: nothing
 * was appended. Without memory, out->failed is set. */
uint32_t otlp_metrics(struct buffer *out, const struct snapshot *s, uint32_t *at);

#endif
