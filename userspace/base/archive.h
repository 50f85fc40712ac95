/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - saves state as bytes and loads it. One function describes a struct, field by field;
 * it writes when the archive writes and reads when it reads, so the two cannot drift apart.
 *
 * Archives are not trusted: every value that has a limit is checked. The first failure stays in
 * `error`: from then on numbers read as 0, counts as 0 and objects as NULL, so a function that
 * describes a struct need not check. Reading allocates at most ARCHIVE_GROWTH bytes for each byte
 * read, plus ARCHIVE_SLACK. An archive holds no pointers and no padding, and does not depend on
 * byte order. */
#ifndef BASE_ARCHIVE_H
#define BASE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define ARCHIVE_GROWTH 1024
#define ARCHIVE_SLACK  ((size_t)1 << 20)

struct archive {
	struct buffer *out;	       /* NULL when reading */
	size_t start;		       /* where the archive begins in out */
	const unsigned char *at, *end; /* bytes still to be read */
	size_t room;		       /* bytes that reading may still allocate */
	int error;		       /* 0, -EBADMSG: damaged, -EPROTO: another version, -ENOMEM */
};

/* Begin an archive. magic: 8 characters. format: raise it when the meaning of a field changes; a
 * changed struct size is noticed without that. End both with archive_end(), which returns the
 * archive's error; after a failed write, out is as before. */
void archive_write(struct archive *a, struct buffer *out, const char *magic, uint32_t format);
void archive_read(struct archive *a, const void *data, size_t len, const char *magic,
		  uint32_t format);
int archive_end(struct archive *a);
static inline bool archive_reads(const struct archive *a)
{
	return !a->out;
}
/* Fails the archive with -EBADMSG if the condition is false, unless it has failed already. */
void archive_require(struct archive *a, bool holds);

/* A bool, integer or double; p points to it. A value that does not fit its type is an error. */
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
/* An index, kind or count, which must be less than limit. */
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

/* Raw bytes of a struct without padding or pointers, for which every value is valid. */
void archive_bytes(struct archive *a, void *p, size_t len);
/* An array that holds a NUL-terminated text without control characters. */
#define archive_text(a, array) archive_chars((a), (array), sizeof(array))
void archive_chars(struct archive *a, char *text, size_t cap);

/* Fails with -EPROTO unless the archive continues with a struct of this size: another size is of
 * another version. */
void archive_struct(struct archive *a, size_t size);
/* The number of items that follow, each of `size` bytes in memory; at most max. */
void archive_count(struct archive *a, uint32_t *count, uint32_t max, size_t size);
/* An object that may be absent. Writing: have, or NULL. Reading: returns new zeroed memory, or NULL
 * if it is absent or reading failed. */
void *archive_object(struct archive *a, void *have, size_t size);
/* Reading: returns count zeroed items; NULL after a failure. */
void *archive_alloc(struct archive *a, size_t count, size_t size);

#endif
