/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/goodput_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "userspace/base/path.h"

#define PACKED_BYTES ((size_t)64 << 10)
/* First byte of gzip data (RFC 1952); JSON never begins with this byte. */
#define GZIP_FIRST 0x1f
/* window size for zlib: the maximum, plus 16 for "expect a gzip header" */
#define GZIP_WINDOW (15 + 16)

struct gunzip {
	z_stream z;
	bool between; /* a gzip member has ended, and no other has begun */
	bool damaged;
	unsigned char in[PACKED_BYTES];
};

struct goodput_file {
	const char *path;
	int fd;
	bool follow, regular, begun;
	bool gone; /* only with follow: path names another file now */
	bool damage_logged;
	struct gunzip *gzip; /* NULL: the file is not compressed */
	uint64_t offset;
};

static int goodput_file_attach(struct goodput_file *f)
{
	struct stat st;
	int err = 0;

	if (!strcmp(f->path, "-"))
		f->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else if (f->follow)
		f->fd = path_open(f->path, O_RDONLY, 0);
	else
		f->fd = path_open_input(f->path);
	if (f->fd < 0)
		return strcmp(f->path, "-") ? f->fd : -errno;
	if (fstat(f->fd, &st))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	f->regular = !err && S_ISREG(st.st_mode);
	if (err) {
		close(f->fd);
		f->fd = -1;
	}
	return err;
}

int goodput_file_open(struct goodput_file **ret, const char *path, bool follow)
{
	struct goodput_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->path = path;
	f->follow = follow;
	err = goodput_file_attach(f);
	if (err) {
		free(f);
		return err;
	}
	*ret = f;
	return 0;
}

static void goodput_file_gunzip_free(struct gunzip *g)
{
	if (g)
		inflateEnd(&g->z);
	free(g);
}

void goodput_file_close(struct goodput_file *f)
{
	if (!f)
		return;
	goodput_file_gunzip_free(f->gzip);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

/* Reads without decompressing. Returns the number of bytes; 0: the end; -EAGAIN: a pipe is empty;
 * or -errno. */
static ssize_t file_raw(struct goodput_file *f, void *buf, size_t len)
{
	struct pollfd ready = {.fd = f->fd, .events = POLLIN};
	ssize_t n;

	/* Use poll() for pipes: standard input is shared with other processes, and must not be made
	 * non-blocking. */
	if (f->follow && !f->regular && poll(&ready, 1, 0) == 0)
		return -EAGAIN;
	while ((n = read(f->fd, buf, len)) < 0) {
		/* another process has made standard input non-blocking: wait */
		if (errno == EAGAIN && !f->follow)
			poll(&ready, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
	f->offset += (uint64_t)n;
	return n;
}

static int goodput_file_gunzip_start(struct goodput_file *f, const void *bytes, size_t len)
{
	struct gunzip *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	if (inflateInit2(&g->z, GZIP_WINDOW) != Z_OK) {
		free(g);
		return -ENOMEM;
	}
	memcpy(g->in, bytes, len);
	g->z.next_in = g->in;
	g->z.avail_in = (uInt)len;
	f->gzip = g;
	return 0;
}

/* Returns true if another gzip member follows. Zeros between members are padding. */
static bool goodput_file_gunzip_member(struct gunzip *g)
{
	while (g->z.avail_in && !*g->z.next_in) {
		g->z.next_in++;
		g->z.avail_in--;
	}
	if (!g->z.avail_in)
		return false;
	g->damaged = *g->z.next_in != GZIP_FIRST || inflateReset(&g->z) != Z_OK;
	g->between = g->damaged;
	return !g->damaged;
}

/* Decompresses g->in to buf. Returns the number of bytes written; 0: all input was used, or is
 * damaged. */
static size_t goodput_file_gunzip_some(struct gunzip *g, void *buf, size_t len)
{
	int rc;

	g->z.next_out = buf;
	g->z.avail_out = (uInt)len;
	while (!g->damaged && g->z.avail_out == len) {
		if (g->between && !goodput_file_gunzip_member(g))
			break;
		rc = inflate(&g->z, Z_NO_FLUSH);
		if (rc == Z_STREAM_END)
			g->between = true;
		else if (rc == Z_BUF_ERROR)
			break;
		else if (rc != Z_OK)
			g->damaged = true;
	}
	return len - g->z.avail_out;
}

static ssize_t file_gunzip(struct goodput_file *f, void *buf, size_t len)
{
	struct gunzip *g = f->gzip;
	ssize_t n;

	for (;;) {
		n = (ssize_t)goodput_file_gunzip_some(g, buf, len);
		if (n || g->damaged)
			return n;
		n = file_raw(f, g->in, sizeof(g->in));
		if (n <= 0)
			return n;
		g->z.next_in = g->in;
		g->z.avail_in = (uInt)n;
	}
}

static ssize_t file_some(struct goodput_file *f, void *buf, size_t len)
{
	ssize_t n;
	int err;

	if (f->gzip)
		return file_gunzip(f, buf, len);
	if (f->begun)
		return file_raw(f, buf, len);
	n = file_raw(f, buf, len < PACKED_BYTES ? len : PACKED_BYTES);
	if (n <= 0)
		return n;
	f->begun = true;
	if (*(const unsigned char *)buf != GZIP_FIRST)
		return n;
	err = goodput_file_gunzip_start(f, buf, (size_t)n);
	return err ? err : file_gunzip(f, buf, len);
}

static void file_restart(struct goodput_file *f)
{
	goodput_file_gunzip_free(f->gzip);
	f->gzip = NULL;
	f->begun = f->gone = f->damage_logged = false;
	f->offset = 0;
}

/* Opens the file that path names now, if it is another file, and returns 1. First reads the old
 * file once more, because data may have been added just before the file was replaced. */
static int file_replaced(struct goodput_file *f)
{
	struct goodput_file next = {.path = f->path, .follow = true};
	struct stat now, then;
	int err;

	if (!strcmp(f->path, "-") || stat(f->path, &now) || fstat(f->fd, &then) ||
	    (now.st_dev == then.st_dev && now.st_ino == then.st_ino))
		return 0;
	if (!f->gone) {
		f->gone = true;
		return 0;
	}
	err = goodput_file_attach(&next);
	if (err)
		return err == -ENOENT ? 0 : err;
	close(f->fd);
	f->fd = next.fd;
	f->regular = next.regular;
	return 1;
}

/* Call at the end of a followed file. Returns 1 if the file was truncated or replaced. */
static int file_renewed(struct goodput_file *f)
{
	struct stat st;
	int rc;

	if (f->regular && !fstat(f->fd, &st) && (uint64_t)st.st_size < f->offset) {
		if (lseek(f->fd, 0, SEEK_SET) < 0)
			return -errno;
		rc = 1;
	} else {
		rc = file_replaced(f);
	}
	if (rc > 0)
		file_restart(f);
	return rc;
}

static enum goodput_file_end file_end(const struct goodput_file *f)
{
	if (f->gzip && f->gzip->damaged)
		return FILE_DAMAGED;
	if (f->gzip && !f->gzip->between)
		return FILE_CUT;
	return FILE_OVER;
}

ssize_t goodput_file_read(struct goodput_file *f, void *buf, size_t len,
			  enum goodput_file_end *ret_end)
{
	ssize_t n = file_some(f, buf, len);
	enum goodput_file_end end = file_end(f);
	int rc;

	if (n > 0 || (n < 0 && n != -EAGAIN))
		return n;
	if (f->follow && !(end == FILE_DAMAGED && !f->damage_logged) &&
	    !(n == 0 && !strcmp(f->path, "-") && !f->regular)) {
		rc = n < 0 ? 0 : file_renewed(f);
		if (rc < 0)
			return rc;
		end = rc ? FILE_RENEWED : FILE_WAITING;
	}
	f->damage_logged |= end == FILE_DAMAGED;
	*ret_end = end;
	return 0;
}

uint64_t goodput_file_offset(const struct goodput_file *f)
{
	return f->offset;
}
