/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/mount.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/attach/mount.h"

int mount_detached(const char *fs)
{
	int opened, root = -1, err = 0;

	opened = (int)syscall(SYS_fsopen, fs, FSOPEN_CLOEXEC);
	if (opened < 0)
		return -errno;
	if (syscall(SYS_fsconfig, opened, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		err = -errno;
	if (!err) {
		root = (int)syscall(SYS_fsmount, opened, FSMOUNT_CLOEXEC, 0);
		if (root < 0)
			err = -errno;
	}
	close(opened);
	return err ? err : root;
}
