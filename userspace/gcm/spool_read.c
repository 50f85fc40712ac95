/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "userspace/gcm/spool_private.h"

/* The rest of the first segment cannot be read. */
static void segment_damaged(struct spool *s)
{
	s->lost.damaged++;
	spool_shift(s);
}

static int record_points(const struct buffer *raw, const struct spool_record *r, struct parcel *ret)
{
	size_t at = r->points * sizeof(struct spool_point);
	struct parcel_point to = {.cumulative = true};
	struct spool_point from;
	int err;

	if (raw->len < at)
		return -EBADMSG;
	for (uint32_t i = 0; i < r->points; i++) {
		memcpy(&from, raw->data + i * sizeof(from), sizeof(from));
		if (from.len > raw->len - at || from.end_ns > r->newest_ns ||
		    !parcel_whole(raw->data + at, from.len))
			return -EBADMSG;
		to.key = from.key;
		to.end_ns = from.end_ns;
		to.maybe = to.tried = from.maybe;
		err = parcel_add(ret, &to, raw->data + at, from.len);
		if (err)
			return err;
		at += from.len;
	}
	return at == raw->len ? 0 : -EBADMSG;
}

static int record_read(struct spool *s, const struct spool_record *r, struct parcel *ret)
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
	return record_points(&s->raw, r, ret);
}

/* The header of the first record, or -EBADMSG. */
static int record_head(struct spool *s, struct spool_record *r)
{
	if (s->read_fd < 0)
		s->read_fd = spool_segment(s, s->segment[0].id, O_RDONLY);
	if (s->read_fd < 0 || pread(s->read_fd, r, sizeof(*r), (off_t)s->read_at) != sizeof(*r) ||
	    !spool_record_fits(r) || s->read_at + sizeof(*r) + r->len > s->segment[0].end)
		return -EBADMSG;
	return 0;
}

static void record_take(struct spool *s, uint64_t bytes, uint32_t points)
{
	struct segment *g = &s->segment[0];
	uint64_t id = g->id;

	/* What another wrote over a file that was counted. */
	points = points < g->points ? points : (uint32_t)g->points;
	g->points -= points;
	s->points -= points;
	s->read_at += bytes;
	spool_mark(s, id, s->read_at);
	if (s->read_at >= g->end)
		spool_shift(s);
}

int spool_peek(struct spool *s, int64_t oldest_ns, struct parcel *ret)
{
	struct spool_record r;
	int err;

	for (s->peeked = 0; s->count;) {
		err = s->read_at >= s->segment[0].end ? -ENODATA : record_head(s, &r);
		if (!err && r.newest_ns < oldest_ns) {
			s->lost.aged += r.points;
			record_take(s, sizeof(r) + r.len, r.points);
			continue;
		}
		err = err ? err : record_read(s, &r, ret);
		if (!err) {
			s->peeked = sizeof(r) + r.len;
			s->peeked_points = r.points;
			return 0;
		}
		parcel_clear(ret);
		if (err == -ENOMEM)
			return err;
		segment_damaged(s);
	}
	return -ENOENT;
}

void spool_pop(struct spool *s)
{
	uint64_t bytes = s->peeked;

	s->peeked = 0;
	if (bytes && s->count)
		record_take(s, bytes, s->peeked_points);
}
