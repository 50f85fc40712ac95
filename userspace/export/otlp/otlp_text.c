/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/otlp/otlp_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "userspace/base/json_text.h"

static void otlp_attribute_open(struct buffer *b, const char *key)
{
	json_open(b, NULL, '{');
	json_string(b, "key", key);
	json_open(b, "value", '{');
}

static void otlp_text_attribute_end(struct buffer *b)
{
	buffer_add(b, "}}", 2);
}

void otlp_text(struct buffer *b, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	otlp_attribute_open(b, key);
	json_string(b, "stringValue", text);
	otlp_text_attribute_end(b);
}

void otlp_int(struct buffer *b, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	otlp_attribute_open(b, key);
	json_string(b, "intValue", text);
	otlp_text_attribute_end(b);
}

void otlp_real(struct buffer *b, const char *key, double value)
{
	if (!isfinite(value))
		return;
	otlp_attribute_open(b, key);
	json_double(b, "doubleValue", value);
	otlp_text_attribute_end(b);
}

void otlp_bool(struct buffer *b, const char *key, bool value)
{
	otlp_attribute_open(b, key);
	json_bool(b, "boolValue", value);
	otlp_text_attribute_end(b);
}

void otlp_bits(struct buffer *b, const char *key, uint32_t bits, const char *const *names,
	       uint32_t count)
{
	if (!bits)
		return;
	otlp_attribute_open(b, key);
	json_open(b, "arrayValue", '{');
	json_open(b, "values", '[');
	for (uint32_t i = 0; i < count; i++) {
		if (!(bits & 1u << i))
			continue;
		json_open(b, NULL, '{');
		json_string(b, "stringValue", names[i]);
		json_close(b, '}');
	}
	json_close(b, ']');
	json_close(b, '}');
	otlp_text_attribute_end(b);
}

void otlp_uint64(struct buffer *b, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_string(b, key, text);
}

void otlp_span_id(struct buffer *b, const char *key, uint64_t id)
{
	char text[OTLP_SPAN_HEX + 1];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	json_string(b, key, text);
}

void otlp_trace_id(struct buffer *b, const char *key, const uint64_t id[2])
{
	char text[2 * OTLP_SPAN_HEX + 1];

	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, id[0], id[1]);
	json_string(b, key, text);
}

/* splitmix64's finisher (Steele, Lea, Flood; constants as published). */
uint64_t otlp_mix(uint64_t hash)
{
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
	hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
	hash ^= hash >> 31;
	return hash ? hash : 1;
}
