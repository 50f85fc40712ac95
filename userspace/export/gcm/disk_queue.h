/* SPDX-License-Identifier: Apache-2.0 */
/* disk_queue.h - queue on disk for points that could not be sent: a folder of files to which
 * records are appended, each with the points of one request. The queue survives the end of the
 * process at any moment, but not a power failure: nothing is synced. An incomplete or damaged
 * record is skipped with the rest of its file, and counted. At the size limit the oldest file is
 * removed. Records are returned in order; the read position is saved on disk, too. Files are
 * validated, and files of other users are ignored. Only one process uses a folder at a time. Not
 * thread-safe. */
#ifndef EXPORT_DISK_QUEUE_H
#define EXPORT_DISK_QUEUE_H

#include <stdint.h>

#include "userspace/export/gcm/batch.h"

#define DISK_QUEUE_LEAST (256u << 10) /* least size limit of a queue (max_bytes) */

struct disk_queue_lost {  /* losses since the queue was opened */
	uint64_t room;	  /* points that did not fit or could not be written */
	uint64_t aged;	  /* points dropped by disk_queue_peek() as too old */
	uint64_t damaged; /* unreadable parts of files, with an unknown number of points */
};

struct disk_queue;
/* Opens a folder; makes it with mode 0700 if it is missing. Returns 0; -EBUSY: another process uses
 * it; -EACCES: other users may write there; -errno. Logs nothing. */
int disk_queue_open(struct disk_queue **ret, const char *folder, uint64_t max_bytes);
void disk_queue_close(struct disk_queue *s); /* s may be NULL */
/* Returns the descriptor of the folder, in which callers may keep other files. The queue owns the
 * descriptor. */
int disk_queue_folder(const struct disk_queue *s);
/* Appends a record with the points of p whose `count` indexes (at most REQUEST_SERIES) are in
 * items. Returns 0, or -errno after counting the points in lost.room. */
int disk_queue_add(struct disk_queue *s, const struct batch *p, const uint32_t *items,
		   uint32_t count);
/* Reads the oldest record with a point that is not older than oldest_ns (UTC) into ret, which is
 * empty; drops older records. Returns 0, -ENOENT when there is none, or -ENOMEM. */
int disk_queue_peek(struct disk_queue *s, int64_t oldest_ns, struct batch *ret);
/* Removes the record that the last disk_queue_peek() returned. */
void disk_queue_pop(struct disk_queue *s);
uint64_t disk_queue_points(const struct disk_queue *s);
uint64_t disk_queue_bytes(const struct disk_queue *s); /* on disk */
void disk_queue_lost(const struct disk_queue *s, struct disk_queue_lost *ret);

#endif
