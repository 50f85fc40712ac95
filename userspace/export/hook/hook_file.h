/* SPDX-License-Identifier: Apache-2.0 */
/* hook_file.h - whether a file may be trusted: who else could have written what is to be run, or
 * can read what is to be kept secret. */
#ifndef EXPORT_HOOK_FILE_H
#define EXPORT_HOOK_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* A program that uid is to run: it, and each folder that leads to it, belongs to root, to us or to
 * uid, and nobody else may write there (a folder that only lets everybody remove their own, like
 * /tmp, may be). Then nobody else can put another in its place between this look and its start, so
 * its path may be used. ret (PATH_MAX bytes): the path without links. 0; -errno, and why. */
int hook_file_program(const char *path, uid_t uid, char *ret, char *why, size_t len);

/* All of a file of at most max bytes that only root or we may write, and not everybody may read; to
 * be freed. 0 or -errno after one line. */
int hook_file_secret(const char *path, size_t max, char **ret);

#endif
