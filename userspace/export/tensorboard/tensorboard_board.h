/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_board.h - scalars on their way into event files: each run ("job/run-1/rank-0", a
 * folder) has a file of its own. Records are gathered and written together; readers may read on
 * meanwhile. What cannot be written is kept, TB_RUN_BYTES of a run and TB_WAITING_BYTES in all, and
 * tried again by the next flush; what is beyond that is dropped, and counted by cause. A file ends
 * with a whole record, whatever a disk does: what was torn is cut off, and where not even that is
 * possible a new file goes on. The file of a run that is over is closed; of more runs than TB_RUNS
 * that of the one that was not written to longest. Not thread-safe. */
#ifndef EXPORT_TENSORBOARD_BOARD_H
#define EXPORT_TENSORBOARD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/export/tensorboard/tensorboard_disk.h"
#include "userspace/export/tensorboard/tensorboard_folder.h"
#include "userspace/export/tensorboard/tensorboard_record.h"
#include "userspace/model/snapshot.h"

#define TB_RUN_BYTES	 (1u << 20)
#define TB_WAITING_BYTES (16u << 20)
#define TB_BATCH_BYTES	 (64u << 10) /* of a run: written without waiting for a flush */

enum tb_drop {
	TB_DROP_QUEUE,	 /* the thread that writes did not keep up */
	TB_DROP_FULL,	 /* of disk, or quota */
	TB_DROP_REFUSED, /* read-only, forbidden, no folder */
	TB_DROP_FAILED,	 /* anything else that a disk said */
	TB_DROP_MEMORY,
	TB_DROP_CLOCK, /* its time is not known */
	TB_DROP_COUNT
};

struct tb_board;
/* dir is made where it is missing. aside: written by a process of its own, of the thread that calls
 * this. 0 or -errno after one line. */
int tb_board_open(struct tb_board **ret, const char *dir, bool aside);
void tb_board_put(struct tb_board *b, const char *run, const struct tb_scalar *s);
/* The same of what is told again, unless the run's files hold it: those that were there before the
 * first. */
void tb_board_put_again(struct tb_board *b, const char *run, const struct tb_scalar *s);
/* What the run is of has ended: its file is closed by the flush that has written all of it. What
 * comes later all the same goes to another file. */
void tb_board_over(struct tb_board *b, const char *run);
void tb_board_drop(struct tb_board *b, enum tb_drop why, uint64_t count);
/* Everything to the files. One line when something cannot be written, and when it can again. */
void tb_board_flush(struct tb_board *b);
void tb_board_view(const struct tb_board *b, struct export_view *ret);
/* For a board that a helper process writes, from any thread: calls that wait for the disk are given
 * up, now and later. */
void tb_board_cancel(struct tb_board *b);
/* Flushes. -EIO after one line: scalars were lost. */
int tb_board_close(struct tb_board *b);

#endif
