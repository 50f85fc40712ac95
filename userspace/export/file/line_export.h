/* SPDX-License-Identifier: Apache-2.0 */
/* line_export.h - what exporters that write lines to files have in common: which facts the files of
 * a predecessor already have, the lines that it still owed them, saving, the view, the end. A
 * struct line_export is the first member of the exporter's state, so that the functions with a
 * state can be members of its struct exporter. Main thread. */
#ifndef EXPORT_LINE_EXPORT_H
#define EXPORT_LINE_EXPORT_H

#include "userspace/export/export.h"
#include "userspace/export/file/line_writer.h"

#define LINE_EXPORT_FILES 3

struct line_export_config {
	const char *name;   /* of the file, in messages: static text */
	const char *header; /* start of a new file; NULL: none, and an empty file is not new */
	/* Returns the number of the last fact in the end of a file (whole lines); 0: none. */
	uint64_t (*number)(const char *tail);
	bool (*drop)(const char *line); /* as for file_writer_tail() */
	/* Checks the header of a file that is about to be continued. *ret_other: it was renamed, as
	 * it has another header. Returns 0, or -errno after one line. May be NULL. */
	int (*settle)(const char *path, const char *header, bool *ret_other);
	struct file_writer_bound bound;
	line_writer_gap_fn *gap; /* its ctx is the state; NULL: the format has no such line */
};

struct line_export_file {
	const char *name;
	struct line_writer *writer;
	char *path;	/* of a replay; NULL otherwise */
	bool headed;	/* new files have a header */
	bool continued; /* facts up to `last` are in it */
	uint64_t last;
	uint64_t bytes; /* when it was opened, with its header */
};

/* Zeroed: no files. */
struct line_export {
	struct line_export_file file[LINE_EXPORT_FILES];
	unsigned count;
	/* Of the last fact: */
	uint64_t seq, mono_ns;
	int64_t real_ns;
	int64_t flushed_ns; /* UTC, last snapshot without trouble; 0: none */
};

/* Opens one more file; "-" is standard output. Returns 0, or -errno after one line. The caller
 * calls line_export_close() in both cases. */
int line_export_open(struct line_export *e, const char *path, const struct export_options *opt,
		     const struct line_export_config *config);
/* Returns true if the file, or that of a predecessor, already has this fact. */
bool line_export_has(const struct line_export_file *file, const struct fact *f);
/* Makes f the last fact, before its lines are appended. */
void line_export_fact(struct line_export *e, const struct fact *f);
/* Returns the last line of a tail. */
const char *line_export_last_line(const char *tail);
/* Closes the files. In a replay that lost lines, removes what there is of the last one. Returns 0
 * or -errno: lines were lost. */
int line_export_close(struct line_export *e);

void line_export_snapshot(void *state, struct snapshot *s);
void line_export_save(void *state);
void line_export_archive(void *state, struct archive *a);
/* Adds to *ret, which has the name and may have causes of its own. */
void line_export_view(void *state, struct export_view *ret);
uint64_t line_export_last_written(void *state);
void line_export_end(void *state, bool soon);

#endif
