/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - a trace for ui.perfetto.dev and chrome://tracing: --export trace:FILE[,size=SIZE]. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/export/exporter.h"
#include "userspace/export/trace/trace_private.h"

#define SIZE_USUAL (256ull << 20) /* browsers can open a few hundred MiB */
#define SAVE_NS	   500000000ull	  /* longest wait for a slow disk when the state is saved */

/* Beyond a part of the bound only every n-th step is drawn; 0: none. */
static const struct {
	uint32_t part; /* in sixteenths */
	uint32_t every;
} thinner[] = {{15, 0}, {14, 1000}, {12, 100}, {8, 10}, {0, 1}};

/* Lines are missing here: names of processes may have been among them. */
static void trace_gap_line(void *ctx, struct buffer *out, uint64_t lines)
{
	struct trace *t = ctx;
	struct trace_track *own = trace_tracks_own(t->tracks);

	(void)out; /* the line writer appends its own text */
	trace_tracks_unname(t->tracks);
	if (own && trace_named(t, own, 0)) {
		out = trace_begin(t);
		trace_note_begin(t, out, "lines are missing here: the disk did not take them");
		json_uint(out, "count", lines);
		json_uint(out, "seq", t->seq);
		trace_done(out);
		trace_end(t, TRACE_RARE);
	}
}

/* Marks the instant from which steps are thinned out; they are counted. */
static void trace_thin_out(struct trace *t)
{
	uint32_t i = 0;
	char text[96];

	while (t->bytes < t->limit / 16 * thinner[i].part)
		i++;
	if (thinner[i].every == t->every)
		return;
	t->every = thinner[i].every;
	if (t->every)
		snprintf(text, sizeof(text),
			 "from here on 1 step of %u is drawn: the file nears its size", t->every);
	else
		snprintf(text, sizeof(text),
			 "from here on no step is drawn: the file nears its size");
	trace_note(t, text);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

/* Cuts the settings off "FILE,size=64M", so that arg becomes the path. */
static int trace_parse_size(char *arg, uint64_t *ret)
{
	const char *size = line_writer_setting(arg, "size");

	*ret = SIZE_USUAL;
	if (!size || !line_writer_size(size, ret))
		return 0;
	log_error("--export trace: size=%s: expected a size from 1M to 1024G", size);
	return -EINVAL;
}

static bool trace_is_end(const char *line)
{
	size_t len = strlen(line);

	return len >= 2 && line[len - 2] == ']';
}

/* Returns the number of the last fact in the file; 0 if the file is empty. */
static int trace_resume(struct trace *t, const char *path)
{
	char *tail, *line, *at;
	int err = file_writer_tail(path, trace_is_end, &tail, &t->bytes);

	if (err)
		return err;
	for (line = tail; (at = strstr(line, "\"seq\":")); line = at + 6)
		t->last = strtoull(at + 6, NULL, 10);
	free(tail);
	return t->bytes ? 0 : -ENOENT;
}

static int trace_open_file(struct trace *t, const char *path, const struct export_options *opt)
{
	int err = opt->resume ? trace_resume(t, path) : -ENOENT;

	t->replay = opt->replay;
	if (err && err != -ENOENT)
		return err;
	t->numbered = !err;
	t->seq = t->last;
	err = line_writer_open(&t->writer, path,
			       &(struct line_writer_config){.append = t->numbered,
							    .blocking = opt->replay,
							    .gap = trace_gap_line,
							    .ctx = t});
	if (err || t->numbered)
		return err;
	buffer_add(line_writer_buffer(t->writer), "[\n", 2);
	t->bytes = 2;
	return 0;
}

static int trace_check(const char *arg, const struct export_options *opt)
{
	char *path = strdup(arg ? arg : "");
	uint64_t size;
	int err = path ? trace_parse_size(path, &size) : -ENOMEM;

	(void)opt;
	if (!err && !*path) {
		log_error(
			"--export trace: no file is named; give trace:FILE (- is standard output)");
		err = -EINVAL;
	}
	free(path);
	return err;
}

static int trace_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct trace *t = calloc(1, sizeof(*t));
	char *path = strdup(arg ? arg : "");
	int err = -ENOMEM;

	if (!t || !path)
		goto fail;
	t->every = 1;
	t->reason = -1;
	err = trace_parse_size(path, &t->limit);
	if (err)
		goto fail;
	t->tracks = trace_tracks_new();
	err = t->tracks ? trace_open_file(t, path, opt) : -ENOMEM;
	if (err)
		goto fail;
	t->path = path;
	*ret_state = t;
	return 0;
fail:
	if (t)
		trace_tracks_free(t->tracks);
	free(t);
	free(path);
	return err;
}

static void trace_on_fact(void *state, const struct fact *f)
{
	struct trace *t = state;

	if (t->numbered ? f->number <= t->last : f->repeated)
		return;
	t->seq = f->number;
	t->now_ns = f->mono_ns;
	trace_thin_out(t);
	trace_fact(t, f);
}

static void trace_snapshot(void *state, struct snapshot *s)
{
	struct trace *t = state;

	if (line_writer_flush(t->writer))
		t->flushed_ns = s->real_ns;
}

static void trace_save(void *state)
{
	line_writer_save(((struct trace *)state)->writer, SAVE_NS);
}

static void trace_archive(void *state, struct archive *a)
{
	struct trace *t = state;
	uint64_t seq = t->seq, now_ns = t->now_ns;
	struct line_writer_stats stats;

	archive_number(a, &seq);
	archive_number(a, &now_ns);
	if (archive_reads(a) && seq > t->seq) {
		t->seq = seq;
		t->now_ns = now_ns;
	}
	line_writer_archive(t->writer, a, !t->numbered);
	if (!archive_reads(a))
		return;
	line_writer_stats(t->writer, &stats);
	t->lines = stats.waiting;
	t->bytes += stats.waiting_bytes;
}

static void trace_dropped(struct export_view *v, const char *cause, uint64_t count)
{
	v->dropped[v->ndropped].cause = cause;
	v->dropped[v->ndropped++].count = count;
}

static void trace_view(void *state, struct export_view *ret)
{
	const struct trace *t = state;
	struct line_writer_stats is;
	uint64_t not_sent;

	line_writer_stats(t->writer, &is);
	not_sent = is.lost + is.failed + is.waiting;
	*ret = (struct export_view){
		.name = "trace",
		.up = !is.trouble,
		.sent = t->lines > not_sent ? t->lines - not_sent : 0,
		.waiting = is.waiting,
		.waiting_bytes = is.waiting_bytes,
		.last_ns = t->flushed_ns,
	};
	trace_dropped(ret, "size", t->left_steps + t->left_others);
	trace_dropped(ret, "tracks", t->untracked);
	trace_dropped(ret, "reader", is.lost);
	trace_dropped(ret, "write", is.failed);
	if (is.trouble)
		snprintf(ret->trouble, sizeof(ret->trouble), "trace: %s", is.trouble);
	else if (t->left_others)
		snprintf(ret->trouble, sizeof(ret->trouble),
			 "trace: the file has reached its size");
}

static uint64_t trace_last_written(void *state)
{
	return ((struct trace *)state)->last;
}

static void trace_last_line(struct trace *t)
{
	static const char *const reasons[] = {"targets_gone", "user", "time", "error", "handover"};
	struct buffer *b = trace_begin(t);

	trace_note_begin(t, b, "end of the trace");
	json_string(b, "reason",
		    t->reason >= 0 && (size_t)t->reason < sizeof(reasons) / sizeof(reasons[0])
			    ? reasons[t->reason]
			    : NULL);
	json_uint(b, "steps", t->steps);
	json_uint(b, "steps_left_out", t->left_steps);
	json_uint(b, "others_left_out", t->left_others);
	json_uint(b, "without_track", t->untracked);
	trace_done(b);
	buffer_add(b, "]\n", 2);
	line_writer_line(t->writer);
}

static void trace_on_end(void *state, bool soon)
{
	line_writer_end(((struct trace *)state)->writer, soon);
}

static int trace_close(void *state)
{
	struct trace *t = state;
	uint64_t bytes;
	char *tail;
	int err;

	if (t->left_steps || t->left_others)
		log_warn(
			"--export trace: %llu step%s and %llu other event%s are not drawn: the file has reached its size, which ,size= sets",
			(unsigned long long)t->left_steps, plural(t->left_steps),
			(unsigned long long)t->left_others, plural(t->left_others));
	trace_last_line(t);
	err = line_writer_close(t->writer);
	if (err && t->replay &&
	    !file_writer_tail(t->path, NULL, &tail,
			      &bytes)) /* viewers cannot open it without an end */
		free(tail);
	free(t->path);
	trace_tracks_free(t->tracks);
	free(t);
	return err;
}

const struct exporter export_trace = {
	.name = "trace",
	.help = "a trace for ui.perfetto.dev and chrome://tracing, to FILE[,size=SIZE]",
	.spec = {"trace:FILE"},
	.usage = {[EXPORT_EVENTS] = "trace:FILE[,size=256M]"},
	.place = EXPORT_TO_FILE,
	.setting = {",size="},
	.check = trace_check,
	.open = trace_open,
	.fact = trace_on_fact,
	.snapshot = trace_snapshot,
	.save = trace_save,
	.archive = trace_archive,
	.view = trace_view,
	.last_written = trace_last_written,
	.end = trace_on_end,
	.close = trace_close,
};
