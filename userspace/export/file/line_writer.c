/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/file/line_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

#define NS_PER_MS    1000000ull
#define NS_PER_S     1000000000ull
#define FULL_WAIT_MS 100	    /* that a burst waits for the process that writes */
#define AGAIN_NS     NS_PER_S	    /* after an error */
#define END_NS	     (5 * NS_PER_S) /* that the end of the program waits for a disk */
#define END_SOON_NS  (NS_PER_S / 2)
#define LEFT_MOST_MS 60000
#define ERRNO_MAX    4096
#define OWED_MAX     (2 * LINE_WRITER_KEPT_BYTES)
#define DEAD_NS	     (10 * NS_PER_S) /* a disk that has not answered for so long is told */

#define LINE_WRITER_BATCH_BYTES (64u << 10)

struct line_writer {
	int fd;		  /* -1: none, or a FIFO that no process reads yet */
	char *fifo;	  /* its name, until one does */
	uint64_t open_ns; /* ... the next try */
	bool file;	  /* a regular file takes everything at once */
	bool bounded; /* the end waits for its reader until end_ns, else as long as it reads on */
	bool stalled; /* the reader or disk did not move during a whole wait: do not wait again
		       * until it does */
	struct buffer text;
	size_t written; /* of text; always at a place that a later write goes on from */
	uint64_t lost_lines, failed_lines;
	int error; /* the first one, nothing is written any more; aside: the one that stands */
	char path[256];
	uint64_t end_ns; /* 0: no end was told */
	/* For one that a helper process writes: */
	struct file_writer *file_writer; /* NULL: it is not */
	size_t going;			 /* of text, behind what is written */
	uint64_t asked_ns;		 /* ... since */
	bool dead;			 /* ... for so long that it was told */
	uint64_t again_ns;		 /* after an error: the next try */
	struct file_writer_bound bound;	 /* bytes 0: none */
	uint64_t removed;		 /* lines that went with the oldest file */
	uint64_t gap;			 /* lines dropped here, at the end of text ... */
	uint64_t before;		 /* ... and of them, those that no count of ours has */
	int worst;			 /* the last error that cost lines */
	line_writer_gap_fn *gap_line;
	void *ctx;
};

/* The newest line goes from text. */
static void line_writer_cut(struct line_writer *s);
/* Written bytes are removed from text. */
static void line_writer_shrink(struct line_writer *s);

/* Until then; 0: it is past. */
static int line_writer_left_ms(uint64_t until_ns);

static void line_writer_helper_line(struct line_writer *s);
static void line_writer_helper_flush(struct line_writer *s);
/* For what is on its way to be written, until then. */
static void line_writer_helper_wait(struct line_writer *s, uint64_t until_ns);
static int line_writer_helper_close(struct line_writer *s);

/* ---- this process writes --------------------------------------------------------------------- */

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

/* ---- a helper process writes ----------------------------------------------------------------- */

/* ---- on the way ------------------------------------------------------------------------------ */

static size_t line_writer_pending(const struct line_writer *s)
{
	return s->text.len - s->written;
}

static uint64_t line_writer_helper_lines_of(const char *text, size_t len)
{
	const char *end = text + len;
	uint64_t n = 0;

	while (len && (text = memchr(text, '\n', (size_t)(end - text)))) {
		n++;
		len = (size_t)(end - ++text);
	}
	return n;
}

static void line_writer_answered(struct line_writer *s, const struct file_writer_told *told)
{
	if (s->dead)
		log_warn("export to %s: its disk answers again", s->path);
	s->going = 0;
	s->dead = s->stalled = false;
	s->written += told->bytes;
	if (told->removed && !s->removed)
		log_warn(
			"export to %s: it has reached its size; with %u older file%s kept, the oldest lines are removed from here on",
			s->path, s->bound.keep, plural(s->bound.keep));
	s->removed += told->removed;
	if (told->err) {
		if (told->err != s->error)
			log_error("export to %s: %s; up to %u MB are kept and tried again", s->path,
				  file_writer_why(told->err), LINE_WRITER_KEPT_BYTES >> 20);
		s->again_ns = clock_mono_ns() + AGAIN_NS;
	} else if (s->error && !s->gap) {
		log_warn("export to %s: is written again", s->path);
	}
	s->error = told->err;
}

/* Whether an answer came. */
static bool line_writer_helper_take(struct line_writer *s, int wait_ms)
{
	struct file_writer_told told;

	if (!s->going || file_writer_take(s->file_writer, wait_ms, &told))
		return false;
	line_writer_answered(s, &told);
	line_writer_shrink(s);
	return true;
}

static void line_writer_give(struct line_writer *s)
{
	uint64_t now_ns;

	if (s->going || !line_writer_pending(s))
		return;
	now_ns = clock_mono_ns();
	if (s->error && now_ns < s->again_ns)
		return;
	s->asked_ns = now_ns;
	s->going = file_writer_give(s->file_writer, s->text.data + s->written,
				    line_writer_pending(s));
	if (!s->going) /* no process can be had */
		line_writer_answered(s, &(struct file_writer_told){.err = -EBUSY});
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* No memory for all of a line: what there is of it goes. */
static void line_writer_drop_torn(struct line_writer *s)
{
	s->text.failed = false;
	if (line_writer_pending(s) && s->text.data[s->text.len - 1] != '\n')
		line_writer_cut(s);
}

static void line_writer_drop_lines(struct line_writer *s)
{
	line_writer_cut(s);
	if (!s->gap++ && !s->error)
		log_warn("export to %s: the disk is too slow; lines are lost from here", s->path);
	if (s->error) {
		s->failed_lines++;
		s->worst = s->error;
	} else {
		s->lost_lines++;
	}
}

static void line_writer_helper_gap_end(struct line_writer *s)
{
	uint64_t gap = s->gap, before;

	if (!gap)
		return;
	before = s->before;
	s->gap = s->before = 0; /* that line is not one of them */
	if (s->gap_line)
		s->gap_line(s->ctx, &s->text, gap);
	if (s->text.failed) { /* told later */
		line_writer_drop_torn(s);
		s->gap = gap;
		s->before = before;
		return;
	}
	if (gap > before)
		log_warn("export to %s: is written again; %llu line%s missing", s->path,
			 (unsigned long long)gap, gap == 1 ? " is" : "s are");
	else
		log_warn("export to %s: %llu line%s missing: an earlier gp-bpf could not write %s",
			 s->path, (unsigned long long)gap, gap == 1 ? " is" : "s are",
			 gap == 1 ? "it" : "them");
}

static void line_writer_helper_flush(struct line_writer *s)
{
	line_writer_helper_take(s, 0);
	if (s->going && !s->dead && clock_mono_ns() - s->asked_ns > DEAD_NS) {
		s->dead = true;
		log_error("export to %s: its disk does not answer; up to %u MB are kept", s->path,
			  LINE_WRITER_KEPT_BYTES >> 20);
	}
	if (!s->error && line_writer_pending(s) <= LINE_WRITER_KEPT_BYTES / 2)
		line_writer_helper_gap_end(s);
	line_writer_give(s);
}

static void line_writer_helper_line(struct line_writer *s)
{
	if (s->text.failed) {
		line_writer_drop_torn(s);
		s->failed_lines++;
		s->gap++;
		s->worst = -ENOMEM;
		return;
	}
	if (s->gap) {
		line_writer_drop_lines(s);
		line_writer_helper_flush(s);
		return;
	}
	if (line_writer_pending(s) < LINE_WRITER_BATCH_BYTES)
		return;
	line_writer_helper_flush(s);
	if (line_writer_pending(s) < LINE_WRITER_KEPT_BYTES)
		return;
	if (!s->error && !s->stalled) {
		s->stalled = !line_writer_helper_take(s, FULL_WAIT_MS);
		line_writer_give(s);
	}
	if (line_writer_pending(s) >= LINE_WRITER_KEPT_BYTES)
		line_writer_drop_lines(s);
}

static int line_writer_left_ms(uint64_t until_ns)
{
	uint64_t now_ns = clock_mono_ns(),
		 ms = now_ns < until_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;

	return ms < LEFT_MOST_MS ? (int)ms : LEFT_MOST_MS;
}

uint64_t line_writer_waiting(const struct line_writer *s, uint64_t *ret_bytes)
{
	*ret_bytes = s->file_writer ? line_writer_pending(s) : 0;
	return s->file_writer && line_writer_pending(s)
		       ? line_writer_helper_lines_of(s->text.data + s->written,
						     line_writer_pending(s))
		       : 0;
}

const char *line_writer_trouble(const struct line_writer *s)
{
	return s->error	 ? file_writer_why(s->error)
	       : s->dead ? file_writer_why(-ETIMEDOUT)
	       : s->fifo ? "no process reads this FIFO yet"
			 : NULL;
}

/* ---- from one to the next -------------------------------------------------------------------- */

struct owed {
	uint64_t bytes; /* that the file had */
	uint64_t gap;
	int error;
	uint32_t len;
	char *text;
};

/* What stands in the file behind those bytes is the beginning of the text; where it is more, all
 * that was owed is told there, the gap too. */
static void line_writer_helper_take_over(struct line_writer *s, const struct owed *owed,
					 bool headed)
{
	uint64_t bytes = file_writer_bytes(s->file_writer),
		 from = bytes > owed->bytes ? bytes - owed->bytes : 0;
	const char *first = headed && owed->len && !bytes && !owed->bytes
				    ? memchr(owed->text, '\n', owed->len)
				    : NULL;

	if (from > owed->len)
		return;
	if (from && owed->text[from - 1] != '\n')
		from = 0; /* it is another file: rather twice than never */
	if (first)
		from = (uint64_t)(first + 1 - owed->text);
	buffer_add(&s->text, owed->text + from, owed->len - from);
	s->gap = s->before = owed->gap;
	s->error = line_writer_pending(s) && owed->error > -ERRNO_MAX && owed->error < 0
			   ? owed->error
			   : 0;
	line_writer_helper_flush(s);
}

void line_writer_archive(struct line_writer *s, struct archive *a, bool headed)
{
	struct owed owed = {0};

	if (!archive_reads(a) && s->file_writer)
		owed = (struct owed){file_writer_bytes(s->file_writer), s->gap, s->error,
				     (uint32_t)line_writer_pending(s), s->text.data + s->written};
	archive_number(a, &owed.bytes);
	archive_number(a, &owed.gap);
	archive_number(a, &owed.error);
	archive_count(a, &owed.len, OWED_MAX, 1);
	if (archive_reads(a))
		owed.text = owed.len ? archive_alloc(a, owed.len, 1) : NULL;
	if (!a->error && owed.len)
		archive_bytes(a, owed.text, owed.len);
	if (!archive_reads(a))
		return;
	if (!a->error && s->file_writer)
		line_writer_helper_take_over(s, &owed, headed);
	free(owed.text);
}

void line_writer_missed(struct line_writer *s, uint64_t lines)
{
	if (s->file_writer) {
		s->gap += lines;
		s->before += lines;
		line_writer_helper_flush(s);
	} else {
		s->lost_lines += lines;
	}
}

void line_writer_limit(struct line_writer *s, const struct file_writer_bound *bound)
{
	if (!s->file_writer || !bound)
		return;
	s->bound = *bound;
	file_writer_limit(s->file_writer, bound);
}

uint64_t line_writer_removed(const struct line_writer *s)
{
	return s->removed;
}

/* ---- begin and end --------------------------------------------------------------------------- */

void line_writer_end(struct line_writer *s, bool soon)
{
	if (!s->end_ns)
		s->end_ns = clock_mono_ns() + (soon ? END_SOON_NS : END_NS);
}

/* Everything, in the time that is left; an error gets one more try. */
static void line_writer_helper_finish(struct line_writer *s)
{
	int tries = 2, ms;

	s->again_ns = 0;
	if (!s->error && !s->going)
		line_writer_helper_gap_end(s);
	line_writer_give(s);
	while (s->going && (ms = line_writer_left_ms(s->end_ns)) > 0) {
		if (!line_writer_helper_take(s, ms))
			continue;
		s->again_ns = 0;
		tries -= s->error != 0;
		if (!s->error)
			line_writer_helper_gap_end(s);
		if (tries)
			line_writer_give(s);
	}
}

static void line_writer_helper_wait(struct line_writer *s, uint64_t until_ns)
{
	int ms;

	while (s->going && !s->error && !s->stalled && (ms = line_writer_left_ms(until_ns)) > 0) {
		s->stalled = !line_writer_helper_take(s, ms);
		line_writer_give(s);
	}
}

static int line_writer_helper_close(struct line_writer *s)
{
	uint64_t left;
	int err, why;

	line_writer_end(s, false);
	line_writer_helper_finish(s);
	left = line_writer_pending(s) ? line_writer_helper_lines_of(s->text.data + s->written,
								    line_writer_pending(s))
				      : 0;
	err = file_writer_close(s->file_writer, line_writer_left_ms(s->end_ns));
	left += s->failed_lines + s->lost_lines + s->before;
	why = err == -ETIMEDOUT ? err : s->error ? s->error : s->worst ? s->worst : err;
	if (left)
		log_error("export to %s: %llu line%s not written: %s", s->path,
			  (unsigned long long)left, left == 1 ? " was" : "s were",
			  why ? file_writer_why(why) : "its disk was too slow");
	else if (err)
		log_error("export to %s: what was written last may not be there: %s", s->path,
			  file_writer_why(err));
	err = err ? err : why ? why : left ? -ENOBUFS : 0;
	if (s->removed)
		log_warn(
			"export to %s: %llu line%s removed with the oldest files, to keep its size",
			s->path, (unsigned long long)s->removed,
			s->removed == 1 ? " was" : "s were");
	buffer_free(&s->text);
	free(s);
	return err;
}

static void line_writer_cut(struct line_writer *s)
{
	size_t at = s->text.len - 1;

	while (at > s->written && s->text.data[at - 1] != '\n')
		at--;
	s->text.len = at;
}

static void line_writer_shrink(struct line_writer *s)
{
	if (s->written == s->text.len) {
		if (s->text.cap > LINE_WRITER_KEPT_BYTES / 4) /* of a backlog */
			buffer_free(&s->text);
		buffer_clear(&s->text);
		s->written = 0;
	} else if (s->written > s->text.len / 2) {
		s->text.len -= s->written;
		memmove(s->text.data, s->text.data + s->written, s->text.len);
		s->written = 0;
	}
}
