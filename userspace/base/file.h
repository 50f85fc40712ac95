/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - writes to files and pipes. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes all of data, as long as it takes; a signal does not end it. Returns 0 or -errno. */
int file_write_all(int fd, const void *data, size_t len);
/* Makes one write to a pipe or terminal that cannot block, once there is room within wait_ms (-1:
 * no limit). O_NONBLOCK is not ours to set where other processes share the description.
 * Async-signal-safe. Returns the bytes written; -EAGAIN: there is no room; or -errno. */
ssize_t file_write_ready(int fd, const void *data, size_t len, int wait_ms);
/* Replaces a file as a whole: writes data to the file `fresh`, which is removed before and, after
 * an error, again, and renames it. Both are in folder (AT_FDCWD: they are paths), and links are not
 * followed. sync: the content is on the disk before the rename. Returns 0 or -errno. */
int file_replace(int folder, const char *name, const char *fresh, mode_t mode, const void *data,
		 size_t len, bool sync);

#endif
