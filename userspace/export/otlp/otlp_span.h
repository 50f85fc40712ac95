/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_span.h - one span as OTLP's JSON: call otlp_span_begin(), add attributes (otlp_text.h), call
 * otlp_span_events(), add events, call otlp_span_end(). All names of spans and events are those of
 * nv-one-logger-training-telemetry 2.3; attributes that this library does not have begin with
 * "gpbpf.". Times passed are CLOCK_MONOTONIC and are written as wall time. */
#ifndef EXPORT_OTLP_SPAN_H
#define EXPORT_OTLP_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/buffer.h"

struct otlp_owner { /* the process that the spans belong to */
	uint64_t trace[2];
	int64_t offset_ns; /* wall time minus CLOCK_MONOTONIC */
	uint32_t pid;
	int rank; /* -1: unknown */
	char job[GP_JOB_MAX];
};

struct otlp_span {
	const char *name;
	uint64_t id, parent; /* identifiers; parent 0: a root span */
	uint64_t from_ns, to_ns;
};

/* Begins a span. Returns the offset of the parent's identifier in the span's text, with which
 * otlp_span_adopt() can change the parent. */
size_t otlp_span_begin(struct buffer *b, const struct otlp_owner *owner, const struct otlp_span *s);
void otlp_span_events(struct buffer *b, const struct otlp_owner *owner, const struct otlp_span *s);
/* Ends the span. error: text of the span's status; NULL: no error. */
void otlp_span_end(struct buffer *b, const struct otlp_owner *owner, const struct otlp_span *s,
		   uint64_t dropped, const char *error);
void otlp_span_adopt(char *text, size_t at, uint64_t parent);
/* Begins and ends an event; add attributes in between. */
void otlp_event_begin(struct buffer *b, const struct otlp_owner *owner, const char *name,
		      uint64_t at_ns);
void otlp_event_end(struct buffer *b);

#endif
