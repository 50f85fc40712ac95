/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/sink_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/plural.h"

#define SINK_BACKLOG_BYTES (16u << 20)
#define SINK_FULL_WAIT_MS  1000
#define SINK_CLOSE_WAIT_MS 5000
#define SINK_TAIL_BYTES	   (1u << 20) /* a line is far shorter */

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
	log_escape(s->path, sizeof(s->path), strcmp(path, "-") != 0 ? path : "standard output",
		   PATH_MAX);
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

/* Where the last line of text begins, which ends at len (after its line feed). */
static size_t sink_last_line(const char *text, size_t len)
{
	const char *before = len > 1 ? memrchr(text, '\n', len - 1) : NULL;

	return before ? (size_t)(before + 1 - text) : 0;
}

int sink_tail(const char *path, bool (*drop)(const char *line), char **ret_tail,
	      uint64_t *ret_bytes)
{
	int err = -ENOENT,
	    fd = strcmp(path, "-") != 0 ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;
	char *text = malloc(SINK_TAIL_BYTES + 1), *end;
	struct stat st;
	size_t len;
	off_t from;
	ssize_t n;

	if (fd < 0 || !text || fstat(fd, &st) || !S_ISREG(st.st_mode))
		goto out;
	from = st.st_size > SINK_TAIL_BYTES ? st.st_size - SINK_TAIL_BYTES : 0;
	n = pread(fd, text, SINK_TAIL_BYTES, from);
	if (n < 0)
		goto out;
	end = memrchr(text, '\n', (size_t)n);
	len = end ? (size_t)(end + 1 - text) : 0;
	text[len] = '\0';
	if (len && drop && drop(text + sink_last_line(text, len)))
		len = sink_last_line(text, len);
	text[len] = '\0';
	if (ftruncate(fd, from + (off_t)len))
		goto out;
	err = 0;
	*ret_bytes = (uint64_t)from + len;
	*ret_tail = text;
	text = NULL;
out:
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

uint64_t sink_lost(const struct sink *s)
{
	return s->lost_lines;
}

uint64_t sink_failed(const struct sink *s)
{
	return s->failed_lines;
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

void sink_shrink(struct sink *s)
{
	if (s->written == s->text.len) {
		if (s->text.cap > SINK_KEPT_BYTES / 4) /* of a backlog */
			buffer_free(&s->text);
		buffer_clear(&s->text);
		s->written = 0;
	} else if (s->written > s->text.len / 2) {
		s->text.len -= s->written;
		memmove(s->text.data, s->text.data + s->written, s->text.len);
		s->written = 0;
	}
}

static void sink_forget(struct sink *s)
{
	if (s->error) {
		for (; s->written < s->text.len; s->written++)
			s->failed_lines += s->text.data[s->written] == '\n';
	}
	sink_shrink(s);
}

void sink_flush(struct sink *s)
{
	if (s->outlet) {
		sink_aside_flush(s);
		return;
	}
	while (sink_write(s, 0))
		;
	sink_forget(s);
}

void sink_cut(struct sink *s)
{
	size_t at = s->text.len - 1;

	while (at > s->written && s->text.data[at - 1] != '\n')
		at--;
	s->text.len = at;
}

/* The newest line goes: what was promised to be written is kept in order. */
static void sink_drop(struct sink *s)
{
	sink_cut(s);
	if (!s->lost_lines++)
		log_warn("export to %s: its reader is too slow; lines are lost from here", s->path);
}

void sink_line(struct sink *s)
{
	if (s->outlet) {
		sink_aside_line(s);
		return;
	}
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
	if (s->outlet)
		return sink_aside_close(s);
	if (s->bounded)
		sink_end(s, false);
	while (sink_write(s, s->bounded ? sink_left_ms(s->end_ns) : SINK_CLOSE_WAIT_MS))
		;
	if (s->written < s->text.len && !s->error)
		sink_fail(s, -ETIMEDOUT);
	if (close(s->fd) && !s->error)
		sink_fail(s, -errno);
	sink_forget(s);
	/* A reader that is gone wants no more. */
	if (s->failed_lines && s->error != -EPIPE)
		log_error("export to %s: %llu line%s not written: %s", s->path,
			  (unsigned long long)s->failed_lines,
			  s->failed_lines == 1 ? " was" : "s were", strerror(-s->error));
	if (s->lost_lines)
		log_error("export to %s: %llu line%s lost", s->path,
			  (unsigned long long)s->lost_lines, plural(s->lost_lines));
	err = s->error ? s->error : s->lost_lines ? -ENOBUFS : 0;
	buffer_free(&s->text);
	free(s);
	return err;
}
