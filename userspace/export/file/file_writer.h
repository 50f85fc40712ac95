/* SPDX-License-Identifier: Apache-2.0 */
/* file_writer.h - a file of lines that a process of its own writes (base/aside.h): whoever gives it
 * text never waits for the disk, and the program's end not for one that is dead. One text is on its
 * way at a time. What could be written in part only is cut off again: the file ends with a whole
 * line, whatever a disk does. A process that somebody killed is replaced, and goes on where it was.
 * For the main thread: the helper process ends with the thread that opened it. */
#ifndef EXPORT_FILE_WRITER_H
#define EXPORT_FILE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_WRITER_OPEN_MS  5000 /* a disk that takes longer is taken for dead */
#define FILE_WRITER_TEXT_MAX (512u << 10)

struct file_writer;
struct file_writer_told {
	size_t bytes; /* from the text's beginning: in the file, whole lines where it is not all of
			 them */
	int err;      /* why it is not more: -errno; else 0 */
	uint64_t removed; /* lines of the oldest file, which was removed to make room */
};

/* A file that would grow beyond `bytes` is renamed to FILE.1, FILE.1 to FILE.2 and so on, up to the
 * first number that is free; where none is, FILE.keep is removed. What cannot be renamed is not
 * written any more: -EXDEV. bytes is at least FILE_WRITER_BOUND_LEAST. */
#define FILE_WRITER_BOUND_LEAST (1u << 20)
struct file_writer_bound {
	uint64_t bytes; /* 0: no bound */
	uint32_t keep;
	uint64_t (*lines)(int fd); /* lines of a file, for `removed` */
};

/* The file that is renamed: path, or where it is a symbolic link, its target. May wait for the
 * disk. */
void file_writer_target(const char *path, char *ret, size_t len);

/* Made 0644 where it is missing; keep: behind what it holds, else emptied. -ENOTSUP: it is no
 * regular file, or one that only this process can name (/dev/fd/3); -ETIMEDOUT: the disk does not
 * answer; -errno. No line is written. */
int file_writer_open(struct file_writer **ret, const char *path, bool keep);
/* To be called before the first file_writer_give(). */
void file_writer_limit(struct file_writer *o, const struct file_writer_bound *bound);
/* Takes a copy of as much as goes at once, up to the end of a line. Bytes; 0: not now. Only where
 * what was given before has been answered. */
size_t file_writer_give(struct file_writer *o, const char *text, size_t len);
/* Waits so long at most. 0: what was given is answered; -EAGAIN: not yet. */
int file_writer_take(struct file_writer *o, int wait_ms, struct file_writer_told *ret);
/* Text for -errno of the functions here. */
const char *file_writer_why(int err);
/* Whether file_writer_open() made the file. */
bool file_writer_made(const struct file_writer *o);
/* State of the file as reported last, without lines that are on their way. */
uint64_t file_writer_bytes(const struct file_writer *o);
/* Closes the file and frees o. wait_ms: for that, and for what is on its way. 0; -errno of the
 * close, which may tell of what was written before; -ETIMEDOUT: what is on its way was given up.
 * NULL is fine. */
int file_writer_close(struct file_writer *o, int wait_ms);

/* What a predecessor left in a file: a torn last line is cut off it, and so is the last whole one
 * where drop (may be NULL) says so. *ret_tail: the end of what stays, whole lines up to 1 MiB,
 * NUL-terminated, the caller's to free; *ret_bytes: of the file now. -ENOENT: there is no such
 * regular file; any other -errno: the file is to stay as it is (said in one line). */
int file_writer_tail(const char *path, bool (*drop)(const char *line), char **ret_tail,
		     uint64_t *ret_bytes);
/* The same for the file that the last rotation of path renamed. */
int file_writer_tail_before(const char *path, char **ret_tail, uint64_t *ret_bytes);

#endif
