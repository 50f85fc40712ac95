/* SPDX-License-Identifier: Apache-2.0 */
/* spool.h - points that could not be written, on disk until they can: a folder of files that are
 * only appended to, each of records, each of those what one request takes. Survives the end of the
 * process at any moment (not a loss of power: nothing is synced); a record that was not wholly
 * written, or that is damaged, is skipped with all behind it in its file, and counted. Bounded: the
 * oldest file gives way. Records come back in order; where they were taken up to is on disk too.
 * What is read is believed as far as it was checked: files of others are left alone. One process
 * has a folder. One thread's. */
#ifndef EXPORT_SPOOL_H
#define EXPORT_SPOOL_H

#include <stdint.h>

#include "userspace/export/gcm/parcel.h"

#define SPOOL_LEAST (256u << 10) /* bytes that a bound is at least */

struct spool_lost {	  /* since it was opened */
	uint64_t room;	  /* points: those of files that gave way, or that could not be written */
	uint64_t aged;	  /* points */
	uint64_t damaged; /* places where something could not be read; how many points is not
			   * known */
};

struct spool;
/* Made where it is not there, with mode 0700. 0; -EBUSY: another process has it; -EACCES: others
 * may write there; -errno. Nothing is logged. */
int spool_open(struct spool **ret, const char *folder, uint64_t max_bytes);
void spool_close(struct spool *s); /* NULL is fine */
/* The folder, for what belongs beside the points: the spool's own descriptor. */
int spool_folder(const struct spool *s);
/* Points of p that are items, at most REQUEST_SERIES, as one record. 0, or -errno: counted as
 * room. */
int spool_add(struct spool *s, const struct parcel *p, const uint32_t *items, uint32_t count);
/* The oldest record with a point that is not before oldest_ns (UTC), into an empty ret; those
 * before it are dropped. 0; -ENOENT: there is none; -ENOMEM. */
int spool_peek(struct spool *s, int64_t oldest_ns, struct parcel *ret);
/* What spool_peek() gave is done with: it will not come back, in another process neither. */
void spool_pop(struct spool *s);
uint64_t spool_points(const struct spool *s);
uint64_t spool_bytes(const struct spool *s); /* on disk */
void spool_lost(const struct spool *s, struct spool_lost *ret);

#endif
