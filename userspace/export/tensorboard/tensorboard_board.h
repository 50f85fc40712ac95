/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_board.h - writes scalars to event files. Each run ("job/run-1/rank-0", a folder) has
 * its own file. Records are collected and written together; readers may read meanwhile. Records
 * that cannot be written are kept, up to TB_RUN_BYTES for a run and TB_WAITING_BYTES in all, and
 * retried by the next flush; further ones are dropped and counted by cause. A file always ends with
 * a whole record: a partial record is cut off, or, if that is not possible, a new file is begun.
 * The file of an ended run is closed; when more than TB_RUNS are open, the one not written for
 * longest is closed. Not thread-safe. */
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
	TB_DROP_QUEUE,	 /* the writing thread was too slow */
	TB_DROP_FULL,	 /* disk full, or quota */
	TB_DROP_REFUSED, /* read-only, permission denied, or no folder */
	TB_DROP_FAILED,	 /* other error of the disk */
	TB_DROP_MEMORY,
	TB_DROP_CLOCK, /* its wall time is unknown */
	TB_DROP_COUNT
};

struct tb_board;
/* Opens a board; makes dir if it is missing. aside: a helper process writes, started by the calling
 * thread. Returns 0, or -errno after one line. */
int tb_board_open(struct tb_board **ret, const char *dir, bool helper);
void tb_board_put(struct tb_board *b, const char *run, const struct tb_scalar *s);
/* Adds a scalar that a predecessor may have written: skipped if the run's files contain it, as they
 * were before the run's first scalar. */
void tb_board_put_again(struct tb_board *b, const char *run, const struct tb_scalar *s);
/* The run has ended: its file is closed by the flush that writes the rest of it. Later scalars go
 * to another file. */
void tb_board_over(struct tb_board *b, const char *run);
void tb_board_drop(struct tb_board *b, enum tb_drop why, uint64_t count);
/* Writes everything to the files. Logs one line when writing begins to fail, and one when it works
 * again. */
void tb_board_flush(struct tb_board *b);
void tb_board_view(const struct tb_board *b, struct export_view *ret);
/* For a board with a helper process; from any thread. Calls that wait for the disk return at once,
 * now and later. */
void tb_board_cancel(struct tb_board *b);
/* Flushes and closes. Returns -EIO after one line if scalars were lost. */
int tb_board_close(struct tb_board *b);

#endif
