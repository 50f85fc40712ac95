/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/tensorboard/tensorboard_disk.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/export/tensorboard/tensorboard_folder.h"
#include "userspace/export/tensorboard/tensorboard_held.h"

#define NS_PER_S   1000000000ll
#define OPEN_NS	   (5 * NS_PER_S)
#define CLOSE_NS   NS_PER_S
#define TURN_MS	   100		/* a waiting thread checks for cancellation this often */
#define TEXT_BYTES (256u << 10) /* memory shared with the helper process, for records */

/* The open files, in the process that writes them: this one or its helper process. */
struct files {
	int folder;
	struct tb_held *held; /* scalars in earlier files; NULL: not read yet */
	struct file {
		int fd;	    /* -1: not open; the next record begins a new file */
		off_t size; /* bytes of complete records in the file */
	} file[TB_RUNS];
};

struct tb_disk {
	struct files files;
	char *dir;
	struct helper *helper; /* NULL: this process writes the files */
	char *text;	       /* shared with the helper process */
	bool opened;
	atomic_bool cancelled;
};

/* A request to the process that writes the files. */
struct ask {
	struct tb_disk *d;
	int place;
	char run[TB_RUN_MAX];
	const char *data;
	size_t len;
	struct tb_scalar scalar;
	char tag[TB_TAG_MAX];
};
_Static_assert(sizeof(struct ask) <= HELPER_ARG_MAX, "what is asked fits");

struct written {
	size_t bytes;
	int err;
};

/* ---- a file ---------------------------------------------------------------------------------- */

static void tb_disk_file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* Writes all of data, or as many whole records as can be written. Returns the bytes written;
 * *ret_err: -errno if not all were, else 0. */
static size_t tb_disk_write_records(struct file *f, const char *data, size_t len, int *ret_err)
{
	size_t at = 0, whole;
	uint64_t count;
	ssize_t n = 0;

	*ret_err = 0;
	while (at < len) {
		n = pwrite(f->fd, data + at, len - at, f->size + (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (at < len)
		*ret_err = n < 0 ? -errno : -EIO;
	whole = tb_record_whole(data, at, &count);
	f->size += (off_t)whole;
	/* If the partial record cannot be cut off, begin a new file: readers stop at this record.
	 */
	if (whole < at && ftruncate(f->fd, f->size))
		tb_disk_file_close(f);
	return whole;
}

static int tb_disk_begin(struct files *all, struct file *f, const char *run)
{
	int64_t now_ns = clock_real_ns();
	struct buffer version = {0};
	int err;

	f->size = 0;
	f->fd = tb_file_new(all->folder, run, now_ns / NS_PER_S);
	if (f->fd < 0) {
		err = f->fd;
		f->fd = -1;
		return err;
	}
	tb_record_version(&version, (double)now_ns / NS_PER_S);
	if (version.failed)
		err = -ENOMEM;
	else
		tb_disk_write_records(f, version.data, version.len, &err);
	buffer_free(&version);
	if (err) /* try again with a new file */
		tb_disk_file_close(f);
	return err;
}

/* Returns true if another process removed the file or wrote to it: readers would not see further
 * records. */
static bool tb_disk_lost(const struct file *f)
{
	struct stat st;

	return f->fd >= 0 && (fstat(f->fd, &st) || !st.st_nlink || st.st_size != f->size);
}

/* ---- in the helper process: requests --------------------------------------------------------- */

static ssize_t tb_disk_open_there(const void *arg, void *ret, size_t cap)
{
	struct tb_disk *d = ((const struct ask *)arg)->d;

	(void)ret;
	(void)cap;
	if (d->helper)
		prctl(PR_SET_NAME, "gp-bpf-write");
	d->files.folder = tb_folder_open(d->dir);
	return d->files.folder < 0 ? d->files.folder : 0;
}

/* Returns true if the folder was removed. */
static bool tb_disk_folder_lost(const struct files *all)
{
	struct stat st;

	return all->folder >= 0 && (fstat(all->folder, &st) || !st.st_nlink);
}

static void tb_disk_folder_leave(struct files *all)
{
	close(all->folder);
	all->folder = -1;
	tb_held_free(all->held); /* forget the scalars of the removed files */
	all->held = NULL;
}

static ssize_t disk_write_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;
	struct files *all = &a->d->files;
	struct file *f = &all->file[a->place];
	struct written done = {0};

	if (cap < sizeof(done))
		return -ENOBUFS;
	if (tb_disk_lost(f))
		tb_disk_file_close(f);
	if (f->fd < 0 && tb_disk_folder_lost(all))
		tb_disk_folder_leave(all);
	if (all->folder < 0) { /* the folder was removed, or this is a new helper process */
		ssize_t err = tb_disk_open_there(arg, ret, cap);

		if (err < 0)
			return err;
	}
	if (f->fd < 0)
		done.err = tb_disk_begin(all, f, a->run);
	if (!done.err)
		done.bytes = tb_disk_write_records(f, a->data, a->len, &done.err);
	memcpy(ret, &done, sizeof(done));
	return sizeof(done);
}

static ssize_t tb_disk_leave_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;

	(void)ret;
	(void)cap;
	for (int i = 0; i < TB_RUNS; i++)
		if (a->place < 0 || a->place == i)
			tb_disk_file_close(&a->d->files.file[i]);
	return 0;
}

static ssize_t tb_disk_held_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;
	struct tb_scalar s = a->scalar;
	struct files *all = &a->d->files;

	(void)ret;
	(void)cap;
	s.tag = a->tag;
	if (all->folder < 0 && tb_disk_open_there(arg, ret, cap))
		return 0;
	if (!all->held)
		all->held = tb_held_new(all->folder);
	return all->held && tb_held_has(all->held, a->run, &s);
}

/* ---- in this process ------------------------------------------------------------------------- */

/* Waits for the helper process's answer, up to within_ns (0: without limit), then cancels. Returns
 * -ETIMEDOUT if cancelled, else as helper_answer(). */
static ssize_t tb_disk_answer_of(struct tb_disk *d, uint64_t within_ns, const void **ret)
{
	uint64_t from_ns = clock_mono_ns();
	ssize_t n;

	do {
		n = helper_answer(d->helper, TURN_MS, ret);
		if (n == -EAGAIN && within_ns && clock_mono_ns() - from_ns > within_ns)
			tb_disk_cancel(d);
	} while (n == -EAGAIN && !d->cancelled);
	if (n != -EAGAIN)
		return n;
	helper_drop(d->helper);
	return -ETIMEDOUT;
}

static ssize_t tb_disk_call(struct tb_disk *d, helper_fn *fn, struct ask *a, uint64_t within_ns,
			    struct written *ret)
{
	const void *answer = NULL;
	ssize_t n = -EIO;

	a->d = d;
	if (!d->helper)
		return fn(a, ret, sizeof(*ret));
	if (d->cancelled)
		return -ETIMEDOUT;
	for (int tries = 0; tries < 2; tries++) {
		n = helper_ask(d->helper, fn, a, sizeof(*a));
		n = n ? n : tb_disk_answer_of(d, within_ns, &answer);
		/* -EIO: the helper process has ended; helper_ask() starts a new one */
		if (n != -EIO)
			break;
	}
	if (n > 0 && answer && fn == disk_write_there)
		memcpy(ret, answer, sizeof(*ret));
	return n;
}

static void tb_disk_name(struct ask *a, const char *run)
{
	snprintf(a->run, sizeof(a->run), "%s", run);
}

int tb_disk_open(struct tb_disk **ret, const char *dir, bool helper)
{
	struct tb_disk *d = calloc(1, sizeof(*d));
	struct written none;
	struct ask a = {0};
	int err = -ENOMEM;

	if (!d)
		return -ENOMEM;
	d->files.folder = -1;
	for (int i = 0; i < TB_RUNS; i++)
		d->files.file[i].fd = -1;
	d->dir = strdup(dir);
	if (helper) {
		d->text = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		d->text = d->text == MAP_FAILED ? NULL : d->text;
	}
	if (d->dir && (!helper || d->text))
		err = helper ? helper_new(&d->helper, sizeof(struct written)) : 0;
	if (!err)
		err = (int)tb_disk_call(d, tb_disk_open_there, &a, OPEN_NS, &none);
	d->opened = !err;
	if (!err)
		*ret = d;
	else
		tb_disk_close(d);
	return err;
}

/* Returns the bytes of whole records that fit in one request. */
static size_t tb_disk_part_of(const struct tb_disk *d, const char *data, size_t len)
{
	uint64_t count;

	return !d->helper || len <= TEXT_BYTES ? len : tb_record_whole(data, TEXT_BYTES, &count);
}

size_t tb_disk_write(struct tb_disk *d, int place, const char *run, const char *data, size_t len,
		     int *ret_err)
{
	struct ask a = {.place = place};
	struct written done;
	size_t at = 0;
	ssize_t n;

	tb_disk_name(&a, run);
	for (*ret_err = 0; at < len && !*ret_err; at += done.bytes) {
		a.data = data + at;
		a.len = tb_disk_part_of(d, a.data, len - at);
		if (!a.len) { /* a record longer than TEXT_BYTES, which is never made */
			*ret_err = -EMSGSIZE;
			break;
		}
		if (d->helper) {
			memcpy(d->text, a.data, a.len);
			a.data = d->text;
		}
		done = (struct written){0};
		n = tb_disk_call(d, disk_write_there, &a, 0, &done);
		*ret_err = n < 0 ? (int)n : done.err;
	}
	return at;
}

void tb_disk_leave(struct tb_disk *d, int place)
{
	struct ask a = {.place = place};
	struct written none;

	tb_disk_call(d, tb_disk_leave_there, &a, 0, &none);
}

bool tb_disk_held(struct tb_disk *d, const char *run, const struct tb_scalar *s)
{
	struct ask a = {.scalar = *s};
	struct written none;

	tb_disk_name(&a, run);
	snprintf(a.tag, sizeof(a.tag), "%s", s->tag);
	return tb_disk_call(d, tb_disk_held_there, &a, 0, &none) == 1;
}

void tb_disk_cancel(struct tb_disk *d)
{
	d->cancelled = true;
}

bool tb_disk_cancelled(const struct tb_disk *d)
{
	return d->cancelled;
}

void tb_disk_close(struct tb_disk *d)
{
	struct ask a = {.place = -1};
	struct written none;

	if (!d)
		return;
	/* Close files with a time limit: on some file systems close() waits for the disk. */
	if (d->opened)
		tb_disk_call(d, tb_disk_leave_there, &a, CLOSE_NS, &none);
	helper_free(d->helper);
	if (d->text)
		munmap(d->text, TEXT_BYTES);
	tb_held_free(d->files.held);
	if (d->files.folder >= 0)
		close(d->files.folder);
	free(d->dir);
	free(d);
}
