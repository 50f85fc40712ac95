/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - a growing byte buffer, used to build texts. A zero-initialised buffer is empty and
 * valid. A failed allocation sets `failed`, and later calls do nothing: check once, at the end. */
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
void buffer_uint(struct buffer *b, uint64_t value); /* appends value in decimal */
void buffer_printf(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for len more bytes. Returns where to write them; NULL: no memory. The caller then adds
 * to b->len. */
char *buffer_reserve(struct buffer *b, size_t len);
void buffer_clear(struct buffer *b); /* keeps the allocated memory */
void buffer_free(struct buffer *b);

#endif
