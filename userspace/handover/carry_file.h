/* SPDX-License-Identifier: Apache-2.0 */
/* carry_file.h - the handoff of a job (model/job/carry.h) as a file in a folder that nodes share:
 * one file for each job. A file is written to another name, synced and renamed, so readers never
 * see a part of it. Other users may be able to write to the folder: links are not followed; what is
 * not a regular file, or is longer than CARRY_MAX, is not read. Each call may block as long as the
 * file system does; call from a helper process (base/helper.h) if that is not acceptable. */
#ifndef HANDOVER_CARRY_FILE_H
#define HANDOVER_CARRY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "userspace/model/job/carry.h"

#define CARRY_NAME_MAX 80

/* Makes a name from a job's name and uid, different for each pair, that is valid for a file or
 * (map) a ConfigMap (RFC 1123). */
void carry_name(char out[CARRY_NAME_MAX], const char *job, const char *uid, bool map);
/* Reads the file, at most CARRY_MAX bytes. Returns its length; -ENOENT: there is none; -EBADMSG:
 * too long, or not a regular file; -ENOTDIR: the folder does not exist; else -errno of the file
 * system. */
ssize_t carry_file_read(const char *dir, const char *name, char out[CARRY_MAX]);
/* Writes the file unless the existing one is newer: of a later run, or of the same run by another
 * node whose run began no earlier. Returns 0; -ESTALE: the existing one is newer, and *had is set
 * to it; -EEXIST: it is of another job; -EPROTO: a newer version wrote it; else -errno. */
int carry_file_write(const char *dir, const struct carry *c, struct carry *had);

#endif
