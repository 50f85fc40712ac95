/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/gcm/disk_queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

#include "userspace/base/grow.h"
#include "userspace/base/path.h"
#include "userspace/export/gcm/disk_queue_file.h"

#define SEGMENTS     16 /* a file has at most 1/16 of the queue's size limit */
#define SEGMENT_MOST (4u << 20)
#define SEGMENTS_MAX 65536
#define ID_MAX	     (UINT64_MAX / 2)
#define NAME_MAX_LEN 32
#define PACK_LEVEL   3

/* A file of the queue. */
struct segment {
	uint64_t id, bytes;
	uint64_t points; /* points in records that were not taken yet */
	uint64_t end;	 /* offset of the end of the last complete record */
};

struct disk_queue {
	int folder, cursor;
	int read_fd, write_fd; /* files of the first and last segment; -1: not open */
	uint64_t max_bytes, bytes, points, next_id;
	struct segment *segment;
	uint32_t count, cap;
	uint64_t read_at; /* offset of the next record in the first segment */
	uint64_t peeked;  /* bytes of the record returned by disk_queue_peek(); 0: none */
	uint32_t peeked_points;
	struct disk_queue_lost lost;
	struct buffer raw, packed;
};

const char disk_queue_magic[8] = "GPBPFSP1";

uint32_t disk_queue_header_crc(const struct disk_queue_record *r)
{
	const size_t skip = offsetof(struct disk_queue_record, crc);

	return (uint32_t)crc32(0, (const Bytef *)r + skip, (uInt)(sizeof(*r) - skip));
}

static void disk_queue_segment_name(char out[NAME_MAX_LEN], uint64_t id)
{
	snprintf(out, NAME_MAX_LEN, "%016" PRIx64 ".points", id);
}

static void disk_queue_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- the cursor: how far the queue was read -------------------------------------------------- */

/* Saves that records before offset `at` of file `id` were taken. */
static void disk_queue_mark(struct disk_queue *s, uint64_t id, uint64_t at)
{
	struct disk_queue_cursor c = {.id = id, .at = at};

	memcpy(c.magic, disk_queue_magic, sizeof(c.magic));
	c.crc = (uint32_t)crc32(0, (const Bytef *)&c, offsetof(struct disk_queue_cursor, crc));
	/* If this write fails, the points are sent again after the next start, and the service
	 * refuses them as duplicates. */
	if (s->cursor >= 0 && pwrite(s->cursor, &c, sizeof(c), 0) != sizeof(c))
		disk_queue_close_fd(&s->cursor);
}

static struct disk_queue_cursor disk_queue_cursor_load(struct disk_queue *s)
{
	struct disk_queue_cursor c = {0};

	s->cursor = openat(s->folder, "cursor", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->cursor < 0 || pread(s->cursor, &c, sizeof(c), 0) != sizeof(c) ||
	    memcmp(c.magic, disk_queue_magic, sizeof(c.magic)) || c.id > ID_MAX ||
	    c.crc != (uint32_t)crc32(0, (const Bytef *)&c, offsetof(struct disk_queue_cursor, crc)))
		c = (struct disk_queue_cursor){0};
	return c;
}

/* ---- segments -------------------------------------------------------------------------------- */

static void disk_queue_segment_unlink(struct disk_queue *s, uint64_t id)
{
	char name[NAME_MAX_LEN];

	disk_queue_segment_name(name, id);
	unlinkat(s->folder, name, 0);
}

/* Removes the first segment. Returns the number of its points that were not taken. */
static uint64_t disk_queue_shift(struct disk_queue *s)
{
	uint64_t points = s->segment[0].points;

	disk_queue_close_fd(&s->read_fd);
	if (s->count == 1)
		disk_queue_close_fd(&s->write_fd);
	disk_queue_segment_unlink(s, s->segment[0].id);
	s->bytes -= s->segment[0].bytes;
	s->points -= points;
	memmove(s->segment, s->segment + 1, --s->count * sizeof(*s->segment));
	s->read_at = sizeof(disk_queue_magic);
	s->peeked = 0;
	return points;
}

static void disk_queue_make_room(struct disk_queue *s, uint64_t bytes)
{
	while (s->count && s->bytes + bytes > s->max_bytes) {
		/* The record that is being sent is not lost: the caller has it. */
		s->lost.room -= s->peeked ? s->peeked_points : 0;
		s->lost.room += disk_queue_shift(s);
	}
}

/* Returns a descriptor of the file if only this user can write it, else -errno. */
static int disk_queue_segment(struct disk_queue *s, uint64_t id, int flags)
{
	char name[NAME_MAX_LEN];
	struct stat st;
	int fd;

	disk_queue_segment_name(name, id);
	fd = openat(s->folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -EACCES;
}

static bool disk_queue_record_fits(const struct disk_queue_record *r)
{
	return r->header_crc == disk_queue_header_crc(r) && r->points &&
	       r->points <= REQUEST_SERIES && r->raw <= DISK_QUEUE_RAW_MAX &&
	       r->len <= DISK_QUEUE_LEN_MAX && r->newest_ns > 0;
}

/* Finds the records of a segment that were not taken yet. taken: offset up to which records were
 * taken. Returns 1: there are some; 0: there are none; -EACCES: the file is damaged, or other users
 * can write to it. */
static int disk_queue_segment_scan(struct disk_queue *s, struct segment *g, uint64_t taken,
				   uint64_t *ret_read_at)
{
	char magic[sizeof(disk_queue_magic)];
	struct disk_queue_record r;
	struct stat st;
	int fd = disk_queue_segment(s, g->id, O_RDONLY);
	bool whole = true;

	if (fd < 0 || fstat(fd, &st) || pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, disk_queue_magic, sizeof(magic))) {
		s->lost.damaged++;
		disk_queue_close_fd(&fd);
		return -EACCES;
	}
	g->end = *ret_read_at = sizeof(magic);
	g->bytes = (uint64_t)st.st_size;
	while (whole && g->end < g->bytes) {
		whole = pread(fd, &r, sizeof(r), (off_t)g->end) == sizeof(r) &&
			disk_queue_record_fits(&r) && g->bytes - g->end - sizeof(r) >= r.len;
		if (!whole)
			break;
		g->end += sizeof(r) + r.len;
		g->points += r.points;
		if (g->end == taken) {
			*ret_read_at = taken;
			g->points = 0;
		}
	}
	s->lost.damaged += !whole;
	close(fd);
	return g->points > 0;
}

static int disk_queue_compare_ids(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int disk_queue_segments_list(struct disk_queue *s)
{
	int fd = dup(s->folder);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char name[NAME_MAX_LEN];
	struct segment *items;
	struct dirent *e;
	uint64_t id;

	if (!d) {
		disk_queue_close_fd(&fd);
		return -errno;
	}
	rewinddir(d);
	while ((e = readdir(d)) && s->count < SEGMENTS_MAX) {
		id = strtoull(e->d_name, NULL, 16);
		disk_queue_segment_name(name, id);
		if (strcmp(name, e->d_name) || id > ID_MAX)
			continue;
		items = grow_items(s->segment, &s->cap, s->count + 1, SEGMENTS_MAX, sizeof(*items));
		if (!items) {
			closedir(d);
			return -ENOMEM;
		}
		s->segment = items;
		s->segment[s->count++] = (struct segment){.id = id};
	}
	closedir(d);
	if (s->count)
		qsort(s->segment, s->count, sizeof(*s->segment), disk_queue_compare_ids);
	return 0;
}

static int disk_queue_load(struct disk_queue *s)
{
	struct disk_queue_cursor c = disk_queue_cursor_load(s);
	uint64_t read_at, first_at = sizeof(disk_queue_magic);
	uint32_t n = 0;
	int err = disk_queue_segments_list(s), found;

	if (err)
		return err;
	s->next_id = c.id + 1;
	for (uint32_t i = 0; i < s->count; i++) {
		struct segment g = s->segment[i];

		if (g.id >= s->next_id)
			s->next_id = g.id + 1;
		found = g.id < c.id
				? 0
				: disk_queue_segment_scan(s, &g, g.id == c.id ? c.at : 0, &read_at);
		if (!found)
			disk_queue_segment_unlink(s, g.id);
		if (found <= 0)
			continue;
		first_at = n ? first_at : read_at;
		s->segment[n++] = g;
		s->bytes += g.bytes;
		s->points += g.points;
	}
	s->count = n;
	s->read_at = first_at;
	disk_queue_make_room(s, 0);
	return 0;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static int disk_queue_folder_open(const char *path)
{
	struct stat st;
	int fd;

	fd = path_make(path, 0700);
	fd = fd ? fd : path_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	/* Another user who can write to this folder could make gp-bpf send anything. */
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return -EACCES;
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}

int disk_queue_open(struct disk_queue **ret, const char *folder, uint64_t max_bytes)
{
	struct disk_queue *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->cursor = s->read_fd = s->write_fd = -1;
	s->read_at = sizeof(disk_queue_magic);
	s->max_bytes = max_bytes > DISK_QUEUE_LEAST ? max_bytes : DISK_QUEUE_LEAST;
	s->folder = disk_queue_folder_open(folder);
	err = s->folder < 0 ? s->folder : disk_queue_load(s);
	if (err) {
		disk_queue_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

int disk_queue_folder(const struct disk_queue *s)
{
	return s->folder;
}

void disk_queue_close(struct disk_queue *s)
{
	if (!s)
		return;
	disk_queue_close_fd(&s->read_fd);
	disk_queue_close_fd(&s->write_fd);
	disk_queue_close_fd(&s->cursor);
	disk_queue_close_fd(&s->folder); /* closing the folder releases its lock, too */
	buffer_free(&s->raw);
	buffer_free(&s->packed);
	free(s->segment);
	free(s);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns the last segment if it has room, else a new one. */
static int disk_queue_segment_writable(struct disk_queue *s)
{
	uint64_t most = s->max_bytes / SEGMENTS;
	struct segment *items, *last = s->count ? &s->segment[s->count - 1] : NULL;
	int fd;

	most = most < SEGMENT_MOST ? most : SEGMENT_MOST;
	if (last && s->write_fd >= 0 && last->bytes < most)
		return 0;
	disk_queue_close_fd(&s->write_fd);
	if (s->count == SEGMENTS_MAX)
		return -ENOSPC;
	items = grow_items(s->segment, &s->cap, s->count + 1, SEGMENTS_MAX, sizeof(*items));
	if (!items)
		return -ENOMEM;
	s->segment = items;
	fd = disk_queue_segment(s, s->next_id, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	if (pwrite(fd, disk_queue_magic, sizeof(disk_queue_magic), 0) != sizeof(disk_queue_magic)) {
		close(fd);
		disk_queue_segment_unlink(s, s->next_id);
		return -ENOSPC;
	}
	s->write_fd = fd;
	s->segment[s->count++] = (struct segment){s->next_id++, sizeof(disk_queue_magic), 0,
						  sizeof(disk_queue_magic)};
	s->bytes += sizeof(disk_queue_magic);
	return 0;
}

/* Compresses s->raw into s->packed and fills r. */
static int disk_queue_record_pack(struct disk_queue *s, struct disk_queue_record *r)
{
	uLongf len = compressBound((uLong)s->raw.len);
	char *to;

	buffer_clear(&s->packed);
	to = buffer_reserve(&s->packed, len);
	if (!to || compress2((Bytef *)to, &len, (const Bytef *)s->raw.data, (uLong)s->raw.len,
			     PACK_LEVEL) != Z_OK)
		return -ENOMEM;
	s->packed.len = len;
	r->raw = (uint32_t)s->raw.len;
	r->len = (uint32_t)len;
	r->crc = (uint32_t)crc32(0, (const Bytef *)to, (uInt)len);
	r->header_crc = disk_queue_header_crc(r);
	return 0;
}

static int disk_queue_record_write(struct disk_queue *s, const struct disk_queue_record *r)
{
	struct iovec iov[] = {{(void *)r, sizeof(*r)}, {s->packed.data, r->len}};
	struct segment *g;
	ssize_t n;
	int err;

	disk_queue_make_room(s, sizeof(*r) + r->len);
	if (s->bytes + sizeof(*r) + r->len > s->max_bytes)
		return -ENOSPC;
	err = disk_queue_segment_writable(s);
	if (err)
		return err;
	g = &s->segment[s->count - 1];
	n = pwritev(s->write_fd, iov, 2, (off_t)g->end);
	if (n != (ssize_t)(sizeof(*r) + r->len)) {
		err = n < 0 ? -errno : -ENOSPC;
		/* Cut off the partial record; if that fails, close the file, so that no record
		 * follows it. */
		if (ftruncate(s->write_fd, (off_t)g->end))
			disk_queue_close_fd(&s->write_fd);
		return err;
	}
	g->end += (uint64_t)n;
	g->bytes = g->end;
	g->points += r->points;
	s->bytes += (uint64_t)n;
	s->points += r->points;
	return 0;
}

int disk_queue_add(struct disk_queue *s, const struct batch *p, const uint32_t *items,
		   uint32_t count)
{
	struct disk_queue_record r = {.points = count};
	int err = 0;

	buffer_clear(&s->raw);
	for (uint32_t i = 0; i < count; i++) {
		const struct batch_point *from = &p->item[items[i]];
		struct disk_queue_point to = {from->key, from->end_ns, from->len, from->maybe};

		buffer_add(&s->raw, &to, sizeof(to));
		r.newest_ns = from->end_ns > r.newest_ns ? from->end_ns : r.newest_ns;
	}
	for (uint32_t i = 0; i < count; i++)
		buffer_add(&s->raw, p->text.data + p->item[items[i]].at, p->item[items[i]].len);
	if (s->raw.failed)
		err = -ENOMEM;
	else if (!count || count > REQUEST_SERIES || s->raw.len > DISK_QUEUE_RAW_MAX)
		err = -E2BIG;
	err = err ? err : disk_queue_record_pack(s, &r);
	err = err ? err : disk_queue_record_write(s, &r);
	if (err)
		s->lost.room += count;
	return err;
}

uint64_t disk_queue_points(const struct disk_queue *s)
{
	return s->points;
}

uint64_t disk_queue_bytes(const struct disk_queue *s)
{
	return s->bytes;
}

void disk_queue_lost(const struct disk_queue *s, struct disk_queue_lost *ret)
{
	*ret = s->lost;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Counts and skips the rest of the first segment, which cannot be read. */
static void disk_queue_segment_damaged(struct disk_queue *s)
{
	s->lost.damaged++;
	disk_queue_shift(s);
}

static int disk_queue_record_points(const struct buffer *raw, const struct disk_queue_record *r,
				    struct batch *ret)
{
	size_t at = r->points * sizeof(struct disk_queue_point);
	struct batch_point to = {.cumulative = true};
	struct disk_queue_point from;
	int err;

	if (raw->len < at)
		return -EBADMSG;
	for (uint32_t i = 0; i < r->points; i++) {
		memcpy(&from, raw->data + i * sizeof(from), sizeof(from));
		if (from.len > raw->len - at || from.end_ns > r->newest_ns ||
		    !batch_whole(raw->data + at, from.len))
			return -EBADMSG;
		to.key = from.key;
		to.end_ns = from.end_ns;
		to.maybe = to.tried = from.maybe;
		err = batch_add(ret, &to, raw->data + at, from.len);
		if (err)
			return err;
		at += from.len;
	}
	return at == raw->len ? 0 : -EBADMSG;
}

static int disk_queue_record_read(struct disk_queue *s, const struct disk_queue_record *r,
				  struct batch *ret)
{
	uLongf raw = r->raw;
	char *packed, *to;

	buffer_clear(&s->packed);
	buffer_clear(&s->raw);
	packed = buffer_reserve(&s->packed, r->len);
	to = buffer_reserve(&s->raw, r->raw);
	if (!packed || !to)
		return -ENOMEM;
	if (pread(s->read_fd, packed, r->len, (off_t)(s->read_at + sizeof(*r))) !=
		    (ssize_t)r->len ||
	    r->crc != (uint32_t)crc32(0, (const Bytef *)packed, r->len) ||
	    uncompress((Bytef *)to, &raw, (const Bytef *)packed, r->len) != Z_OK || raw != r->raw)
		return -EBADMSG;
	s->raw.len = raw;
	return disk_queue_record_points(&s->raw, r, ret);
}

/* Reads the header of the first record. Returns 0 or -EBADMSG. */
static int disk_queue_record_head(struct disk_queue *s, struct disk_queue_record *r)
{
	if (s->read_fd < 0)
		s->read_fd = disk_queue_segment(s, s->segment[0].id, O_RDONLY);
	if (s->read_fd < 0 || pread(s->read_fd, r, sizeof(*r), (off_t)s->read_at) != sizeof(*r) ||
	    !disk_queue_record_fits(r) || s->read_at + sizeof(*r) + r->len > s->segment[0].end)
		return -EBADMSG;
	return 0;
}

static void disk_queue_record_take(struct disk_queue *s, uint64_t bytes, uint32_t points)
{
	struct segment *g = &s->segment[0];
	uint64_t id = g->id;

	/* Do not subtract more than was counted: the header may have been overwritten since. */
	points = points < g->points ? points : (uint32_t)g->points;
	g->points -= points;
	s->points -= points;
	s->read_at += bytes;
	disk_queue_mark(s, id, s->read_at);
	if (s->read_at >= g->end)
		disk_queue_shift(s);
}

int disk_queue_peek(struct disk_queue *s, int64_t oldest_ns, struct batch *ret)
{
	struct disk_queue_record r;
	int err;

	for (s->peeked = 0; s->count;) {
		err = s->read_at >= s->segment[0].end ? -ENODATA : disk_queue_record_head(s, &r);
		if (!err && r.newest_ns < oldest_ns) {
			s->lost.aged += r.points;
			disk_queue_record_take(s, sizeof(r) + r.len, r.points);
			continue;
		}
		err = err ? err : disk_queue_record_read(s, &r, ret);
		if (!err) {
			s->peeked = sizeof(r) + r.len;
			s->peeked_points = r.points;
			return 0;
		}
		batch_clear(ret);
		if (err == -ENOMEM)
			return err;
		disk_queue_segment_damaged(s);
	}
	return -ENOENT;
}

void disk_queue_pop(struct disk_queue *s)
{
	uint64_t bytes = s->peeked;

	s->peeked = 0;
	if (bytes && s->count)
		disk_queue_record_take(s, bytes, s->peeked_points);
}
