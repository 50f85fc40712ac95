/* SPDX-License-Identifier: Apache-2.0 */
/* mount.h - private mounts of kernel file systems: nothing else on the system sees them. */
#ifndef LOADER_MOUNT_H
#define LOADER_MOUNT_H

/* Makes a detached mount (fsopen(2), Linux 5.2) of type fs: reached only through the descriptor,
 * gone when that closes. Returns the descriptor, or -errno. */
int mount_detached(const char *fs);

#endif
