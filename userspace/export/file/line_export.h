/* SPDX-License-Identifier: Apache-2.0 */
/* line_export.h - shared by exporters that write lines to files. It continues the files of a
 * predecessor without repeating facts, writes the lines that the predecessor could not write, saves
 * unwritten lines, reports the state, and closes the files. A struct line_export is the first
 * member of the exporter's state, so that the functions with a state can be members of its struct
 * exporter. Main thread. */
#ifndef EXPORT_LINE_EXPORT_H
#define EXPORT_LINE_EXPORT_H

#include "userspace/export/export.h"
#include "userspace/export/file/line_writer.h"

#define LINE_EXPORT_FILES 3

struct line_export_config {
	const char *name;   /* name of the file in messages; static text */
	const char *header; /* first line of a new file; NULL: the format has no header */
	/* Returns the number of the last fact in tail, the last lines of a file; 0: none. */
	uint64_t (*number)(const char *tail);
	bool (*drop)(const char *line); /* see file_writer_tail() */
	/* Checks the header of a file that is about to be continued. *ret_other: the file has
	 * another header, and was renamed. Returns 0, or -errno after logging one line. May be
	 * NULL. */
	int (*settle)(const char *path, const char *header, bool *ret_other);
	struct file_writer_bound bound;
	line_writer_gap_fn *gap; /* writes a line about missing lines; may be NULL */
};

struct line_export_file {
	const char *name;
	struct line_writer *writer;
	char *path;	/* file to repair at the end of a replay; else NULL */
	bool headed;	/* new files have a header */
	bool continued; /* a predecessor began the file, and wrote facts up to number `last` */
	uint64_t last;
	uint64_t bytes; /* size of the file when it was opened, with its header */
};

/* A zeroed struct has no files. */
struct line_export {
	struct line_export_file file[LINE_EXPORT_FILES];
	unsigned count;
	/* Number and times of the last fact. */
	uint64_t seq, mono_ns;
	int64_t real_ns;
	int64_t flushed_ns; /* UTC time of the last snapshot without a write error; 0: none */
};

/* Opens one more file; "-" is standard output. Returns 0, or -errno after logging one line. The
 * caller calls line_export_close() in both cases. */
int line_export_open(struct line_export *e, const char *path, const struct export_options *opt,
		     const struct line_export_config *config);
/* Returns true if the file, written by this process or a predecessor, already has this fact. */
bool line_export_has(const struct line_export_file *file, const struct fact *f);
/* Records f as the last fact. Call before appending its lines. */
void line_export_fact(struct line_export *e, const struct fact *f);
/* tail: the last lines of a file. Returns the last of them. */
const char *line_export_last_line(const char *tail);
/* Closes the files. In a replay that lost lines, cuts off a partial last line. Returns 0 or -errno:
 * lines were lost. */
int line_export_close(struct line_export *e);

void line_export_snapshot(void *state, struct snapshot *s);
void line_export_save(void *state);
void line_export_archive(void *state, struct archive *a);
/* Fills in *ret. The caller has set its name, and may have added causes of losses. */
void line_export_view(void *state, struct export_view *ret);
uint64_t line_export_last_written(void *state);
void line_export_end(void *state, bool soon);

#endif
