/* SPDX-License-Identifier: Apache-2.0 */
/* line_writer.h - lines to a file, a pipe or a terminal. A reader of a pipe that stops reading
 * fills a bounded backlog, then costs whole lines, counted; it never holds up the caller for more
 * than a second. Nor does a disk, where the file is written aside (file_writer.h): what it does not
 * take is kept, LINE_WRITER_KEPT_BYTES of it, and tried again each second; what is beyond that is
 * dropped from there to where half of it has been written, and the gap is marked. */
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
/* One line that says that so many are missing there. */
typedef void line_writer_gap_fn(void *ctx, struct buffer *out, uint64_t lines);
/* path "-": standard output. Else a file, created 0644, emptied. -errno after one line. */
int line_writer_open(struct line_writer **ret, const char *path);
/* The same, behind what the file holds. */
int line_writer_open_append(struct line_writer **ret, const char *path);
/* Where path is a regular file, or none yet: written aside, keep: behind what it holds. Else as the
 * two above. gap may be NULL: the format has no place for it. Call from the main thread. */
int line_writer_open_aside(struct line_writer **ret, const char *path, bool keep,
			   line_writer_gap_fn *gap, void *ctx);
/* Bounds a file that is written aside; nothing else has a size. NULL is fine. */
void line_writer_limit(struct line_writer *s, const struct file_writer_bound *bound);
/* Lines that were removed with the oldest file. */
uint64_t line_writer_removed(const struct line_writer *s);
/* Cuts ",NAME=VALUE" off the end of spec. The value, within spec; NULL: it does not end so. */
char *line_writer_setting(char *spec, const char *name);
/* Bytes of "64M" (K, M, G), from 1M to 1024G; -EINVAL. */
int line_writer_size(const char *text, uint64_t *ret);
/* The buffer to append to. After each whole line: line_writer_line(). */
struct buffer *line_writer_buffer(struct line_writer *s);
void line_writer_line(struct line_writer *s);
/* Hands what is there to the reader, as much as it takes now. */
void line_writer_flush(struct line_writer *s);
/* The same, and waits until a file that is written aside has it all; so long at most, and not at
 * all for a disk that has not answered since it was waited for last. */
void line_writer_save(struct line_writer *s, uint64_t within_ns);
/* What the file has not taken yet, and how many lines are missing behind that; of a writer that was
 * just opened behind what the file holds: from its predecessor, less what was written since.
 * headed: of a file that is a new one, the first line is there. */
void line_writer_archive(struct line_writer *s, struct archive *a, bool headed);
/* So many lines are missing, behind all that was given: nobody has them any more. */
void line_writer_missed(struct line_writer *s, uint64_t lines);
/* NULL, or what is wrong: with a file that is written aside now; else what ended it: what comes
 * after it is counted, not written. */
const char *line_writer_trouble(const struct line_writer *s);
/* Lines that a reader or a disk was too slow for, and those that came to nothing by the error. */
uint64_t line_writer_lost(const struct line_writer *s);
uint64_t line_writer_failed(const struct line_writer *s);
/* Lines that are kept for a file that is written aside. */
uint64_t line_writer_waiting(const struct line_writer *s, uint64_t *ret_bytes);
/* The end comes: what does not take all by 5 s from now is given up; soon: by half a second. A
 * writer of line_writer_open() waits for a reader all the same while it reads, until it stops for 5
 * s. What was said first counts. */
void line_writer_end(struct line_writer *s, bool soon);
/* 0, or -errno when lines were lost (said once, in the log). Frees s. */
int line_writer_close(struct line_writer *s);

#endif
