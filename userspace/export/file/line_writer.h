/* SPDX-License-Identifier: Apache-2.0 */
/* line_writer.h - writes the lines of an exporter to a file, a pipe or a terminal, and never delays
 * the main loop for more than a second.
 *
 * A helper process writes a regular file (file_writer.h), as its disk may hang. Lines that the disk
 * does not take are kept, up to LINE_WRITER_KEPT_BYTES, and tried again every second. Lines beyond
 * that are dropped until half of what is kept has been written; the gap is marked in the file. This
 * process writes anything else: lines for a pipe whose reader stops are kept, too, then dropped.
 * Whole lines are dropped, counted and reported.
 *
 * A writer belongs to one thread. Functions that return int return 0 or -errno. */
#ifndef EXPORT_LINE_WRITER_H
#define EXPORT_LINE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/base/buffer.h"
#include "userspace/export/file/file_writer.h"

#define LINE_WRITER_KEPT_BYTES (4u << 20)

struct line_writer;
/* Appends one line to out that says that `lines` lines are missing there. */
typedef void line_writer_gap_fn(void *ctx, struct buffer *out, uint64_t lines);

struct line_writer_config {
	bool append; /* after the content of the file, which is emptied otherwise */
	/* For a replay or a report, which may wait: this process writes, also a regular file, and
	 * closing waits for a reader as long as it reads. */
	bool blocking;
	struct file_writer_bound bound; /* of a file that a helper process writes */
	line_writer_gap_fn *gap;	/* NULL: the format has no such line */
	void *ctx;			/* for gap */
};

/* Opens path ("-": standard output), created 0644. Call from the main thread. Logs one line if it
 * fails. A FIFO that no process reads: with blocking -ENXIO after 2 s; otherwise lines are kept
 * until a process does. */
int line_writer_open(struct line_writer **ret, const char *path,
		     const struct line_writer_config *config);
/* Returns the buffer that lines are appended to; call line_writer_line() after each. */
struct buffer *line_writer_buffer(struct line_writer *w);
/* Returns false if lines were dropped. */
bool line_writer_line(struct line_writer *w);
/* Writes what the reader or disk takes now. Returns false while something is wrong
 * (line_writer_stats.trouble). */
bool line_writer_flush(struct line_writer *w);
/* The same, and waits up to within_ns until a helper process has written everything. Does not wait
 * for a disk that did not answer during the last wait. */
void line_writer_save(struct line_writer *w, uint64_t within_ns);

struct line_writer_stats {
	uint64_t sent;		/* lines that are none of the following */
	uint64_t lost;		/* lines that a reader or disk was too slow for */
	uint64_t failed;	/* lines that an error prevented */
	uint64_t removed;	/* lines of the oldest files, which were removed to make room */
	uint64_t waiting;	/* lines kept for a file that a helper process writes */
	uint64_t waiting_bytes; /* of those */
	const char *trouble;	/* what is wrong now; NULL: nothing */
};
void line_writer_stats(const struct line_writer *w, struct line_writer_stats *ret);

/* Saves the lines that the file does not have yet, and how many are missing after them. Reading,
 * into a writer that was just opened with `append`: takes them over from the predecessor, except
 * those that were written since, and counts the rest as its own. headed: the file is new and its
 * first line was added already. */
void line_writer_archive(struct line_writer *w, struct archive *a, bool headed);
/* `lines` lines are missing after the last one, and cannot be had again. */
void line_writer_missed(struct line_writer *w, uint64_t lines);

/* The program ends: gives up in 5 s what is not written by then; soon: in 0.5 s. The first call
 * counts. No effect on a writer that is `blocking`. */
void line_writer_end(struct line_writer *w, bool soon);
/* Writes the rest, closes the file and frees w, which may be NULL. Returns -errno, after a line in
 * the log, if lines were lost. */
int line_writer_close(struct line_writer *w);

/* Cuts ",NAME=VALUE" off the end of the argument of --export. Returns VALUE, within spec; NULL: it
 * does not end like that. */
char *line_writer_setting(char *spec, const char *name);
/* Parses "64M" (K, M, G; 1M to 1024G) into bytes. -EINVAL. */
int line_writer_size(const char *text, uint64_t *ret);

#endif
