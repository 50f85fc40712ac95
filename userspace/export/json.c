/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines: --export json[:FILE|-]. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/export/exporter.h"
#include "userspace/export/json_line.h"
#include "userspace/export/sink.h"

struct json_export {
	struct sink *sink;
	bool numbered; /* resumed: facts up to this number are in the file */
	uint64_t last;
	bool ended; /* the end was told, but its sums come with the last snapshot */
	struct fact end_fact;
	struct gp_end end;
};

#define TAIL_BYTES (1 << 20) /* a line is far shorter */

static uint64_t line_number(const char *line)
{
	const char *at = strstr(line, "\"seq\":");

	return at ? strtoull(at + 6, NULL, 10) : 0;
}

/* The number of the last whole line of a file, after the torn one behind it was cut off. */
static int json_resume(const char *path, uint64_t *ret_last)
{
	int err = -ENOENT, fd = strcmp(path, "-") != 0 ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;
	char *text = malloc(TAIL_BYTES + 1), *end, *line;
	struct stat st;
	off_t from;
	ssize_t n;

	if (fd < 0 || !text || fstat(fd, &st) || !S_ISREG(st.st_mode))
		goto out;
	from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
	n = pread(fd, text, TAIL_BYTES, from);
	if (n < 0)
		goto out;
	text[n] = 0;
	end = memrchr(text, '\n', (size_t)n);
	if (ftruncate(fd, end ? from + (end + 1 - text) : from))
		goto out;
	err = 0;
	*ret_last = 0;
	if (!end)
		goto out;
	*end = 0;
	line = memrchr(text, '\n', (size_t)(end - text));
	*ret_last = line_number(line ? line + 1 : text);
out:
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

static int export_json_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct json_export *j = calloc(1, sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	arg = arg && *arg ? arg : "-";
	j->numbered = opt->resume && !json_resume(arg, &j->last);
	err = j->numbered ? sink_open_append(&j->sink, arg) : sink_open(&j->sink, arg);
	if (err) {
		free(j);
		return err;
	}
	*ret_state = j;
	return 0;
}

static void export_json_line(struct json_export *j, const struct fact *f, const struct snapshot *last)
{
	json_line(sink_buffer(j->sink), f, last);
	sink_line(j->sink);
}

static void export_json_end(struct json_export *j, const struct snapshot *last)
{
	if (!j->ended)
		return;
	j->ended = false;
	j->end_fact.end = &j->end;
	j->end_fact.job = "";
	export_json_line(j, &j->end_fact, last);
}

static void export_json_fact(void *state, const struct fact *f)
{
	struct json_export *j = state;

	if (j->numbered ? f->number <= j->last : f->told)
		return;
	if (f->type != FACT_END) {
		export_json_line(j, f, NULL);
		return;
	}
	j->end_fact = *f;
	j->end = *f->end;
	j->ended = true;
}

static void export_json_snapshot(void *state, struct snapshot *s)
{
	struct json_export *j = state;

	export_json_end(j, s);
	sink_flush(j->sink);
}

static uint64_t export_json_told(void *state)
{
	return ((struct json_export *)state)->last;
}

static int export_json_close(void *state)
{
	struct json_export *j = state;
	int err;

	export_json_end(j, NULL);
	err = sink_close(j->sink);
	free(j);
	return err;
}

const struct exporter export_json = {
	.name = "json",
	.help = "every fact as a line of JSON, to FILE or - (standard output); gp-bpf schema describes them",
	.open = export_json_open,
	.fact = export_json_fact,
	.snapshot = export_json_snapshot,
	.told = export_json_told,
	.close = export_json_close,
};
