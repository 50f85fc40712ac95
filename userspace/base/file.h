/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - writes whole files. Blocks as long as the disk does. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes all of data; a signal does not end it. Returns 0 or -errno. */
int file_write_all(int fd, const void *data, size_t len);
/* Replaces a file as a whole: writes data to the file `fresh`, which is removed before and, after
 * an error, again, and renames it. Both are in folder (AT_FDCWD: they are paths), and links are not
 * followed. sync: the content is on the disk before the rename. Returns 0 or -errno. */
int file_replace(int folder, const char *name, const char *fresh, mode_t mode, const void *data,
		 size_t len, bool sync);

#endif
