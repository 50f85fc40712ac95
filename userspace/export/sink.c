/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/log.h"

#define SINK_BATCH_BYTES   (64u << 10)
#define SINK_BACKLOG_BYTES (16u << 20)
#define SINK_FULL_WAIT_MS  1000
#define SINK_CLOSE_WAIT_MS 5000

struct sink {
	int fd;
	bool file;    /* a regular file takes everything at once */
	bool stalled; /* the reader did not move during a whole wait: do not wait again until it does */
	struct buffer text;
	size_t written; /* of text; always at a place that a later write goes on from */
	uint64_t lost_lines;
	int error; /* the first one; nothing is written any more */
	char path[256];
};

static void sink_fail(struct sink *s, int error)
{
	if (!s->error)
		log_error(error == -EPIPE ? "export to %s: its reader is gone; the export ends here"
					  : "export to %s: %s; the export ends here",
			  s->path, strerror(-error));
	s->error = error;
}

static int sink_open_how(struct sink **ret, const char *path, int how)
{
	struct sink *s = calloc(1, sizeof(*s));
	struct stat st;
	int err;

	if (!s)
		return -ENOMEM;
	log_escape(s->path, sizeof(s->path), strcmp(path, "-") != 0 ? path : "standard output", PATH_MAX);
	if (strcmp(path, "-") != 0)
		s->fd = open(path, O_WRONLY | O_CREAT | how | O_CLOEXEC, 0644);
	else
		s->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (s->fd < 0) {
		err = -errno;
		log_error("export to %s: %s", s->path, strerror(-err));
		free(s);
		return err;
	}
	s->file = fstat(s->fd, &st) || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
	*ret = s;
	return 0;
}

int sink_open(struct sink **ret, const char *path)
{
	return sink_open_how(ret, path, O_TRUNC);
}

int sink_open_append(struct sink **ret, const char *path)
{
	return sink_open_how(ret, path, O_APPEND);
}

struct buffer *sink_buffer(struct sink *s)
{
	return &s->text;
}

/* One write of what is certain not to block: a pipe that polls writable has room for PIPE_BUF bytes
 * (fs/pipe.c: a free slot is a page). O_NONBLOCK is not ours to set, others share the description.
 * Returns false when nothing more can be written now. */
static bool sink_write(struct sink *s, int wait_ms)
{
	struct pollfd p = {.fd = s->fd, .events = POLLOUT};
	size_t left = s->text.len - s->written;
	ssize_t n;

	if (!left || s->error)
		return false;
	if (!s->file) {
		if (poll(&p, 1, wait_ms) <= 0)
			return false;
		left = left < PIPE_BUF ? left : PIPE_BUF;
	}
	n = write(s->fd, s->text.data + s->written, left);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n < 0) {
		sink_fail(s, -errno);
		return false;
	}
	s->written += (size_t)n;
	s->stalled = false;
	return true;
}

static void sink_forget(struct sink *s)
{
	if (s->error)
		s->written = s->text.len;
	if (s->written == s->text.len) {
		buffer_clear(&s->text);
		s->written = 0;
	} else if (s->written > s->text.len / 2) {
		s->text.len -= s->written;
		memmove(s->text.data, s->text.data + s->written, s->text.len);
		s->written = 0;
	}
}

void sink_flush(struct sink *s)
{
	while (sink_write(s, 0))
		;
	sink_forget(s);
}

/* The newest line goes: what was promised to be written is kept in order. */
static void sink_drop(struct sink *s)
{
	size_t at = s->text.len - 1;

	while (at > s->written && s->text.data[at - 1] != '\n')
		at--;
	s->text.len = at;
	if (!s->lost_lines++)
		log_warn("export to %s: its reader is too slow; lines are lost from here", s->path);
}

void sink_line(struct sink *s)
{
	if (s->text.failed) {
		buffer_free(&s->text);
		s->written = 0;
		sink_fail(s, -ENOMEM);
		return;
	}
	if (s->text.len - s->written < SINK_BATCH_BYTES)
		return;
	sink_flush(s);
	if (s->text.len - s->written < SINK_BACKLOG_BYTES)
		return;
	if (!s->stalled && !sink_write(s, SINK_FULL_WAIT_MS))
		s->stalled = true;
	if (s->stalled && !s->error)
		sink_drop(s);
	sink_forget(s);
}

int sink_close(struct sink *s)
{
	int err;

	if (!s)
		return 0;
	while (sink_write(s, SINK_CLOSE_WAIT_MS))
		;
	if (s->written < s->text.len && !s->error)
		sink_fail(s, -ETIMEDOUT);
	if (close(s->fd) && !s->error)
		sink_fail(s, -errno);
	if (s->lost_lines)
		log_error("export to %s: %llu lines lost", s->path, (unsigned long long)s->lost_lines);
	err = s->error ? s->error : s->lost_lines ? -ENOBUFS : 0;
	buffer_free(&s->text);
	free(s);
	return err;
}
