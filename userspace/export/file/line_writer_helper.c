/* SPDX-License-Identifier: Apache-2.0 */
/* line_writer_helper.c - lines to a file that a helper process writes, as a file system may hang.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/export/file/line_writer_private.h"

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

void line_writer_helper_flush(struct line_writer *s)
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

void line_writer_helper_line(struct line_writer *s)
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

int line_writer_left_ms(uint64_t until_ns)
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

void line_writer_helper_wait(struct line_writer *s, uint64_t until_ns)
{
	int ms;

	while (s->going && !s->error && !s->stalled && (ms = line_writer_left_ms(until_ns)) > 0) {
		s->stalled = !line_writer_helper_take(s, ms);
		line_writer_give(s);
	}
}

int line_writer_helper_close(struct line_writer *s)
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

void line_writer_cut(struct line_writer *s)
{
	size_t at = s->text.len - 1;

	while (at > s->written && s->text.data[at - 1] != '\n')
		at--;
	s->text.len = at;
}

void line_writer_shrink(struct line_writer *s)
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
