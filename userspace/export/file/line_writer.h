/* SPDX-License-Identifier: Apache-2.0 */
/* line_writer.h - writes the lines of an exporter to a file, a pipe or a terminal, and never delays
 * the main loop for more than a second.
 *
 * A regular file is written by a helper process (file_writer.h), as its disk may hang. Lines that
 * the disk does not take are kept, up to LINE_WRITER_KEPT_BYTES, and retried every second. Further
 * lines are dropped until half of the kept ones has been written; the gap is marked in the file.
 * Pipes and terminals are written by this process: lines for a reader that stops are kept, too,
 * then dropped. Whole lines are dropped; they are counted and logged.
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
/* Appends one line to out, which says that `lines` lines are missing before it. */
typedef void line_writer_gap_fn(void *ctx, struct buffer *out, uint64_t lines);

struct line_writer_config {
	bool append; /* append to the file; false: empty it first */
	/* For a replay or a report, which may wait: this process writes regular files, too, and
	 * closing waits as long as a reader reads. */
	bool blocking;
	struct file_writer_bound bound; /* size limit of a file that a helper process writes */
	line_writer_gap_fn *gap;	/* appends a line that marks missing lines; may be NULL */
	void *ctx;			/* for gap */
};

/* Opens path ("-": standard output), created 0644. Call from the main thread. Logs a failure. For a
 * FIFO that no process reads: returns -ENXIO after 2 s if config->blocking is set; otherwise keeps
 * lines until a process opens it. */
int line_writer_open(struct line_writer **ret, const char *path,
		     const struct line_writer_config *config);
/* Returns the buffer that lines are appended to; call line_writer_line() after each. */
struct buffer *line_writer_buffer(struct line_writer *w);
/* Ends a line in the buffer. Returns false if lines were dropped. */
bool line_writer_line(struct line_writer *w);
/* Writes as much as the reader or disk takes now. Returns false while there is an error
 * (line_writer_stats.trouble). */
bool line_writer_flush(struct line_writer *w);
/* Like line_writer_flush(), but waits up to within_ns until a helper process has written
 * everything. Does not wait for a disk that did not answer during the last wait. */
void line_writer_save(struct line_writer *w, uint64_t within_ns);

struct line_writer_stats {
	uint64_t sent;		/* lines written: all lines minus the counts below */
	uint64_t lost;		/* lines dropped because the reader or disk was too slow */
	uint64_t failed;	/* lines not written because of an error */
	uint64_t removed;	/* lines of the oldest files, which were removed to make room */
	uint64_t waiting;	/* lines kept for a file that a helper process writes */
	uint64_t waiting_bytes; /* bytes of these lines */
	const char *trouble;	/* current error; NULL: none */
};
void line_writer_stats(const struct line_writer *w, struct line_writer_stats *ret);

/* Writes to the archive, or reads from it, the lines that are not in the file yet and the number of
 * lines dropped after them. When reading, w must just have been opened with `append`; lines that
 * the predecessor wrote to the file after it saved are not read. headed: the file is new and its
 * first line was added already. */
void line_writer_archive(struct line_writer *w, struct archive *a, bool headed);
/* Counts `lines` lines after the last one as lost for good. */
void line_writer_missed(struct line_writer *w, uint64_t lines);

/* Announces the end of the program: lines not written within 5 s (soon: 0.5 s) are dropped. Only
 * the first call has an effect; on a `blocking` writer, no call has. */
void line_writer_end(struct line_writer *w, bool soon);
/* Writes the rest, closes the file and frees w, which may be NULL. Returns 0, or -errno after
 * logging it if lines were lost. */
int line_writer_close(struct line_writer *w);

/* Cuts ",NAME=VALUE" off the end of spec, the argument of --export. Returns VALUE, within spec;
 * NULL: spec does not end with this setting. */
char *line_writer_setting(char *spec, const char *name);
/* Parses a size like "64M" (K, M, G; 1M to 1024G) into bytes. Returns 0 or -EINVAL. */
int line_writer_size(const char *text, uint64_t *ret);

#endif
