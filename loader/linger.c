/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <stdio.h>

#include "loader/linger.h"
#include "loader/mount.h"

int linger_open(void)
{
	return mount_detached("bpf");
}

int linger_add(int folder, size_t i, int link_fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%zu", folder, i);
	return bpf_obj_pin(link_fd, path);
}
