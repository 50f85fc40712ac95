/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - saves state as bytes and loads it. One function describes a struct, member by member;
 * the same function writes and reads, so that the two cannot drift apart. Archives are not trusted:
 * every value that has a limit is checked. The first failure stays in `error`: from then on numbers
 * read as 0, counts as 0 and objects as NULL, so a function that describes a struct need not check
 * for errors. Reading allocates at most ARCHIVE_GROWTH bytes for each byte read, plus
 * ARCHIVE_SLACK. An archive contains no pointers and no padding, and does not depend on byte
 * order. */
#ifndef BASE_ARCHIVE_H
#define BASE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define ARCHIVE_GROWTH 1024
#define ARCHIVE_SLACK  ((size_t)1 << 20)

/* An archive that is being written or read */
struct archive {
	struct buffer *out;	       /* NULL when reading */
	size_t start;		       /* where the archive begins in out */
	const unsigned char *at, *end; /* bytes still to be read */
	size_t room;		       /* bytes that reading may still allocate */
	/* first failure: -EBADMSG: damaged; -EPROTO: of another version; -ENOMEM; 0: none */
	int error;
};

/* Begin an archive. magic: 8 characters that say what the archive contains. format: a number that
 * is raised when the meaning of a member changes; a change of a struct's size is detected without
 * that. End with archive_end(), which returns the archive's error; after a failed write, out is
 * unchanged. */
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

/* Writes or reads a bool, an integer, a double, or an array of these. A char array is a
 * NUL-terminated text without control characters. A value that does not fit its type is an
 * error. */
#define archive_field(a, f)                                                                        \
	_Generic((f), bool                                                                         \
		 : archive_bool, double                                                            \
		 : archive_double, unsigned char                                                   \
		 : archive_unsigned, unsigned short                                                \
		 : archive_unsigned, unsigned int                                                  \
		 : archive_unsigned, unsigned long                                                 \
		 : archive_unsigned, unsigned long long                                            \
		 : archive_unsigned, int                                                           \
		 : archive_signed, long                                                            \
		 : archive_signed, long long                                                       \
		 : archive_signed, char *                                                          \
		 : archive_chars, uint16_t *                                                       \
		 : archive_u16s, uint32_t *                                                        \
		 : archive_u32s, uint64_t *                                                        \
		 : archive_u64s, unsigned long long *                                            \
		 : archive_u64s, int64_t *                                                         \
		 : archive_s64s, long long *                                                       \
		 : archive_s64s, double *                                                          \
		 : archive_doubles)((a), (void *)&(f), sizeof(f))
/* Writes or reads up to 16 fields of the struct that p points to, in this order: archive_fields(a,
 * p, begin_ns, end_ns, name). */
#define archive_fields(a, p, ...)                                                                  \
	do {                                                                                       \
		__typeof__(&*(p)) s_ = (p);                                                        \
		ARCHIVE_CHOOSE(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2,    \
			       1, )                                                                \
		(a, s_, __VA_ARGS__);                                                              \
	} while (0)
#define ARCHIVE_CHOOSE(f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, n,   \
		       ...)                                                                        \
	ARCHIVE_FIELDS_##n
#define ARCHIVE_FIELDS_1(a, p, f) archive_field(a, (p)->f)
#define ARCHIVE_FIELDS_2(a, p, f, ...)                                                             \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_1(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_3(a, p, f, ...)                                                             \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_2(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_4(a, p, f, ...)                                                             \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_3(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_5(a, p, f, ...)                                                             \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_4(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_6(a, p, f, ...)                                                             \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_5(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_7(a, p, f, ...)                                                             \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_6(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_8(a, p, f, ...)                                                             \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_7(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_9(a, p, f, ...)                                                             \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_8(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_10(a, p, f, ...)                                                            \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_9(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_11(a, p, f, ...)                                                            \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_10(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_12(a, p, f, ...)                                                            \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_11(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_13(a, p, f, ...)                                                            \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_12(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_14(a, p, f, ...)                                                            \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_13(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_15(a, p, f, ...)                                                            \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_14(a, p, __VA_ARGS__)
#define ARCHIVE_FIELDS_16(a, p, f, ...)                                                            \
	ARCHIVE_FIELDS_1(a, p, f);                                                                 \
	ARCHIVE_FIELDS_15(a, p, __VA_ARGS__)
/* Writes or reads a number (an index, kind or count) that must be less than limit. */
#define archive_below(a, p, limit)                                                                 \
	do {                                                                                       \
		archive_field(a, *(p));                                                            \
		if (*(p) >= (limit)) {                                                             \
			archive_require(a, false);                                                 \
			if (archive_reads(a))                                                      \
				*(p) = 0;                                                          \
		}                                                                                  \
	} while (0)
void archive_bool(struct archive *a, void *p, size_t size);
void archive_double(struct archive *a, void *p, size_t size);
void archive_unsigned(struct archive *a, void *p, size_t size);
void archive_signed(struct archive *a, void *p, size_t size);
void archive_chars(struct archive *a, void *p, size_t size);
void archive_u16s(struct archive *a, void *p, size_t size);
void archive_u32s(struct archive *a, void *p, size_t size);
void archive_u64s(struct archive *a, void *p, size_t size);
void archive_s64s(struct archive *a, void *p, size_t size);
void archive_doubles(struct archive *a, void *p, size_t size);

/* Writes or reads a struct as bytes: one without padding or pointers, for which every value is
 * valid. */
void archive_bytes(struct archive *a, void *p, size_t len);

/* Writes the size of a struct. Reading fails with -EPROTO if the size is different, because then
 * another version wrote the archive. */
void archive_struct(struct archive *a, size_t size);
/* Writes or reads the number of items that follow, each of `size` bytes in memory; at most max. */
void archive_count(struct archive *a, uint32_t *count, uint32_t max, size_t size);
/* Writes or reads an array of at most max items, except their contents. array, count and cap are
 * fields. Reading: array becomes new zeroed memory (NULL if there are no items or reading failed),
 * and cap the number of its items. */
#define archive_items(a, array, count, cap, max)                                                   \
	((array) = archive_array((a), (array), &(count), &(cap), (max), sizeof(*(array))))
void *archive_array(struct archive *a, void *have, uint32_t *count, uint32_t *cap, uint32_t max,
		    size_t size);
/* Writes or reads a ring (see grow_ring()) of at most max items, except their contents: its size,
 * and the items from `first` to `next` - 1. The caller must have archived `first` before. */
#define archive_ring(a, ring, first, next, cap, least, max)                                        \
	((ring) = archive_ring_items((a), (ring), (first), &(next), &(cap), (least), (max),        \
				     sizeof(*(ring))))
void *archive_ring_items(struct archive *a, void *have, uint64_t first, uint64_t *next,
			 uint32_t *cap, uint32_t least, uint32_t max, size_t size);
/* Writes or reads whether an object exists. Writing: have is the object, or NULL. Reading: returns
 * new zeroed memory; NULL if there is no object or reading failed. */
void *archive_object(struct archive *a, void *have, size_t size);
/* For reading: returns memory for count items, zeroed; NULL after a failure. */
void *archive_alloc(struct archive *a, size_t count, size_t size);

#endif
