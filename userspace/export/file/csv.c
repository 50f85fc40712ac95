/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - tables for spreadsheets and data frames: --export csv:DIR. Steps, checkpoints and
 * disruptions: one row for each fact, with the fields of its JSON line. */
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
#include "userspace/export/file/file_writer.h"
#include "userspace/export/file/line_writer.h"

#define SAVE_NS 500000000ull /* longest wait for a slow disk when the state is saved */

enum csv_table { CSV_STEPS, CSV_CHECKPOINTS, CSV_DISRUPTIONS, CSV_TABLES };

#define HEADER_MAX    1024
#define SET_ASIDE_MAX 99 /* files of other versions beside a table */

#define CSV_HEAD "seq,time,mono_ns,job,rank,pid,"

static const struct {
	const char *file;
	enum fact_type type;
	const char *columns;
} tables[CSV_TABLES] = {
	[CSV_STEPS] =
		{"steps.csv", FACT_STEP,
		 CSV_HEAD
		 "loop,step,run_step,start_ns,end_ns,duration_ns,tier,boundary,series,micro_batches,updates,flags,data_ns,forward_ns,backward_ns,update_ns,zero_grad_ns,sync_ns,collective_ns,transfer_ns,compile_ns,host_ns,ranges"},
	[CSV_CHECKPOINTS] =
		{"checkpoints.csv", FACT_CHECKPOINT,
		 CSV_HEAD
		 "op,mode,start_ns,end_ns,duration_ns,bytes,files,step,run_step,file,saved_step,match,confidence,estimated"},
	[CSV_DISRUPTIONS] = {"disruptions.csv", FACT_DISRUPTION, CSV_HEAD DISRUPTION_COLUMNS},
};

struct csv_export {
	char *dir;
	struct csv_file {
		struct line_writer *writer; /* NULL: not open */
		bool numbered;		    /* resumed: facts up to this number are in the file */
		uint64_t last;
		uint64_t rows;
	} files[CSV_TABLES];
	int64_t flushed_ns;
	bool replay;
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
	struct csv_export *c = state;
	struct csv_file *file = NULL;
	struct buffer *b;

	for (int i = 0; i < CSV_TABLES; i++)
		if (tables[i].type == f->type)
			file = &c->files[i];
	if (!file || (file->numbered ? f->number <= file->last : f->repeated))
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
	file->rows++;
	line_writer_line(file->writer);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *file_path(const struct csv_export *c, int table)
{
	char *path;

	return asprintf(&path, "%s/%s", c->dir, tables[table].file) < 0 ? NULL : path;
}

/* Returns the number at the start of the last row; 0: only a header. */
static int csv_resume(struct csv_file *file, const char *path)
{
	uint64_t bytes;
	char *tail, *at;
	int err = file_writer_tail(path, NULL, &tail, &bytes);

	if (err)
		return err;
	at = *tail ? memrchr(tail, '\n', strlen(tail) - 1) : NULL;
	file->last = strtoull(at ? at + 1 : tail, NULL, 10);
	free(tail);
	return bytes ? 0 : -ENOENT;
}

static bool csv_columns_are(int folder, const char *name, const char *columns)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	size_t len = strlen(columns);
	char had[HEADER_MAX];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, had, sizeof(had) - 1);
	close(fd);
	had[n > 0 ? n : 0] = '\0';
	had[strcspn(had, "\n")] = '\0';
	return !strncmp(had, columns, len) && !had[len + strspn(had + len, "\r")];
}

struct columns_ask {
	const char *path, *columns;
};

/* Rows of two versions in one table would be under the wrong names: a file with other columns is
 * renamed to FILE.N. Returns N, 0 when the columns are the same. */
static ssize_t csv_columns_there(const void *arg, void *ret, size_t cap)
{
	const struct columns_ask *a = arg;
	char to[NAME_MAX + 1];
	unsigned n = 0;
	const char *name;
	int folder = cap < sizeof(n) ? -ENOBUFS : path_parent(a->path, &name), err = 0;

	if (folder < 0)
		return folder;
	if (!csv_columns_are(folder, name, a->columns)) {
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

/* *ret_other: the file had other columns and was renamed. */
static int csv_columns_settle(const char *path, int table, bool *ret_other)
{
	struct columns_ask ask = {path, tables[table].columns};
	unsigned n = 0;
	ssize_t err = helper_once(csv_columns_there, &ask, sizeof(ask), &n, sizeof(n),
				  FILE_WRITER_OPEN_MS);
	char shown[256];

	log_escape(shown, sizeof(shown), path, strlen(path));
	if (err < 0)
		log_error(
			"export to %s: its columns are another version's, and it cannot be set aside: %s; move it",
			shown, path_why((int)err));
	else if (n)
		log_warn(
			"export to %s: it has the columns of another version; renamed to %s.%u, and a new file was started",
			shown, tables[table].file, n);
	*ret_other = n;
	return err < 0 ? (int)err : 0;
}

static int csv_open_file(struct csv_export *c, int table, const struct export_options *opt)
{
	struct csv_file *file = &c->files[table];
	char *path = file_path(c, table);
	bool append, other = false;
	struct buffer *b;
	int err;

	if (!path)
		return -ENOMEM;
	err = opt->resume ? csv_resume(file, path) : -ENOENT;
	file->numbered = !err;
	err = file->numbered ? csv_columns_settle(path, table, &other) : err == -ENOENT ? 0 : err;
	append = file->numbered && !other;
	if (!err)
		err = line_writer_open(
			&file->writer, path,
			&(struct line_writer_config){.append = append, .blocking = opt->replay});
	free(path);
	if (err || append)
		return err;
	b = line_writer_buffer(file->writer);
	buffer_add(b, tables[table].columns, strlen(tables[table].columns));
	csv_row(b);
	line_writer_flush(file->writer);
	return 0;
}

static int csv_close(void *state)
{
	struct csv_export *c = state;
	int err = 0, lost;
	uint64_t bytes;
	char *path, *tail;

	for (int i = 0; i < CSV_TABLES; i++) {
		lost = line_writer_close(c->files[i].writer);
		path = lost && c->replay ? file_path(c, i) : NULL;
		if (path && !file_writer_tail(path, NULL, &tail, &bytes)) /* a partial row */
			free(tail);
		free(path);
		err = err ? err : lost;
	}
	free(c->dir);
	free(c);
	return err;
}

static int csv_check(const char *arg, const struct export_options *opt)
{
	(void)opt;
	if (arg && *arg)
		return 0;
	log_error("--export csv: no folder is named; give csv:DIR");
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
	struct csv_export *c;
	char shown[256];
	int err = 0;

	err = (int)helper_once(csv_folder_there, &arg, sizeof(arg), NULL, 0, FILE_WRITER_OPEN_MS);
	if (err) {
		log_error("export to %s: %s", log_escape(shown, sizeof(shown), arg, strlen(arg)),
			  err == -ETIMEDOUT ? "its disk does not answer" : path_why(err));
		return err;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->replay = opt->replay;
	c->dir = strdup(arg);
	err = c->dir ? 0 : -ENOMEM;
	for (int i = 0; !err && i < CSV_TABLES; i++)
		err = csv_open_file(c, i, opt);
	if (err) {
		csv_close(c);
		return err;
	}
	*ret_state = c;
	return 0;
}

static void csv_snapshot(void *state, struct snapshot *s)
{
	struct csv_export *c = state;
	bool up = true;

	for (int i = 0; i < CSV_TABLES; i++)
		up = line_writer_flush(c->files[i].writer) && up;
	if (up)
		c->flushed_ns = s->real_ns;
}

static void csv_save(void *state)
{
	struct csv_export *c = state;

	for (int i = 0; i < CSV_TABLES; i++)
		line_writer_save(c->files[i].writer, SAVE_NS / CSV_TABLES);
}

static void csv_archive(void *state, struct archive *a)
{
	struct csv_export *c = state;
	struct line_writer_stats stats;

	for (int i = 0; i < CSV_TABLES; i++) {
		line_writer_archive(c->files[i].writer, a, !c->files[i].numbered);
		if (!archive_reads(a))
			continue;
		line_writer_stats(c->files[i].writer, &stats);
		c->files[i].rows = stats.waiting;
	}
}

static void csv_view(void *state, struct export_view *ret)
{
	const struct csv_export *c = state;
	uint64_t rows = 0, lost = 0, failed = 0, not_sent;

	*ret = (struct export_view){
		.name = "csv", .up = true, .last_ns = c->flushed_ns, .ndropped = 2};
	for (int i = 0; i < CSV_TABLES; i++) {
		struct line_writer_stats is;

		line_writer_stats(c->files[i].writer, &is);
		rows += c->files[i].rows;
		lost += is.lost;
		failed += is.failed;
		ret->waiting += is.waiting;
		ret->waiting_bytes += is.waiting_bytes;
		if (!is.trouble)
			continue;
		ret->up = false;
		snprintf(ret->trouble, sizeof(ret->trouble), "%s: %s", tables[i].file, is.trouble);
	}
	not_sent = lost + failed + ret->waiting;
	ret->sent = rows > not_sent ? rows - not_sent : 0;
	ret->dropped[0].cause = "reader";
	ret->dropped[0].count = lost;
	ret->dropped[1].cause = "write";
	ret->dropped[1].count = failed;
}

static uint64_t csv_last_written(void *state)
{
	const struct csv_export *c = state;
	uint64_t last = 0;

	for (int i = 0; i < CSV_TABLES; i++)
		last = c->files[i].last > last ? c->files[i].last : last;
	return last;
}

static void csv_end(void *state, bool soon)
{
	struct csv_export *c = state;

	for (int i = 0; i < CSV_TABLES; i++)
		line_writer_end(c->files[i].writer, soon);
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
	.snapshot = csv_snapshot,
	.save = csv_save,
	.archive = csv_archive,
	.view = csv_view,
	.last_written = csv_last_written,
	.end = csv_end,
	.close = csv_close,
	.store_write = csv_store_write,
};
