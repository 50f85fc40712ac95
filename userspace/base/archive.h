/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - state as bytes and back. One function describes a struct, field by field; it writes
 * when the archive writes and reads when it reads, so the two cannot drift apart.
 *
 * Archives are not trusted: every value that has a limit is checked. The first failure stays
 * (`error`): from then on numbers read as 0, counts as 0, objects as NULL, so whoever describes a
 * struct need not look. Reading allocates at most ARCHIVE_GROWTH bytes for each byte read, and
 * ARCHIVE_SLACK. No pointer, no padding and no byte order of the machine is ever written. */
#ifndef BASE_ARCHIVE_H
#define BASE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define ARCHIVE_GROWTH 1024
#define ARCHIVE_SLACK  ((size_t)1 << 20)

struct archive {
	struct buffer *out;	       /* NULL: it reads */
	size_t start;		       /* of the archive in out */
	const unsigned char *at, *end; /* reading */
	size_t room;		       /* what reading may still allocate */
	int error; /* 0; -EBADMSG damaged, -EPROTO of another version, -ENOMEM */
};

/* magic: 8 characters. format: raise it when the meaning of a field changes; a change of a struct's
 * size is noticed without. Both ends with archive_end(), which returns the archive's error; after a
 * failure out is as it was. */
void archive_write(struct archive *a, struct buffer *out, const char *magic, uint32_t format);
void archive_read(struct archive *a, const void *data, size_t len, const char *magic,
		  uint32_t format);
int archive_end(struct archive *a);
static inline bool archive_reads(const struct archive *a)
{
	return !a->out;
}
/* What was read cannot be: -EBADMSG, unless it failed before. */
void archive_require(struct archive *a, bool holds);

/* A bool, integer or double; p points to it. A value that is read must fit its type. */
#define archive_number(a, p)                                                                       \
	_Generic(*(p), bool                                                                        \
		 : archive_bool, double                                                            \
		 : archive_double, unsigned char                                                   \
		 : archive_unsigned, unsigned short                                                \
		 : archive_unsigned, unsigned int                                                  \
		 : archive_unsigned, unsigned long                                                 \
		 : archive_unsigned, unsigned long long                                            \
		 : archive_unsigned, int                                                           \
		 : archive_signed, long                                                            \
		 : archive_signed, long long                                                       \
		 : archive_signed)((a), (p), sizeof(*(p)))
/* An index, a kind, a count: less than limit. */
#define archive_below(a, p, limit)                                                                 \
	do {                                                                                       \
		archive_number(a, p);                                                              \
		if (*(p) >= (limit)) {                                                             \
			archive_require(a, false);                                                 \
			if (archive_reads(a))                                                      \
				*(p) = 0;                                                          \
		}                                                                                  \
	} while (0)
/* All elements of an array of numbers. */
#define archive_numbers(a, array)                                                                  \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < sizeof(array) / sizeof((array)[0]); i_++)                 \
			archive_number(a, &(array)[i_]);                                           \
	} while (0)
void archive_bool(struct archive *a, void *p, size_t size);
void archive_double(struct archive *a, void *p, size_t size);
void archive_unsigned(struct archive *a, void *p, size_t size);
void archive_signed(struct archive *a, void *p, size_t size);

/* Bytes as they are: of a struct without padding or pointers whose every value is fine. */
void archive_bytes(struct archive *a, void *p, size_t len);
/* An array that holds a terminated text without control characters. */
#define archive_text(a, array) archive_chars((a), (array), sizeof(array))
void archive_chars(struct archive *a, char *text, size_t cap);

/* Does a struct of this size follow? Another size is another version's. */
void archive_struct(struct archive *a, size_t size);
/* How many of at most max items of this size follow. */
void archive_count(struct archive *a, uint32_t *count, uint32_t max, size_t size);
/* An object that may not be there: have, or, when reading, new zeroed memory; NULL: not there. */
void *archive_object(struct archive *a, void *have, size_t size);
/* Reading: count zeroed items; NULL: failed. */
void *archive_alloc(struct archive *a, size_t count, size_t size);

#endif
