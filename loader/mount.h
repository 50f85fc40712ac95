/* SPDX-License-Identifier: Apache-2.0 */
/* mount.h - file systems of the kernel's, mounted where nobody sees: nothing on the system changes.
 */
#ifndef LOADER_MOUNT_H
#define LOADER_MOUNT_H

/* A detached mount (fsopen(2), Linux 5.2): reached through the descriptor only, gone when that
 * closes. fs: its type. A descriptor or -errno. */
int mount_detached(const char *fs);

#endif
