/* SPDX-License-Identifier: Apache-2.0 */
/* python_memory.c - reads memory of a process. */
#include <sys/uio.h>

#include "userspace/python/python_private.h"

#define READS_MAX 200000 /* limit of ranges read in one dump, about 0.2 s */

bool python_memory_read(void *ctx, const struct python_range *ranges, size_t n)
{
	struct iovec local[PYTHON_RANGES_MAX], remote[PYTHON_RANGES_MAX];
	size_t bytes = 0;

	if (n > PYTHON_RANGES_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		local[i] = (struct iovec){ranges[i].to, ranges[i].bytes};
		remote[i] = (struct iovec){(void *)(uintptr_t)ranges[i].address, ranges[i].bytes};
		bytes += ranges[i].bytes;
	}
	return process_vm_readv(*(const pid_t *)ctx, local, n, remote, n, 0) == (ssize_t)bytes;
}

bool python_read(struct python_process *p, const struct python_range *ranges, size_t n)
{
	if (p->reads + n > READS_MAX)
		return false;
	p->reads += (uint32_t)n;
	return p->read(p->ctx, ranges, n);
}

bool python_read_one(struct python_process *p, uint64_t address, void *to, size_t bytes)
{
	return python_read(p, &(struct python_range){address, to, bytes}, 1);
}
