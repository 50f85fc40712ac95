/* SPDX-License-Identifier: Apache-2.0 */
/* tar.h - builds a compressed archive (.tar.gz) of a few files in memory: POSIX.1-1988 ustar within
 * gzip. Regular files only, with mode 0600 and owner 0. */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define TAR_NAME_MAX 99 /* bytes of a name */

/* Appends a file to the archive. Returns 0, or -EINVAL: the name or the data is too long for the
 * format. */
int tar_add(struct buffer *tar, const char *name, const void *data, size_t len, int64_t time_s);
/* Completes the archive. Call after the last file. */
void tar_end(struct buffer *tar);
/* Compresses `in` with gzip and appends the result to out. Returns 0 or -ENOMEM. */
int tar_compress(struct buffer *out, const struct buffer *in);

#endif
