/* SPDX-License-Identifier: Apache-2.0 */
/* line_writer.c - lines to a file or pipe that this process writes. */
#include "userspace/export/file/line_writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/aside.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/plural.h"

#define LINE_WRITER_BACKLOG_BYTES (16u << 20)
#define LINE_WRITER_FULL_WAIT_MS  1000
#define LINE_WRITER_CLOSE_WAIT_MS 5000
#define LINE_WRITER_FIFO_WAIT_MS  2000		/* of a replay, for a reader */
#define LINE_WRITER_FIFO_END_MS	  500		/* for one that did not come all the time */
#define LINE_WRITER_FIFO_NS	  1000000000ull /* between tries */
#define SIZE_LEAST		  (1ull << 20)
#define SIZE_MOST		  (1ull << 40)
#define LINE_WRITER_TAIL_BYTES	  (1u << 20) /* a line is far shorter */

static void line_writer_fail(struct line_writer *s, int error)
{
	if (!s->error)
		log_error(error == -EPIPE ? "export to %s: its reader is gone; the export ends here"
					  : "export to %s: %s; the export ends here",
			  s->path, path_why(error));
	s->error = error;
}

static bool line_writer_is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
}

/* A FIFO gets a reader when it will: lines are kept until then. */
static void line_writer_fifo_wait(struct line_writer *s, const char *path)
{
	s->fd = -1;
	s->fifo = strdup(path);
	if (s->fifo)
		log_warn(
			"export to %s: no process reads this FIFO yet; up to %u MB are kept until one does",
			s->path, LINE_WRITER_BACKLOG_BYTES >> 20);
}

/* fifo_ms: for a FIFO's reader; 0: lines are kept until there is one. */
static int line_writer_open_how(struct line_writer **ret, const char *path, int how, int fifo_ms)
{
	struct line_writer *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	log_escape(s->path, sizeof(s->path), strcmp(path, "-") != 0 ? path : "standard output",
		   PATH_MAX);
	if (strcmp(path, "-") != 0)
		s->fd = path_open_fifo(path, O_WRONLY | O_CREAT | how, 0644, fifo_ms);
	else
		s->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	err = s->fd >= 0 ? 0 : strcmp(path, "-") != 0 ? s->fd : -errno;
	if (err == -ENXIO && !fifo_ms)
		line_writer_fifo_wait(s, path);
	if (err && !s->fifo) {
		log_error("export to %s: %s", s->path, path_why(err));
		free(s);
		return err;
	}
	s->file = s->fd >= 0 && line_writer_is_file(s->fd);
	*ret = s;
	return 0;
}

int line_writer_open(struct line_writer **ret, const char *path)
{
	return line_writer_open_how(ret, path, O_TRUNC, LINE_WRITER_FIFO_WAIT_MS);
}

int line_writer_open_append(struct line_writer **ret, const char *path)
{
	return line_writer_open_how(ret, path, O_APPEND, LINE_WRITER_FIFO_WAIT_MS);
}

/* Whether a process reads it now. wait_ms: for one. */
static bool line_writer_fifo_begin(struct line_writer *s, int wait_ms)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns < s->open_ns && !wait_ms)
		return false;
	s->open_ns = now_ns + LINE_WRITER_FIFO_NS;
	s->fd = path_open_fifo(s->fifo, O_WRONLY, 0,
			       wait_ms < LINE_WRITER_FIFO_END_MS ? wait_ms
								 : LINE_WRITER_FIFO_END_MS);
	if (s->fd == -ENXIO)
		return s->fd = -1, false;
	free(s->fifo);
	s->fifo = NULL;
	if (s->fd < 0)
		line_writer_fail(s, s->fd);
	return s->fd >= 0;
}

/* Where the last line of text begins, which ends at len (after its line feed). */
static size_t line_writer_last_line(const char *text, size_t len)
{
	const char *before = len > 1 ? memrchr(text, '\n', len - 1) : NULL;

	return before ? (size_t)(before + 1 - text) : 0;
}

struct tail_ask {
	const char *path;
	bool before; /* of the file that this one's last rotation renamed */
	bool (*drop)(const char *line);
};

struct tail {
	uint64_t bytes;
	char text[LINE_WRITER_TAIL_BYTES + 1];
};

static int line_writer_tail_cut(int fd, const struct tail_ask *a, struct tail *t)
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
	from = st.st_size > LINE_WRITER_TAIL_BYTES ? st.st_size - LINE_WRITER_TAIL_BYTES : 0;
	n = pread(fd, t->text, LINE_WRITER_TAIL_BYTES, from);
	if (n < 0)
		return -errno;
	end = memrchr(t->text, '\n', (size_t)n);
	len = end ? (size_t)(end + 1 - t->text) : 0;
	t->text[len] = '\0';
	if (len && a->drop && a->drop(t->text + line_writer_last_line(t->text, len)))
		len = line_writer_last_line(t->text, len);
	t->text[len] = '\0';
	t->bytes = (uint64_t)from + len;
	return ftruncate(fd, from + (off_t)len) ? -errno : 0;
}

static ssize_t line_writer_tail_there(const void *arg, void *ret, size_t cap)
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
		file_writer_target(path, target, sizeof(target));
		snprintf(before, sizeof(before), "%s.1", target);
		path = before;
	}
	if (stat(path, &st))
		return -errno;
	/* Closing a FIFO would end its reader. */
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	fd = path_open(path, O_RDWR, 0);
	if (fd < 0)
		return fd;
	err = line_writer_tail_cut(fd, a, t);
	close(fd);
	return err ? err : (ssize_t)(offsetof(struct tail, text) + strlen(t->text) + 1);
}

static int line_writer_tail_ask(const struct tail_ask *ask, char **ret_tail, uint64_t *ret_bytes)
{
	char shown[PATH_MAX];
	struct tail *t;
	ssize_t n;

	if (!strcmp(ask->path, "-"))
		return -ENOENT;
	t = malloc(sizeof(*t));
	n = t ? aside_once(line_writer_tail_there, ask, sizeof(*ask), t, sizeof(*t),
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
		log_error("export to %s: cannot read its last line, to continue after it: %s",
			  shown, path_why((int)n));
	}
	return (int)n;
}

int line_writer_tail(const char *path, bool (*drop)(const char *line), char **ret_tail,
		     uint64_t *ret_bytes)
{
	return line_writer_tail_ask(&(struct tail_ask){.path = path, .drop = drop}, ret_tail,
				    ret_bytes);
}

int line_writer_tail_before(const char *path, char **ret_tail, uint64_t *ret_bytes)
{
	return line_writer_tail_ask(&(struct tail_ask){.path = path, .before = true}, ret_tail,
				    ret_bytes);
}

char *line_writer_setting(char *spec, const char *name)
{
	size_t len = strlen(name);
	char *at = strrchr(spec, ',');

	if (!at || strncmp(at + 1, name, len) != 0 || at[len + 1] != '=')
		return NULL;
	*at = '\0';
	return at + len + 2;
}

int line_writer_size(const char *text, uint64_t *ret)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t size;
	char *end;

	errno = 0;
	size = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1])) || size > SIZE_MOST)
		return -EINVAL;
	if (unit)
		size <<= 10 * (unit - units + 1);
	if (size < SIZE_LEAST || size > SIZE_MOST)
		return -EINVAL;
	*ret = size;
	return 0;
}

uint64_t line_writer_lost(const struct line_writer *s)
{
	return s->lost_lines;
}

uint64_t line_writer_failed(const struct line_writer *s)
{
	return s->failed_lines;
}

struct buffer *line_writer_buffer(struct line_writer *s)
{
	return &s->text;
}

/* One write of what is certain not to block: a pipe that polls writable has room for PIPE_BUF bytes
 * (fs/pipe.c: a free slot is a page). O_NONBLOCK is not ours to set, others share the description.
 * Returns false when nothing more can be written now. */
static bool line_writer_write(struct line_writer *s, int wait_ms)
{
	struct pollfd p = {.events = POLLOUT};
	size_t left = s->text.len - s->written;
	ssize_t n;

	if (!left || s->error || (s->fifo && !line_writer_fifo_begin(s, wait_ms)))
		return false;
	if (!s->file) {
		p.fd = s->fd;
		if (poll(&p, 1, wait_ms) <= 0)
			return false;
		left = left < PIPE_BUF ? left : PIPE_BUF;
	}
	n = write(s->fd, s->text.data + s->written, left);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n < 0) {
		line_writer_fail(s, -errno);
		return false;
	}
	s->written += (size_t)n;
	s->stalled = false;
	return true;
}

static void line_writer_forget(struct line_writer *s)
{
	if (s->error) {
		for (; s->written < s->text.len; s->written++)
			s->failed_lines += s->text.data[s->written] == '\n';
	}
	line_writer_shrink(s);
}

void line_writer_flush(struct line_writer *s)
{
	if (s->file_writer) {
		line_writer_helper_flush(s);
		return;
	}
	while (line_writer_write(s, 0))
		;
	line_writer_forget(s);
}

/* The newest line goes: what was promised to be written is kept in order. */
static void line_writer_drop(struct line_writer *s)
{
	line_writer_cut(s);
	if (!s->lost_lines++)
		log_warn("export to %s: its reader is too slow; lines are lost from here", s->path);
}

void line_writer_line(struct line_writer *s)
{
	if (s->file_writer) {
		line_writer_helper_line(s);
		return;
	}
	if (s->text.failed) {
		buffer_free(&s->text);
		s->written = 0;
		line_writer_fail(s, -ENOMEM);
		return;
	}
	if (s->text.len - s->written < LINE_WRITER_BATCH_BYTES)
		return;
	line_writer_flush(s);
	if (s->text.len - s->written < LINE_WRITER_BACKLOG_BYTES)
		return;
	if (!s->stalled && !line_writer_write(s, LINE_WRITER_FULL_WAIT_MS))
		s->stalled = true;
	if (s->stalled && !s->error)
		line_writer_drop(s);
	line_writer_forget(s);
}

int line_writer_close(struct line_writer *s)
{
	int err;

	if (!s)
		return 0;
	if (s->file_writer)
		return line_writer_helper_close(s);
	if (s->bounded)
		line_writer_end(s, false);
	while (line_writer_write(s, s->bounded ? line_writer_left_ms(s->end_ns)
					       : LINE_WRITER_CLOSE_WAIT_MS))
		;
	if (s->written < s->text.len && !s->error && s->fifo)
		s->error = -ENXIO;
	else if (s->written < s->text.len && !s->error)
		line_writer_fail(s, -ETIMEDOUT);
	if (s->fd >= 0 && close(s->fd) && !s->error)
		line_writer_fail(s, -errno);
	line_writer_forget(s);
	/* A reader that is gone wants no more. */
	if (s->failed_lines && s->error != -EPIPE)
		log_error("export to %s: %llu line%s not written: %s", s->path,
			  (unsigned long long)s->failed_lines,
			  s->failed_lines == 1 ? " was" : "s were", path_why(s->error));
	if (s->lost_lines)
		log_error("export to %s: %llu line%s lost", s->path,
			  (unsigned long long)s->lost_lines, plural(s->lost_lines));
	err = s->error ? s->error : s->lost_lines ? -ENOBUFS : 0;
	buffer_free(&s->text);
	free(s->fifo);
	free(s);
	return err;
}

int line_writer_open_aside(struct line_writer **ret, const char *path, bool keep,
			   line_writer_gap_fn *gap, void *ctx)
{
	struct file_writer *file_writer = NULL;
	int err = strcmp(path, "-") != 0 ? file_writer_open(&file_writer, path, keep) : -ENOTSUP;
	char shown[256];
	struct line_writer *s;

	if (err == -ENOTSUP) {
		err = line_writer_open_how(ret, path, keep ? O_APPEND : O_TRUNC, 0);
		if (!err)
			(*ret)->bounded = true;
		return err;
	}
	s = err ? NULL : calloc(1, sizeof(*s));
	log_escape(shown, sizeof(shown), path, PATH_MAX);
	if (!s) {
		err = err ? err : -ENOMEM;
		log_error("export to %s: %s", shown, file_writer_why(err));
		file_writer_close(file_writer, 0);
		return err;
	}
	memcpy(s->path, shown, sizeof(s->path));
	s->fd = -1;
	s->file = true;
	s->file_writer = file_writer;
	s->gap_line = gap;
	s->ctx = ctx;
	*ret = s;
	return 0;
}

void line_writer_save(struct line_writer *s, uint64_t within_ns)
{
	uint64_t until_ns = clock_mono_ns() + within_ns;

	line_writer_flush(s);
	if (s->file_writer)
		line_writer_helper_wait(s, until_ns);
}
