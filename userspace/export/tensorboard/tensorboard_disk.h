/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_disk.h - the open event files, each in a slot 0 to TB_RUNS - 1. They are written by
 * this process, or by a helper process (base/helper.h), which can be abandoned if its disk never
 * answers. Call from one thread at a time; the helper process ends with the thread that called
 * tb_disk_open(). */
#ifndef EXPORT_TENSORBOARD_DISK_H
#define EXPORT_TENSORBOARD_DISK_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/export/tensorboard/tensorboard_record.h"

#define TB_RUNS 256 /* limit of open files */

struct tb_disk;
/* Makes dir if it is missing. Returns 0 or -errno; -ETIMEDOUT: the helper process did not answer
 * within 5 s. */
int tb_disk_open(struct tb_disk **ret, const char *dir, bool helper);
/* Writes records to the run's file, which is created if necessary; each record is written whole or
 * not at all. Returns the bytes written. *ret_err: reason why not all were written, or 0;
 * -ETIMEDOUT: cancelled, and nothing will be written any more. */
size_t tb_disk_write(struct tb_disk *d, int place, const char *run, const char *data, size_t len,
		     int *ret_err);
/* Closes the file of a slot: the next record begins a new file. */
void tb_disk_leave(struct tb_disk *d, int place);
/* Returns true if the run's files contained the scalar at the first call for the run. */
bool tb_disk_held(struct tb_disk *d, const char *run, const struct tb_scalar *s);
/* Makes calls that wait, and all later calls, return at once. May be called from any thread. */
void tb_disk_cancel(struct tb_disk *d);
bool tb_disk_cancelled(const struct tb_disk *d);
/* d may be NULL. */
void tb_disk_close(struct tb_disk *d);

#endif
