/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_file.h - reads a log from a file, a pipe or standard input ("-"), and decompresses gzip,
 * which is recognised by its first byte and may have any number of members. Not thread-safe. */
#ifndef INGEST_GOODPUT_FILE_H
#define INGEST_GOODPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum goodput_file_end {
	FILE_OVER,    /* the end */
	FILE_WAITING, /* only with follow: no more data yet */
	FILE_RENEWED, /* only with follow: the file was truncated or replaced; the next read is from
			 its beginning */
	FILE_CUT,     /* the file ends within a gzip stream */
	FILE_DAMAGED, /* the gzip data is damaged from this point on */
};

struct goodput_file;
/* Opens a log. path is borrowed. follow: also read what is appended later; the file counts as
 * truncated if it becomes shorter than what was read, and as replaced if path names another file.
 * Without follow, waits for the writer of a FIFO. Returns 0 or -errno; logs nothing. */
int goodput_file_open(struct goodput_file **ret, const char *path, bool follow);
void goodput_file_close(struct goodput_file *f); /* NULL is fine */
/* Returns the number of bytes read; 0: none, and *ret_end says why; -errno. Logs nothing. */
ssize_t goodput_file_read(struct goodput_file *f, void *buf, size_t len,
			  enum goodput_file_end *ret_end);
/* Returns the number of bytes read from the file, before decompression. */
uint64_t goodput_file_offset(const struct goodput_file *f);

#endif
