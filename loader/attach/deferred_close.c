/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "loader/attach/deferred_close.h"
#include "loader/attach/mount.h"

static bool tried;
static int prepared; /* descriptor of the mount for the first deferred_close_open(), or -errno */

void deferred_close_prepare(void)
{
	if (!tried)
		prepared = mount_detached("bpf");
	tried = true;
}

int deferred_close_open(void)
{
	int folder = prepared;

	if (!tried)
		return mount_detached("bpf");
	prepared = -EPERM; /* the prepared mount is returned only once: later calls fail */
	return folder;
}

int deferred_close_add(int folder, size_t i, int link_fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%zu", folder, i);
	return bpf_obj_pin(link_fd, path);
}
