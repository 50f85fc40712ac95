/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_file.h - reads a log from a file, a pipe or standard input ("-"). Decompresses gzip
 * data, which it recognises by the first byte and which may have any number of members. Not
 * thread-safe. */
#ifndef INGEST_GOODPUT_FILE_H
#define INGEST_GOODPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum goodput_file_end {
	FILE_OVER,    /* the end */
	FILE_WAITING, /* only with follow: there is no more data yet */
	/* Only with follow: the file was truncated or replaced; reading continues at its
	 * beginning. */
	FILE_RENEWED,
	FILE_CUT,     /* the file ends within a gzip stream */
	FILE_DAMAGED, /* the gzip data is damaged from this point on */
};

struct goodput_file;
/* Opens a log. path is borrowed. Waits for the writer of a FIFO unless follow is set. Returns 0 or
 * -errno; logs nothing.
 *
 * follow: also read data that is appended later. The file counts as truncated if it becomes shorter
 * than the part that was read, and as replaced if path names another file. */
int goodput_file_open(struct goodput_file **ret, const char *path, bool follow);
void goodput_file_close(struct goodput_file *f); /* NULL is fine */
/* Reads from the file. Returns the number of bytes; 0: none, and *ret_end is the reason; -errno.
 * Logs nothing. */
ssize_t goodput_file_read(struct goodput_file *f, void *buf, size_t len,
			  enum goodput_file_end *ret_end);
/* Returns the number of bytes read from the file, before decompression. */
uint64_t goodput_file_offset(const struct goodput_file *f);

#endif
