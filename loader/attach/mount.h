/* SPDX-License-Identifier: Apache-2.0 */
/* mount.h - private mounts of kernel file systems: nothing else on the system sees them. */
#ifndef LOADER_MOUNT_H
#define LOADER_MOUNT_H

/* Makes a detached mount of type fs (fsopen(2), Linux 5.2), which only the returned descriptor
 * leads to. Closing the descriptor removes the mount. Returns the descriptor, or -errno. */
int mount_detached(const char *fs);

#endif
