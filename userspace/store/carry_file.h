/* SPDX-License-Identifier: Apache-2.0 */
/* carry_file.h - what goes with a job from node to node (model/job/carry.h), as a file of a folder
 * that nodes share.
 *
 * One file a job. It is written whole or not at all: under another name, to the disk, then renamed.
 * Anybody who may write to the folder may have made what lies there: links are not followed, what
 * is no plain file or longer than CARRY_MAX is not read. Each call may take as long as the file
 * system does: who must not wait calls from elsewhere (base/aside.h). */
#ifndef STORE_CARRY_FILE_H
#define STORE_CARRY_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "userspace/model/job/carry.h"

#define CARRY_NAME_MAX 80

/* Safe as a name, whatever the job is called, and another one for each job and uid. */
void carry_file_name(char out[CARRY_NAME_MAX], const char *job, const char *uid);
/* Length of what is there, at most CARRY_MAX bytes. -ENOENT: nothing; -EBADMSG: too long, or no
 * plain file; -ENOTDIR: there is no such folder; else -errno of the file system. */
ssize_t carry_file_read(const char *dir, const char *name, char out[CARRY_MAX]);
/* Puts it there, unless what is there is the one to go on from: of a later run; of the same one,
 * another node's whose run began no earlier. 0; -ESTALE: so it is, and had is that; -EEXIST: it is
 * of another job; -EPROTO: of a newer version; else -errno. */
int carry_file_write(const char *dir, const struct carry *c, struct carry *had);

#endif
