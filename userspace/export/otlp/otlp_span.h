/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_span.h - one span as OTLP's JSON: from otlp_span_begin(), behind which the caller adds
 * attributes (otlp_text.h), over otlp_span_events(), behind which it adds events, to
 * otlp_span_end(). Names of spans and events are those of nv-one-logger-training-telemetry 2.3
 * alone; attributes that it does not have begin with "gpbpf.". Times are CLOCK_MONOTONIC until they
 * are written. */
#ifndef EXPORT_OTLP_SPAN_H
#define EXPORT_OTLP_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/buffer.h"

struct otlp_who { /* whose spans they are */
	uint64_t trace[2];
	int64_t offset_ns; /* wall time less CLOCK_MONOTONIC */
	uint32_t pid;
	int rank; /* -1: unknown */
	char job[GP_JOB_MAX];
};

struct otlp_span {
	const char *name;
	uint64_t id, parent; /* parent 0: a root */
	uint64_t from_ns, to_ns;
};

/* Where the digits of the parent's identifier are, from where b began: otlp_span_adopt() may change
 * them. */
size_t otlp_span_begin(struct buffer *b, const struct otlp_who *who, const struct otlp_span *s);
void otlp_span_events(struct buffer *b, const struct otlp_who *who, const struct otlp_span *s);
/* error: NULL, none; else what the span's status says. */
void otlp_span_end(struct buffer *b, const struct otlp_who *who, const struct otlp_span *s,
		   uint64_t dropped, const char *error);
void otlp_span_adopt(char *text, size_t at, uint64_t parent);
/* Attributes come between. */
void otlp_event_begin(struct buffer *b, const struct otlp_who *who, const char *name,
		      uint64_t at_ns);
void otlp_event_end(struct buffer *b);

#endif
