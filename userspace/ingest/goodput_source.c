/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/goodput_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/ingest/goodput_entry.h"
#include "userspace/ingest/goodput_file.h"
#include "userspace/ingest/goodput_frame.h"
#include "userspace/ingest/goodput_order.h"
#include "userspace/ingest/goodput_step_line.h"

#define READ_BYTES ((size_t)256 << 10)
/* If less space than this is free after the unread bytes, they are moved to the start of the
 * buffer. */
#define ROOM_BYTES ((size_t)64 << 10)
/* Before each read, at most this many unread bytes are moved to the start of the buffer: moving
 * more would be slow. */
#define MOVE_BYTES   ((size_t)16 << 10)
#define BUFFER_BYTES (GOODPUT_ENTRY_MAX + READ_BYTES)
/* After this many reads without a record (about 10 ms), goodput_source_next() returns -EAGAIN. */
#define FRUITLESS 64

struct goodput_source {
	char *const *paths;
	char **sorted;	 /* copy of paths, sorted by time; NULL: they were not sorted */
	int count, next; /* next: index of the first path not yet opened */
	bool follow, over;
	struct goodput_file *file; /* NULL: no file is open */
	struct goodput_names *names;
	struct goodput_parser *parser;
	struct goodput_order *order;
	struct goodput_frame frame;
	struct goodput_faults faults;
	struct goodput_entry entry;
	/* size: bytes of all files; before: bytes of the files that were read completely */
	uint64_t size, before;
	bool size_known;
	char *buffer;
};

static const char *goodput_source_path_now(const struct goodput_source *s)
{
	return s->paths[s->next - 1];
}

/* Counts a bad entry, and keeps the reason of the first one. line 0: the line number of the entry
 * is unknown. */
static void goodput_source_fault(struct goodput_source *s, uint64_t line, const char *why)
{
	char path[256], place[32] = "";

	s->faults.bad++;
	if (*s->faults.first)
		return;
	if (line)
		snprintf(place, sizeof(place), ":%llu", (unsigned long long)line);
	log_escape(path, sizeof(path), goodput_source_path_now(s),
		   strlen(goodput_source_path_now(s)));
	snprintf(s->faults.first, sizeof(s->faults.first), "%s%s: %s", path, place, why);
}

static int goodput_source_error(const char *path, int err)
{
	log_error("%s: %s", path, strerror(-err));
	return err;
}

/* Checks all paths before the first file is read: otherwise a missing file might be reported only
 * hours later. */
static int source_check_paths(struct goodput_source *s)
{
	struct stat st;
	const char *path;

	s->size_known = true;
	for (int i = 0; i < s->count; i++) {
		path = s->paths[i];
		if (!strcmp(path, "-")
			    ? fstat(STDIN_FILENO, &st)
			    : stat(path, &st) || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
			return goodput_source_error(path, -errno);
		if (S_ISDIR(st.st_mode))
			return goodput_source_error(path, -EISDIR);
		s->size_known &= S_ISREG(st.st_mode);
		s->size += (uint64_t)st.st_size;
	}
	return 0;
}

static int source_begin(struct goodput_source *s)
{
	const char *path = s->paths[s->next];
	int err = goodput_file_open(&s->file, path, s->follow && s->next == s->count - 1);

	if (err)
		return goodput_source_error(path, err);
	s->next++;
	goodput_frame_start(&s->frame);
	return 0;
}

static int source_sort(struct goodput_source *s);

int goodput_source_open(struct goodput_source **ret, char *const *paths, int count, bool follow)
{
	struct goodput_source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return goodput_source_error(paths[0], -ENOMEM);
	s->paths = paths;
	s->count = count;
	s->follow = follow;
	s->entry.record.write_us = GOODPUT_UNKNOWN;
	s->names = goodput_names_new();
	s->order = goodput_order_new();
	s->buffer = malloc(BUFFER_BYTES);
	s->parser = s->names ? goodput_parser_new(s->names) : NULL;
	if (!s->parser || !s->order || !s->buffer)
		err = goodput_source_error(paths[0], -ENOMEM);
	else
		err = source_check_paths(s);
	if (!err && count > 1 && !follow && s->size_known)
		err = source_sort(s);
	if (!err)
		err = source_begin(s);
	if (err) {
		goodput_source_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

void goodput_source_close(struct goodput_source *s)
{
	if (!s)
		return;
	goodput_file_close(s->file);
	goodput_parser_free(s->parser);
	goodput_order_free(s->order);
	goodput_names_free(s->names);
	free(s->sorted);
	free(s->buffer);
	free(s);
}

/* Returns the address after the unread bytes, where the next bytes are stored. *ret_len: free space
 * there. */
static char *source_room(struct goodput_source *s, size_t *ret_len)
{
	size_t unread = (size_t)(s->frame.end - s->frame.at), room;
	char *to;

	if (!unread) {
		to = s->buffer;
	} else {
		to = s->buffer + (s->frame.end - s->buffer);
		room = (size_t)(s->buffer + BUFFER_BYTES - to);
		if (unread <= MOVE_BYTES || room < ROOM_BYTES) {
			memmove(s->buffer, s->frame.at, unread);
			to = s->buffer + unread;
		}
	}
	goodput_frame_feed(&s->frame, to - unread, to);
	room = (size_t)(s->buffer + BUFFER_BYTES - to);
	*ret_len = room < READ_BYTES ? room : READ_BYTES;
	return to;
}

/* Handles the end of a file. Returns 1: continue with the next file; 0: no more data for now;
 * -errno. */
static int source_ended(struct goodput_source *s, enum goodput_file_end end)
{
	int err;

	if (end == FILE_WAITING)
		return 0;
	if (end == FILE_DAMAGED)
		goodput_source_fault(s, 0, "gzip data is damaged or cut off");
	s->faults.cut |= end == FILE_CUT || goodput_frame_open(&s->frame);
	if (end == FILE_RENEWED) {
		log_warn("%s was truncated or replaced: reading it from the beginning",
			 goodput_source_path_now(s));
		goodput_frame_start(&s->frame);
		return 1;
	}
	if (s->next == s->count) {
		goodput_frame_start(&s->frame);
		s->over = end != FILE_DAMAGED || !s->follow;
		return 0;
	}
	s->before += goodput_file_offset(s->file);
	goodput_file_close(s->file);
	s->file = NULL;
	err = source_begin(s);
	s->over = err;
	return err ? err : 1;
}

static int goodput_source_fill(struct goodput_source *s)
{
	enum goodput_file_end end;
	size_t room;
	ssize_t n;
	char *to;

	if (s->over)
		return 0;
	to = source_room(s, &room);
	n = goodput_file_read(s->file, to, room, &end);
	if (n < 0)
		return goodput_source_error(goodput_source_path_now(s), (int)n);
	if (!n)
		return source_ended(s, end);
	goodput_frame_feed(&s->frame, s->frame.at, to + n);
	return 1;
}

/* Parses the entry at frame.at. Returns 1: s->entry is set; 0: the entry is not a goodput record;
 * -EAGAIN: it is incomplete. */
static int source_take(struct goodput_source *s)
{
	struct goodput_frame *f = &s->frame;
	char reason[GOODPUT_REASON_MAX];
	uint64_t line = f->line;
	const char *why;
	size_t len = 0;
	int rc;

	if (!f->seen)
		len = goodput_step_line(f->at, (size_t)(f->end - f->at), s->names,
					&s->entry.record);
	if (len) {
		s->faults.entries++;
		f->at += len;
		f->torn = false;
		return 1;
	}
	switch (goodput_frame_scan(f, &len, &why)) {
	case FRAME_MORE:
		return -EAGAIN;
	case FRAME_BROKEN:
		s->faults.entries++;
		goodput_source_fault(s, line, why);
		return 0;
	default:
		break;
	}
	s->faults.entries++;
	rc = goodput_entry_parse(s->parser, f->at, len, &s->entry, reason);
	goodput_frame_pass(f, len);
	if (rc < 0)
		goodput_source_fault(s, line, reason);
	s->faults.foreign += !rc;
	return rc > 0;
}

/* Reads the next entry. Returns 1: s->entry is set; 0: no more data for now; -EAGAIN: the bytes
 * read contain no record; -errno. */
static int source_entry(struct goodput_source *s)
{
	int rc;

	for (int reads = 0; reads < FRUITLESS; reads++) {
		while (goodput_frame_begin(&s->frame)) {
			rc = source_take(s);
			if (rc > 0)
				return 1;
			if (rc == -EAGAIN)
				break;
		}
		rc = goodput_source_fill(s);
		if (rc <= 0)
			return rc;
	}
	return -EAGAIN;
}

/* ---- several files --------------------------------------------------------------------------- */

struct begun {
	int64_t us; /* write time of a file's first record, in microseconds since the epoch */
	int place;  /* index of the file in paths */
};

/* Reads the write time of a file's first record. *ret_us: this time; GOODPUT_UNKNOWN if the records
 * of the file have none. */
static int source_first(char *path, int64_t *ret_us)
{
	struct goodput_source *s;
	int rc = goodput_source_open(&s, &path, 1, false);

	if (rc)
		return rc;
	rc = source_entry(s);
	*ret_us = rc > 0 && s->entry.record.written ? s->entry.record.write_us : GOODPUT_UNKNOWN;
	goodput_source_close(s);
	return rc < 0 && rc != -EAGAIN ? rc : 0;
}

static int goodput_source_begun_order(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;

	return x->us != y->us ? (x->us < y->us ? -1 : 1) : x->place - y->place;
}

/* Sorts the files by the time of their first record. The parts of a log may be given in any order,
 * but goodput_order only sorts records that are close to each other in the log. */
static int source_sort(struct goodput_source *s)
{
	const unsigned count = (unsigned)s->count;
	struct begun *begun = calloc(count, sizeof(*begun));
	int err = 0, known = 0;

	s->sorted = calloc(count, sizeof(*s->sorted));
	if (!begun || !s->sorted)
		err = goodput_source_error(s->paths[0], -ENOMEM);
	for (; !err && known < s->count; known++) {
		begun[known].place = known;
		err = source_first(s->paths[known], &begun[known].us);
		if (!err && begun[known].us == GOODPUT_UNKNOWN)
			break;
	}
	if (!err && known == s->count) {
		qsort(begun, count, sizeof(*begun), goodput_source_begun_order);
		for (int i = 0; i < s->count; i++)
			s->sorted[i] = s->paths[begun[i].place];
		s->paths = s->sorted;
	}
	free(begun);
	return err;
}

int goodput_source_next(struct goodput_source *s, struct goodput_record *ret)
{
	int rc;

	for (;;) {
		if (goodput_order_take(s->order, ret))
			return 1;
		rc = source_entry(s);
		if (rc < 0)
			return rc;
		if (!rc) {
			goodput_order_flush(s->order);
			return goodput_order_take(s->order, ret);
		}
		if (!s->entry.record.written && goodput_order_empty(s->order)) {
			*ret = s->entry.record;
			return 1;
		}
		if (goodput_order_put(s->order, &s->entry))
			return goodput_source_error(goodput_source_path_now(s), -ENOMEM);
	}
}

bool goodput_source_over(const struct goodput_source *s)
{
	return s->over;
}

const struct goodput_names *goodput_source_names(const struct goodput_source *s)
{
	return s->names;
}

void goodput_source_faults(const struct goodput_source *s, struct goodput_faults *ret)
{
	*ret = s->faults;
	ret->duplicates = goodput_order_duplicates(s->order);
	ret->late = goodput_order_late(s->order);
}

double goodput_source_progress(const struct goodput_source *s)
{
	uint64_t done = s->before + (s->file ? goodput_file_offset(s->file) : 0);

	if (!s->size_known)
		return -1;
	return done < s->size ? (double)done / (double)s->size : 1;
}
