/* SPDX-License-Identifier: Apache-2.0 */
/* metric.h - writes samples in the Prometheus text format: name{label="value",...} value. */
#ifndef EXPORT_METRIC_H
#define EXPORT_METRIC_H

#include <stdint.h>

#include "userspace/base/buffer.h"

void metric_name(struct buffer *out, const char *name);
/* After "{" or another label. Bytes that are no printable UTF-8 become '?'. */
void metric_label(struct buffer *out, const char *name, const char *value);
void metric_label_uint(struct buffer *out, const char *name, uint64_t value);
/* Seconds, exact, in the one form that OpenMetrics has for a number: "0.0005", "1.0". */
void metric_label_seconds(struct buffer *out, const char *name, uint64_t ns);
/* A value without more, ends the line. */
void metric_uint(struct buffer *out, uint64_t value);
/* Closes the labels; ends the line. */
void metric_value_uint(struct buffer *out, uint64_t value);
void metric_value_ns(struct buffer *out, uint64_t ns); /* as seconds, exact */
void metric_value_real(struct buffer *out, double value);

#endif
