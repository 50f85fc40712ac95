/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - the exporter of --export trace:FILE[,size=SIZE]: a trace for ui.perfetto.dev and
 * chrome://tracing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/export/exporter.h"
#include "userspace/export/trace/trace_private.h"

#define SIZE_USUAL (256ull << 20) /* default size limit, which browsers can open */

/* When the file is larger than a part of its size limit, only each n-th step is drawn. */
static const struct {
	uint32_t part;	/* file size in sixteenths of the limit */
	uint32_t every; /* each n-th step is drawn; 0: no step */
} thinner[] = {{15, 0}, {14, 1000}, {12, 100}, {8, 10}, {0, 1}};

/* Draws a mark where lines are missing. Names of tracks may have been among them, so all names are
 * written again. */
static void trace_gap_line(void *ctx, struct buffer *out, uint64_t lines)
{
	struct trace *t = ctx;
	struct trace_track *own = trace_tracks_own(t->tracks);

	(void)out; /* unused, because trace_begin() appends to the same buffer */
	trace_tracks_unname(t->tracks);
	if (own && trace_named(t, own, 0)) {
		out = trace_begin(t);
		trace_note_begin(t, out, "lines are missing here: they could not be written");
		json_uint(out, "count", lines);
		json_uint(out, "seq", t->lines.seq);
		trace_done(out);
		trace_end(t, TRACE_RARE);
	}
}

/* Draws fewer steps as the file nears its limit, and a mark where this begins. */
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
			 "from here on 1 step of %u is drawn: the file nears its size limit",
			 t->every);
	else
		snprintf(text, sizeof(text),
			 "from here on no step is drawn: the file nears its size limit");
	trace_note(t, text);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

/* Reads the size limit of an argument like "FILE,size=64M", and cuts it off: arg becomes the path.
 */
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

/* Returns the number of the last fact. Lines without a number are skipped. */
static uint64_t trace_number(const char *tail)
{
	uint64_t last = 0;

	for (const char *at = tail; (at = strstr(at, "\"seq\":")); at += 6)
		last = strtoull(at + 6, NULL, 10);
	return last;
}

static int trace_check(const char *arg, const struct export_options *opt)
{
	char *path = strdup(arg ? arg : "");
	uint64_t size;
	int err = path ? trace_parse_size(path, &size) : -ENOMEM;

	(void)opt;
	if (!err && !*path) {
		log_error("--export trace: no file given; use trace:FILE (- is standard output)");
		err = -EINVAL;
	}
	free(path);
	return err;
}

static int trace_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	const struct line_export_config file = {.name = "trace",
						.header = "[\n",
						.number = trace_number,
						.drop = trace_is_end,
						.gap = trace_gap_line};
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
	err = t->tracks ? line_export_open(&t->lines, path, opt, &file) : -ENOMEM;
	if (err)
		goto fail;
	t->bytes = t->lines.file[0].bytes;
	free(path);
	*ret_state = t;
	return 0;
fail:
	if (t) {
		line_export_close(&t->lines);
		trace_tracks_free(t->tracks);
	}
	free(t);
	free(path);
	return err;
}

static void trace_on_fact(void *state, const struct fact *f)
{
	struct trace *t = state;

	if (line_export_has(&t->lines.file[0], f))
		return;
	line_export_fact(&t->lines, f);
	trace_thin_out(t);
	trace_fact(t, f);
}

static void trace_archive(void *state, struct archive *a)
{
	struct line_writer_stats stats;
	struct trace *t = state;

	line_export_archive(state, a);
	line_writer_stats(t->lines.file[0].writer, &stats);
	if (archive_reads(a))
		t->bytes += stats.waiting_bytes;
}

static void trace_view(void *state, struct export_view *ret)
{
	const struct trace *t = state;

	ret->name = "trace";
	ret->dropped[0].cause = "size";
	ret->dropped[0].count = t->left_steps + t->left_others;
	ret->dropped[1].cause = "tracks";
	ret->dropped[1].count = t->untracked;
	ret->ndropped = 2;
	line_export_view(state, ret);
	if (!*ret->trouble && t->left_others)
		snprintf(ret->trouble, sizeof(ret->trouble),
			 "trace: the file has reached its size limit");
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
	line_writer_line(t->lines.file[0].writer);
}

static int trace_close(void *state)
{
	struct trace *t = state;
	int err;

	if (t->left_steps || t->left_others)
		log_warn(
			"--export trace: %llu step%s and %llu other event%s not drawn: the file has reached its size limit; raise it with ,size=SIZE",
			(unsigned long long)t->left_steps, plural(t->left_steps),
			(unsigned long long)t->left_others, plural(t->left_others));
	trace_last_line(t);
	err = line_export_close(&t->lines);
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
	.snapshot = line_export_snapshot,
	.save = line_export_save,
	.archive = trace_archive,
	.view = trace_view,
	.last_written = line_export_last_written,
	.end = line_export_end,
	.close = trace_close,
};
