/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_text.h - a snapshot in the Prometheus text format 0.0.4. Pure.
 *
 * What is not known has no sample: a reader must be able to tell "none" from "not known". Labels are
 * bounded: at most PROMETHEUS_RANKS processes, each pid once. The job is `job_id`, because `job` is a
 * label that Prometheus itself sets on everything it scrapes. */
#ifndef EXPORT_PROMETHEUS_TEXT_H
#define EXPORT_PROMETHEUS_TEXT_H

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

#define PROMETHEUS_RANKS	512
#define PROMETHEUS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define PROMETHEUS_CONFIDENCE	0.7 /* below it no step time is given out (design §5) */

/* s NULL: nothing is known yet. */
void prometheus_text(struct buffer *out, const struct snapshot *s);

#endif
