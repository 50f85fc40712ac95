/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_file.h - the bytes of one file, of a pipe, or of standard input ("-"); out of gzip (any
 * number of members, told by its first byte) where it is. Not thread-safe. */
#ifndef INGEST_GOODPUT_FILE_H
#define INGEST_GOODPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum goodput_file_end {
	FILE_OVER,    /* nothing more will come */
	FILE_WAITING, /* following: nothing more for now */
	FILE_RENEWED, /* following: it was cut short or replaced; what comes next is its start */
	FILE_CUT,     /* a gzip stream without an end */
	FILE_DAMAGED, /* no gzip from here on */
};

struct goodput_file;
/* path is kept by reference. follow: when it is at its end, look again each time; truncation is
 * noticed when the file is shorter than what was read of it, replacement by another file under the
 * path. A FIFO without a writer is waited for unless following. 0 or -errno, silently. */
int goodput_file_open(struct goodput_file **ret, const char *path, bool follow);
void goodput_file_close(struct goodput_file *f); /* NULL is fine */
/* Bytes; 0: none, and *ret_end is why; -errno, silently. */
ssize_t goodput_file_read(struct goodput_file *f, void *buf, size_t len,
			  enum goodput_file_end *ret_end);
uint64_t goodput_file_offset(const struct goodput_file *f); /* bytes taken from it */

#endif
