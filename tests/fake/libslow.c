/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: a disk that takes a second for each of the first SLOW_READS large pieces that
 * are read. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define LARGE_BYTES (1u << 20)

ssize_t pread(int fd, void *buf, size_t len, off_t at);
ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	static long left = -1;
	const char *reads = getenv("SLOW_READS");

	if (len >= LARGE_BYTES) {
		left = left < 0 && reads ? atol(reads) : left;
		if (left > 0 && left--)
			nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
	}
	return (ssize_t)syscall(SYS_pread64, fd, buf, len, at);
}
