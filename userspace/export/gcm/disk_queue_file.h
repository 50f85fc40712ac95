/* SPDX-License-Identifier: Apache-2.0 */
/* disk_queue_file.h - the form of the spool's files. In the machine's byte order: they stay on it.
 *
 * NUMBER.points: the magic, then records, each a header and, packed by zlib, points (struct
 * disk_queue_point) and behind them their texts. cursor: up to where records were taken. */
#ifndef EXPORT_DISK_QUEUE_FILE_H
#define EXPORT_DISK_QUEUE_FILE_H

#include "userspace/export/gcm/disk_queue.h"

struct disk_queue_record {
	uint32_t header_crc; /* of all behind it in the header */
	uint32_t crc;	     /* of what is packed; both as zlib's crc32() */
	uint32_t len, raw;   /* bytes packed, and unpacked */
	uint32_t points, zero;
	int64_t newest_ns; /* of its points' ends */
};

struct disk_queue_point {
	uint64_t key;
	int64_t end_ns;
	uint32_t len;
	uint32_t maybe; /* it was sent, and may have arrived */
};

struct disk_queue_cursor {
	char magic[8];
	uint64_t id, at; /* of a file, and the byte in it */
	uint32_t crc, zero;
};

_Static_assert(sizeof(struct disk_queue_record) == 32 && sizeof(struct disk_queue_point) == 24 &&
		       sizeof(struct disk_queue_cursor) == 32,
	       "on disk");

#define DISK_QUEUE_RAW_MAX (REQUEST_BYTES + REQUEST_SERIES * sizeof(struct disk_queue_point))
#define DISK_QUEUE_LEN_MAX                                                                         \
	(DISK_QUEUE_RAW_MAX + DISK_QUEUE_RAW_MAX / 100 + 64) /* more than zlib ever makes of it */

extern const char disk_queue_magic[8];
/* CRC of the header behind its own field. */
uint32_t disk_queue_header_crc(const struct disk_queue_record *r);

#endif
