/* SPDX-License-Identifier: Apache-2.0 */
/* package.h - which version of a runtime a library file is of, as its surroundings say. */
#ifndef IDENTITY_PACKAGE_H
#define IDENTITY_PACKAGE_H

#include <stddef.h>

/* path: absolute, as it can be opened here (a process's file: below /proc/PID/root). The version is
 * that of the Python package whose RECORD lists the file, else what follows ".so." in its real name
 * when that has two parts at least. Writes it, escaped, to ret ("": neither tells) and returns
 * where it is from: "package", "file name" or NULL. All of it is hostile: bounded in files and
 * bytes. Reads files, so it may wait for their file system. runtimes: the name of this one, then
 * those of others, up to a NULL; the version of a package or file that is named after one of the
 * others is not that of this one, which is built into it or comes with it. NULL: any is. */
const char *package_version(const char *path, const char *const *runtimes, char *ret, size_t size);

#endif
