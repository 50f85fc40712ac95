/* SPDX-License-Identifier: Apache-2.0 */
/* varint.h - encodes integers in as few bytes as necessary: seven bits in each byte, the lowest
 * bits first. */
#ifndef STORE_VARINT_H
#define STORE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

struct varint_reader {
	const unsigned char *at, *end;
	/* The data ended early, or contained a number of more than 64 bits. All further reads
	 * return 0. */
	bool failed;
};

/* Starts reading at data, which may be NULL if len is 0. */
static inline struct varint_reader varint_reader_of(const void *data, size_t len)
{
	const unsigned char *at = len ? data : (const void *)"";

	return (struct varint_reader){at, at + len, false};
}

static inline void varint_write(struct buffer *out, uint64_t v)
{
	unsigned char bytes[10];
	size_t n = 0;

	do {
		bytes[n++] = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
		v >>= 7;
	} while (v);
	buffer_add(out, bytes, n);
}

static inline uint64_t varint_read(struct varint_reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; !r->failed && r->at < r->end && shift < 64; shift += 7) {
		unsigned char c = *r->at++;

		if (shift == 63 && c > 1)
			break;
		v |= (uint64_t)(c & 127) << shift;
		if (!(c & 128))
			return v;
	}
	r->failed = true;
	return 0;
}

/* Encodes the sign in the lowest bit, so that numbers near zero become small positive numbers. */
static inline uint64_t zigzag(int64_t v)
{
	return v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1;
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
