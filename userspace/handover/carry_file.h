/* SPDX-License-Identifier: Apache-2.0 */
/* carry_file.h - stores the history of a job (model/job/carry.h) for other nodes: one file for each
 * job, in a shared folder.
 *
 * A file is written under another name, synced and renamed, so that readers never see a part of it.
 * Other users may have write access to the folder: links are not followed, and a file that is not
 * regular, or longer than CARRY_MAX, is not read. A call blocks as long as the file system does;
 * call it in a helper process (base/helper.h) to avoid this. */
#ifndef HANDOVER_CARRY_FILE_H
#define HANDOVER_CARRY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "userspace/model/job/carry.h"

#define CARRY_NAME_MAX 80

/* Makes the name of a job's file or, if `map` is set, of its ConfigMap (RFC 1123). Different pairs
 * of job name and uid get different names. */
void carry_name(char out[CARRY_NAME_MAX], const char *job, const char *uid, bool map);
/* Reads a file. Returns its length; -ENOENT: it does not exist; -EBADMSG: it is longer than
 * CARRY_MAX bytes, or not a regular file; -ENOTDIR: the folder does not exist; or another -errno of
 * the file system. */
ssize_t carry_file_read(const char *dir, const char *name, char out[CARRY_MAX]);
/* Writes a job's history, unless the existing file is newer. It is newer if it is from a later run,
 * or from the same run on another node that began at the same time or later. Returns 0; -ESTALE:
 * the existing history is newer and was copied to *had; -EEXIST: the file is of another job;
 * -EPROTO: a newer version of gp-bpf wrote it; or another -errno. */
int carry_file_write(const char *dir, const struct carry *c, struct carry *had);

#endif
