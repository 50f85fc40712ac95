/* SPDX-License-Identifier: Apache-2.0 */
/* hook_file.h - checks whether a file may be trusted: no other user can write a program that is to
 * be run, or read a secret. */
#ifndef EXPORT_HOOK_FILE_H
#define EXPORT_HOOK_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Checks a program that uid is to run: the file and each folder of its path belong to root, to this
 * user or to uid, and no other user may write there (a sticky folder such as /tmp is allowed). Then
 * no other user can replace it between this check and its start, so its path may be used. ret
 * (PATH_MAX bytes): the path without links. Returns 0, or -errno with the reason in why. */
int hook_file_program(const char *path, uid_t uid, char *ret, char *why, size_t len);

/* Reads a file of less than max bytes that belongs to root or this user, and that no other user can
 * read or write (the group may read). The caller frees *ret. Returns 0, or -errno after logging the
 * error. */
int hook_file_secret(const char *path, size_t max, char **ret);

#endif
