/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/file/line_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAVE_NS 500000000ull /* longest wait for slow disks when the state is saved */

const char *line_export_last_line(const char *tail)
{
	const char *at = *tail ? memrchr(tail, '\n', strlen(tail) - 1) : NULL;

	return at ? at + 1 : tail;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int line_export_read_end(struct line_export_file *file, const char *path, bool before,
				const struct line_export_config *config)
{
	uint64_t bytes;
	char *tail;
	int err = before ? file_writer_tail_before(path, &tail, &bytes)
			 : file_writer_tail(path, config->drop, &tail, &bytes);

	if (err)
		return err;
	if (!before)
		file->bytes = bytes;
	file->last = config->number(tail);
	free(tail);
	return 0;
}

/* Finds the last fact in a predecessor's file. Returns 0; -ENOENT: there is no file to continue; or
 * -errno after logging one line. */
static int line_export_continue(struct line_export_file *file, const char *path,
				const struct line_export_config *config)
{
	int err = line_export_read_end(file, path, false, config), before;

	if (!err && config->header && !file->bytes)
		return -ENOENT;
	if (!config->bound.bytes || file->bytes || (err && err != -ENOENT))
		return err;
	/* The file is empty because it was begun when the previous one reached the size limit. The
	 * last line is in the previous file, which was renamed. */
	before = line_export_read_end(file, path, true, config);
	return before == -ENOENT ? err : before;
}

int line_export_open(struct line_export *e, const char *path, const struct export_options *opt,
		     const struct line_export_config *config)
{
	struct line_export_file *file = &e->file[e->count];
	struct line_writer_config how = {
		.blocking = opt->replay, .bound = config->bound, .gap = config->gap, .ctx = e};
	bool other = false;
	int err = opt->resume ? line_export_continue(file, path, config) : -ENOENT;

	file->name = config->name;
	file->headed = config->header;
	file->continued = !err;
	if (file->continued && config->settle)
		err = config->settle(path, config->header, &other);
	how.append = file->continued && !other;
	if (opt->replay && !(file->path = strdup(path)))
		return -ENOMEM;
	err = err == -ENOENT && !file->continued ? 0 : err;
	err = err ? err : line_writer_open(&file->writer, path, &how);
	if (err)
		return err;
	e->count++;
	e->seq = file->last > e->seq ? file->last : e->seq;
	if (!how.append && config->header) {
		file->bytes = strlen(config->header);
		buffer_add(line_writer_buffer(file->writer), config->header, file->bytes);
	}
	return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

bool line_export_has(const struct line_export_file *file, const struct fact *f)
{
	return file->continued ? f->number <= file->last : f->repeated;
}

void line_export_fact(struct line_export *e, const struct fact *f)
{
	e->seq = f->number;
	e->mono_ns = f->mono_ns;
	e->real_ns = f->real_ns;
}

void line_export_snapshot(void *state, struct snapshot *s)
{
	struct line_export *e = state;
	bool up = true;

	for (unsigned i = 0; i < e->count; i++)
		up = line_writer_flush(e->file[i].writer) && up;
	if (up)
		e->flushed_ns = s->real_ns;
}

void line_export_save(void *state)
{
	struct line_export *e = state;

	for (unsigned i = 0; i < e->count; i++)
		line_writer_save(e->file[i].writer, SAVE_NS / e->count);
}

void line_export_archive(void *state, struct archive *a)
{
	struct line_export *e = state, was = *e;

	archive_field(a, was.seq);
	archive_field(a, was.mono_ns);
	archive_field(a, was.real_ns);
	if (archive_reads(a) && was.seq > e->seq) {
		e->seq = was.seq;
		e->mono_ns = was.mono_ns;
		e->real_ns = was.real_ns;
	}
	for (unsigned i = 0; i < e->count; i++)
		line_writer_archive(e->file[i].writer, a,
				    e->file[i].headed && !e->file[i].continued);
}

uint64_t line_export_last_written(void *state)
{
	const struct line_export *e = state;
	uint64_t last = 0;

	for (unsigned i = 0; i < e->count; i++)
		last = e->file[i].last > last ? e->file[i].last : last;
	return last;
}

static void line_export_view_drop(struct export_view *v, const char *cause, uint64_t count)
{
	v->dropped[v->ndropped].cause = cause;
	v->dropped[v->ndropped++].count = count;
}

void line_export_view(void *state, struct export_view *ret)
{
	const struct line_export *e = state;
	struct line_writer_stats is;
	uint64_t lost = 0, failed = 0;

	ret->up = true;
	ret->last_ns = e->flushed_ns;
	for (unsigned i = 0; i < e->count; i++) {
		line_writer_stats(e->file[i].writer, &is);
		lost += is.lost;
		failed += is.failed;
		ret->sent += is.sent;
		ret->waiting += is.waiting;
		ret->waiting_bytes += is.waiting_bytes;
		if (!is.trouble)
			continue;
		ret->up = false;
		snprintf(ret->trouble, sizeof(ret->trouble), "%s: %s", e->file[i].name, is.trouble);
	}
	line_export_view_drop(ret, "reader", lost);
	line_export_view_drop(ret, "write", failed);
}

/* ---- the end --------------------------------------------------------------------------------- */

void line_export_end(void *state, bool soon)
{
	struct line_export *e = state;

	for (unsigned i = 0; i < e->count; i++)
		line_writer_end(e->file[i].writer, soon);
}

static int line_export_file_close(struct line_export_file *file)
{
	int err = line_writer_close(file->writer);
	uint64_t bytes;
	char *tail;

	if (err && file->path && !file_writer_tail(file->path, NULL, &tail, &bytes))
		free(tail);
	free(file->path);
	return err;
}

int line_export_close(struct line_export *e)
{
	int err = 0, lost;

	for (unsigned i = 0; i < LINE_EXPORT_FILES; i++) {
		lost = line_export_file_close(&e->file[i]);
		err = err ? err : lost;
	}
	return err;
}
