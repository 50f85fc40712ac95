/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/otlp/otlp_span.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/json_text.h"
#include "userspace/export/otlp/otlp_text.h"

#define KIND_INTERNAL 1 /* SPAN_KIND_INTERNAL of trace.proto */
#define STATUS_ERROR  2 /* STATUS_CODE_ERROR */

static uint64_t otlp_span_wall_ns(const struct otlp_owner *owner, uint64_t mono_ns)
{
	int64_t ns = (int64_t)mono_ns + owner->offset_ns;

	return ns > 0 ? (uint64_t)ns : 0;
}

size_t otlp_span_begin(struct buffer *b, const struct otlp_owner *owner, const struct otlp_span *s)
{
	size_t from = b->len, parent = 0;

	json_open(b, NULL, '{');
	otlp_trace_id(b, "traceId", owner->trace);
	otlp_span_id(b, "spanId", s->id);
	if (s->parent) {
		otlp_span_id(b, "parentSpanId", s->parent);
		parent = b->len - from - OTLP_SPAN_HEX - 1;
	}
	json_string(b, "name", s->name);
	json_uint(b, "kind", KIND_INTERNAL);
	otlp_uint64(b, "startTimeUnixNano", otlp_span_wall_ns(owner, s->from_ns));
	otlp_uint64(b, "endTimeUnixNano",
		    otlp_span_wall_ns(owner, s->to_ns > s->from_ns ? s->to_ns : s->from_ns));
	json_open(b, "attributes", '[');
	otlp_text(b, "gpbpf.job", owner->job);
	if (owner->rank >= 0)
		otlp_int(b, "rank", owner->rank);
	otlp_int(b, "process.pid", owner->pid);
	return parent;
}

void otlp_span_events(struct buffer *b, const struct otlp_owner *owner, const struct otlp_span *s)
{
	json_close(b, ']');
	json_open(b, "events", '[');
	otlp_event_begin(b, owner, "span_start", s->from_ns);
	otlp_event_end(b);
}

void otlp_span_end(struct buffer *b, const struct otlp_owner *owner, const struct otlp_span *s,
		   uint64_t dropped, const char *error)
{
	otlp_event_begin(b, owner, "span_stop", s->to_ns > s->from_ns ? s->to_ns : s->from_ns);
	otlp_event_end(b);
	json_close(b, ']');
	if (dropped) /* the field has 32 bits */
		json_uint(b, "droppedEventsCount", dropped < UINT32_MAX ? dropped : UINT32_MAX);
	if (error) {
		json_open(b, "status", '{');
		json_string(b, "message", error);
		json_uint(b, "code", STATUS_ERROR);
		json_close(b, '}');
	}
	json_close(b, '}');
}

void otlp_span_adopt(char *text, size_t at, uint64_t parent)
{
	char digits[OTLP_SPAN_HEX + 1];

	snprintf(digits, sizeof(digits), "%016" PRIx64, parent);
	memcpy(text + at, digits, OTLP_SPAN_HEX);
}

void otlp_event_begin(struct buffer *b, const struct otlp_owner *owner, const char *name,
		      uint64_t at_ns)
{
	json_open(b, NULL, '{');
	otlp_uint64(b, "timeUnixNano", otlp_span_wall_ns(owner, at_ns));
	json_string(b, "name", name);
	json_open(b, "attributes", '[');
}

void otlp_event_end(struct buffer *b)
{
	buffer_add(b, "]}", 2);
}
