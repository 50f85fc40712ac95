/* SPDX-License-Identifier: Apache-2.0 */
/* package.h - finds the version of the runtime that a library file belongs to. */
#ifndef IDENTITY_PACKAGE_H
#define IDENTITY_PACKAGE_H

#include <stddef.h>

/* Finds the version for a library file. path: absolute, as this process can open it (for a file of
 * another process: below /proc/PID/root). The version is that of the Python package whose RECORD
 * lists the file. If there is none, it is the part after ".so." in the file's real name, if that
 * has at least two components. Writes the version, escaped, to ret ("" if unknown) and returns its
 * source: "package", "file name" or NULL.
 *
 * runtimes: the name of this runtime, then the names of others, ended by NULL. The version of a
 * package or file that is named after another runtime is ignored, because this runtime may only be
 * included in it. NULL: accept any name.
 *
 * All input is untrusted, and limited in files and bytes. Reads files, so it may wait for their
 * file system. */
const char *package_version(const char *path, const char *const *runtimes, char *ret, size_t size);

#endif
