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
	/* The caller fills len bytes and moves b->len: terminate both where it is and where it will be. */
	b->data[b->len] = '\0';
	b->data[b->len + len] = '\0';
	return b->data + b->len;
}

void buffer_add(struct buffer *b, const void *data, size_t len)
{
	char *to = buffer_reserve(b, len);

	if (!to || !len)
		return;
	memcpy(to, data, len);
	b->len += len;
}

void buffer_printf(struct buffer *b, const char *fmt, ...)
{
	va_list ap, again;
	char *to;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len < 0) {
		b->failed = true;
	} else {
		to = buffer_reserve(b, (size_t)len);
		if (to) {
			vsnprintf(to, (size_t)len + 1, fmt, again);
			b->len += (size_t)len;
		}
	}
	va_end(again);
	va_end(ap);
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
