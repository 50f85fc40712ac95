/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_file.h - reads a file, a pipe or standard input ("-"), and decompresses gzip (any number
 * of members, recognised by the first byte). Not thread-safe. */
#ifndef INGEST_GOODPUT_FILE_H
#define INGEST_GOODPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum goodput_file_end {
	FILE_OVER,    /* the end */
	FILE_WAITING, /* with follow: no more data for now */
	FILE_RENEWED, /* with follow: the file was truncated or replaced; the next read begins at
			 its start */
	FILE_CUT,     /* a gzip stream without an end */
	FILE_DAMAGED, /* the gzip data is damaged from here on */
};

struct goodput_file;
/* path is borrowed. follow: continue when the file grows; truncation is noticed if the file is
 * shorter than the bytes read, replacement by another file at path. Waits for the writer of a FIFO
 * unless following. Returns 0 or -errno; logs nothing. */
int goodput_file_open(struct goodput_file **ret, const char *path, bool follow);
void goodput_file_close(struct goodput_file *f); /* NULL is fine */
/* Returns the number of bytes read; 0: none, for the reason *ret_end; -errno. Logs nothing. */
ssize_t goodput_file_read(struct goodput_file *f, void *buf, size_t len,
			  enum goodput_file_end *ret_end);
/* Bytes read from the file, before decompression. */
uint64_t goodput_file_offset(const struct goodput_file *f);

#endif
