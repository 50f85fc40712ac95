/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int file_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t file_write_ready(int fd, const void *data, size_t len, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	ssize_t n;
	int ready;

	/* When poll() reports a pipe as writable, it has room for at least PIPE_BUF bytes
	 * (fs/pipe.c), so that the write does not block. */
	do {
		ready = poll(&p, 1, wait_ms);
		n = ready > 0 ? write(fd, data, len < PIPE_BUF ? len : PIPE_BUF) : ready;
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : ready ? n : -EAGAIN;
}

int file_replace(int folder, const char *name, const char *fresh, mode_t mode, const void *data,
		 size_t len, bool sync)
{
	int fd, err;

	unlinkat(folder, fresh, 0);
	fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	err = file_write_all(fd, data, len);
	if (!err && sync && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(folder, fresh, folder, name))
		err = -errno;
	if (err)
		unlinkat(folder, fresh, 0);
	return err;
}
