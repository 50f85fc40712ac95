/* SPDX-License-Identifier: Apache-2.0 */
/* package.h - finds the version of the runtime that a library file belongs to. */
#ifndef IDENTITY_PACKAGE_H
#define IDENTITY_PACKAGE_H

#include <stddef.h>

/* Finds the version for a library file. path: absolute, as this process can open it (a file of
 * another process: below /proc/PID/root). The version is that of the Python package whose RECORD
 * lists the file, else the part after ".so." in its real name if that has at least two components.
 * Writes it, escaped, to ret ("" if unknown) and returns its source: "package", "file name" or
 * NULL. All input is hostile, and bounded in files and bytes. Reads files, so it may wait for their
 * file system. runtimes: the name of this runtime, then those of others, ended by NULL; the version
 * of a package or file that is named after another runtime is ignored, because this one may only be
 * included in it. NULL: accept any name. */
const char *package_version(const char *path, const char *const *runtimes, char *ret, size_t size);

#endif
