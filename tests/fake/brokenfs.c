/* SPDX-License-Identifier: Apache-2.0 */
/* brokenfs DIRECTORY: a file system (FUSE) that fails as network disks do. Mounts itself on
 * DIRECTORY, prints "ready" and serves until it is unmounted. Files are in one folder, in memory.
 *
 *   *torn*    each close(2) of such a file that was written to returns ENOSPC
 *   *unread*  each read(2) of such a file returns EIO
 *   *slow*    each read(2) of such a file takes 30 ms while there is a file "delay" */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES	  32
#define FIRST	  2 /* node of the first file; 1 is the folder */
#define BYTES_MAX (16u << 20)
#define WRITE_MAX (128u << 10)

static struct file {
	char name[256]; /* empty: none; a removed file keeps its contents */
	char *data;
	size_t len;
	bool used, dirty;
} files[FILES];

static int device;

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len), .error = error, .unique = in->unique};
	struct iovec parts[] = {{&out, sizeof(out)}, {(void *)(uintptr_t)data, len}};

	if (writev(device, parts, len ? 2 : 1) < 0 && errno != ENOENT) /* it was interrupted */
		perror("brokenfs: answer");
}

static struct file *file_of(uint64_t node)
{
	return node >= FIRST && node < FIRST + FILES ? &files[node - FIRST] : NULL;
}

static struct file *file_find(const char *name)
{
	for (int i = 0; i < FILES; i++)
		if (files[i].used && !strcmp(files[i].name, name))
			return &files[i];
	return NULL;
}

static struct file *file_make(const char *name)
{
	for (int i = 0; i < FILES; i++) {
		if (files[i].used)
			continue;
		files[i].used = true;
		snprintf(files[i].name, sizeof(files[i].name), "%.255s", name);
		return &files[i];
	}
	return NULL;
}

static struct fuse_attr attributes(const struct file *f)
{
	return (struct fuse_attr){.ino = f ? (uint64_t)(f - files) + FIRST : 1,
				  .size = f ? f->len : 0,
				  .mode = f ? S_IFREG | 0644 : S_IFDIR | 0755,
				  .nlink = 1,
				  .blksize = 4096};
}

static struct fuse_entry_out entry(const struct file *f)
{
	return (struct fuse_entry_out){.nodeid = (uint64_t)(f - files) + FIRST,
				       .attr = attributes(f)};
}

static int file_resize(struct file *f, size_t len)
{
	char *grown = len > BYTES_MAX ? NULL : realloc(f->data, len + 1);

	if (!grown)
		return -ENOSPC;
	if (len > f->len)
		memset(grown + f->len, 0, len - f->len);
	f->data = grown;
	f->len = len;
	return 0;
}

static void serve_attributes(const struct fuse_in_header *in, const struct file *f)
{
	struct fuse_attr_out out = {.attr = attributes(f)};

	answer(in, 0, &out, sizeof(out));
}

static void serve_create(const struct fuse_in_header *in, const char *name)
{
	struct file *f = file_find(name);
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} out = {0};

	f = f ? f : file_make(name);
	if (f)
		out.entry = entry(f);
	answer(in, f ? 0 : -ENOSPC, &out, f ? sizeof(out) : 0);
}

static void serve_read(const struct fuse_in_header *in, const struct file *f,
		       const struct fuse_read_in *r)
{
	size_t n = r->offset < f->len ? f->len - r->offset : 0;

	n = n < r->size ? n : r->size;
	if (strstr(f->name, "slow") && file_find("delay"))
		usleep(30000);
	if (strstr(f->name, "unread"))
		answer(in, -EIO, NULL, 0);
	else
		answer(in, 0, f->data + r->offset, n);
}

static void serve_write(const struct fuse_in_header *in, struct file *f,
			const struct fuse_write_in *w)
{
	struct fuse_write_out out = {.size = w->size};
	int err = w->offset + w->size > f->len ? file_resize(f, w->offset + w->size) : 0;

	if (!err)
		memcpy(f->data + w->offset, w + 1, w->size);
	f->dirty = true;
	answer(in, err, &out, err ? 0 : sizeof(out));
}

static void serve_rename(const struct fuse_in_header *in, const char *from)
{
	const char *to = from + strlen(from) + 1;
	struct file *f = file_find(from), *was = file_find(to);

	if (f && was && was != f)
		was->name[0] = '\0';
	if (f)
		snprintf(f->name, sizeof(f->name), "%.255s", to);
	answer(in, f ? 0 : -ENOENT, NULL, 0);
}

static void serve_init(const struct fuse_in_header *in)
{
	struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
				    .minor = 31,
				    .max_readahead = 65536,
				    .max_write = WRITE_MAX,
				    .time_gran = 1};

	answer(in, 0, &out, sizeof(out));
}

static void serve(const struct fuse_in_header *in)
{
	const void *arg = in + 1;
	struct file *f = file_of(in->nodeid), *found;
	struct fuse_open_out opened = {0};
	struct fuse_entry_out out;

	switch (in->opcode) {
	case FUSE_INIT:
		serve_init(in);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return; /* not answered */
	case FUSE_LOOKUP:
		found = file_find(arg);
		if (found)
			out = entry(found);
		answer(in, found ? 0 : -ENOENT, &out, found ? sizeof(out) : 0);
		return;
	case FUSE_CREATE:
		serve_create(in, (const char *)arg + sizeof(struct fuse_create_in));
		return;
	case FUSE_UNLINK:
		found = file_find(arg);
		if (found)
			found->name[0] = '\0';
		answer(in, found ? 0 : -ENOENT, NULL, 0);
		return;
	case FUSE_RENAME:
		serve_rename(in, (const char *)arg + sizeof(struct fuse_rename_in));
		return;
	case FUSE_RENAME2:
		serve_rename(in, (const char *)arg + sizeof(struct fuse_rename2_in));
		return;
	case FUSE_SETATTR:
		if (f && ((const struct fuse_setattr_in *)arg)->valid & FATTR_SIZE)
			file_resize(f, ((const struct fuse_setattr_in *)arg)->size);
		serve_attributes(in, f);
		return;
	case FUSE_GETATTR:
		serve_attributes(in, f);
		return;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in, 0, &opened, sizeof(opened));
		return;
	case FUSE_READ:
		serve_read(in, f, arg);
		return;
	case FUSE_WRITE:
		serve_write(in, f, arg);
		return;
	case FUSE_FLUSH:
		answer(in, f && f->dirty && strstr(f->name, "torn") ? -ENOSPC : 0, NULL, 0);
		return;
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FSYNC:
		answer(in, 0, NULL, 0);
		return;
	default:
		answer(in, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[WRITE_MAX + 65536];
	char options[96];
	ssize_t n;

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	if (argc != 2 || device < 0 ||
	    mount("brokenfs", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("brokenfs DIRECTORY");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	do {
		n = read(device, request, sizeof(request));
		if (n > 0)
			serve((const struct fuse_in_header *)request);
	} while (n > 0 || errno == EINTR || errno == ENOENT || errno == EAGAIN);
	return 0;
}
