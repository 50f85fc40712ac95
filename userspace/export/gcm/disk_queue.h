/* SPDX-License-Identifier: Apache-2.0 */
/* disk_queue.h - points that could not be written, on disk until they can: a folder of files that
 * are only appended to, each of records, each of those what one request takes. Survives the end of
 * the process at any moment (not a loss of power: nothing is synced); a record that was not wholly
 * written, or that is damaged, is skipped with all behind it in its file, and counted. Bounded: the
 * oldest file gives way. Records come back in order; where they were taken up to is on disk too.
 * What is read is believed as far as it was checked: files of others are left alone. One process
 * has a folder. One thread's. */
#ifndef EXPORT_DISK_QUEUE_H
#define EXPORT_DISK_QUEUE_H

#include <stdint.h>

#include "userspace/export/gcm/batch.h"

#define DISK_QUEUE_LEAST (256u << 10) /* bytes that a bound is at least */

struct disk_queue_lost {  /* since it was opened */
	uint64_t room;	  /* points: those of files that gave way, or that could not be written */
	uint64_t aged;	  /* points */
	uint64_t damaged; /* places where something could not be read; how many points is not
			   * known */
};

struct disk_queue;
/* Made where it is not there, with mode 0700. 0; -EBUSY: another process has it; -EACCES: others
 * may write there; -errno. Nothing is logged. */
int disk_queue_open(struct disk_queue **ret, const char *folder, uint64_t max_bytes);
void disk_queue_close(struct disk_queue *s); /* NULL is fine */
/* The folder, for what belongs beside the points: the spool's own descriptor. */
int disk_queue_folder(const struct disk_queue *s);
/* Points of p that are items, at most REQUEST_SERIES, as one record. 0, or -errno: counted as
 * room. */
int disk_queue_add(struct disk_queue *s, const struct batch *p, const uint32_t *items,
		   uint32_t count);
/* The oldest record with a point that is not before oldest_ns (UTC), into an empty ret; those
 * before it are dropped. 0; -ENOENT: there is none; -ENOMEM. */
int disk_queue_peek(struct disk_queue *s, int64_t oldest_ns, struct batch *ret);
/* What disk_queue_peek() gave is done with: it will not come back, in another process neither. */
void disk_queue_pop(struct disk_queue *s);
uint64_t disk_queue_points(const struct disk_queue *s);
uint64_t disk_queue_bytes(const struct disk_queue *s); /* on disk */
void disk_queue_lost(const struct disk_queue *s, struct disk_queue_lost *ret);

#endif
