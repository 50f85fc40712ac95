/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_metric.h - a snapshot as OTLP metrics: the figures of the Prometheus page under names of
 * ours, units of UCUM; what only grows as cumulative sums whose start stays, all else as gauges.
 * Pure. */
#ifndef EXPORT_OTLP_METRIC_H
#define EXPORT_OTLP_METRIC_H

#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

#define OTLP_METRIC_RANKS 64 /* of one request: with all series of each it stays below a MiB */
#define OTLP_GRACE_NS                                                                              \
	1800000000000ull /* what ended has points for so long, as on the Prometheus page */

/* Elements of "metrics" with what is known of ranks from *at on, OTLP_METRIC_RANKS of them; of jobs
 * too where *at is 0. *at is then the next, 0: there is none. Returns how many points that are;
 * none: nothing is written. */
uint32_t otlp_metrics(struct buffer *out, const struct snapshot *s, uint32_t *at);

#endif
