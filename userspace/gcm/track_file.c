/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks on disk, beside the spool: a file that is written anew and renamed, in the machine's byte
 * order, as it stays there. What is read is believed as far as it was checked; one that is damaged
 * is as none: a series then starts as if nothing were known of it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "userspace/gcm/sender_private.h"

#define FILE_NAME "tracks"
#define FILE_NEW  "tracks.new"

static const char file_magic[8] = "GPBPFTR1"; /* the number is the form's */

struct file_head {
	char magic[sizeof(file_magic)];
	uint32_t count;
	uint32_t crc; /* of the records: zlib's crc32() */
};

_Static_assert(sizeof(struct file_head) == 16 && sizeof(struct track_record) == 40, "on disk");

static uint32_t records_crc(const char *data, size_t len)
{
	return (uint32_t)crc32(0, (const Bytef *)data, (uInt)len);
}

/* A descriptor of the file, if it is ours alone; -errno. */
static int file_open(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -EACCES;
}

/* ---- out
 * ---------------------------------------------------------------------------------------------- */

static int write_all(int fd, const char *data, size_t len)
{
	ssize_t n;

	for (; len; data += n, len -= (size_t)n) {
		n = write(fd, data, len);
		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

int tracks_save(const struct tracks *t, int folder)
{
	struct file_head head = {.count = 0};
	struct track_record r;
	struct buffer b = {0};
	size_t at = 0;
	int fd, err;

	buffer_add(&b, &head, sizeof(head));
	for (; tracks_next(t, &at, &r); head.count++)
		buffer_add(&b, &r, sizeof(r));
	if (b.failed) {
		buffer_free(&b);
		return -ENOMEM;
	}
	memcpy(head.magic, file_magic, sizeof(head.magic));
	head.crc = records_crc(b.data + sizeof(head), b.len - sizeof(head));
	memcpy(b.data, &head, sizeof(head));
	fd = file_open(folder, FILE_NEW, O_WRONLY | O_CREAT | O_TRUNC);
	err = fd < 0 ? fd : write_all(fd, b.data, b.len);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (!err && renameat(folder, FILE_NEW, folder, FILE_NAME))
		err = -errno;
	if (err)
		unlinkat(folder, FILE_NEW, 0);
	buffer_free(&b);
	return err;
}

/* ---- in
 * -----------------------------------------------------------------------------------------------
 */

/* Nothing that a series could not have had, or that would keep its points back for long. */
static bool record_fits(const struct track_record *r, int64_t now_ns)
{
	return r->end_ns > now_ns - SENDER_KEEP_S * NS_PER_S &&
	       r->end_ns <= now_ns + TRACKS_AHEAD_NS && r->start_ns >= 0 &&
	       r->start_ns <= r->end_ns && r->told_start_ns >= 0 &&
	       r->told_start_ns <= now_ns + TRACKS_AHEAD_NS && isfinite(r->value);
}

/* The whole file, if it is one. */
static int file_read(int fd, struct buffer *b)
{
	struct file_head head;
	struct stat st;
	ssize_t n;
	char *to;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(head) ||
	    st.st_size > (off_t)(sizeof(head) + TRACKS_MAX * sizeof(struct track_record)))
		return -EBADMSG;
	to = buffer_reserve(b, (size_t)st.st_size);
	if (!to)
		return -ENOMEM;
	n = pread(fd, to, (size_t)st.st_size, 0);
	if (n != st.st_size)
		return -EBADMSG;
	b->len += (size_t)n;
	memcpy(&head, b->data, sizeof(head));
	if (memcmp(head.magic, file_magic, sizeof(head.magic)) ||
	    b->len != sizeof(head) + head.count * sizeof(struct track_record) ||
	    head.crc != records_crc(b->data + sizeof(head), b->len - sizeof(head)))
		return -EBADMSG;
	return 0;
}

int tracks_load(struct tracks *t, int folder, int64_t now_ns, uint64_t now_ms)
{
	int fd = file_open(folder, FILE_NAME, O_RDONLY), err;
	struct track_record r;
	struct buffer b = {0};

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = file_read(fd, &b);
	for (size_t at = sizeof(struct file_head); !err && at < b.len; at += sizeof(r)) {
		memcpy(&r, b.data + at, sizeof(r));
		if (record_fits(&r, now_ns))
			err = tracks_put(t, &r, now_ms);
	}
	buffer_free(&b);
	close(fd);
	return err;
}
