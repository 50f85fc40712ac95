/* SPDX-License-Identifier: Apache-2.0 */
/* track.c - remembers the last point of each series, so that the service accepts the next. The
 * service's rules (google/monitoring/v3/common.proto, TimeInterval): a point ends later than the
 * previous point of its series. A cumulative point has the same start as the previous point or, if
 * its value decreased, a start after the previous point's end. */
#include "userspace/export/gcm/track.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "userspace/base/file.h"
#include "userspace/base/buffer.h"
#include "userspace/base/table.h"

/* Series are forgotten after this time without a point: CROWDED_MS if there are more than CROWDED
 * tracks; GAUGE_MS for gauges, which need only the end of the previous point; else
 * SENDER_KEEP_S. */
#define CROWDED	   SERIES_SET_MAX
#define CROWDED_MS (10 * 60 * 1000)
#define GAUGE_MS   (60 * 1000)

/* The last point of a series, and how the next one is treated. */
struct track {
	int64_t set_start_ns; /* start of the last point in its series_set; start_ns may have been
				 adjusted */
	int64_t start_ns, end_ns; /* interval of the last point, as sent */
	double value;		  /* last value of a cumulative series; a distribution: its count */
	uint64_t seen_ms, sent_ms;
	uint64_t fit_ms; /* time until which no point of this series is sent */
	uint8_t unfit;	 /* enum track_verdict returned until fit_ms */
	bool restart;
};

struct tracks {
	struct table *table;
	int64_t spacing_ns;
	bool moved;
};

struct tracks *tracks_new(uint32_t spacing_ms)
{
	struct tracks *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->spacing_ns = spacing_ms * NS_PER_MS;
	t->table = table_new();
	if (t->table)
		return t;
	free(t);
	return NULL;
}

void tracks_free(struct tracks *t)
{
	if (!t)
		return;
	table_free(t->table, free);
	free(t);
}

/* Returns the value of a point that must not decrease in a cumulative series. */
static double track_value_of(const struct series_set *set, const struct series *p)
{
	switch (p->row->value) {
	case SERIES_INT64:
		return (double)p->value.i64;
	case SERIES_DOUBLE:
		return p->value.real;
	case SERIES_DISTRIBUTION:
		return p->value.distribution < set->ndistributions
			       ? (double)set->distribution[p->value.distribution].count
			       : 0;
	default:
		return 0;
	}
}

/* Returns the start of a point that follows another one of its series. */
static int64_t track_start_after(const struct track *k, const struct series_set *set,
				 const struct series *p)
{
	int64_t least = k->end_ns + NS_PER_MS;

	if (p->start_ns >= k->set_start_ns + SERIES_CLOCK_NS && p->start_ns > k->start_ns)
		return p->start_ns > least ? p->start_ns : least;
	/* The point starts earlier than the last point did: the series now belongs to an older
	 * job. */
	if (p->start_ns <= k->set_start_ns - SERIES_CLOCK_NS)
		return least;
	return k->restart || track_value_of(set, p) < k->value ? least : k->start_ns;
}

enum track_verdict tracks_ask(struct tracks *t, const struct series_set *set, struct series *p,
			      uint64_t key, uint64_t now_ms, bool last)
{
	struct track *k = table_get(t->table, key);

	if (k && k->end_ns > p->end_ns + TRACKS_AHEAD_NS) {
		*k = (struct track){.seen_ms = k->seen_ms, .fit_ms = k->fit_ms, .unfit = k->unfit};
		t->moved = true;
	}
	if (k && now_ms < k->fit_ms)
		return (enum track_verdict)k->unfit;
	if (k && p->end_ns < k->end_ns + t->spacing_ns) {
		if (!last)
			return p->end_ns < k->end_ns + NS_PER_MS ? TRACK_PAST : TRACK_SOON;
		p->end_ns = k->end_ns + t->spacing_ns;
	}
	if (p->row->kind == SERIES_GAUGE)
		return TRACK_FIT;
	if (k)
		p->start_ns = track_start_after(k, set, p);
	if (p->start_ns >= p->end_ns)
		p->start_ns = k ? k->end_ns + NS_PER_MS : p->end_ns - NS_PER_MS;
	return TRACK_FIT;
}

/* Returns the track of a series, new if there is none. NULL: no memory, or there are TRACKS_MAX
 * tracks. */
static struct track *track_of(struct tracks *t, uint64_t key)
{
	struct track *k = table_get(t->table, key);

	if (k || table_count(t->table) == TRACKS_MAX)
		return k;
	k = calloc(1, sizeof(*k));
	if (k && !table_put(t->table, key, k))
		return k;
	free(k);
	return NULL;
}

void tracks_note(struct tracks *t, const struct series_set *set, const struct series *p,
		 int64_t set_start_ns, uint64_t key, uint64_t now_ms)
{
	struct track *k = track_of(t, key);

	if (!k)
		return;
	t->moved |= k->start_ns != p->start_ns || !k->end_ns;
	*k = (struct track){.set_start_ns = set_start_ns,
			    .start_ns = p->start_ns,
			    .end_ns = p->end_ns,
			    .value = track_value_of(set, p),
			    .seen_ms = now_ms,
			    .sent_ms = k->sent_ms,
			    .fit_ms = k->fit_ms,
			    .unfit = k->unfit};
}

void tracks_restart(struct tracks *t, uint64_t key)
{
	struct track *k = table_get(t->table, key);

	if (k)
		k->restart = true;
}

void tracks_refused(struct tracks *t, uint64_t key, enum track_verdict why, uint64_t now_ms)
{
	struct track *k = table_get(t->table, key);

	if (!k)
		return;
	k->fit_ms = now_ms + TRACKS_REFUSED_MS;
	k->unfit = (uint8_t)why;
}

uint64_t tracks_sent_ms(const struct tracks *t, uint64_t key)
{
	const struct track *k = table_get(t->table, key);

	return k ? k->sent_ms : 0;
}

int64_t tracks_end_ns(const struct tracks *t, uint64_t key)
{
	const struct track *k = table_get(t->table, key);

	return k ? k->end_ns : 0;
}

void tracks_sent(struct tracks *t, uint64_t key, uint64_t now_ms)
{
	struct track *k = table_get(t->table, key);

	if (k)
		k->sent_ms = now_ms;
}

void tracks_prune(struct tracks *t, uint64_t now_ms)
{
	uint64_t age_ms = table_count(t->table) > CROWDED ? CROWDED_MS : SENDER_KEEP_S * 1000ull,
		 key;
	struct track *k;

	for (size_t i = 0; (k = table_next(t->table, &i, &key));) {
		if (now_ms > k->seen_ms + (k->start_ns ? age_ms : GAUGE_MS) && now_ms >= k->fit_ms)
			free(table_take(t->table, key));
	}
}

bool tracks_next(const struct tracks *t, size_t *at, struct track_record *ret)
{
	uint64_t key;
	const struct track *k = table_next(t->table, at, &key);

	if (!k)
		return false;
	*ret = (struct track_record){key, k->set_start_ns, k->start_ns, k->end_ns, k->value};
	return true;
}

int tracks_put(struct tracks *t, const struct track_record *r, uint64_t now_ms)
{
	struct track *k = track_of(t, r->key);

	if (!k)
		return table_count(t->table) == TRACKS_MAX ? -ENOSPC : -ENOMEM;
	*k = (struct track){.set_start_ns = r->set_start_ns,
			    .start_ns = r->start_ns,
			    .end_ns = r->end_ns,
			    .value = r->value,
			    .seen_ms = now_ms};
	return 0;
}

bool tracks_moved(struct tracks *t)
{
	bool moved = t->moved;

	t->moved = false;
	return moved;
}

/* ---- on disk --------------------------------------------------------------------------------- */

/* Tracks are saved in a file in the folder of the queue on disk, in the machine's byte order. The
 * file is replaced by renaming a new one. Records are validated; a series whose record is damaged
 * starts as a new one. */

#define FILE_NAME "tracks"
#define FILE_NEW  "tracks.new"

static const char file_magic[8] = "GPBPFTR1"; /* the last digit is the version of the format */

struct file_head {
	char magic[sizeof(file_magic)];
	uint32_t count;
	uint32_t crc; /* zlib's crc32() of the records */
};

_Static_assert(sizeof(struct file_head) == 16 && sizeof(struct track_record) == 40, "on disk");

static uint32_t track_records_crc(const char *data, size_t len)
{
	return (uint32_t)crc32(0, (const Bytef *)data, (uInt)len);
}

/* Returns a descriptor of the file if only this user can write it, else -errno. */
static int track_file_open(int folder)
{
	int fd = openat(folder, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -EACCES;
}

/* ---- writing --------------------------------------------------------------------------------- */

int tracks_save(const struct tracks *t, int folder)
{
	struct file_head head = {.count = 0};
	struct track_record r;
	struct buffer b = {0};
	size_t at = 0;
	int err;

	buffer_add(&b, &head, sizeof(head));
	for (; tracks_next(t, &at, &r); head.count++)
		buffer_add(&b, &r, sizeof(r));
	if (b.failed) {
		buffer_free(&b);
		return -ENOMEM;
	}
	memcpy(head.magic, file_magic, sizeof(head.magic));
	head.crc = track_records_crc(b.data + sizeof(head), b.len - sizeof(head));
	memcpy(b.data, &head, sizeof(head));
	err = file_replace(folder, FILE_NAME, FILE_NEW, 0600, b.data, b.len, false);
	buffer_free(&b);
	return err;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns false for values that no series can have, or that would prevent new points of the series
 * for long. */
static bool track_record_fits(const struct track_record *r, int64_t now_ns)
{
	return r->end_ns > now_ns - SENDER_KEEP_S * NS_PER_S &&
	       r->end_ns <= now_ns + TRACKS_AHEAD_NS && r->start_ns >= 0 &&
	       r->start_ns <= r->end_ns && r->set_start_ns >= 0 &&
	       r->set_start_ns <= now_ns + TRACKS_AHEAD_NS && isfinite(r->value);
}

/* Reads the records of a file into b. Returns -errno if the file is not valid. */
static int track_file_load(int fd, struct buffer *b)
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
	    head.crc != track_records_crc(b->data + sizeof(head), b->len - sizeof(head)))
		return -EBADMSG;
	return 0;
}

int tracks_load(struct tracks *t, int folder, int64_t now_ns, uint64_t now_ms)
{
	int fd = track_file_open(folder), err;
	struct track_record r;
	struct buffer b = {0};

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = track_file_load(fd, &b);
	for (size_t at = sizeof(struct file_head); !err && at < b.len; at += sizeof(r)) {
		memcpy(&r, b.data + at, sizeof(r));
		if (track_record_fits(&r, now_ns))
			err = tracks_put(t, &r, now_ms);
	}
	buffer_free(&b);
	close(fd);
	return err;
}
