/* SPDX-License-Identifier: Apache-2.0 */
/* file_writer.h - writes a file of lines in a helper process (base/helper.h), so that the caller
 * never waits for the disk, and the program can end although a disk never answers.
 *
 * One text at a time is given to the helper process. A line that was written in part is cut off, so
 * that the file ends with a whole line. A helper process that was killed is replaced by one that
 * continues where the killed one stopped. Call from the main thread: the helper process ends with
 * the thread that opened the file. Errors are -errno; file_writer_why() explains them. */
#ifndef EXPORT_FILE_WRITER_H
#define EXPORT_FILE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_WRITER_OPEN_MS  5000	  /* time limit of opening a file, for slow disks */
#define FILE_WRITER_TEXT_MAX (512u << 10) /* limit of bytes given to the helper process at once */

struct file_writer;

/* A file that would grow beyond `bytes` is renamed to FILE.1, FILE.1 to FILE.2 and so on, up to the
 * first number that is free. If FILE.1 to FILE.N (N is `keep`) all exist, FILE.N is removed first.
 * If a rename fails, nothing more is written, and the error is -EXDEV. If FILE is a symbolic link,
 * the link stays and its target is renamed. */
#define FILE_WRITER_BOUND_LEAST (1u << 20)
struct file_writer_bound {
	uint64_t bytes; /* size limit, at least FILE_WRITER_BOUND_LEAST; 0: none */
	uint32_t keep;
	uint64_t (*lines)(int fd); /* counts the lines of a file that is removed */
};

struct file_writer_result {
	size_t bytes;	  /* bytes of text written: all of it, or some whole lines */
	int err;	  /* -errno if not all was written; else 0 */
	uint64_t removed; /* lines of the oldest file, if it was removed to make room */
};

/* Opens path, created 0644. keep: append to the file; false: empty it first. bound may be NULL.
 * Returns 0; -ENOTSUP: not a regular file, or a name that only this process can open (/dev/fd/3);
 * -ETIMEDOUT: the disk does not answer; -errno. Logs nothing. */
int file_writer_open(struct file_writer **ret, const char *path, bool keep,
		     const struct file_writer_bound *bound);
/* Copies the start of text to the helper process: at most FILE_WRITER_TEXT_MAX, up to the end of a
 * line. Returns the bytes copied; 0: the process cannot be started now. Call only after
 * file_writer_take() has returned 0 for the previous text. */
size_t file_writer_give(struct file_writer *f, const char *text, size_t len);
/* Waits up to wait_ms for the result of the last text. Returns 0, or -EAGAIN: not yet. */
int file_writer_take(struct file_writer *f, int wait_ms, struct file_writer_result *ret);
/* Returns true if file_writer_open() created the file. */
bool file_writer_made(const struct file_writer *f);
/* Returns the size of the file in the helper process's last answer. */
uint64_t file_writer_bytes(const struct file_writer *f);
/* Closes the file, waiting up to wait_ms, and frees f, which may be NULL. Returns 0; the -errno of
 * close(2), which may report earlier writes; -ETIMEDOUT: no answer; the last text may be lost. */
int file_writer_close(struct file_writer *f, int wait_ms);
/* Returns the text of an error of these functions, for messages. */
const char *file_writer_why(int err);

/* Reads the end of a file that a predecessor wrote. Cuts off a partial last line, and the last
 * whole line if drop (may be NULL) returns true for this line. *ret_tail: the whole lines at the
 * end, up to 1 MiB, to be freed by the caller; *ret_bytes: the size of the file. Returns 0;
 * -ENOENT: not a regular file; any other error was logged, and the file must not be written. */
int file_writer_tail(const char *path, bool (*drop)(const char *line), char **ret_tail,
		     uint64_t *ret_bytes);
/* Like file_writer_tail(), for the older file that the last rotation made by renaming path; drops
 * no whole line. */
int file_writer_tail_before(const char *path, char **ret_tail, uint64_t *ret_bytes);

#endif
