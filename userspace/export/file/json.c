/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - the exporter of --export json[:FILE[,size=SIZE][,keep=N]|-]: facts as JSON lines. */
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
#include "userspace/export/file/line_export.h"

#define KEEP_USUAL   3
#define KEEP_MOST    1000
#define SERVICE_SIZE (256ull << 20) /* default size limit of a file (size=) in a service */
#define LINES_BYTES  65536	    /* bytes read from the start and the end of a file */

struct json_export {
	struct line_export lines;
	bool ended; /* end_fact is set: its line is written with the last snapshot */
	struct fact end_fact;
	struct gp_end end;
};

static uint64_t json_seq(const char *line)
{
	const char *at = strstr(line, "\"seq\":");

	return at ? strtoull(at + 6, NULL, 10) : 0;
}

/* Returns the number of lines of a file, computed from the numbers of its first and last line. */
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

/* Reads ,size= and ,keep= into bound, and cuts them off spec: spec is then the path. bound->bytes
 * 0: no bound. */
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

static uint64_t json_number(const char *tail)
{
	return json_seq(line_export_last_line(tail));
}

static void json_gap(void *ctx, struct buffer *out, uint64_t lines)
{
	const struct line_export *e = ctx;

	json_open(out, NULL, '{');
	json_string(out, "type", "loss");
	json_uint(out, "seq", e->seq);
	json_time(out, "time", e->real_ns);
	json_uint(out, "mono_ns", e->mono_ns);
	json_string(out, "source", "export");
	json_uint(out, "count", lines);
	json_close(out, '}');
	buffer_add(out, "\n", 1);
}

/* Checks size= and keep=. Checks nothing for a replay: json_on_open() does it. */
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
	struct line_export_config file = {.name = "json", .number = json_number, .gap = json_gap};
	struct json_export *j = calloc(1, sizeof(*j));
	char *path = strdup(arg && *arg ? arg : "-");
	int err = j && path ? json_settings(path, opt, &file.bound) : -ENOMEM;

	if (!err)
		err = line_export_open(&j->lines, path, opt, &file);
	free(path);
	if (err) {
		if (j)
			line_export_close(&j->lines);
		free(j);
		return err;
	}
	*ret_state = j;
	return 0;
}

static void json_on_line(struct json_export *j, const struct fact *f, const struct snapshot *last)
{
	struct line_writer *w = j->lines.file[0].writer;

	line_export_fact(&j->lines, f);
	json_line(line_writer_buffer(w), f, last);
	line_writer_line(w);
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

	if (line_export_has(&j->lines.file[0], f))
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
	json_end(state, s);
	line_export_snapshot(state, s);
}

/* Counts facts up to number upto that this exporter did not receive as missing lines: each fact is
 * one line. */
static void json_missed(void *state, uint64_t upto)
{
	struct line_export *e = state;
	uint64_t lines;

	if (!e->file[0].continued || upto <= e->seq)
		return;
	lines = upto - e->seq;
	e->seq = upto;
	e->mono_ns = clock_mono_ns();
	e->real_ns = clock_real_ns();
	line_writer_missed(e->file[0].writer, lines);
}

static void json_view(void *state, struct export_view *ret)
{
	struct line_writer_stats is;

	ret->name = "json";
	line_export_view(state, ret);
	line_writer_stats(((struct json_export *)state)->lines.file[0].writer, &is);
	ret->dropped[ret->ndropped].cause = "size";
	ret->dropped[ret->ndropped++].count = is.removed;
}

static int json_on_close(void *state)
{
	struct json_export *j = state;
	int err;

	json_end(j, NULL);
	err = line_export_close(&j->lines);
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
	.save = line_export_save,
	.archive = line_export_archive,
	.missed = json_missed,
	.view = json_view,
	.last_written = line_export_last_written,
	.end = line_export_end,
	.close = json_on_close,
};
