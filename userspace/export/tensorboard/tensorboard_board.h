/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_board.h - writes scalars to event files. Each run ("job/run-1/rank-0", a folder) has
 * its own file. Records are collected and written together; TensorBoard may read the files at any
 * time. Records that cannot be written are kept, up to TB_RUN_BYTES for a run and TB_WAITING_BYTES
 * in all, and retried by the next flush; further ones are dropped and counted by cause. A file
 * always ends with a whole record: a partial record is cut off, or, if it cannot be cut, a new file
 * is begun. The file of an ended run is closed; if more than TB_RUNS would be open, the file not
 * written for longest is closed. Not thread-safe. */
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
#define TB_BATCH_BYTES	 (64u << 10) /* a run with more unwritten bytes is written at once */

enum tb_drop {
	TB_DROP_QUEUE,	 /* the writing thread was too slow */
	TB_DROP_FULL,	 /* disk full, or quota */
	TB_DROP_REFUSED, /* read-only, permission denied, or not a folder */
	TB_DROP_FAILED,	 /* other error of the disk */
	TB_DROP_MEMORY,
	TB_DROP_CLOCK, /* the wall time of the scalar is unknown */
	TB_DROP_COUNT
};

struct tb_board;
/* Opens a board; makes dir if it is missing. helper: a helper process writes the files, started by
 * the calling thread. Returns 0, or -errno after logging the error. */
int tb_board_open(struct tb_board **ret, const char *dir, bool helper);
void tb_board_put(struct tb_board *b, const char *run, const struct tb_scalar *s);
/* Like tb_board_put(), for a scalar that a predecessor may have written: does nothing if the run's
 * earlier files contain it. */
void tb_board_put_again(struct tb_board *b, const char *run, const struct tb_scalar *s);
/* Marks a run as ended: the flush that writes its last records closes its file. Later scalars go to
 * a new file. */
void tb_board_over(struct tb_board *b, const char *run);
void tb_board_drop(struct tb_board *b, enum tb_drop why, uint64_t count);
/* Writes all records to the files. Logs when writing begins to fail, and when it resumes. */
void tb_board_flush(struct tb_board *b);
void tb_board_view(const struct tb_board *b, struct export_view *ret);
/* For a board with a helper process: makes current and later calls return at once instead of
 * waiting for the disk. From any thread. */
void tb_board_cancel(struct tb_board *b);
/* Flushes and closes. Returns 0, or -EIO after logging how many scalars were lost. */
int tb_board_close(struct tb_board *b);

#endif
