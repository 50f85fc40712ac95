/* SPDX-License-Identifier: Apache-2.0 */
/* file_writer.c - opens, writes, rotates and repairs a file of lines, in a helper process. */
#include "userspace/export/file/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
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
#include "userspace/base/log.h"
#include "userspace/base/path.h"

#define NS_PER_MS  1000000ull
#define TAIL_BYTES (1u << 20) /* bytes read from a file's end to find its last line */

struct file_writer {
	struct helper *helper;
	/* The helper process is forked after path and text were allocated, and has them at the same
	 * addresses. */
	char *path;
	char *text;   /* shared memory: text that the helper process is writing */
	size_t going; /* number of bytes of `text` still to be written; 0: none */
	off_t size;   /* size of the file in the last answer of the helper process */
	struct file_writer_bound bound;
	bool made;  /* file_writer_open() created the file */
	bool again; /* a second helper process got the text, because the first was killed */
};

/* ---- in the helper process ------------------------------------------------------------------- */

struct file_writer_ask {
	const char *path, *text;
	size_t len;
	off_t size; /* size of the file before this text was written */
	bool keep;
	struct file_writer_bound bound;
};

struct file_writer_answer {
	struct file_writer_result result;
	off_t size;
	bool made;
};

static struct {
	int fd; /* descriptor of the file; -1: not open */
	off_t torn_at,
		torn; /* start and end of a partial line that could not be cut off; 0: none */
} there = {.fd = -1};

static ssize_t file_writer_whole_lines(const char *text, size_t len)
{
	const char *end = len ? memrchr(text, '\n', len) : NULL;

	return end ? end + 1 - text : 0;
}

static int file_writer_begin(const struct file_writer_ask *a, int how, struct stat *st,
			     bool *ret_made)
{
	int err;

	prctl(PR_SET_NAME, "gp-bpf-write");
	/* Do not open a pipe: closing it would be the end of file for its reader. */
	if (!stat(a->path, st) && !S_ISREG(st->st_mode))
		return -ENOTSUP;
	there.fd = path_open(a->path, O_WRONLY | O_APPEND | how, 0644);
	*ret_made = there.fd == -ENOENT;
	if (*ret_made)
		there.fd = path_open(a->path, O_WRONLY | O_CREAT | O_APPEND | how, 0644);
	if (there.fd < 0)
		return there.fd;
	err = fstat(there.fd, st) ? -errno : S_ISREG(st->st_mode) ? 0 : -ENOTSUP;
	if (err) {
		close(there.fd);
		there.fd = -1;
	}
	return err;
}

static ssize_t file_writer_open_there(const void *arg, void *ret, size_t cap)
{
	const struct file_writer_ask *a = arg;
	struct file_writer_answer *answer = ret;
	struct stat st;
	bool made;
	int err = cap < sizeof(*answer) ? -ENOBUFS
					: file_writer_begin(a, a->keep ? 0 : O_TRUNC, &st, &made);

	if (err)
		return err;
	*answer = (struct file_writer_answer){.size = st.st_size, .made = made};
	return sizeof(*answer);
}

/* Cuts the file at `to`. On failure, file_writer_mend() tries again before the next text, unless
 * the file has changed by then. */
static void file_writer_cut(off_t to, off_t size)
{
	if (!ftruncate(there.fd, to))
		return;
	there.torn_at = to;
	there.torn = size;
}

/* Cuts off a partial line that file_writer_cut() could not cut off. Returns 0, or -errno: nothing
 * can be written. */
static int file_writer_mend(struct stat *st)
{
	if (fstat(there.fd, st))
		return -errno;
	if (there.torn && st->st_size == there.torn) {
		if (ftruncate(there.fd, there.torn_at))
			return -errno;
		st->st_size = there.torn_at;
	}
	there.torn = 0;
	return 0;
}

/* Opens the file after a helper process was killed. Returns how many bytes of the text that process
 * had written. */
static size_t file_writer_begin_again(const struct file_writer_ask *a, struct stat *st,
				      int *ret_err)
{
	off_t more;
	size_t had = 0;
	bool made;

	*ret_err = file_writer_begin(a, 0, st, &made);
	more = *ret_err ? 0 : st->st_size - a->size;
	if (more < 0 && a->bound.bytes)
		/* the file was rotated meanwhile, and the new file begins with the text */
		more = st->st_size;
	if (more <= 0 || more > (off_t)a->len)
		return 0;
	had = (size_t)more == a->len ? a->len
				     : (size_t)file_writer_whole_lines(a->text, (size_t)more);
	if ((off_t)had < more)
		file_writer_cut(st->st_size - more + (off_t)had, st->st_size);
	return had;
}

/* Writes the name FILE.n to out; n 0: FILE itself. */
static void file_writer_bounded_name(char out[NAME_MAX + 1], const char *name, uint32_t n)
{
	if (n)
		snprintf(out, NAME_MAX + 1, "%.240s.%u", name, n);
	else
		snprintf(out, NAME_MAX + 1, "%s", name);
}

/* Removes the oldest file. *ret_removed: the number of its lines. */
static int file_writer_drop(const struct file_writer_bound *b, int folder, const char *name,
			    uint64_t *ret_removed)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	uint64_t lines = fd >= 0 && b->lines ? b->lines(fd) : 0;

	if (fd >= 0)
		close(fd);
	if (unlinkat(folder, name, 0))
		return -EXDEV;
	*ret_removed = lines;
	return 0;
}

/* Renames each file to the next number, up to the first number that is free. If no number is free,
 * removes the oldest file first. Can be called again after a failure without moving or removing
 * more files. */
static int file_writer_shift(const struct file_writer_bound *b, int folder, const char *name,
			     uint64_t *ret_removed)
{
	char from[NAME_MAX + 1], to[NAME_MAX + 1];
	uint32_t n = 0;
	struct stat st;
	int err = 0;

	do {
		file_writer_bounded_name(to, name, n);
		if (fstatat(folder, to, &st, AT_SYMLINK_NOFOLLOW))
			break;
		if (!S_ISREG(st.st_mode))
			return -EXDEV;
	} while (++n <= b->keep);
	if (n > b->keep)
		err = file_writer_drop(b, folder, to, ret_removed);
	for (n = n > b->keep ? b->keep : n; !err && n > 0; n--) {
		file_writer_bounded_name(from, name, n - 1);
		file_writer_bounded_name(to, name, n);
		err = renameat(folder, from, folder, to) ? -EXDEV : 0;
	}
	return err;
}

/* Finds the file that a rotation renames: path, or the target of a symbolic link, which may not
 * exist yet. May wait for the disk. */
static void file_writer_target(const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;
	char link[PATH_MAX];
	ssize_t n;

	if (realpath(path, ret))
		return;
	n = readlink(path, link, sizeof(link) - 1); /* the target may not exist yet */
	link[n > 0 ? n : 0] = '\0';
	if (*link == '/')
		folder = 0;
	if (n <= 0 || snprintf(ret, PATH_MAX, "%.*s%s", folder, path, link) >= PATH_MAX)
		snprintf(ret, PATH_MAX, "%s", path);
}

/* Renames the open file and begins a new one. If path already names another file, the open file was
 * renamed by another program and stays as it is. */
static int file_writer_rotate(const struct file_writer_ask *a, struct stat *st,
			      uint64_t *ret_removed)
{
	char target[PATH_MAX];
	const char *name;
	struct stat is;
	int folder, fd, was, err = 0;

	file_writer_target(a->path, target);
	folder = path_parent(target, &name);
	if (folder < 0)
		return folder;
	if (!fstatat(folder, name, &is, AT_SYMLINK_NOFOLLOW) && is.st_ino == st->st_ino &&
	    is.st_dev == st->st_dev)
		err = file_writer_shift(&a->bound, folder, name, ret_removed);
	close(folder);
	if (err)
		return err;
	fd = path_open(a->path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0)
		return fd;
	if (fstat(fd, &is))
		err = -errno;
	else if (!S_ISREG(is.st_mode))
		err = -ENOTSUP;
	else if (is.st_ino == st->st_ino && is.st_dev == st->st_dev)
		err = -EXDEV;
	if (err) {
		close(fd);
		return err;
	}
	was = there.fd;
	there.fd = fd;
	*st = is;
	return close(was) ? -errno : 0; /* close() may report failed writes */
}

static ssize_t file_writer_write_there(const void *arg, void *ret, size_t cap)
{
	const struct file_writer_ask *a = arg;
	struct file_writer_answer *answer = ret;
	struct stat st;
	uint64_t removed = 0;
	size_t at = 0, whole;
	ssize_t n = 0;
	int err = 0;

	if (cap < sizeof(*answer))
		return -ENOBUFS;
	if (there.fd < 0)
		at = file_writer_begin_again(a, &st, &err);
	err = err ? err : file_writer_mend(&st);
	if (!err && a->bound.bytes && !at && st.st_size &&
	    (uint64_t)st.st_size + a->len > a->bound.bytes)
		err = file_writer_rotate(a, &st, &removed);
	if (err) {
		*answer = (struct file_writer_answer){.result = {0, err, removed}, .size = a->size};
		return sizeof(*answer);
	}
	st.st_size -= (off_t)at;
	while (at < a->len) {
		n = write(there.fd, a->text + at, a->len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	err = at == a->len ? 0 : n < 0 ? -errno : -EIO;
	whole = at == a->len ? at : (size_t)file_writer_whole_lines(a->text, at);
	if (whole < at)
		file_writer_cut(st.st_size + (off_t)whole, st.st_size + (off_t)at);
	*answer = (struct file_writer_answer){.result = {whole, err, removed},
					      .size = st.st_size + (off_t)whole};
	return sizeof(*answer);
}

static ssize_t file_writer_close_there(const void *arg, void *ret, size_t cap)
{
	int fd = there.fd;

	(void)arg;
	(void)ret;
	(void)cap;
	there.fd = -1;
	return fd >= 0 && close(fd) ? -errno : 0;
}

/* ---- in this process ------------------------------------------------------------------------- */

static int file_writer_ask(struct file_writer *f, helper_fn *fn, bool keep)
{
	struct file_writer_ask a;
	int err;

	/* bytes between the members are sent, too, and must be initialized */
	memset(&a, 0, sizeof(a));
	a.path = f->path;
	a.text = f->text;
	a.len = f->going;
	a.size = f->size;
	a.keep = keep;
	a.bound = f->bound;
	err = helper_ask(f->helper, fn, &a, sizeof(a));
	return err == -EAGAIN ? -EBUSY : err; /* -EAGAIN: no helper process can be started */
}

/* Waits for the answer of the helper process. Returns -EAGAIN if there is none within wait_ms;
 * other values are those of helper_answer(). */
static ssize_t file_writer_answer_of(struct file_writer *f, int wait_ms,
				     struct file_writer_answer *ret)
{
	const void *answer;
	ssize_t n = helper_await(f->helper, wait_ms, &answer);

	if (n > 0)
		memcpy(ret, answer, sizeof(*ret));
	return n;
}

static void file_writer_free(struct file_writer *f)
{
	helper_free(f->helper);
	if (f->text)
		munmap(f->text, FILE_WRITER_TEXT_MAX);
	free(f->path);
	free(f);
}

static bool file_writer_only_here(const char *path)
{
	return !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/dev/std", 8) ||
	       !strncmp(path, "/proc/", 6);
}

int file_writer_open(struct file_writer **ret, const char *path, bool keep,
		     const struct file_writer_bound *bound)
{
	struct file_writer_answer answer = {0};
	struct file_writer *f;
	ssize_t n;
	int err;

	if (file_writer_only_here(path))
		return -ENOTSUP;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->path = strdup(path);
	f->text = mmap(NULL, FILE_WRITER_TEXT_MAX, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->text == MAP_FAILED)
		f->text = NULL;
	err = f->path && f->text ? helper_new(&f->helper, sizeof(struct file_writer_answer))
				 : -ENOMEM;
	if (!err)
		err = file_writer_ask(f, file_writer_open_there, keep);
	n = err ? err : file_writer_answer_of(f, FILE_WRITER_OPEN_MS, &answer);
	if (n < 0) {
		if (n == -EAGAIN)
			helper_drop(f->helper);
		file_writer_free(f);
		return n == -EAGAIN ? -ETIMEDOUT : (int)n;
	}
	f->size = answer.size;
	f->made = answer.made;
	if (bound)
		f->bound = *bound;
	*ret = f;
	return 0;
}

size_t file_writer_give(struct file_writer *f, const char *text, size_t len)
{
	size_t whole;

	if (len > FILE_WRITER_TEXT_MAX) {
		whole = (size_t)file_writer_whole_lines(text, FILE_WRITER_TEXT_MAX);
		len = whole ? whole : FILE_WRITER_TEXT_MAX; /* a longer line is written in parts */
	}
	memcpy(f->text, text, len);
	f->going = len;
	f->again = false;
	if (file_writer_ask(f, file_writer_write_there, true))
		f->going = 0;
	return f->going;
}

int file_writer_take(struct file_writer *f, int wait_ms, struct file_writer_result *ret)
{
	uint64_t until_ns = clock_mono_ns() + (uint64_t)wait_ms * NS_PER_MS, now_ns;
	struct file_writer_answer answer = {.size = f->size};
	ssize_t n = file_writer_answer_of(f, wait_ms, &answer);

	if (n == -EIO && !f->again) {
		f->again = true;
		now_ns = clock_mono_ns();
		wait_ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) : 0;
		n = file_writer_ask(f, file_writer_write_there, true);
		n = n ? n : file_writer_answer_of(f, wait_ms, &answer);
	}
	if (n == -EAGAIN)
		return -EAGAIN;
	if (n < 0)
		answer.result.err = (int)n;
	f->going = 0;
	f->size = answer.size;
	*ret = answer.result;
	return 0;
}

const char *file_writer_why(int err)
{
	switch (err) {
	case -EBUSY:
		return "the process that writes the file cannot be started; check the limit of processes";
	case -EXDEV:
		return "the file has reached its size limit, but cannot be renamed; FILE must not be a mount point, and FILE.1 and so on must not be folders or links";
	default:
		return path_why(err);
	}
}

bool file_writer_made(const struct file_writer *f)
{
	return f->made;
}

uint64_t file_writer_bytes(const struct file_writer *f)
{
	return (uint64_t)f->size;
}

int file_writer_close(struct file_writer *f, int wait_ms)
{
	struct file_writer_answer answer;
	ssize_t n = f && f->going ? -EAGAIN : 0;

	if (!f)
		return 0;
	if (!n) {
		n = file_writer_ask(f, file_writer_close_there, true);
		n = n ? n : file_writer_answer_of(f, wait_ms, &answer);
	}
	if (n == -EAGAIN)
		helper_drop(f->helper);
	file_writer_free(f);
	return n == -EAGAIN ? -ETIMEDOUT : (int)n;
}

/* ---- what a predecessor left ---------------------------------------------------------------- */

/* Returns the offset of the last line in the first len bytes of text, which end with a line feed.
 */
static size_t file_writer_last_line(const char *text, size_t len)
{
	const char *before = len > 1 ? memrchr(text, '\n', len - 1) : NULL;

	return before ? (size_t)(before + 1 - text) : 0;
}

struct tail_ask {
	const char *path;
	bool before; /* read the file that the last rotation renamed to FILE.1 */
	bool (*drop)(const char *line);
};

struct tail {
	uint64_t bytes;
	char text[TAIL_BYTES + 1];
};

static int file_writer_tail_cut(int fd, const struct tail_ask *a, struct tail *t)
{
	struct stat st;
	size_t len;
	off_t from;
	char *end;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
	n = pread(fd, t->text, TAIL_BYTES, from);
	if (n < 0)
		return -errno;
	end = memrchr(t->text, '\n', (size_t)n);
	len = end ? (size_t)(end + 1 - t->text) : 0;
	t->text[len] = '\0';
	if (len && a->drop && a->drop(t->text + file_writer_last_line(t->text, len)))
		len = file_writer_last_line(t->text, len);
	t->text[len] = '\0';
	t->bytes = (uint64_t)from + len;
	return ftruncate(fd, from + (off_t)len) ? -errno : 0;
}

static ssize_t file_writer_tail_there(const void *arg, void *ret, size_t cap)
{
	const struct tail_ask *a = arg;
	char target[PATH_MAX], before[PATH_MAX + 2];
	const char *path = a->path;
	struct tail *t = ret;
	struct stat st;
	int fd, err;

	if (cap < sizeof(*t))
		return -ENOBUFS;
	if (a->before) {
		file_writer_target(path, target);
		snprintf(before, sizeof(before), "%s.1", target);
		path = before;
	}
	if (stat(path, &st))
		return -errno;
	/* Do not open a FIFO: closing it would be the end of file for its reader. */
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	fd = path_open(path, O_RDWR, 0);
	if (fd < 0)
		return fd;
	err = file_writer_tail_cut(fd, a, t);
	close(fd);
	return err ? err : (ssize_t)(offsetof(struct tail, text) + strlen(t->text) + 1);
}

static int file_writer_tail_ask(const struct tail_ask *ask, char **ret_tail, uint64_t *ret_bytes)
{
	char shown[PATH_MAX];
	struct tail *t;
	ssize_t n;

	if (!strcmp(ask->path, "-"))
		return -ENOENT;
	t = malloc(sizeof(*t));
	n = t ? helper_once(file_writer_tail_there, ask, sizeof(*ask), t, sizeof(*t),
			    FILE_WRITER_OPEN_MS)
	      : -ENOMEM;
	if (n > 0) {
		*ret_bytes = t->bytes;
		*ret_tail = strdup(t->text);
		n = *ret_tail ? 0 : -ENOMEM;
	}
	free(t);
	if (n && n != -ENOENT) {
		log_escape(shown, sizeof(shown), ask->path, strlen(ask->path));
		log_error("export to %s: cannot read the last line, to continue after it: %s",
			  shown, path_why((int)n));
	}
	return (int)n;
}

int file_writer_tail(const char *path, bool (*drop)(const char *line), char **ret_tail,
		     uint64_t *ret_bytes)
{
	return file_writer_tail_ask(&(struct tail_ask){.path = path, .drop = drop}, ret_tail,
				    ret_bytes);
}

int file_writer_tail_before(const char *path, char **ret_tail, uint64_t *ret_bytes)
{
	return file_writer_tail_ask(&(struct tail_ask){.path = path, .before = true}, ret_tail,
				    ret_bytes);
}
