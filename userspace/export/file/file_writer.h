/* SPDX-License-Identifier: Apache-2.0 */
/* file_writer.h - has a file of lines written by a helper process (base/helper.h): the caller never
 * waits for the disk, and the end of the program does not wait for one that never answers.
 *
 * One text at a time is given to the helper process. A line that was written in part is cut off
 * again: the file ends with a whole line, whatever a disk does. A helper process that was killed is
 * replaced by one that continues where it was. Call from the main thread: the helper process ends
 * with the thread that opened the file. Errors are -errno; file_writer_why() explains them. */
#ifndef EXPORT_FILE_WRITER_H
#define EXPORT_FILE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_WRITER_OPEN_MS  5000 /* a disk that takes longer is treated as dead */
#define FILE_WRITER_TEXT_MAX (512u << 10)

struct file_writer;

/* A file that would grow beyond `bytes` is renamed to FILE.1, FILE.1 to FILE.2 and so on, up to the
 * first number that is free; if none is, FILE.keep is removed. A file that cannot be renamed is not
 * written any more: -EXDEV. A symbolic link stays, its target is renamed. */
#define FILE_WRITER_BOUND_LEAST (1u << 20)
struct file_writer_bound {
	uint64_t bytes; /* at least FILE_WRITER_BOUND_LEAST; 0: no bound */
	uint32_t keep;
	uint64_t (*lines)(int fd); /* counts the lines of a file that is removed */
};

struct file_writer_result {
	size_t bytes;	  /* written, from the start of the text: whole lines unless it is all */
	int err;	  /* why it is not all, -errno; else 0 */
	uint64_t removed; /* lines of the oldest file, which was removed to make room */
};

/* Opens path, created 0644; keep: after its content, which is removed otherwise. bound may be NULL.
 * -ENOTSUP: it is not a regular file, or only this process can name it (/dev/fd/3); -ETIMEDOUT: the
 * disk does not answer. Logs nothing. */
int file_writer_open(struct file_writer **ret, const char *path, bool keep,
		     const struct file_writer_bound *bound);
/* Gives the helper process a copy of as much text as it takes at once, up to the end of a line.
 * Returns bytes; 0: not now. Call only after the last text was answered. */
size_t file_writer_give(struct file_writer *f, const char *text, size_t len);
/* Waits up to wait_ms for the answer. Returns 0, or -EAGAIN: not yet. */
int file_writer_take(struct file_writer *f, int wait_ms, struct file_writer_result *ret);
/* Returns true if file_writer_open() created the file. */
bool file_writer_made(const struct file_writer *f);
/* Returns the size of the file after the last answer. */
uint64_t file_writer_bytes(const struct file_writer *f);
/* Waits up to wait_ms for the last answer and for the close, and frees f, which may be NULL.
 * Returns 0; the -errno of close(2), which may be about earlier writes; -ETIMEDOUT: the last text
 * was given up. */
int file_writer_close(struct file_writer *f, int wait_ms);
/* Returns the reason for an error of these functions, for people. */
const char *file_writer_why(int err);

/* Reads what a predecessor left in a file. A torn last line is cut off the file, and so is the last
 * whole line if drop (may be NULL) returns true for it. *ret_tail: the end of the rest, whole lines
 * up to 1 MiB, to be freed; *ret_bytes: the size of the file. -ENOENT: there is no such regular
 * file; any other error: it must not be written; one line was logged. */
int file_writer_tail(const char *path, bool (*drop)(const char *line), char **ret_tail,
		     uint64_t *ret_bytes);
/* The same for the file that path was before its last rotation. */
int file_writer_tail_before(const char *path, char **ret_tail, uint64_t *ret_bytes);

#endif
