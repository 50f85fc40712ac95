/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - the exporter of --export csv:DIR: tables of steps, checkpoints and disruptions for
 * spreadsheets and data frames. One row for each fact, with the fields of its JSON line. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/helper.h"
#include "userspace/base/csv_text.h"
#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/export/exporter.h"
#include "userspace/export/disruption.h"
#include "userspace/export/file/csv_store.h"
#include "userspace/export/file/json_line.h"
#include "userspace/export/file/line_export.h"

enum csv_table { CSV_STEPS, CSV_CHECKPOINTS, CSV_DISRUPTIONS, CSV_TABLES };
_Static_assert((int)CSV_TABLES == LINE_EXPORT_FILES, "one file each");

#define HEADER_MAX    1024
#define SET_ASIDE_MAX 99 /* limit of old tables (FILE.1, FILE.2...) that are kept */

#define CSV_HEAD "seq,time,mono_ns,job,rank,pid,"

static const struct {
	const char *file;
	enum fact_type type;
	const char *header;
} tables[CSV_TABLES] = {
	[CSV_STEPS] =
		{"steps.csv", FACT_STEP,
		 CSV_HEAD
		 "loop,step,run_step,start_ns,end_ns,duration_ns,tier,boundary,series,micro_batches,updates,flags,data_ns,forward_ns,backward_ns,update_ns,zero_grad_ns,sync_ns,collective_ns,transfer_ns,compile_ns,host_ns,ranges\r\n"},
	[CSV_CHECKPOINTS] =
		{"checkpoints.csv", FACT_CHECKPOINT,
		 CSV_HEAD
		 "op,mode,start_ns,end_ns,duration_ns,bytes,files,step,run_step,file,saved_step,match,confidence,estimated\r\n"},
	[CSV_DISRUPTIONS] = {"disruptions.csv", FACT_DISRUPTION,
			     CSV_HEAD DISRUPTION_COLUMNS "\r\n"},
};

/* ---- rows ------------------------------------------------------------------------------------ */

static void csv_head(struct buffer *b, const struct fact *f)
{
	csv_uint(b, f->number);
	csv_time(b, f->real_ns);
	csv_uint(b, f->mono_ns);
	csv_text(b, f->job);
	csv_int_if(b, f->rank >= 0, f->rank);
	csv_nonzero(b, f->pid);
}

static void csv_flags(struct buffer *b, uint32_t flags)
{
	char text[128] = "";
	size_t len = 0;

#define X(bit, name)                                                                               \
	if (flags & (1u << (bit)))                                                                 \
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "",    \
					#name);
	STEP_FLAGS(X)
#undef X
	csv_text(b, text);
}

static void csv_step(struct buffer *b, const struct fact_step *fs)
{
	const struct step *s = &fs->step;
	struct buffer ranges = {0};

	csv_uint(b, s->loop);
	csv_uint(b, s->number);
	csv_uint(b, fs->run_step);
	csv_uint(b, s->start_ns);
	csv_uint(b, s->end_ns);
	csv_uint(b, s->end_ns - s->start_ns);
	csv_text(b, tier_name[s->tier]);
	csv_text(b, s->boundary ? boundary_name[s->boundary] : NULL);
	csv_text(b, series_name[s->series]);
	csv_uint(b, s->micro_batches);
	csv_uint(b, s->updates);
	csv_flags(b, s->flags);
	for (int i = 0; i < PHASE_COUNT; i++)
		if (fs->phases_known & (1u << i))
			csv_uint(b, fs->phase_ns[i]);
		else
			csv_none(b);
	if (fs->device_known)
		csv_uint(b, fs->host_ns);
	else
		csv_none(b);
	for (uint32_t i = 0; fs->ranges && i < fs->ranges->nparts; i++)
		csv_object_part(&ranges, fs->ranges->part[i].name, fs->ranges->part[i].ns);
	csv_object(b, &ranges);
}

static void csv_checkpoint(struct buffer *b, const struct fact_checkpoint *c)
{
	csv_text(b, c->restore ? "restore" : "save");
	csv_text(b, c->restore ? NULL : c->async ? "async" : "sync");
	csv_uint(b, c->start_ns);
	if (c->closed) {
		csv_uint(b, c->end_ns);
		csv_uint(b, c->end_ns - c->start_ns);
	} else {
		csv_none(b);
		csv_none(b);
	}
	csv_nonzero(b, c->bytes);
	csv_uint(b, c->files);
	csv_nonzero(b, c->step);
	csv_nonzero(b, c->run_step);
	csv_text(b, c->file);
	csv_nonzero(b, c->match ? c->match->step : 0);
	csv_text(b, c->match ? checkpoint_how_name[c->match->how] : NULL);
	if (c->match)
		csv_real(b, c->match->confidence);
	else
		csv_none(b);
	csv_bool(b, c->match ? checkpoint_estimated(c->match) : c->estimated);
}

static void csv_disruption(struct buffer *b, const struct fact *f)
{
	struct disruption_row row;

	disruption_of_job(&row, f->disruption, f->real_ns ? f->real_ns - (int64_t)f->mono_ns : 0);
	disruption_csv(b, &row);
}

static void csv_fact(void *state, const struct fact *f)
{
	struct line_export *e = state;
	struct line_export_file *file = NULL;
	struct buffer *b;

	for (int i = 0; i < CSV_TABLES; i++)
		if (tables[i].type == f->type)
			file = &e->file[i];
	if (!file || line_export_has(file, f))
		return;
	b = line_writer_buffer(file->writer);
	csv_head(b, f);
	if (f->type == FACT_STEP)
		csv_step(b, f->step);
	else if (f->type == FACT_CHECKPOINT)
		csv_checkpoint(b, f->checkpoint);
	else
		csv_disruption(b, f);
	csv_row(b);
	line_writer_line(file->writer);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns the number of the fact in the last row; 0: there is only a header. */
static uint64_t csv_number(const char *tail)
{
	return strtoull(line_export_last_line(tail), NULL, 10);
}

static bool csv_header_is(int folder, const char *name, const char *header)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	size_t len = strcspn(header, "\r");
	char had[HEADER_MAX];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, had, sizeof(had) - 1);
	close(fd);
	had[n > 0 ? n : 0] = '\0';
	had[strcspn(had, "\n")] = '\0';
	return !strncmp(had, header, len) && !had[len + strspn(had + len, "\r")];
}

struct header_ask {
	const char *path, *header;
};

/* Renames a table of another version to FILE.N, because its columns differ, and new rows would be
 * under the wrong column names. Returns N; 0 if the columns are the same. */
static ssize_t csv_header_there(const void *arg, void *ret, size_t cap)
{
	const struct header_ask *a = arg;
	char to[NAME_MAX + 1];
	unsigned n = 0;
	const char *name;
	int folder = cap < sizeof(n) ? -ENOBUFS : path_parent(a->path, &name), err = 0;

	if (folder < 0)
		return folder;
	if (!csv_header_is(folder, name, a->header)) {
		do
			snprintf(to, sizeof(to), "%s.%u", name, ++n);
		while (n < SET_ASIDE_MAX && !faccessat(folder, to, F_OK, AT_SYMLINK_NOFOLLOW));
		err = n == SET_ASIDE_MAX		   ? -EEXIST
		      : renameat(folder, name, folder, to) ? -errno
							   : 0;
	}
	close(folder);
	memcpy(ret, &n, sizeof(n));
	return err ? err : (ssize_t)sizeof(n);
}

static int csv_header_settle(const char *path, const char *header, bool *ret_other)
{
	struct header_ask ask = {path, header};
	unsigned n = 0;
	ssize_t err = helper_once(csv_header_there, &ask, sizeof(ask), &n, sizeof(n),
				  FILE_WRITER_OPEN_MS);
	char shown[256];

	log_escape(shown, sizeof(shown), path, strlen(path));
	if (err < 0)
		log_error(
			"export to %s: the file has the columns of another version, and cannot be renamed: %s; move it away",
			shown, path_why((int)err));
	else if (n)
		log_warn(
			"export to %s: the file has the columns of another version; renamed to %s.%u, and a new file was started",
			shown, strrchr(path, '/') + 1, n);
	*ret_other = n;
	return err < 0 ? (int)err : 0;
}

static int csv_open_file(struct line_export *e, int table, const char *dir,
			 const struct export_options *opt)
{
	char *path;
	int err;

	if (asprintf(&path, "%s/%s", dir, tables[table].file) < 0)
		return -ENOMEM;
	err = line_export_open(e, path, opt,
			       &(struct line_export_config){.name = tables[table].file,
							    .header = tables[table].header,
							    .number = csv_number,
							    .settle = csv_header_settle});
	free(path);
	if (!err)
		line_writer_flush(e->file[table].writer); /* its header */
	return err;
}

static int csv_close(void *state)
{
	int err = line_export_close(state);

	free(state);
	return err;
}

static int csv_check(const char *arg, const struct export_options *opt)
{
	(void)opt;
	if (arg && *arg)
		return 0;
	log_error("--export csv: no folder given; use csv:DIR");
	return -EINVAL;
}

static ssize_t csv_folder_there(const void *arg, void *ret, size_t cap)
{
	(void)ret;
	(void)cap;
	return path_make(*(const char *const *)arg, 0755);
}

static int csv_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct line_export *e;
	char shown[256];
	int err;

	err = (int)helper_once(csv_folder_there, &arg, sizeof(arg), NULL, 0, FILE_WRITER_OPEN_MS);
	if (err) {
		log_error("export to %s: cannot make the folder: %s",
			  log_escape(shown, sizeof(shown), arg, strlen(arg)),
			  err == -ETIMEDOUT ? "the disk does not answer" : path_why(err));
		return err;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	for (int i = 0; !err && i < CSV_TABLES; i++)
		err = csv_open_file(e, i, arg, opt);
	if (err) {
		csv_close(e);
		return err;
	}
	*ret_state = e;
	return 0;
}

static void csv_view(void *state, struct export_view *ret)
{
	ret->name = "csv";
	line_export_view(state, ret);
}

const struct exporter export_csv = {
	.name = "csv",
	.help = "steps, checkpoints and disruptions as tables, to files in DIR",
	.spec = {"csv:DIR"},
	.usage =
		{[EXPORT_EVENTS] = "csv:DIR",
		 [EXPORT_STORE] =
			 "csv:DIR (minutes.csv, checkpoints.csv and disruptions.csv in DIR, instead of the text)"},
	.place = EXPORT_TO_FOLDER,
	.check = csv_check,
	.open = csv_open,
	.fact = csv_fact,
	.snapshot = line_export_snapshot,
	.save = line_export_save,
	.archive = line_export_archive,
	.view = csv_view,
	.last_written = line_export_last_written,
	.end = line_export_end,
	.close = csv_close,
	.store_write = csv_store_write,
};
