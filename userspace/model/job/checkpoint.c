/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/job/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/number.h"

/* All files of one save into a folder are written soon after each other. A file written later than
 * this (ns) after the previous one belongs to a new save. */
#define FOLDER_NS 60000000000ull

#define ROOM_MIN 8
/* The oldest entries are removed when there are this many more than CHECKPOINTS_MAX. */
#define ROOM_MORE 64

/* The confidence is multiplied by this if the step in the matched checkpoint was deduced. */
#define DEDUCED 0.7

struct checkpoints {
	struct checkpoint *items; /* oldest first */
	uint32_t count, room;
	uint64_t number;
};

const char *const checkpoint_how_name[CHECKPOINT_HOW_COUNT] = {
#define X(id, name) [id] = #name,
	CHECKPOINT_HOWS(X)
#undef X
};

static const double confidence[CHECKPOINT_HOW_COUNT] = {
	[CHECKPOINT_BY_inode] = 1,     [CHECKPOINT_BY_path] = 0.95,   [CHECKPOINT_BY_copy] = 0.85,
	[CHECKPOINT_BY_changed] = 0.6, [CHECKPOINT_BY_size] = 0.6,    [CHECKPOINT_BY_number] = 0.5,
	[CHECKPOINT_BY_newest] = 0.4,  [CHECKPOINT_BY_nothing] = 0.3,
};

struct checkpoints *checkpoints_new(void)
{
	return calloc(1, sizeof(struct checkpoints));
}

void checkpoints_free(struct checkpoints *c)
{
	if (c)
		free(c->items);
	free(c);
}

static void checkpoint_drop(struct checkpoints *c, uint32_t i)
{
	c->count--;
	memmove(c->items + i, c->items + i + 1, (c->count - i) * sizeof(*c->items));
}

/* Removes the oldest entries, ROOM_MORE at once, because each removal moves the rest. Files that
 * are probably not checkpoints, such as caches and logs, are removed first. */
static void checkpoints_trim(struct checkpoints *c)
{
	uint32_t kept = 0, likely, unlikely = 0;

	for (uint32_t i = 0; i < c->count; i++)
		unlikely += !c->items[i].likely;
	unlikely = smaller_of(unlikely, ROOM_MORE);
	likely = ROOM_MORE - unlikely;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t *spare = c->items[i].likely ? &likely : &unlikely;

		if (*spare)
			--*spare;
		else if (kept++ != i)
			c->items[kept - 1] = c->items[i];
	}
	c->count = kept;
}

static struct checkpoint *checkpoint_add(struct checkpoints *c)
{
	uint32_t room = c->room ? 2 * c->room : ROOM_MIN;
	struct checkpoint *items;

	if (c->count == CHECKPOINTS_MAX + ROOM_MORE)
		checkpoints_trim(c);
	if (c->count == c->room) {
		items = realloc(c->items, room * sizeof(*items));
		if (!items)
			return NULL;
		c->items = items;
		c->room = room;
	}
	c->items[c->count] = (struct checkpoint){.number = ++c->number};
	return &c->items[c->count++];
}

int checkpoints_know(struct checkpoints *c, const struct checkpoint *k)
{
	struct checkpoint *own = checkpoint_add(c);
	uint64_t number;

	if (!own)
		return -ENOMEM;
	number = own->number;
	*own = *k;
	own->number = number;
	return 0;
}

/* Returns the hash of the last part of the path (FNV-1a, as gp_probe_hash()), without temporary
 * additions such as ".tmp". */
static uint32_t checkpoint_name_hash(const char *path)
{
	const char *slash = strrchr(path, '/');

	return gp_probe_hash(slash ? slash + 1 : path);
}

static void checkpoint_file_keep(struct checkpoint *k, const struct checkpoint_write *w)
{
	struct checkpoint_file f = w->file;
	uint32_t i = 0, n = smaller_of(k->files, CHECKPOINT_FILES);

	f.name = checkpoint_name_hash(w->path);
	while (i < n && (k->file[i].dev != f.dev || k->file[i].ino != f.ino))
		i++;
	if (i < n) { /* the same file was written once more */
		take_up_to(&k->bytes, k->file[i].bytes);
		k->files--;
	}
	k->file[i < CHECKPOINT_FILES ? i : CHECKPOINT_FILES - 1] = f;
	k->files++;
	k->bytes += f.bytes;
}

static void checkpoint_path_set(struct checkpoint *k, const char *path,
				const struct checkpoint_name *n)
{
	snprintf(k->path, sizeof(k->path), "%.*s", (int)n->len, path);
	k->format = n->format;
	if (k->files <= 1 && !k->folder) /* when a folder is renamed, its files keep their names */
		k->file[0].name = checkpoint_name_hash(path);
	if (!k->numbered && n->numbered) {
		k->numbered = true;
		k->named_step = n->step;
	}
}

/* Returns the newest checkpoint with this path. */
static struct checkpoint *checkpoint_path_find(struct checkpoints *c, const char *path, size_t len)
{
	for (uint32_t i = c->count; i; i--) {
		struct checkpoint *k = &c->items[i - 1];

		if (checkpoint_path_same(k->path, strlen(k->path), path, len))
			return k;
	}
	return NULL;
}

static bool checkpoint_name_whole(const struct checkpoint_name *n)
{
	return !n->temporary && (n->format != CHECKPOINT_DISTRIBUTED || n->last);
}

const struct checkpoint *checkpoints_wrote(struct checkpoints *c, const struct checkpoint_write *w)
{
	struct checkpoint_name n = checkpoint_name(w->path);
	struct checkpoint *k = checkpoint_path_find(c, w->path, n.len);

	/* The file is overwritten, so the earlier checkpoint does not exist any more. */
	if (k && (!n.folder || w->begin_ns > k->end_ns + FOLDER_NS)) {
		checkpoint_drop(c, (uint32_t)(k - c->items));
		k = NULL;
	}
	if (!k) {
		k = checkpoint_add(c);
		if (!k)
			return NULL;
		k->begin_ns = w->begin_ns;
		k->pid = w->pid;
		k->tid = w->tid;
		k->born_ns = w->born_ns;
		k->folder = n.folder;
	}
	checkpoint_path_set(k, w->path, &n);
	checkpoint_file_keep(k, w);
	if (!k->stepped && w->begin_ns <= k->begin_ns)
		k->step = w->step;
	k->begin_ns = smaller_of(w->begin_ns, k->begin_ns);
	k->end_ns = larger_of(w->end_ns, k->end_ns);
	k->likely |= w->likely || (n.format && !n.data);
	k->whole |= checkpoint_name_whole(&n);
	return k;
}

/* ---- renames --------------------------------------------------------------------------------- */

/* If `from` was renamed to `to`, computes the new path of a file: `from` is its path, or a folder
 * above it. Returns false if the file's path is not affected. */
static bool checkpoint_path_moved(const char *path, const char *from, const char *to, char *ret,
				  size_t cap)
{
	size_t len = strlen(path), from_len = strlen(from), end = len, lead;

	while (from_len > 1 && from[from_len - 1] == '/')
		from_len--;
	while (end && !checkpoint_path_same(path, end, from, from_len)) {
		do
			end--;
		while (end && path[end] != '/');
	}
	if (!end)
		return false;
	/* If `to` has no folder, it is in the folder of the old name. */
	lead = *to != '/' && end > from_len ? end - from_len : 0;
	snprintf(ret, cap, "%.*s%s%s", (int)lead, path, to, path + end);
	return true;
}

/* Removes all other checkpoints with the same path as checkpoint `number`, which overwrote them. */
static void checkpoint_path_clear(struct checkpoints *c, uint64_t number)
{
	const struct checkpoint *k = NULL;
	char path[GP_PATH_MAX];

	for (uint32_t i = 0; i < c->count; i++)
		if (c->items[i].number == number)
			k = &c->items[i];
	if (!k)
		return;
	memcpy(path, k->path, sizeof(path));
	for (uint32_t i = c->count; i; i--)
		if (c->items[i - 1].number != number &&
		    checkpoint_path_same(c->items[i - 1].path, strlen(c->items[i - 1].path), path,
					 strlen(path)))
			checkpoint_drop(c, i - 1);
}

static const struct checkpoint *checkpoint_number_find(const struct checkpoints *c, uint64_t number)
{
	for (uint32_t i = 0; number && i < c->count; i++)
		if (c->items[i].number == number)
			return &c->items[i];
	return NULL;
}

/* Handles the renaming of a file within a checkpoint's folder, such as .metadata.tmp to
 * .metadata. */
static struct checkpoint *checkpoint_inner_renamed(struct checkpoints *c, uint32_t pid,
						   const char *to)
{
	struct checkpoint_name n = checkpoint_name(to);
	struct checkpoint *k = n.last && n.len < strlen(to) ? checkpoint_path_find(c, to, n.len)
							    : NULL;

	return k && k->pid == pid ? k : NULL;
}

const struct checkpoint *checkpoints_renamed(struct checkpoints *c, uint32_t pid, const char *from,
					     const char *to, uint64_t now_ns)
{
	struct checkpoint *k = checkpoint_inner_renamed(c, pid, to);
	char moved[2 * GP_PATH_MAX];
	struct checkpoint_name n;
	uint64_t number = 0;

	if (k) {
		k->whole = true;
		k->end_ns = larger_of(now_ns, k->end_ns);
		return k;
	}
	for (uint32_t i = c->count; i; i--) {
		k = &c->items[i - 1];
		if (k->pid != pid ||
		    !checkpoint_path_moved(k->path, from, to, moved, sizeof(moved)))
			continue;
		moved[GP_PATH_MAX - 1] = '\0';
		n = checkpoint_name(moved);
		n.len = strlen(moved); /* the whole moved path is the checkpoint's name */
		n.format = n.format ? n.format : k->format;
		checkpoint_path_set(k, moved, &n);
		k->likely |= n.format && !n.data;
		k->whole |= !n.temporary;
		k->end_ns = larger_of(now_ns, k->end_ns);
		if (!number)
			number = k->number;
		if (checkpoint_path_same(to, strlen(to), k->path, strlen(k->path)))
			/* Older checkpoints of this name were overwritten by this one. */
			break;
	}
	if (number)
		checkpoint_path_clear(c, number);
	return checkpoint_number_find(c, number);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Returns true if the process wrote the checkpoint in the span. Files of a folder may be written by
 * several threads, some of them before the span began. */
static bool checkpoint_span_holds(const struct checkpoint_span *s, const struct checkpoint *k)
{
	if (k->pid != s->pid || k->begin_ns > s->to_ns)
		return false;
	return k->folder ? k->end_ns >= s->from_ns : k->tid == s->tid && k->begin_ns >= s->from_ns;
}

const struct checkpoint *checkpoints_of(const struct checkpoints *c,
					const struct checkpoint_span *s)
{
	const struct checkpoint *best = NULL;

	for (uint32_t i = c->count; i; i--) {
		const struct checkpoint *k = &c->items[i - 1];

		if (!k->stepped && checkpoint_span_holds(s, k) &&
		    (!best || (k->likely && !best->likely)))
			best = k;
	}
	return best;
}

void checkpoints_stepped(struct checkpoints *c, const struct checkpoint_span *s, uint64_t step,
			 bool estimated)
{
	for (uint32_t i = c->count; i; i--) {
		struct checkpoint *k = &c->items[i - 1];

		if (k->stepped || !checkpoint_span_holds(s, k))
			continue;
		k->step = step;
		k->stepped = k->likely = true;
		k->estimated = estimated;
	}
}

bool checkpoints_before(const struct checkpoints *c, const struct checkpoint *k, uint64_t *ret_step)
{
	bool wrote = false;

	*ret_step = 0;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct checkpoint *o = &c->items[i];

		if (o == k || o->begin_ns >= k->begin_ns)
			continue;
		wrote |= o->likely && o->pid == k->pid && o->tid == k->tid &&
			 o->begin_ns >= k->born_ns;
		if (o->stepped && o->step > *ret_step)
			*ret_step = o->step;
	}
	return wrote;
}

void checkpoints_raise(struct checkpoints *c, uint32_t pid, uint64_t from_ns, uint64_t step)
{
	for (uint32_t i = c->count; i; i--) {
		struct checkpoint *k = &c->items[i - 1];

		if (!k->stepped && k->pid == pid && k->begin_ns >= from_ns && k->step < step)
			k->step = step;
	}
}

const struct checkpoint *checkpoints_newest(const struct checkpoints *c, uint64_t by_ns)
{
	const struct checkpoint *best = NULL;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct checkpoint *k = &c->items[i];

		if (k->likely && k->whole && k->end_ns <= by_ns &&
		    (!best || k->end_ns >= best->end_ns))
			best = k;
	}
	return best;
}

/* ---- matching -------------------------------------------------------------------------------- */

static enum checkpoint_how checkpoint_file_match(const struct checkpoint *k,
						 const struct checkpoint_file *f, const char *path,
						 size_t path_len, uint32_t name)
{
	uint32_t n = smaller_of(k->files, CHECKPOINT_FILES);
	enum checkpoint_how best = CHECKPOINT_HOW_COUNT, how;
	bool here = checkpoint_path_same(k->path, strlen(k->path), path, path_len);

	for (uint32_t i = 0; i < n; i++) {
		const struct checkpoint_file *o = &k->file[i];
		bool same = o->dev == f->dev && o->ino == f->ino && o->generation == f->generation;
		bool size = o->bytes == f->bytes, age = o->mtime_ns == f->mtime_ns,
		     named = o->name == name;

		how = CHECKPOINT_HOW_COUNT;
		if (same && size && age)
			how = CHECKPOINT_BY_inode;
		else if (here && size && age)
			how = CHECKPOINT_BY_path;
		else if (named && size && age && f->bytes)
			how = CHECKPOINT_BY_copy;
		else if (same)
			how = CHECKPOINT_BY_changed;
		else if (here && size)
			how = CHECKPOINT_BY_size;
		best = how < best ? how : best;
	}
	return best;
}

static struct checkpoint_match checkpoint_match_of(const struct checkpoint *k,
						   enum checkpoint_how how)
{
	return (struct checkpoint_match){
		how,	   confidence[how] * (k->estimated ? DEDUCED : 1),
		k->number, k->step,
		k->pid,	   k->stepped,
		k->likely, k->estimated,
	};
}

bool checkpoints_match(const struct checkpoints *c, const struct checkpoint_file *f,
		       const char *path, struct checkpoint_match *ret)
{
	struct checkpoint_name n = checkpoint_name(path);
	enum checkpoint_how best = CHECKPOINT_HOW_COUNT;
	const struct checkpoint *found = NULL;

	for (uint32_t i = c->count; i && best > CHECKPOINT_BY_inode; i--) {
		enum checkpoint_how how = checkpoint_file_match(&c->items[i - 1], f, path, n.len,
								checkpoint_name_hash(path));

		if (how >= best)
			continue;
		best = how;
		found = &c->items[i - 1];
	}
	if (!found)
		return false;
	*ret = checkpoint_match_of(found, best);
	return true;
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* Records that a file of a checkpoint was read. Of several checkpoints, the one with the highest
 * confidence counts; if their confidence is equal, the one that was read last. */
void checkpoint_resume_read(struct checkpoint_resume *r, const struct checkpoint_match *m,
			    const char *path, const struct checkpoint_name *n)
{
	if (!m && n->numbered) {
		r->numbered = true;
		r->named_step = n->step;
		r->unmatched = gp_probe_hash(path);
	}
	if (!m)
		return;
	r->matched++;
	if (!r->best.how || m->how < r->best.how ||
	    (m->how == r->best.how && m->number > r->best.number))
		r->best = *m;
}

struct checkpoint_match checkpoint_resumed(const struct checkpoint_resume *r,
					   const struct checkpoints *c, uint64_t began_ns,
					   uint32_t first)
{
	static const struct checkpoint none = {.stepped = true};
	bool numbered = c && r->numbered && r->unmatched != first;

	if (r->best.how) {
		struct checkpoint_match m = r->best;
		const struct checkpoint *now = c ? checkpoint_number_find(c, m.number) : NULL;

		/* The step in the checkpoint may have become known after the file was read. */
		if (now && now->stepped) {
			m = checkpoint_match_of(now, m.how);
		}
		return m;
	}
	for (uint32_t i = numbered ? c->count : 0; i; i--)
		if (c->items[i - 1].numbered && c->items[i - 1].named_step == r->named_step &&
		    c->items[i - 1].end_ns <= began_ns)
			return checkpoint_match_of(&c->items[i - 1], CHECKPOINT_BY_number);
	return checkpoint_match_of(&none, CHECKPOINT_BY_nothing);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void checkpoint_match_archive(struct archive *a, struct checkpoint_match *m)
{
	archive_below(a, &m->how, CHECKPOINT_HOW_COUNT);
	archive_fields(a, m, confidence, number, step, pid, stepped, likely, estimated);
}

void checkpoint_resume_archive(struct archive *a, struct checkpoint_resume *r)
{
	checkpoint_match_archive(a, &r->best);
	archive_fields(a, r, matched, named_step, numbered, unmatched);
}

static void checkpoint_archive(struct archive *a, struct checkpoint *k)
{
	archive_fields(a, k, number, begin_ns, end_ns, bytes, step, named_step, born_ns, pid, tid,
		       files);
	archive_below(a, &k->format, CHECKPOINT_FORMATS);
	archive_fields(a, k, numbered, folder, likely, whole, stepped, estimated);
	archive_bytes(a, k->file, sizeof(k->file));
	archive_field(a, k->path);
}

void checkpoints_archive(struct archive *a, struct checkpoints **at)
{
	struct checkpoints *c = *at = archive_object(a, *at, sizeof(*c));
	uint32_t n;

	archive_require(a, c);
	if (!c)
		return;
	n = c->count;
	archive_struct(a, sizeof(struct checkpoint));
	archive_count(a, &n, CHECKPOINTS_MAX + ROOM_MORE, sizeof(*c->items));
	if (archive_reads(a)) {
		c->items = n ? archive_alloc(a, n, sizeof(*c->items)) : NULL;
		c->count = c->room = c->items ? n : 0;
	}
	for (uint32_t i = 0; i < c->count; i++)
		checkpoint_archive(a, &c->items[i]);
	archive_field(a, c->number);
}
