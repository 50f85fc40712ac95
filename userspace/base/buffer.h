/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - a growing byte buffer; the string builder of exporters. Zero-initialised is empty and
 * valid. A failed allocation sets `failed` and later calls do nothing: check once, at the end. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	char *data; /* NUL-terminated whenever it is not NULL */
	size_t len, cap;
	bool failed;
};

void buffer_add(struct buffer *b, const void *data, size_t len);
void buffer_uint(struct buffer *b, uint64_t value); /* its digits */
void buffer_printf(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Room for len more bytes; returns where they go (NULL on failure); the caller adds to b->len. */
char *buffer_reserve(struct buffer *b, size_t len);
void buffer_clear(struct buffer *b); /* keeps the memory */
void buffer_free(struct buffer *b);

#endif
