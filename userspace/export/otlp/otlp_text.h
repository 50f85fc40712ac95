/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_text.h - pieces of OTLP's JSON format (opentelemetry-proto, docs/specification.md:
 * identifiers as lower-case hex, 64-bit integers as decimal strings, enums as integers). The
 * functions are called like those of json_text.h, whose rules for strings apply. */
#ifndef EXPORT_OTLP_TEXT_H
#define EXPORT_OTLP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define OTLP_SPAN_HEX 16 /* number of hex digits of a span's identifier */

/* Append one element of "attributes". Nothing is written if text is NULL or "", or a real is not
 * finite. */
void otlp_text(struct buffer *b, const char *key, const char *text);
void otlp_int(struct buffer *b, const char *key, int64_t value);
void otlp_real(struct buffer *b, const char *key, double value);
void otlp_bool(struct buffer *b, const char *key, bool value);
/* Appends an array of the names of the set bits; nothing when no bit is set. */
void otlp_bits(struct buffer *b, const char *key, uint32_t bits, const char *const *names,
	       uint32_t count);
/* Append one member of a JSON object. */
void otlp_uint64(struct buffer *b, const char *key, uint64_t value);
/* key NULL: appends an element of an array instead of a member */
void otlp_span_id(struct buffer *b, const char *key, uint64_t id);
void otlp_trace_id(struct buffer *b, const char *key, const uint64_t id[2]);
/* Mixes all bits of a hash. Never returns 0, which is not a valid identifier. */
uint64_t otlp_mix(uint64_t hash);

#endif
