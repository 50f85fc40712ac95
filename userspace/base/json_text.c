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

/* Bytes that need special treatment in a string: most are escaped, bytes from 0x80 on are checked
 * as UTF-8. */
static const bool special[256] = {
	[0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, [0x7f ... 0xff] = true};

static bool json_is_plain(const char *text, size_t len)
{
	bool any = false;

	for (size_t i = 0; i < len; i++)
		any |= special[(unsigned char)text[i]];
	return !any;
}

static void json_escape(struct buffer *b, const char *text, size_t len)
{
	size_t plain = 0, n;
	uint32_t c;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &c);
		if (n && c != '"' && c != '\\' && utf8_columns(c) >= 0)
			continue;
		buffer_add(b, text + plain, i - plain);
		if (!n) {
			json_raw(b, "\357\277\275");
			n = 1;
		} else if (c == '"' || c == '\\') {
			buffer_printf(b, "\\%c", (int)c);
		} else if (c < 0x10000) {
			buffer_printf(b, "\\u%04x", (unsigned)c);
		} else {
			buffer_printf(b, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)),
				      (unsigned)(0xdc00 | (c & 0x3ff)));
		}
		plain = i + n;
	}
	buffer_add(b, text + plain, len - plain);
}

/* Appends `before`, the quoted text, and `after` (0: no such character). One function for all three
 * is faster, and lines consist of little else. */
static void json_quote(struct buffer *b, char before, const char *text, char after)
{
	size_t len = strlen(text);
	bool plain = json_is_plain(text, len);
	char *from = buffer_reserve(b, (plain ? len : 0) + 4), *to = from;

	if (!to)
		return;
	if (before)
		*to++ = before;
	*to++ = '"';
	if (plain) {
		memcpy(to, text, len);
		to += len;
	} else {
		b->len += (size_t)(to - from);
		json_escape(b, text, len);
		from = to = buffer_reserve(b, 2);
		if (!to)
			return;
	}
	*to++ = '"';
	if (after)
		*to++ = after;
	*to = '\0';
	b->len += (size_t)(to - from);
}

/* Begins a value, with a comma before it if necessary. The last byte in the buffer shows whether a
 * comma is necessary. After a line feed it is not, because a line feed ends an outermost object. */
static void json_key(struct buffer *b, const char *key)
{
	char last = b->len ? b->data[b->len - 1] : '\n';
	bool first = last == '{' || last == '[' || last == '\n';

	if (key)
		json_quote(b, first ? '\0' : ',', key, ':');
	else if (!first)
		buffer_add(b, ",", 1);
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

void json_uint(struct buffer *b, const char *key, uint64_t value)
{
	json_key(b, key);
	buffer_uint(b, value);
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
	json_quote(b, '\0', text, '\0');
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

void json_uint_if(struct buffer *b, const char *key, bool known, uint64_t value)
{
	if (known)
		json_uint(b, key, value);
	else
		json_null(b, key);
}

void json_int_if(struct buffer *b, const char *key, bool known, int64_t value)
{
	if (known)
		json_int(b, key, value);
	else
		json_null(b, key);
}

void json_time(struct buffer *b, const char *key, int64_t real_ns)
{
	char text[CLOCK_TEXT_MAX];

	json_string(b, key, real_ns ? clock_rfc3339(text, real_ns) : NULL);
}
