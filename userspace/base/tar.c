/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/tar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define BLOCK 512
/* largest size or time in a header, which has eleven octal digits for it */
#define OCTAL_MAX 077777777777

struct header { /* ustar */
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
		magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155],
		rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a block");

int tar_add(struct buffer *tar, const char *name, const void *data, size_t len, int64_t time_s)
{
	static const char zeros[BLOCK];
	struct header h = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
	unsigned sum = 0;

	if (!*name || *name == '/' || strlen(name) > TAR_NAME_MAX || len > OCTAL_MAX ||
	    time_s < 0 || time_s > OCTAL_MAX)
		return -EINVAL;
	memcpy(h.name, name, strlen(name));
	memcpy(h.mode, "0000600", 8);
	memcpy(h.uid, "0000000", 8);
	memcpy(h.gid, "0000000", 8);
	snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)len);
	snprintf(h.mtime, sizeof(h.mtime), "%011llo", (unsigned long long)time_s);
	memset(h.checksum, ' ', sizeof(h.checksum));
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum), "%06o", sum);
	buffer_add(tar, &h, sizeof(h));
	buffer_add(tar, data, len);
	buffer_add(tar, zeros, (BLOCK - len % BLOCK) % BLOCK);
	return 0;
}

void tar_end(struct buffer *tar)
{
	static const char zeros[2 * BLOCK];

	buffer_add(tar, zeros, sizeof(zeros));
}

int tar_compress(struct buffer *out, const struct buffer *in)
{
	z_stream z = {0};
	char *to;
	uLong most;
	int err;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16 /* gzip */, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	most = deflateBound(&z, in->len);
	to = buffer_reserve(out, most);
	err = to ? 0 : -ENOMEM;
	if (!err) {
		z.next_in = (Bytef *)in->data;
		z.avail_in = (uInt)in->len;
		z.next_out = (Bytef *)to;
		z.avail_out = (uInt)most;
		err = deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -EIO;
		out->len += z.total_out;
	}
	deflateEnd(&z);
	return err;
}
