/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_MIN 256

char *buffer_reserve(struct buffer *b, size_t len)
{
	size_t need, cap;
	char *data;

	if (b->failed)
		return NULL;
	if (len > SIZE_MAX / 4 || b->len > SIZE_MAX / 4) {
		b->failed = true;
		return NULL;
	}
	need = b->len + len + 1;
	if (!b->data || need > b->cap) {
		for (cap = b->cap ? b->cap : BUFFER_MIN; cap < need; cap *= 2)
			;
		data = realloc(b->data, cap);
		if (!data) {
			b->failed = true;
			return NULL;
		}
		b->data = data;
		b->cap = cap;
	}
	/* Terminate the text at its present end, and at the end that it will have after the caller
	 * has written len bytes and raised b->len. */
	b->data[b->len] = '\0';
	b->data[b->len + len] = '\0';
	return b->data + b->len;
}

void buffer_add(struct buffer *b, const void *data, size_t len)
{
	char *to;

	if (!b->failed && len && b->data &&
	    len < b->cap - b->len) { /* nearly all calls are for short data that fits */
		memcpy(b->data + b->len, data, len);
		b->len += len;
		b->data[b->len] = '\0';
		return;
	}
	to = buffer_reserve(b, len);
	if (!to || !len)
		return;
	memcpy(to, data, len);
	b->len += len;
}

/* Appends an integer without printf(), which would take half of the time of a replay: lines about
 * steps consist mostly of integers. */
void buffer_uint(struct buffer *b, uint64_t value)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
		"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
		"8081828384858687888990919293949596979899";
	char digits[20];
	size_t at = sizeof(digits);

	for (; value >= 100; value /= 100)
		memcpy(digits + (at -= 2), pairs + value % 100 * 2, 2);
	if (value >= 10)
		memcpy(digits + (at -= 2), pairs + value * 2, 2);
	else
		digits[--at] = (char)('0' + value);
	buffer_add(b, digits + at, sizeof(digits) - at);
}

void buffer_printf(struct buffer *b, const char *fmt, ...)
{
	size_t room = b->data ? b->cap - b->len : 0;
	va_list ap, again;
	char *to;
	int len;

	if (b->failed)
		return;
	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(room ? b->data + b->len : NULL, room, fmt,
			ap); /* the first attempt nearly always has enough room */
	if (len >= 0 && (size_t)len < room) {
		b->len += (size_t)len;
	} else if (len >= 0) {
		to = buffer_reserve(b, (size_t)len);
		if (to) {
			vsnprintf(to, (size_t)len + 1, fmt, again);
			b->len += (size_t)len;
		}
	} else {
		b->failed = true;
	}
	va_end(again);
	va_end(ap);
	if (b->failed && b->data)
		b->data[b->len] = '\0';
}

void buffer_clear(struct buffer *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

void buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){0};
}
