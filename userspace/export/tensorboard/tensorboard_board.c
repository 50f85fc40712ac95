/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/tensorboard/tensorboard_board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/hash.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"

struct tb_run {
	char name[TB_RUN_MAX];
	int place;	 /* slot of the run's file in tb_disk */
	uint64_t put_at; /* last use: tb_board.puts at the run's last record */
	struct buffer records;
	uint64_t count; /* number of unwritten records */
	bool over;	/* no more records are expected: the file is closed once all are written */
};

struct tb_board {
	char *dir; /* for messages */
	struct tb_disk *disk;
	struct table *runs;  /* maps the hash of a run's name to its struct tb_run */
	bool taken[TB_RUNS]; /* slots in use */
	uint64_t puts, sent, waiting, waiting_bytes;
	uint64_t dropped[TB_DROP_COUNT];
	int64_t last_ns;
	int trouble;	       /* -errno of the first failure since the last flush; 0: none */
	char what[TB_RUN_MAX]; /* name of the run that failed */
	int reported;	       /* -errno of the last flush, which was logged; 0: none */
};

static const char *const drop_name[TB_DROP_COUNT] = {
	[TB_DROP_QUEUE] = "queue_full", [TB_DROP_FULL] = "disk_full",
	[TB_DROP_REFUSED] = "refused",	[TB_DROP_FAILED] = "failed",
	[TB_DROP_MEMORY] = "no_memory", [TB_DROP_CLOCK] = "no_clock",
};

static enum tb_drop tb_board_drop_of(int err)
{
	switch (-err) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return TB_DROP_FULL;
	case EROFS:
	case EACCES:
	case EPERM:
	case ELOOP:
	case ENOTDIR:
	case ENOENT:
		return TB_DROP_REFUSED;
	case ENOMEM:
		return TB_DROP_MEMORY;
	default:
		return TB_DROP_FAILED;
	}
}

int tb_board_open(struct tb_board **ret, const char *dir, bool helper)
{
	struct tb_board *b = calloc(1, sizeof(*b));
	size_t room = strlen(dir) + 1;
	int err = -ENOMEM;

	if (!b)
		return -ENOMEM;
	b->dir = malloc(room);
	b->runs = table_new();
	if (!b->dir || !b->runs)
		goto fail;
	log_escape(b->dir, room, dir, room);
	err = tb_disk_open(&b->disk, dir, helper);
	if (err) {
		log_error(
			"--export tensorboard:%s: %s", b->dir,
			err == -ENOTDIR || err == -ELOOP
				? "not a folder, or a symbolic link; use the folder that the link points to"
			: err == -ETIMEDOUT ? "the disk does not answer"
					    : strerror(-err));
		goto fail;
	}
	*ret = b;
	return 0;
fail:
	table_free(b->runs, NULL);
	free(b->dir);
	free(b);
	return err;
}

void tb_board_drop(struct tb_board *b, enum tb_drop why, uint64_t count)
{
	b->dropped[why] += count;
}

static void tb_board_failed(struct tb_board *b, const struct tb_run *r, int err)
{
	if (b->trouble)
		return;
	b->trouble = err;
	snprintf(b->what, sizeof(b->what), "%s", r->name);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void tb_board_run_flush(struct tb_board *b, struct tb_run *r)
{
	uint64_t count = 0;
	size_t n = 0;
	int err = 0;

	if (!r->records.len)
		return;
	n = tb_disk_write(b->disk, r->place, r->name, r->records.data, r->records.len, &err);
	if (n) {
		tb_record_whole(r->records.data, n, &count);
		memmove(r->records.data, r->records.data + n, r->records.len - n);
		r->records.len -= n;
		r->count -= count;
		b->waiting_bytes -= n;
		b->waiting -= count;
		b->sent += count;
		b->last_ns = clock_real_ns();
	}
	if (err)
		tb_board_failed(b, r, err);
	if (!r->records.len) /* free the memory: most runs are idle */
		buffer_free(&r->records);
}

/* Drops the unwritten records of a run and frees the run. */
static void tb_board_run_drop(struct tb_board *b, struct tb_run *r)
{
	tb_board_drop(b, tb_board_drop_of(b->trouble ? b->trouble : b->reported), r->count);
	b->waiting -= r->count;
	b->waiting_bytes -= r->records.len;
	tb_disk_leave(b->disk, r->place);
	b->taken[r->place] = false;
	buffer_free(&r->records);
	free(r);
}

/* ---- all runs -------------------------------------------------------------------------------- */

static void tb_board_run_close_oldest(struct tb_board *b)
{
	struct tb_run *r, *oldest = NULL;
	uint64_t key, oldest_key = 0;

	for (size_t at = 0; (r = table_next(b->runs, &at, &key));) {
		if (oldest && r->put_at >= oldest->put_at)
			continue;
		oldest = r;
		oldest_key = key;
	}
	if (!oldest)
		return;
	table_take(b->runs, oldest_key);
	tb_board_run_flush(b, oldest);
	tb_board_run_drop(b, oldest);
}

/* Returns the run with this name; NULL: none, and *ret_key is a free key for it. */
static struct tb_run *tb_board_run_find(const struct tb_board *b, const char *name,
					uint64_t *ret_key)
{
	uint64_t key = hash_bytes(HASH_START, name, strlen(name));
	struct tb_run *r = table_get(b->runs, key);

	while (r && strcmp(r->name, name) != 0)
		r = table_get(b->runs, ++key);
	*ret_key = key;
	return r;
}

/* Returns the run with this name, and makes it if there is none. NULL: no memory. */
static struct tb_run *tb_board_run_of(struct tb_board *b, const char *name)
{
	uint64_t key;
	struct tb_run *r = tb_board_run_find(b, name, &key);

	if (r)
		return r;
	if (table_count(b->runs) >= TB_RUNS)
		tb_board_run_close_oldest(b);
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	snprintf(r->name, sizeof(r->name), "%s", name);
	while (b->taken[r->place]) /* a slot is free, because there are as many slots as runs */
		r->place++;
	if (!table_put(b->runs, key, r)) {
		b->taken[r->place] = true;
		return r;
	}
	free(r);
	return NULL;
}

void tb_board_put(struct tb_board *b, const char *run, const struct tb_scalar *s)
{
	struct tb_run *r = tb_board_run_of(b, run);
	size_t was;

	if (!r) {
		tb_board_drop(b, TB_DROP_MEMORY, 1);
		return;
	}
	r->put_at = ++b->puts;
	r->over = false;
	/* After a failure, only tb_board_flush() tries again. */
	if (r->records.len >= TB_BATCH_BYTES && !b->trouble && !b->reported)
		tb_board_run_flush(b, r);
	was = r->records.len;
	if (was >= TB_RUN_BYTES || b->waiting_bytes >= TB_WAITING_BYTES) {
		tb_board_drop(b, tb_board_drop_of(b->trouble ? b->trouble : b->reported), 1);
		return;
	}
	tb_record_scalar(&r->records, s);
	if (r->records.failed) {
		r->records.failed = false;
		r->records.len = was;
		tb_board_drop(b, TB_DROP_MEMORY, 1);
		return;
	}
	r->count++;
	b->waiting++;
	b->waiting_bytes += r->records.len - was;
}

void tb_board_put_again(struct tb_board *b, const char *run, const struct tb_scalar *s)
{
	if (!tb_disk_held(b->disk, run, s))
		tb_board_put(b, run, s);
}

void tb_board_over(struct tb_board *b, const char *run)
{
	uint64_t key;
	struct tb_run *r = tb_board_run_find(b, run, &key);

	if (r)
		r->over = true;
}

void tb_board_flush(struct tb_board *b)
{
	struct tb_run *r;
	uint64_t key;

	for (size_t at = 0; (r = table_next(b->runs, &at, &key));) {
		tb_board_run_flush(b, r);
		if (!r->over || r->records.len)
			continue;
		table_take(b->runs, key);
		tb_board_run_drop(b, r);
	}
	if (b->trouble && b->trouble != b->reported && !tb_disk_cancelled(b->disk))
		log_error("--export tensorboard:%s: %s: %s; up to %u MB are kept and retried",
			  b->dir, b->what, strerror(-b->trouble), TB_WAITING_BYTES >> 20);
	if (!b->trouble && b->reported)
		log_info("--export tensorboard:%s: writing resumed", b->dir);
	b->reported = b->trouble;
	b->trouble = 0;
}

void tb_board_view(const struct tb_board *b, struct export_view *ret)
{
	_Static_assert((int)TB_DROP_COUNT <= EXPORT_CAUSES, "room for each cause");
	ret->up = !b->reported;
	ret->sent = b->sent;
	ret->waiting = b->waiting;
	ret->waiting_bytes = b->waiting_bytes;
	ret->last_ns = b->last_ns;
	ret->ndropped = TB_DROP_COUNT;
	for (int i = 0; i < TB_DROP_COUNT; i++) {
		ret->dropped[i].cause = drop_name[i];
		ret->dropped[i].count = b->dropped[i];
	}
	ret->trouble[0] = '\0';
	if (b->reported)
		snprintf(ret->trouble, sizeof(ret->trouble), "%.120s: %s", b->what,
			 strerror(-b->reported));
}

void tb_board_cancel(struct tb_board *b)
{
	tb_disk_cancel(b->disk);
}

int tb_board_close(struct tb_board *b)
{
	uint64_t lost = 0, key;
	struct tb_run *r;

	if (!b)
		return 0;
	tb_board_flush(b);
	for (size_t at = 0; (r = table_next(b->runs, &at, &key));) {
		table_take(b->runs, key);
		tb_board_run_drop(b, r);
	}
	for (int i = 0; i < TB_DROP_COUNT; i++)
		lost += b->dropped[i];
	if (lost)
		log_error("--export tensorboard:%s: %" PRIu64 " scalars were lost%s", b->dir, lost,
			  tb_disk_cancelled(b->disk) ? ": the disk does not answer" : "");
	table_free(b->runs, NULL);
	tb_disk_close(b->disk);
	free(b->dir);
	free(b);
	return lost ? -EIO : 0;
}
