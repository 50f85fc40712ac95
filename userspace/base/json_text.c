/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/utf8.h"

static void json_raw(struct buffer *b, const char *text)
{
	buffer_add(b, text, strlen(text));
}

static void json_quote(struct buffer *b, const char *text)
{
	size_t len = strlen(text), plain = 0, n;
	uint32_t c;

	buffer_add(b, "\"", 1);
	for (size_t i = 0; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &c);
		if (n && c >= 0x20 && c != '"' && c != '\\' && (c < 0x7f || c >= 0xa0))
			continue;
		buffer_add(b, text + plain, i - plain);
		if (!n) {
			json_raw(b, "\357\277\275");
			n = 1;
		} else if (c == '"' || c == '\\') {
			buffer_printf(b, "\\%c", (int)c);
		} else {
			buffer_printf(b, "\\u%04x", (unsigned)c);
		}
		plain = i + n;
	}
	buffer_add(b, text + plain, len - plain);
	buffer_add(b, "\"", 1);
}

/* The last byte written says whether a value stands before this one: no state to keep. A line feed
 * ends an object on the outermost level. */
static void json_key(struct buffer *b, const char *key)
{
	if (b->len && !strchr("{[\n", b->data[b->len - 1]))
		buffer_add(b, ",", 1);
	if (!key)
		return;
	json_quote(b, key);
	buffer_add(b, ":", 1);
}

void json_open(struct buffer *b, const char *key, char bracket)
{
	json_key(b, key);
	buffer_add(b, &bracket, 1);
}

void json_close(struct buffer *b, char bracket)
{
	buffer_add(b, &bracket, 1);
}

void json_null(struct buffer *b, const char *key)
{
	json_key(b, key);
	json_raw(b, "null");
}

void json_bool(struct buffer *b, const char *key, bool value)
{
	json_key(b, key);
	json_raw(b, value ? "true" : "false");
}

/* Step lines are mostly integers, and replay writes a great many: printf would be half of its time. */
void json_uint(struct buffer *b, const char *key, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	json_key(b, key);
	buffer_add(b, digits + at, sizeof(digits) - at);
}

void json_int(struct buffer *b, const char *key, int64_t value)
{
	json_key(b, key);
	buffer_printf(b, "%lld", (long long)value);
}

void json_real(struct buffer *b, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(b, key);
		return;
	}
	json_key(b, key);
	buffer_printf(b, "%.9g", value);
}

void json_double(struct buffer *b, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		json_null(b, key);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	json_key(b, key);
	json_raw(b, text);
}

void json_seconds(struct buffer *b, const char *key, int64_t us)
{
	int64_t rest = us % 1000000;

	json_key(b, key);
	buffer_printf(b, "%s%lld.%06lld", us < 0 ? "-" : "", llabs(us / 1000000), llabs(rest));
}

void json_string(struct buffer *b, const char *key, const char *text)
{
	if (!text) {
		json_null(b, key);
		return;
	}
	json_key(b, key);
	json_quote(b, text);
}

void json_known(struct buffer *b, const char *key, const char *text)
{
	json_string(b, key, text && *text ? text : NULL);
}

void json_nonzero(struct buffer *b, const char *key, uint64_t value)
{
	if (value)
		json_uint(b, key, value);
	else
		json_null(b, key);
}

void json_time(struct buffer *b, const char *key, int64_t real_ns)
{
	char text[CLOCK_TEXT_MAX];

	json_string(b, key, real_ns ? clock_rfc3339(text, real_ns) : NULL);
}
