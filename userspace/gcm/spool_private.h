/* SPDX-License-Identifier: Apache-2.0 */
/* spool_private.h - the spool's files. In the machine's byte order: they stay on it.
 *
 * NUMBER.points: the magic, then records, each a header and, packed by zlib, points (struct
 * spool_point) and behind them their texts. cursor: up to where records were taken. */
#ifndef GCM_SPOOL_PRIVATE_H
#define GCM_SPOOL_PRIVATE_H

#include "userspace/gcm/spool.h"

struct spool_record {
	uint32_t header_crc; /* of all behind it in the header */
	uint32_t crc;	     /* of what is packed; both as zlib's crc32() */
	uint32_t len, raw;   /* bytes packed, and unpacked */
	uint32_t points, zero;
	int64_t newest_ns; /* of its points' ends */
};

struct spool_point {
	uint64_t key;
	int64_t end_ns;
	uint32_t len;
	uint32_t maybe; /* it was sent, and may have arrived */
};

struct spool_cursor {
	char magic[8];
	uint64_t id, at; /* of a file, and the byte in it */
	uint32_t crc, zero;
};

_Static_assert(sizeof(struct spool_record) == 32 && sizeof(struct spool_point) == 24 &&
		       sizeof(struct spool_cursor) == 32,
	       "on disk");

#define SPOOL_RAW_MAX (REQUEST_BYTES + REQUEST_SERIES * sizeof(struct spool_point))
#define SPOOL_LEN_MAX                                                                              \
	(SPOOL_RAW_MAX + SPOOL_RAW_MAX / 100 + 64) /* more than zlib ever makes of it */

struct segment {
	uint64_t id, bytes;
	uint64_t points; /* of records not yet taken */
	uint64_t end;	 /* of its last whole record */
};

struct spool {
	int folder, cursor;
	int read_fd, write_fd; /* of the first and the last segment; -1: not open */
	uint64_t max_bytes, bytes, points, next_id;
	struct segment *segment;
	uint32_t count, cap;
	uint64_t read_at; /* in the first */
	uint64_t peeked;  /* bytes of the record that was given; 0: none */
	uint32_t peeked_points;
	struct spool_lost lost;
	struct buffer raw, packed;
};

extern const char spool_magic[8];
uint32_t spool_header_crc(const struct spool_record *r);
bool spool_record_fits(const struct spool_record *r);
/* A descriptor of the file, if it is ours alone; -errno. */
int spool_segment(struct spool *s, uint64_t id, int flags);
/* The first segment goes. Returns points in it that were not taken. */
uint64_t spool_shift(struct spool *s);
/* Up to there all was taken. */
void spool_mark(struct spool *s, uint64_t id, uint64_t at);

#endif
