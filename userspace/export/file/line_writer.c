/* SPDX-License-Identifier: Apache-2.0 */
/* line_writer.c - keeps lines until a helper process, or this process, has written them; counts
 * lost lines. */
#include "userspace/export/file/line_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/file.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/plural.h"

#define NS_PER_MS   1000000ull
#define NS_PER_S    1000000000ull
#define BATCH_BYTES (64u << 10) /* lines are written when they have this number of bytes */

/* Limits when this process writes; times are the longest waits for the reader of a pipe or FIFO. */
#define BACKLOG_BYTES (16u << 20) /* limit of unwritten bytes that are kept */
#define FULL_WAIT_MS  1000	  /* wait when BACKLOG_BYTES are kept */
#define CLOSE_WAIT_MS 5000	  /* wait of a blocking writer for each write at the end */
#define FIFO_WAIT_MS  2000	  /* wait of a blocking writer for a process that reads the FIFO */
#define FIFO_END_MS   500	  /* wait at the end for a process that reads the FIFO */
#define FIFO_RETRY_NS NS_PER_S	  /* time between attempts to open a FIFO */

/* Limits when a helper process writes. */
#define BURST_WAIT_MS 100	     /* wait for the disk when LINE_WRITER_KEPT_BYTES are kept */
#define RETRY_NS      NS_PER_S	     /* time between attempts after an error */
#define END_NS	      (5 * NS_PER_S) /* wait for the disk at the end of the program */
#define END_SOON_NS   (NS_PER_S / 2)
#define LEFT_MAX_MS   60000
#define ERRNO_MAX     4096
#define ARCHIVE_BYTES (2 * LINE_WRITER_KEPT_BYTES)
#define DEAD_NS	      (10 * NS_PER_S) /* a disk that does not answer is reported after this time */

#define SIZE_LEAST (1ull << 20)
#define SIZE_MOST  (1ull << 40)

struct line_writer {
	char path[256]; /* path for messages, escaped */
	struct buffer text;
	size_t written; /* offset in text at which the next write starts */
	bool stalled;	/* nothing was written during the last wait: do not wait again */
	/* If this process writes: its first error, after which it writes nothing. If a helper
	 * process writes: the current error. */
	int error;
	uint64_t lines; /* lines accepted, by this process and its predecessors */
	uint64_t lost_lines, failed_lines;
	uint64_t end_ns; /* time to give up, set by line_writer_end(); 0: not called */
	/* If this process writes: */
	int fd;		   /* descriptor; -1: none, or a FIFO that no process reads yet */
	char *fifo;	   /* name of the FIFO, until a process reads it */
	uint64_t retry_ns; /* time of the next attempt to open the FIFO */
	bool regular;	   /* a file or block device: a write takes all bytes at once */
	bool blocking;	   /* closing waits as long as the reader reads; false: until end_ns */
	/* If a helper process writes: */
	struct file_writer *file; /* NULL: this process writes */
	struct file_writer_bound bound;
	size_t going;	     /* bytes after `written` that the helper process is writing */
	uint64_t asked_ns;   /* when these bytes were given to the helper process */
	bool dead;	     /* it was logged that the disk does not answer */
	uint64_t again_ns;   /* time of the next attempt to write after an error */
	uint64_t removed;    /* lines removed with the oldest file */
	uint64_t gap;	     /* number of lines dropped since the last line of `text` */
	uint64_t gap_before; /* part of gap that a predecessor could not write */
	int worst;	     /* last error because of which lines were dropped */
	line_writer_gap_fn *gap_line;
	void *ctx;
};

/* ---- text ------------------------------------------------------------------------------------ */

static size_t line_writer_pending(const struct line_writer *w)
{
	return w->text.len - w->written;
}

static uint64_t line_writer_lines_pending(const struct line_writer *w)
{
	const char *at, *end;
	uint64_t n = 0;

	if (!line_writer_pending(w))
		return 0;
	at = w->text.data + w->written;
	end = w->text.data + w->text.len;
	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		n++;
		at++;
	}
	return n;
}

/* Removes the newest line. */
static void line_writer_cut(struct line_writer *w)
{
	size_t at = w->text.len - 1;

	while (at > w->written && w->text.data[at - 1] != '\n')
		at--;
	w->text.len = at;
}

/* Frees the part of text that was written. */
static void line_writer_shrink(struct line_writer *w)
{
	if (w->written == w->text.len) {
		if (w->text.cap > LINE_WRITER_KEPT_BYTES / 4) /* grown by a backlog */
			buffer_free(&w->text);
		buffer_clear(&w->text);
		w->written = 0;
	} else if (w->written > w->text.len / 2) {
		w->text.len -= w->written;
		memmove(w->text.data, w->text.data + w->written, w->text.len);
		w->written = 0;
	}
}

/* Returns the time left until until_ns (CLOCK_MONOTONIC); 0: until_ns has passed. */
static int line_writer_left_ms(uint64_t until_ns)
{
	uint64_t now_ns = clock_mono_ns(),
		 ms = now_ns < until_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;

	return ms < LEFT_MAX_MS ? (int)ms : LEFT_MAX_MS;
}

/* ---- this process writes --------------------------------------------------------------------- */

static void line_writer_fail(struct line_writer *w, int error)
{
	if (!w->error)
		log_error(error == -EPIPE
				  ? "export to %s: the reader has exited; the export ends here"
				  : "export to %s: %s; the export ends here",
			  w->path, path_why(error));
	w->error = error;
}

static bool line_writer_is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
}

/* For a FIFO that no process reads yet: remembers its name, to open it again later. */
static void line_writer_fifo_keep(struct line_writer *w, const char *path)
{
	w->fd = -1;
	w->fifo = strdup(path);
	if (w->fifo)
		log_warn(
			"export to %s: no process reads this FIFO yet; up to %u MB of lines are kept meanwhile",
			w->path, BACKLOG_BYTES >> 20);
}

static int line_writer_direct_open(struct line_writer *w, const char *path, bool append)
{
	int how = O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), err;

	if (strcmp(path, "-") != 0) {
		w->fd = path_open_fifo(path, how, 0644, w->blocking ? FIFO_WAIT_MS : 0);
		err = w->fd < 0 ? w->fd : 0;
	} else {
		w->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		err = w->fd < 0 ? -errno : 0;
	}
	if (err == -ENXIO && !w->blocking)
		line_writer_fifo_keep(w, path);
	w->regular = w->fd >= 0 && line_writer_is_regular(w->fd);
	return w->fifo ? 0 : err;
}

/* Returns true if a process reads the FIFO; waits up to wait_ms for one. */
static bool line_writer_fifo_open(struct line_writer *w, int wait_ms)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns < w->retry_ns && !wait_ms)
		return false;
	w->retry_ns = now_ns + FIFO_RETRY_NS;
	w->fd = path_open_fifo(w->fifo, O_WRONLY, 0, wait_ms < FIFO_END_MS ? wait_ms : FIFO_END_MS);
	if (w->fd == -ENXIO)
		return w->fd = -1, false;
	free(w->fifo);
	w->fifo = NULL;
	if (w->fd < 0)
		line_writer_fail(w, w->fd);
	return w->fd >= 0;
}

/* Makes one write that cannot block. Returns false when nothing more can be written now. */
static bool line_writer_write(struct line_writer *w, int wait_ms)
{
	const char *at = w->text.data + w->written;
	size_t left = line_writer_pending(w);
	ssize_t n;

	if (!left || w->error || (w->fifo && !line_writer_fifo_open(w, wait_ms)))
		return false;
	n = !w->regular ? file_write_ready(w->fd, at, left, wait_ms) : write(w->fd, at, left);
	if (n < 0 && w->regular)
		n = -errno;
	if (n == -EINTR || n == -EAGAIN)
		return n == -EINTR;
	if (n < 0) {
		line_writer_fail(w, (int)n);
		return false;
	}
	w->written += (size_t)n;
	w->stalled = false;
	return true;
}

/* After an error, counts all kept lines as failed. Frees what was written or failed. */
static void line_writer_direct_forget(struct line_writer *w)
{
	if (w->error) {
		w->failed_lines += line_writer_lines_pending(w);
		w->written = w->text.len;
	}
	line_writer_shrink(w);
}

static void line_writer_direct_flush(struct line_writer *w)
{
	while (line_writer_write(w, 0))
		;
	line_writer_direct_forget(w);
}

/* Drops and counts the newest line; the lines before it stay in order. */
static void line_writer_direct_drop(struct line_writer *w)
{
	line_writer_cut(w);
	if (!w->lost_lines++)
		log_warn("export to %s: the reader is too slow; lines are being lost", w->path);
}

static void line_writer_direct_line(struct line_writer *w)
{
	if (w->text.failed) {
		w->failed_lines += line_writer_lines_pending(w) +
				   1; /* plus the line for which there is no memory */
		buffer_free(&w->text);
		w->written = 0;
		line_writer_fail(w, -ENOMEM);
		return;
	}
	if (line_writer_pending(w) < BATCH_BYTES)
		return;
	line_writer_direct_flush(w);
	if (line_writer_pending(w) < BACKLOG_BYTES)
		return;
	if (!w->stalled && !line_writer_write(w, FULL_WAIT_MS))
		w->stalled = true;
	if (w->stalled && !w->error)
		line_writer_direct_drop(w);
	line_writer_direct_forget(w);
}

static int line_writer_direct_close(struct line_writer *w)
{
	if (!w->blocking)
		line_writer_end(w, false);
	while (line_writer_write(w, w->blocking ? CLOSE_WAIT_MS : line_writer_left_ms(w->end_ns)))
		;
	if (line_writer_pending(w) && !w->error && w->fifo)
		w->error = -ENXIO;
	else if (line_writer_pending(w) && !w->error)
		line_writer_fail(w, -ETIMEDOUT);
	if (w->fd >= 0 && close(w->fd) && !w->error)
		line_writer_fail(w, -errno);
	line_writer_direct_forget(w);
	/* A reader that has exited needs no more lines: not an error. */
	if (w->failed_lines && w->error != -EPIPE)
		log_error("export to %s: %llu line%s not written: %s", w->path,
			  (unsigned long long)w->failed_lines,
			  w->failed_lines == 1 ? " was" : "s were", path_why(w->error));
	if (w->lost_lines)
		log_error("export to %s: %llu line%s lost", w->path,
			  (unsigned long long)w->lost_lines, plural(w->lost_lines));
	free(w->fifo);
	return w->error ? w->error : w->lost_lines ? -ENOBUFS : 0;
}

/* ---- a helper process writes ----------------------------------------------------------------- */

static void line_writer_answered(struct line_writer *w, const struct file_writer_result *result)
{
	if (w->dead)
		log_warn("export to %s: the disk answers again", w->path);
	w->going = 0;
	w->dead = w->stalled = false;
	w->written += result->bytes;
	if (result->removed && !w->removed)
		log_warn(
			"export to %s: the file has reached its size limit; with %u older file%s kept, the oldest lines are removed from now on",
			w->path, w->bound.keep, plural(w->bound.keep));
	w->removed += result->removed;
	if (result->err) {
		if (result->err != w->error)
			log_error("export to %s: %s; up to %u MB are kept and retried", w->path,
				  file_writer_why(result->err), LINE_WRITER_KEPT_BYTES >> 20);
		w->again_ns = clock_mono_ns() + RETRY_NS;
	} else if (w->error && !w->gap) {
		log_warn("export to %s: writing resumed", w->path);
	}
	w->error = result->err;
}

/* Returns true if the helper process answered within wait_ms. */
static bool line_writer_take(struct line_writer *w, int wait_ms)
{
	struct file_writer_result result;

	if (!w->going || file_writer_take(w->file, wait_ms, &result))
		return false;
	line_writer_answered(w, &result);
	line_writer_shrink(w);
	return true;
}

static void line_writer_give(struct line_writer *w)
{
	uint64_t now_ns;

	if (w->going || !line_writer_pending(w))
		return;
	now_ns = clock_mono_ns();
	if (w->error && now_ns < w->again_ns)
		return;
	w->asked_ns = now_ns;
	w->going = file_writer_give(w->file, w->text.data + w->written, line_writer_pending(w));
	if (!w->going) /* the helper process cannot be started */
		line_writer_answered(w, &(struct file_writer_result){.err = -EBUSY});
}

/* Removes the part of a line for which memory ran out. */
static void line_writer_cut_torn(struct line_writer *w)
{
	w->text.failed = false;
	if (line_writer_pending(w) && w->text.data[w->text.len - 1] != '\n')
		line_writer_cut(w);
}

static void line_writer_drop(struct line_writer *w)
{
	line_writer_cut(w);
	if (!w->gap++ && !w->error)
		log_warn("export to %s: the disk is too slow; lines are being lost", w->path);
	if (w->error) {
		w->failed_lines++;
		w->worst = w->error;
	} else {
		w->lost_lines++;
	}
}

/* Called when lines can be kept again. Adds the line that marks the gap, and logs how many lines
 * are missing. */
static void line_writer_gap_end(struct line_writer *w)
{
	uint64_t gap = w->gap, before = w->gap_before;

	if (!gap)
		return;
	/* reset first, so that the line that marks the gap is not counted as missing */
	w->gap = w->gap_before = 0;
	if (w->gap_line)
		w->gap_line(w->ctx, &w->text, gap);
	if (w->text.failed) { /* no memory: mark the gap later */
		line_writer_cut_torn(w);
		w->gap = gap;
		w->gap_before = before;
		return;
	}
	if (gap > before)
		log_warn("export to %s: writing resumed; %llu line%s missing", w->path,
			 (unsigned long long)gap, gap == 1 ? " is" : "s are");
	else
		log_warn("export to %s: %llu line%s missing: an earlier gp-bpf could not write %s",
			 w->path, (unsigned long long)gap, gap == 1 ? " is" : "s are",
			 gap == 1 ? "it" : "them");
}

static void line_writer_helper_flush(struct line_writer *w)
{
	line_writer_take(w, 0);
	if (w->going && !w->dead && clock_mono_ns() - w->asked_ns > DEAD_NS) {
		w->dead = true;
		log_error(
			"export to %s: the disk does not answer; up to %u MB of new lines are kept in memory",
			w->path, LINE_WRITER_KEPT_BYTES >> 20);
	}
	if (!w->error && line_writer_pending(w) <= LINE_WRITER_KEPT_BYTES / 2)
		line_writer_gap_end(w);
	line_writer_give(w);
}

static void line_writer_helper_line(struct line_writer *w)
{
	if (w->text.failed) {
		line_writer_cut_torn(w);
		w->failed_lines++;
		w->gap++;
		w->worst = -ENOMEM;
		return;
	}
	if (w->gap) {
		line_writer_drop(w);
		line_writer_helper_flush(w);
		return;
	}
	if (line_writer_pending(w) < BATCH_BYTES)
		return;
	line_writer_helper_flush(w);
	if (line_writer_pending(w) < LINE_WRITER_KEPT_BYTES)
		return;
	if (!w->error && !w->stalled) {
		w->stalled = !line_writer_take(w, BURST_WAIT_MS);
		line_writer_give(w);
	}
	if (line_writer_pending(w) >= LINE_WRITER_KEPT_BYTES)
		line_writer_drop(w);
}

/* Writes all kept lines until end_ns; after an error, tries once more. */
static void line_writer_finish(struct line_writer *w)
{
	int tries = 2, ms;

	w->again_ns = 0;
	if (!w->error && !w->going)
		line_writer_gap_end(w);
	line_writer_give(w);
	while (w->going && (ms = line_writer_left_ms(w->end_ns)) > 0) {
		if (!line_writer_take(w, ms))
			continue;
		w->again_ns = 0;
		tries -= w->error != 0;
		if (!w->error)
			line_writer_gap_end(w);
		if (tries)
			line_writer_give(w);
	}
}

static int line_writer_helper_close(struct line_writer *w)
{
	uint64_t left;
	int err, why;

	line_writer_end(w, false);
	line_writer_finish(w);
	left = line_writer_lines_pending(w);
	err = file_writer_close(w->file, line_writer_left_ms(w->end_ns));
	left += w->failed_lines + w->lost_lines + w->gap_before;
	why = err == -ETIMEDOUT ? err : w->error ? w->error : w->worst ? w->worst : err;
	if (left)
		log_error("export to %s: %llu line%s not written: %s", w->path,
			  (unsigned long long)left, left == 1 ? " was" : "s were",
			  why ? file_writer_why(why) : "the disk was too slow");
	else if (err)
		log_error("export to %s: the last lines may not have been saved: %s", w->path,
			  file_writer_why(err));
	if (w->removed)
		log_warn(
			"export to %s: %llu line%s removed with the oldest files, to keep the size limit",
			w->path, (unsigned long long)w->removed,
			w->removed == 1 ? " was" : "s were");
	return err ? err : why ? why : left ? -ENOBUFS : 0;
}

/* ---- from a predecessor ---------------------------------------------------------------------- */

struct backlog {
	uint64_t bytes; /* of the file */
	uint64_t gap;
	int error;
	uint32_t len;
	char *text;
};

/* Takes over a predecessor's unwritten text. If the file is larger than backlog->bytes, the
 * predecessor wrote the first part of the text after saving the backlog. If the file has grown by
 * more than the text, the predecessor also wrote the line that marks the gap. */
static void line_writer_take_over(struct line_writer *w, const struct backlog *backlog, bool headed)
{
	uint64_t bytes = file_writer_bytes(w->file),
		 from = bytes > backlog->bytes ? bytes - backlog->bytes : 0;
	const char *first = headed && backlog->len && !bytes && !backlog->bytes
				    ? memchr(backlog->text, '\n', backlog->len)
				    : NULL;

	if (from > backlog->len)
		return;
	if (from && backlog->text[from - 1] != '\n')
		from = 0; /* the file was replaced: write all text */
	if (first)
		from = (uint64_t)(first + 1 - backlog->text);
	if (backlog->len > from)
		buffer_add(&w->text, backlog->text + from, backlog->len - from);
	w->gap = w->gap_before = backlog->gap;
	w->error = line_writer_pending(w) && backlog->error > -ERRNO_MAX && backlog->error < 0
			   ? backlog->error
			   : 0;
	w->lines = line_writer_lines_pending(w);
	line_writer_helper_flush(w);
}

void line_writer_archive(struct line_writer *w, struct archive *a, bool headed)
{
	struct backlog backlog = {0};

	if (!archive_reads(a) && w->file)
		backlog = (struct backlog){file_writer_bytes(w->file), w->gap, w->error,
					   (uint32_t)line_writer_pending(w),
					   w->text.data ? w->text.data + w->written : NULL};
	archive_field(a, backlog.bytes);
	archive_field(a, backlog.gap);
	archive_field(a, backlog.error);
	archive_count(a, &backlog.len, ARCHIVE_BYTES, 1);
	if (archive_reads(a))
		backlog.text = backlog.len ? archive_alloc(a, backlog.len, 1) : NULL;
	if (!a->error && backlog.len)
		archive_bytes(a, backlog.text, backlog.len);
	if (!archive_reads(a))
		return;
	if (!a->error && w->file)
		line_writer_take_over(w, &backlog, headed);
	free(backlog.text);
}

void line_writer_missed(struct line_writer *w, uint64_t lines)
{
	if (!w->file) {
		w->lost_lines += lines;
		return;
	}
	w->gap += lines;
	w->gap_before += lines;
	line_writer_helper_flush(w);
}

/* ---- both ------------------------------------------------------------------------------------ */

int line_writer_open(struct line_writer **ret, const char *path,
		     const struct line_writer_config *config)
{
	struct line_writer *w = calloc(1, sizeof(*w));
	bool standard = !strcmp(path, "-");
	char shown[256];
	const char *why;
	int err;

	if (!w) {
		log_error("export to %s: %s", log_escape(shown, sizeof(shown), path, PATH_MAX),
			  strerror(ENOMEM));
		return -ENOMEM;
	}
	log_escape(w->path, sizeof(w->path), standard ? "standard output" : path, PATH_MAX);
	w->fd = -1;
	w->blocking = config->blocking;
	w->bound = config->bound;
	w->gap_line = config->gap;
	w->ctx = config->ctx;
	err = standard || config->blocking
		      ? -ENOTSUP
		      : file_writer_open(&w->file, path, config->append, &config->bound);
	why = file_writer_why(err);
	if (err == -ENOTSUP) {
		err = line_writer_direct_open(w, path, config->append);
		why = path_why(err);
	}
	if (err) {
		log_error("export to %s: %s", w->path, why);
		free(w);
		return err;
	}
	*ret = w;
	return 0;
}

struct buffer *line_writer_buffer(struct line_writer *w)
{
	return &w->text;
}

bool line_writer_line(struct line_writer *w)
{
	uint64_t dropped = w->lost_lines + w->failed_lines;

	w->lines++;
	if (w->file)
		line_writer_helper_line(w);
	else
		line_writer_direct_line(w);
	return w->lost_lines + w->failed_lines == dropped;
}

static const char *line_writer_trouble(const struct line_writer *w)
{
	return w->error	 ? file_writer_why(w->error)
	       : w->dead ? file_writer_why(-ETIMEDOUT)
	       : w->fifo ? "no process reads this FIFO yet"
			 : NULL;
}

bool line_writer_flush(struct line_writer *w)
{
	if (w->file)
		line_writer_helper_flush(w);
	else
		line_writer_direct_flush(w);
	return !line_writer_trouble(w);
}

void line_writer_save(struct line_writer *w, uint64_t within_ns)
{
	uint64_t until_ns = clock_mono_ns() + within_ns;
	int ms;

	line_writer_flush(w);
	while (w->going && !w->error && !w->stalled && (ms = line_writer_left_ms(until_ns)) > 0) {
		w->stalled = !line_writer_take(w, ms);
		line_writer_give(w);
	}
}

void line_writer_stats(const struct line_writer *w, struct line_writer_stats *ret)
{
	uint64_t not_sent;

	*ret = (struct line_writer_stats){
		.lost = w->lost_lines,
		.failed = w->failed_lines,
		.removed = w->removed,
		.trouble = line_writer_trouble(w),
	};
	if (w->file) {
		ret->waiting = line_writer_lines_pending(w);
		ret->waiting_bytes = line_writer_pending(w);
	}
	not_sent = ret->lost + ret->failed + ret->waiting;
	ret->sent = w->lines > not_sent ? w->lines - not_sent : 0;
}

void line_writer_end(struct line_writer *w, bool soon)
{
	if (!w->end_ns)
		w->end_ns = clock_mono_ns() + (soon ? END_SOON_NS : END_NS);
}

int line_writer_close(struct line_writer *w)
{
	int err;

	if (!w)
		return 0;
	err = w->file ? line_writer_helper_close(w) : line_writer_direct_close(w);
	buffer_free(&w->text);
	free(w);
	return err;
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
