/* SPDX-License-Identifier: Apache-2.0 */
/* disk_queue_file.h - format of the files of the queue on disk, in the machine's byte order.
 * NUMBER.points: the magic, then records; each record is a header and, compressed by zlib, points
 * (struct disk_queue_point) and then their texts. cursor: the position up to which records were
 * taken (struct disk_queue_cursor). */
#ifndef EXPORT_DISK_QUEUE_FILE_H
#define EXPORT_DISK_QUEUE_FILE_H

#include "userspace/export/gcm/disk_queue.h"

struct disk_queue_record {
	uint32_t header_crc; /* CRC of the rest of the header */
	uint32_t crc;	     /* CRC of the compressed bytes; both are zlib's crc32() */
	uint32_t len, raw;   /* number of bytes: compressed (len), uncompressed (raw) */
	uint32_t points, zero;
	int64_t newest_ns; /* latest end of the record's points, UTC */
};

struct disk_queue_point {
	uint64_t key;
	int64_t end_ns;
	uint32_t len;
	uint32_t maybe; /* 1: was sent before and may have arrived */
};

struct disk_queue_cursor {
	char magic[8];
	uint64_t id, at; /* number of the file, offset in the file */
	uint32_t crc, zero;
};

_Static_assert(sizeof(struct disk_queue_record) == 32 && sizeof(struct disk_queue_point) == 24 &&
		       sizeof(struct disk_queue_cursor) == 32,
	       "on disk");

#define DISK_QUEUE_RAW_MAX (REQUEST_BYTES + REQUEST_SERIES * sizeof(struct disk_queue_point))
#define DISK_QUEUE_LEN_MAX                                                                         \
	(DISK_QUEUE_RAW_MAX + DISK_QUEUE_RAW_MAX / 100 + 64) /* more than zlib ever produces */

extern const char disk_queue_magic[8];
/* Returns the CRC of the header without its first field. */
uint32_t disk_queue_header_crc(const struct disk_queue_record *r);

#endif
