/* SPDX-License-Identifier: Apache-2.0 */
/* sink_aside.c - lines to a file that a helper process writes, as a file system may hang. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/export/file/sink_private.h"

#define NS_PER_MS    1000000ull
#define NS_PER_S     1000000000ull
#define FULL_WAIT_MS 100	    /* that a burst waits for the process that writes */
#define AGAIN_NS     NS_PER_S	    /* after an error */
#define END_NS	     (5 * NS_PER_S) /* that the end of the program waits for a disk */
#define END_SOON_NS  (NS_PER_S / 2)
#define LEFT_MOST_MS 60000
#define ERRNO_MAX    4096
#define OWED_MAX     (2 * SINK_KEPT_BYTES)
#define DEAD_NS	     (10 * NS_PER_S) /* a disk that has not answered for so long is told */

/* ---- on the way ------------------------------------------------------------------------------ */

static size_t sink_pending(const struct sink *s)
{
	return s->text.len - s->written;
}

static uint64_t sink_aside_lines_of(const char *text, size_t len)
{
	const char *end = text + len;
	uint64_t n = 0;

	while (len && (text = memchr(text, '\n', (size_t)(end - text)))) {
		n++;
		len = (size_t)(end - ++text);
	}
	return n;
}

static void sink_answered(struct sink *s, const struct outlet_told *told)
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
				  outlet_why(told->err), SINK_KEPT_BYTES >> 20);
		s->again_ns = clock_mono_ns() + AGAIN_NS;
	} else if (s->error && !s->gap) {
		log_warn("export to %s: is written again", s->path);
	}
	s->error = told->err;
}

/* Whether an answer came. */
static bool aside_take(struct sink *s, int wait_ms)
{
	struct outlet_told told;

	if (!s->going || outlet_take(s->outlet, wait_ms, &told))
		return false;
	sink_answered(s, &told);
	sink_shrink(s);
	return true;
}

static void sink_give(struct sink *s)
{
	uint64_t now_ns;

	if (s->going || !sink_pending(s))
		return;
	now_ns = clock_mono_ns();
	if (s->error && now_ns < s->again_ns)
		return;
	s->asked_ns = now_ns;
	s->going = outlet_give(s->outlet, s->text.data + s->written, sink_pending(s));
	if (!s->going) /* no process can be had */
		sink_answered(s, &(struct outlet_told){.err = -EBUSY});
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* No memory for all of a line: what there is of it goes. */
static void sink_drop_torn(struct sink *s)
{
	s->text.failed = false;
	if (sink_pending(s) && s->text.data[s->text.len - 1] != '\n')
		sink_cut(s);
}

static void sink_drop_lines(struct sink *s)
{
	sink_cut(s);
	if (!s->gap++ && !s->error)
		log_warn("export to %s: the disk is too slow; lines are lost from here", s->path);
	if (s->error) {
		s->failed_lines++;
		s->worst = s->error;
	} else {
		s->lost_lines++;
	}
}

static void sink_aside_gap_end(struct sink *s)
{
	uint64_t gap = s->gap, before;

	if (!gap)
		return;
	before = s->before;
	s->gap = s->before = 0; /* that line is not one of them */
	if (s->gap_line)
		s->gap_line(s->ctx, &s->text, gap);
	if (s->text.failed) { /* told later */
		sink_drop_torn(s);
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

void sink_aside_flush(struct sink *s)
{
	aside_take(s, 0);
	if (s->going && !s->dead && clock_mono_ns() - s->asked_ns > DEAD_NS) {
		s->dead = true;
		log_error("export to %s: its disk does not answer; up to %u MB are kept", s->path,
			  SINK_KEPT_BYTES >> 20);
	}
	if (!s->error && sink_pending(s) <= SINK_KEPT_BYTES / 2)
		sink_aside_gap_end(s);
	sink_give(s);
}

void sink_aside_line(struct sink *s)
{
	if (s->text.failed) {
		sink_drop_torn(s);
		s->failed_lines++;
		s->gap++;
		s->worst = -ENOMEM;
		return;
	}
	if (s->gap) {
		sink_drop_lines(s);
		sink_aside_flush(s);
		return;
	}
	if (sink_pending(s) < SINK_BATCH_BYTES)
		return;
	sink_aside_flush(s);
	if (sink_pending(s) < SINK_KEPT_BYTES)
		return;
	if (!s->error && !s->stalled) {
		s->stalled = !aside_take(s, FULL_WAIT_MS);
		sink_give(s);
	}
	if (sink_pending(s) >= SINK_KEPT_BYTES)
		sink_drop_lines(s);
}

int sink_left_ms(uint64_t until_ns)
{
	uint64_t now_ns = clock_mono_ns(),
		 ms = now_ns < until_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;

	return ms < LEFT_MOST_MS ? (int)ms : LEFT_MOST_MS;
}

uint64_t sink_waiting(const struct sink *s, uint64_t *ret_bytes)
{
	*ret_bytes = s->outlet ? sink_pending(s) : 0;
	return s->outlet && sink_pending(s)
		       ? sink_aside_lines_of(s->text.data + s->written, sink_pending(s))
		       : 0;
}

const char *sink_trouble(const struct sink *s)
{
	return s->error	 ? outlet_why(s->error)
	       : s->dead ? outlet_why(-ETIMEDOUT)
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
static void sink_aside_take_over(struct sink *s, const struct owed *owed, bool headed)
{
	uint64_t bytes = outlet_bytes(s->outlet),
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
	s->error = sink_pending(s) && owed->error > -ERRNO_MAX && owed->error < 0 ? owed->error : 0;
	sink_aside_flush(s);
}

void sink_archive(struct sink *s, struct archive *a, bool headed)
{
	struct owed owed = {0};

	if (!archive_reads(a) && s->outlet)
		owed = (struct owed){outlet_bytes(s->outlet), s->gap, s->error,
				     (uint32_t)sink_pending(s), s->text.data + s->written};
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
	if (!a->error && s->outlet)
		sink_aside_take_over(s, &owed, headed);
	free(owed.text);
}

void sink_missed(struct sink *s, uint64_t lines)
{
	if (s->outlet) {
		s->gap += lines;
		s->before += lines;
		sink_aside_flush(s);
	} else {
		s->lost_lines += lines;
	}
}

void sink_limit(struct sink *s, const struct outlet_bound *bound)
{
	if (!s->outlet || !bound)
		return;
	s->bound = *bound;
	outlet_limit(s->outlet, bound);
}

uint64_t sink_removed(const struct sink *s)
{
	return s->removed;
}

/* ---- begin and end --------------------------------------------------------------------------- */

void sink_end(struct sink *s, bool soon)
{
	if (!s->end_ns)
		s->end_ns = clock_mono_ns() + (soon ? END_SOON_NS : END_NS);
}

/* Everything, in the time that is left; an error gets one more try. */
static void aside_finish(struct sink *s)
{
	int tries = 2, ms;

	s->again_ns = 0;
	if (!s->error && !s->going)
		sink_aside_gap_end(s);
	sink_give(s);
	while (s->going && (ms = sink_left_ms(s->end_ns)) > 0) {
		if (!aside_take(s, ms))
			continue;
		s->again_ns = 0;
		tries -= s->error != 0;
		if (!s->error)
			sink_aside_gap_end(s);
		if (tries)
			sink_give(s);
	}
}

void sink_aside_wait(struct sink *s, uint64_t until_ns)
{
	int ms;

	while (s->going && !s->error && !s->stalled && (ms = sink_left_ms(until_ns)) > 0) {
		s->stalled = !aside_take(s, ms);
		sink_give(s);
	}
}

int sink_aside_close(struct sink *s)
{
	uint64_t left;
	int err, why;

	sink_end(s, false);
	aside_finish(s);
	left = sink_pending(s) ? sink_aside_lines_of(s->text.data + s->written, sink_pending(s))
			       : 0;
	err = outlet_close(s->outlet, sink_left_ms(s->end_ns));
	left += s->failed_lines + s->lost_lines + s->before;
	why = err == -ETIMEDOUT ? err : s->error ? s->error : s->worst ? s->worst : err;
	if (left)
		log_error("export to %s: %llu line%s not written: %s", s->path,
			  (unsigned long long)left, left == 1 ? " was" : "s were",
			  why ? outlet_why(why) : "its disk was too slow");
	else if (err)
		log_error("export to %s: what was written last may not be there: %s", s->path,
			  outlet_why(err));
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

void sink_cut(struct sink *s)
{
	size_t at = s->text.len - 1;

	while (at > s->written && s->text.data[at - 1] != '\n')
		at--;
	s->text.len = at;
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
