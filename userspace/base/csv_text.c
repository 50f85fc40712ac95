/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/csv_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/json_text.h"

static void csv_cell(struct buffer *b)
{
	if (b->len && b->data[b->len - 1] != '\n')
		buffer_add(b, ",", 1);
}

/* Returns true if a text needs no quotes in a CSV file, which is the usual case. */
static bool csv_is_plain(const char *text)
{
	for (const char *at = text; *at; at++)
		if (*at < 0x20 || *at > 0x7e || *at == '"')
			return false;
	return !strchr("=+-@ ", *text);
}

static void csv_escape(struct buffer *b, const char *text, size_t len)
{
	char *plain = malloc(len + 1);

	if (!plain) {
		b->failed = true;
		return;
	}
	log_escape(plain, len + 1, text, len);
	if (strchr("=+-@ ", *plain))
		buffer_add(b, "'", 1);
	for (const char *at = plain, *quote; *at; at = quote) {
		quote = at + strcspn(at, "\"");
		buffer_add(b, at, (size_t)(quote - at));
		if (*quote) {
			buffer_add(b, "\"\"", 2);
			quote++;
		}
	}
	free(plain);
}

void csv_text(struct buffer *b, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	csv_cell(b);
	if (!len)
		return;
	buffer_add(b, "\"", 1);
	if (csv_is_plain(text))
		buffer_add(b, text, len);
	else
		csv_escape(b, text, len);
	buffer_add(b, "\"", 1);
}

void csv_uint(struct buffer *b, uint64_t value)
{
	csv_cell(b);
	buffer_uint(b, value);
}

void csv_int(struct buffer *b, int64_t value)
{
	csv_cell(b);
	if (value < 0)
		buffer_add(b, "-", 1);
	buffer_uint(b, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void csv_real(struct buffer *b, double value)
{
	csv_cell(b);
	if (isfinite(value))
		buffer_printf(b, "%.9g", value);
}

void csv_bool(struct buffer *b, bool value)
{
	csv_cell(b);
	buffer_printf(b, "%s", value ? "true" : "false");
}

void csv_none(struct buffer *b)
{
	csv_cell(b);
}

void csv_nonzero(struct buffer *b, uint64_t value)
{
	if (value)
		csv_uint(b, value);
	else
		csv_none(b);
}

void csv_int_if(struct buffer *b, bool known, int64_t value)
{
	if (known)
		csv_int(b, value);
	else
		csv_none(b);
}

void csv_object_part(struct buffer *object, const char *name, uint64_t value)
{
	if (!object->len)
		json_open(object, NULL, '{');
	json_uint(object, name, value);
}

void csv_object(struct buffer *b, struct buffer *object)
{
	if (object->len)
		json_close(object, '}');
	csv_text(b, object->data);
	b->failed |= object->failed;
	buffer_free(object);
}

void csv_time(struct buffer *b, int64_t real_ns)
{
	char text[CLOCK_TEXT_MAX];

	csv_cell(b);
	if (!real_ns)
		return;
	clock_rfc3339(text, real_ns);
	buffer_add(b, text, strlen(text));
}

void csv_row(struct buffer *b)
{
	buffer_add(b, "\r\n", 2);
}
