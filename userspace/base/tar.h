/* SPDX-License-Identifier: Apache-2.0 */
/* tar.h - a compressed archive of a few files, in memory: POSIX.1-1988 ustar within gzip, which
 * every tar reads. Files alone, of mode 0600 and owner 0. */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define TAR_NAME_MAX 99 /* bytes of a name */

/* Puts a file at the end of the archive. -EINVAL: such a name or length there cannot be. */
int tar_add(struct buffer *tar, const char *name, const void *data, size_t len, int64_t time_s);
/* Its end. */
void tar_end(struct buffer *tar);
/* 0, or -ENOMEM; out: of what is in. */
int tar_compress(struct buffer *out, const struct buffer *in);

#endif
