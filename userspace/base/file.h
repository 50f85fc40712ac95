/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - writes data to files and pipes, with partial writes and signals handled. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes all of data, repeating partial and interrupted writes. May block without a limit. Returns
 * 0 or -errno. */
int file_write_all(int fd, const void *data, size_t len);
/* Makes one write to a pipe or terminal without blocking: waits up to wait_ms for room (-1: no
 * limit). Does not use O_NONBLOCK, because that would also affect other processes with the same
 * open file. Async-signal-safe. Returns the bytes written; -EAGAIN: there is no room; or -errno. */
ssize_t file_write_ready(int fd, const void *data, size_t len, int wait_ms);
/* Replaces a file as a whole: writes data to a new file `fresh`, then renames it to name. A file
 * `fresh` from before is removed, and after an error it is removed again. Both names are in
 * `folder` (AT_FDCWD: they are paths); links are not followed. sync: the content is on disk before
 * the rename. Returns 0 or -errno. */
int file_replace(int folder, const char *name, const char *fresh, mode_t mode, const void *data,
		 size_t len, bool sync);

#endif
