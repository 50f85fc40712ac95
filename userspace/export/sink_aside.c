/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/export/sink_private.h"

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

static const char *reason(int err)
{
	return err == -ETIMEDOUT ? "its disk does not answer"
	       : err == -EBUSY	 ? "no process that writes can be started (a limit of processes?)"
				 : strerror(-err);
}

/* ---- on the way
 * ---------------------------------------------------------------------------------- */

static size_t pending(const struct sink *s)
{
	return s->text.len - s->written;
}

static uint64_t lines_of(const char *text, size_t len)
{
	const char *end = text + len;
	uint64_t n = 0;

	while (len && (text = memchr(text, '\n', (size_t)(end - text)))) {
		n++;
		len = (size_t)(end - ++text);
	}
	return n;
}

static void answered(struct sink *s, const struct outlet_told *told)
{
	if (s->dead)
		log_warn("export to %s: its disk answers again", s->path);
	s->going = 0;
	s->dead = s->stalled = false;
	s->written += told->bytes;
	if (told->err) {
		if (told->err != s->error)
			log_error("export to %s: %s; up to %u MB are kept and tried again", s->path,
				  strerror(-told->err), SINK_KEPT_BYTES >> 20);
		s->again_ns = clock_mono_ns() + AGAIN_NS;
	} else if (s->error && !s->gap) {
		log_warn("export to %s: is written again", s->path);
	}
	s->error = told->err;
}

/* Whether an answer came. */
static bool take(struct sink *s, int wait_ms)
{
	struct outlet_told told;

	if (!s->going || outlet_take(s->outlet, wait_ms, &told))
		return false;
	answered(s, &told);
	sink_shrink(s);
	return true;
}

static void give(struct sink *s)
{
	uint64_t now_ns;

	if (s->going || !pending(s))
		return;
	now_ns = clock_mono_ns();
	if (s->error && now_ns < s->again_ns)
		return;
	s->asked_ns = now_ns;
	s->going = outlet_give(s->outlet, s->text.data + s->written, pending(s));
	if (!s->going) /* no process can be had */
		answered(s, &(struct outlet_told){.err = -EAGAIN});
}

/* ---- lines
 * --------------------------------------------------------------------------------------- */

/* No memory for all of a line: what there is of it goes. */
static void torn(struct sink *s)
{
	s->text.failed = false;
	if (pending(s) && s->text.data[s->text.len - 1] != '\n')
		sink_cut(s);
}

static void drop(struct sink *s)
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

static void gap_end(struct sink *s)
{
	uint64_t gap = s->gap, before;

	if (!gap)
		return;
	before = s->before;
	s->gap = s->before = 0; /* that line is not one of them */
	if (s->gap_line)
		s->gap_line(s->ctx, &s->text, gap);
	if (s->text.failed) { /* told later */
		torn(s);
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
	take(s, 0);
	if (s->going && !s->dead && clock_mono_ns() - s->asked_ns > DEAD_NS) {
		s->dead = true;
		log_error("export to %s: its disk does not answer; up to %u MB are kept", s->path,
			  SINK_KEPT_BYTES >> 20);
	}
	if (!s->error && pending(s) <= SINK_KEPT_BYTES / 2)
		gap_end(s);
	give(s);
}

void sink_aside_line(struct sink *s)
{
	if (s->text.failed) {
		torn(s);
		s->failed_lines++;
		s->gap++;
		s->worst = -ENOMEM;
		return;
	}
	if (s->gap) {
		drop(s);
		sink_aside_flush(s);
		return;
	}
	if (pending(s) < SINK_BATCH_BYTES)
		return;
	sink_aside_flush(s);
	if (pending(s) < SINK_KEPT_BYTES)
		return;
	if (!s->error && !s->stalled) {
		s->stalled = !take(s, FULL_WAIT_MS);
		give(s);
	}
	if (pending(s) >= SINK_KEPT_BYTES)
		drop(s);
}

int sink_left_ms(uint64_t until_ns)
{
	uint64_t now_ns = clock_mono_ns(),
		 ms = now_ns < until_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;

	return ms < LEFT_MOST_MS ? (int)ms : LEFT_MOST_MS;
}

void sink_save(struct sink *s, uint64_t within_ns)
{
	uint64_t until_ns = clock_mono_ns() + within_ns;
	int ms;

	sink_flush(s);
	if (!s->outlet)
		return;
	while (s->going && !s->error && !s->stalled && (ms = sink_left_ms(until_ns)) > 0) {
		s->stalled = !take(s, ms);
		give(s);
	}
}

uint64_t sink_waiting(const struct sink *s, uint64_t *ret_bytes)
{
	*ret_bytes = s->outlet ? pending(s) : 0;
	return s->outlet && pending(s) ? lines_of(s->text.data + s->written, pending(s)) : 0;
}

const char *sink_trouble(const struct sink *s)
{
	return s->error ? reason(s->error) : s->dead ? reason(-ETIMEDOUT) : NULL;
}

/* ---- from one to the next
 * ------------------------------------------------------------------------ */

struct owed {
	uint64_t bytes; /* that the file had */
	uint64_t gap;
	int error;
	uint32_t len;
	char *text;
};

/* What stands in the file behind those bytes is the beginning of the text; where it is more, all
 * that was owed is told there, the gap too. */
static void take_over(struct sink *s, const struct owed *owed, bool headed)
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
	s->error = pending(s) && owed->error > -ERRNO_MAX && owed->error < 0 ? owed->error : 0;
	sink_aside_flush(s);
}

void sink_archive(struct sink *s, struct archive *a, bool headed)
{
	struct owed owed = {0};

	if (!archive_reads(a) && s->outlet)
		owed = (struct owed){outlet_bytes(s->outlet), s->gap, s->error,
				     (uint32_t)pending(s), s->text.data + s->written};
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
		take_over(s, &owed, headed);
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

/* ---- begin and end
 * ------------------------------------------------------------------------------- */

int sink_open_aside(struct sink **ret, const char *path, bool keep, sink_gap_fn *gap, void *ctx)
{
	struct outlet *outlet = NULL;
	int err = strcmp(path, "-") != 0 ? outlet_open(&outlet, path, keep) : -ENOTSUP;
	char shown[256];
	struct sink *s;

	if (err == -ENOTSUP) {
		err = keep ? sink_open_append(ret, path) : sink_open(ret, path);
		if (!err)
			(*ret)->bounded = true;
		return err;
	}
	s = err ? NULL : calloc(1, sizeof(*s));
	log_escape(shown, sizeof(shown), path, PATH_MAX);
	if (!s) {
		err = err ? err : -ENOMEM;
		log_error("export to %s: %s", shown, reason(err));
		outlet_close(outlet, 0);
		return err;
	}
	memcpy(s->path, shown, sizeof(s->path));
	s->fd = -1;
	s->file = true;
	s->outlet = outlet;
	s->gap_line = gap;
	s->ctx = ctx;
	*ret = s;
	return 0;
}

void sink_end(struct sink *s, bool soon)
{
	if (!s->end_ns)
		s->end_ns = clock_mono_ns() + (soon ? END_SOON_NS : END_NS);
}

/* Everything, in the time that is left; an error gets one more try. */
static void finish(struct sink *s)
{
	int tries = 2, ms;

	s->again_ns = 0;
	if (!s->error && !s->going)
		gap_end(s);
	give(s);
	while (s->going && (ms = sink_left_ms(s->end_ns)) > 0) {
		if (!take(s, ms))
			continue;
		s->again_ns = 0;
		tries -= s->error != 0;
		if (!s->error)
			gap_end(s);
		if (tries)
			give(s);
	}
}

int sink_aside_close(struct sink *s)
{
	uint64_t left;
	int err, why;

	sink_end(s, false);
	finish(s);
	left = pending(s) ? lines_of(s->text.data + s->written, pending(s)) : 0;
	err = outlet_close(s->outlet, sink_left_ms(s->end_ns));
	left += s->failed_lines + s->lost_lines + s->before;
	why = err == -ETIMEDOUT ? err : s->error ? s->error : s->worst ? s->worst : err;
	if (left)
		log_error("export to %s: %llu line%s not written: %s", s->path,
			  (unsigned long long)left, left == 1 ? " was" : "s were",
			  why ? reason(why) : "its disk was too slow");
	else if (err)
		log_error("export to %s: what was written last may not be there: %s", s->path,
			  reason(err));
	err = err ? err : why ? why : left ? -ENOBUFS : 0;
	buffer_free(&s->text);
	free(s);
	return err;
}
