/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_text.h - pieces of OTLP's JSON form (opentelemetry-proto, docs/specification.md: identifiers
 * as lower-case hex, 64-bit integers as decimal text, enums as integers). Written behind one
 * another like json_text.h, whose rules for texts hold. */
#ifndef EXPORT_OTLP_TEXT_H
#define EXPORT_OTLP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define OTLP_SPAN_HEX 16 /* digits of a span's identifier */

/* One element of "attributes". text NULL or "": nothing is written; likewise a real that is not
 * finite. */
void otlp_text(struct buffer *b, const char *key, const char *text);
void otlp_int(struct buffer *b, const char *key, int64_t value);
void otlp_real(struct buffer *b, const char *key, double value);
void otlp_bool(struct buffer *b, const char *key, bool value);
/* "names": of a list those bits that are set; none: nothing is written. */
void otlp_bits(struct buffer *b, const char *key, uint32_t bits, const char *const *names,
	       uint32_t count);
/* Fields. */
void otlp_uint64(struct buffer *b, const char *key, uint64_t value);
/* key NULL: an element of an array */
void otlp_span_id(struct buffer *b, const char *key, uint64_t id);
void otlp_trace_id(struct buffer *b, const char *key, const uint64_t id[2]);
/* Spreads a hash over all its bits; never 0, which is no identifier. */
uint64_t otlp_mix(uint64_t hash);

#endif
