/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - JSON lines: --export json[:FILE[,size=SIZE][,keep=N]|-]. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/export/exporter.h"
#include "userspace/export/file/json_line.h"
#include "userspace/export/file/line_writer.h"

#define KEEP_USUAL   3
#define KEEP_MOST    1000
#define SERVICE_SIZE (256ull << 20) /* for a service whose --export gives none */
#define LINES_BYTES  65536	    /* read from each end of a file */
#define SAVE_NS	     500000000ull   /* longest wait for a slow disk when the state is saved */

struct json_export {
	struct line_writer *writer;
	bool numbered; /* resumed: facts up to this number are in the file */
	uint64_t last;
	uint64_t lines; /* passed to the line writer; of the last one: */
	uint64_t seq, mono_ns;
	int64_t real_ns;
	int64_t flushed_ns; /* UTC, last snapshot without trouble; 0: none */
	bool ended;	    /* the end was reported, but its sums come with the last snapshot */
	struct fact end_fact;
	struct gp_end end;
};

static uint64_t json_seq(const char *line)
{
	const char *at = strstr(line, "\"seq\":");

	return at ? strtoull(at + 6, NULL, 10) : 0;
}

/* Counts the lines of a whole file by their numbers. */
static uint64_t json_lines_in(int fd)
{
	static char text[LINES_BYTES + 1];
	uint64_t first, last;
	struct stat st;
	ssize_t n;
	char *at;

	n = pread(fd, text, LINES_BYTES, 0);
	text[n > 0 ? n : 0] = '\0';
	first = json_seq(text);
	if (fstat(fd, &st) || !first)
		return 0;
	n = pread(fd, text, LINES_BYTES, st.st_size > LINES_BYTES ? st.st_size - LINES_BYTES : 0);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0)
		text[n - 1] = '\0'; /* the last line feed */
	at = strrchr(text, '\n');
	last = json_seq(at ? at + 1 : text);
	return last >= first ? last - first + 1 : 0;
}

/* Cuts the settings off spec, which is the path then. bound->bytes 0: no bound. */
static int json_settings(char *spec, const struct export_options *opt,
			 struct file_writer_bound *bound)
{
	char *size = NULL, *keep = NULL, *value, *end;
	unsigned long n;

	*bound = (struct file_writer_bound){.keep = KEEP_USUAL, .lines = json_lines_in};
	while ((value = line_writer_setting(spec, "size")) ||
	       (value = line_writer_setting(spec, "keep")))
		*(value[-5] == 's' ? &size : &keep) = value;
	if (size && strcmp(size, "none") != 0 && line_writer_size(size, &bound->bytes)) {
		log_error("--export json: size=%s: expected a size from 1M to 1024G, or none",
			  size);
		return -EINVAL;
	}
	n = keep ? strtoul(keep, &end, 10) : KEEP_USUAL;
	if (keep && (*keep < '0' || *keep > '9' || *end || n > KEEP_MOST)) {
		log_error("--export json: keep=%s: expected a number of files from 0 to %d", keep,
			  KEEP_MOST);
		return -EINVAL;
	}
	bound->keep = (uint32_t)n;
	if (!size && (opt->service || keep))
		bound->bytes = SERVICE_SIZE;
	if (opt->replay && (size || keep))
		log_warn("--export json: size= and keep= have no effect in a replay");
	if (opt->replay || !strcmp(spec, "-"))
		bound->bytes = 0;
	return 0;
}

static uint64_t json_last(char *tail)
{
	char *at = tail[0] ? memrchr(tail, '\n', strlen(tail) - 1) : NULL;
	uint64_t last = json_seq(at ? at : tail);

	free(tail);
	return last;
}

/* A bounded file that was just begun has its predecessor's last line in the renamed file. Returns
 * 0; -ENOENT: there is no file to continue; -errno after one line. */
static int json_resume(const char *path, bool bounded, uint64_t *ret_last)
{
	uint64_t bytes = 0, bytes_before;
	char *tail;
	int err = file_writer_tail(path, NULL, &tail, &bytes), before;

	if (!err)
		*ret_last = json_last(tail);
	if (!bounded || bytes || (err && err != -ENOENT))
		return err;
	before = file_writer_tail_before(path, &tail, &bytes_before);
	if (!before)
		*ret_last = json_last(tail);
	return before == -ENOENT ? err : before;
}

static void json_gap(void *ctx, struct buffer *out, uint64_t lines)
{
	const struct json_export *j = ctx;

	json_open(out, NULL, '{');
	json_string(out, "type", "loss");
	json_uint(out, "seq", j->seq);
	json_time(out, "time", j->real_ns);
	json_uint(out, "mono_ns", j->mono_ns);
	json_string(out, "source", "export");
	json_uint(out, "count", lines);
	json_close(out, '}');
	buffer_add(out, "\n", 1);
}

/* For a replay, open() logs the error with its warning. */
static int json_check(const char *arg, const struct export_options *opt)
{
	char *path = strdup(arg && *arg ? arg : "-");
	struct file_writer_bound bound;
	int err = !path ? -ENOMEM : opt->replay ? 0 : json_settings(path, opt, &bound);

	free(path);
	return err;
}

static int json_on_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct json_export *j = calloc(1, sizeof(*j));
	char *path = strdup(arg && *arg ? arg : "-");
	struct file_writer_bound bound;
	int err = j && path ? json_settings(path, opt, &bound) : -ENOMEM;

	if (!err && opt->resume) {
		err = json_resume(path, bound.bytes, &j->last);
		j->numbered = !err;
		j->seq = j->last;
		err = err == -ENOENT ? 0 : err;
	}
	if (!err)
		err = line_writer_open(&j->writer, path,
				       &(struct line_writer_config){.append = j->numbered,
								    .blocking = opt->replay,
								    .bound = bound,
								    .gap = json_gap,
								    .ctx = j});
	free(path);
	if (err) {
		free(j);
		return err;
	}
	*ret_state = j;
	return 0;
}

static void json_on_line(struct json_export *j, const struct fact *f, const struct snapshot *last)
{
	j->seq = f->number;
	j->mono_ns = f->mono_ns;
	j->real_ns = f->real_ns;
	json_line(line_writer_buffer(j->writer), f, last);
	line_writer_line(j->writer);
	j->lines++;
}

static void json_end(struct json_export *j, const struct snapshot *last)
{
	if (!j->ended)
		return;
	j->ended = false;
	j->end_fact.end = &j->end;
	j->end_fact.job = "";
	json_on_line(j, &j->end_fact, last);
}

static void json_fact(void *state, const struct fact *f)
{
	struct json_export *j = state;

	if (j->numbered ? f->number <= j->last : f->repeated)
		return;
	if (f->type != FACT_END) {
		json_on_line(j, f, NULL);
		return;
	}
	j->end_fact = *f;
	j->end = *f->end;
	j->ended = true;
}

static void json_snapshot(void *state, struct snapshot *s)
{
	struct json_export *j = state;

	json_end(j, s);
	if (line_writer_flush(j->writer))
		j->flushed_ns = s->real_ns;
}

static void json_save(void *state)
{
	line_writer_save(((struct json_export *)state)->writer, SAVE_NS);
}

static void json_archive(void *state, struct archive *a)
{
	struct json_export *j = state, was = *j;
	struct line_writer_stats stats;

	archive_number(a, &was.seq);
	archive_number(a, &was.mono_ns);
	archive_number(a, &was.real_ns);
	if (archive_reads(a) && was.seq > j->seq) {
		j->seq = was.seq;
		j->mono_ns = was.mono_ns;
		j->real_ns = was.real_ns;
	}
	line_writer_archive(j->writer, a, false);
	if (!archive_reads(a))
		return;
	line_writer_stats(j->writer, &stats);
	j->lines = stats.waiting;
}

/* Every fact is one line, so the numbers give the count. */
static void json_missed(void *state, uint64_t upto)
{
	struct json_export *j = state;
	uint64_t lines;

	if (!j->numbered || upto <= j->seq)
		return;
	lines = upto - j->seq;
	j->seq = upto;
	j->mono_ns = clock_mono_ns();
	j->real_ns = clock_real_ns();
	line_writer_missed(j->writer, lines);
}

static void json_view(void *state, struct export_view *ret)
{
	const struct json_export *j = state;
	struct line_writer_stats is;
	uint64_t not_sent;

	line_writer_stats(j->writer, &is);
	not_sent = is.lost + is.failed + is.waiting;
	*ret = (struct export_view){
		.name = "json",
		.up = !is.trouble,
		.sent = j->lines > not_sent ? j->lines - not_sent : 0,
		.waiting = is.waiting,
		.waiting_bytes = is.waiting_bytes,
		.last_ns = j->flushed_ns,
		.ndropped = 3,
		.dropped = {{"reader", is.lost}, {"write", is.failed}, {"size", is.removed}},
	};
	if (is.trouble)
		snprintf(ret->trouble, sizeof(ret->trouble), "json: %s", is.trouble);
}

static uint64_t json_last_written(void *state)
{
	return ((struct json_export *)state)->last;
}

static void json_stop(void *state, bool soon)
{
	line_writer_end(((struct json_export *)state)->writer, soon);
}

static int json_on_close(void *state)
{
	struct json_export *j = state;
	int err;

	json_end(j, NULL);
	err = line_writer_close(j->writer);
	free(j);
	return err;
}

const struct exporter export_json = {
	.name = "json",
	.help = "every fact as a line of JSON, to FILE[,size=SIZE][,keep=N] or - (standard output); gp-bpf schema describes them",
	.spec = {"json:FILE"},
	.usage = {[EXPORT_EVENTS] = "json:FILE[,size=SIZE][,keep=N] (- is standard output)"},
	.place = EXPORT_TO_FILE,
	.setting = {",size=", ",keep="},
	.check = json_check,
	.open = json_on_open,
	.fact = json_fact,
	.snapshot = json_snapshot,
	.save = json_save,
	.archive = json_archive,
	.missed = json_missed,
	.view = json_view,
	.last_written = json_last_written,
	.end = json_stop,
	.close = json_on_close,
};
