/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_disk.h - the event files that are open, each with a place 0 to TB_RUNS - 1. Written
 * here, or by a process of its own (base/aside.h), which can be given up when its disk never
 * answers. Call from one thread at a time; the helper process ends with the thread that opened it.
 */
#ifndef EXPORT_TENSORBOARD_DISK_H
#define EXPORT_TENSORBOARD_DISK_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/export/tensorboard/tensorboard_record.h"

#define TB_RUNS 256 /* files open at once */

struct tb_disk;
/* dir is made where it is missing. -errno; -ETIMEDOUT: a process aside has no answer after 5 s. */
int tb_disk_open(struct tb_disk **ret, const char *dir, bool aside);
/* Records to the file of a run, begun where there is none; whole ones are written or none. Bytes;
 * *ret_err: why not all, or 0; -ETIMEDOUT: it was cancelled, and nothing is written any more. */
size_t tb_disk_write(struct tb_disk *d, int place, const char *run, const char *data, size_t len,
		     int *ret_err);
/* The next record of the place is of another file. */
void tb_disk_leave(struct tb_disk *d, int place);
/* Whether the run's files hold it, as they were when the run was asked for first. */
bool tb_disk_held(struct tb_disk *d, const char *run, const struct tb_scalar *s);
/* What waits for the disk returns; all that comes does at once. From any thread. */
void tb_disk_cancel(struct tb_disk *d);
bool tb_disk_cancelled(const struct tb_disk *d);
/* NULL is fine. */
void tb_disk_close(struct tb_disk *d);

#endif
