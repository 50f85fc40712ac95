/* SPDX-License-Identifier: Apache-2.0 */
/* range_share.c - the time of each named range within a step. For each thread there is a stack of
 * open ranges. When the stack changes, the time since its last change is added to the range on top,
 * as a piece. Pieces of a thread do not overlap, so the time of a name in a step is the sum of its
 * pieces in it. */
#include "userspace/model/time/range_share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/base/number.h"

/* threads with a stack; a further thread replaces the one that was idle longest */
#define THREADS 16
/* limit of different names of ranges that are kept for a process; the others become NAME_OTHER */
#define NAMES	   64
#define NAME_OTHER NAMES
/* limit of pieces that are kept for steps not reported yet; beyond it, the oldest pieces are
 * dropped */
#define PIECES	   8192
#define PIECES_MIN 32

struct share_range {
	uint64_t begin_ns;
	uint8_t name;
};

struct share_thread {
	uint32_t tid;
	uint64_t seen_ns; /* time of the last change of the thread's stack of open ranges */
	struct share_range *open;
	uint32_t nopen, open_cap; /* at most GP_RANGE_DEPTH */
};

struct share_piece { /* time of one range on one thread; pieces are sorted by end_ns */
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	uint8_t name;
};

struct share_loop {
	uint32_t loop, nnames;
	uint64_t end_ns; /* end of the last step of this loop */
	uint8_t name[SHARE_NAMES];
	uint64_t ns[SHARE_PARTS], steps[SHARE_PARTS];
};

struct range_shares {
	struct share_thread *threads;
	uint32_t nthreads, threads_cap;
	char (*names)[GP_NAME_MAX];
	uint32_t nnames, names_cap;
	struct share_loop *loops;
	uint32_t nloops, loops_cap; /* at most STEP_LOOPS */
	struct share_piece *pieces; /* ring of the last pieces */
	uint64_t first, next;
	uint32_t cap;	  /* capacity of the ring: 0, or a power of two */
	uint64_t gone_ns; /* end of the last piece that was dropped */
};

struct range_shares *range_shares_new(void)
{
	return calloc(1, sizeof(struct range_shares));
}

void range_shares_free(struct range_shares *rs)
{
	if (!rs)
		return;
	for (uint32_t i = 0; i < rs->nthreads; i++)
		free(rs->threads[i].open);
	free(rs->threads);
	free(rs->names);
	free(rs->loops);
	free(rs->pieces);
	free(rs);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static struct share_piece *range_share_piece_at(const struct range_shares *rs, uint64_t i)
{
	return &rs->pieces[i & (rs->cap - 1)];
}

/* Returns true if no later step of any loop can contain the oldest piece. */
static bool range_share_piece_over(const struct range_shares *rs)
{
	if (!rs->nloops || !rs->cap)
		return false;
	for (uint32_t i = 0; i < rs->nloops; i++)
		if (rs->loops[i].end_ns < range_share_piece_at(rs, rs->first)->end_ns)
			return false;
	return true;
}

/* Adds a piece for the range on top of the stack: the time since the last change of the stack. */
static int range_share_piece_add(struct range_shares *rs, const struct share_thread *t,
				 uint64_t now_ns)
{
	int err = 0;

	if (!t->nopen || now_ns <= t->seen_ns)
		return 0;
	if (rs->next - rs->first == rs->cap && rs->cap < PIECES && !range_share_piece_over(rs))
		err = grow_ring(rs->pieces, rs->first, rs->next, rs->cap, PIECES_MIN);
	if (!rs->cap)
		return err;
	if (rs->next - rs->first == rs->cap)
		rs->gone_ns = range_share_piece_at(rs, rs->first++)->end_ns;
	*range_share_piece_at(rs, rs->next++) = (struct share_piece){
		.begin_ns = t->seen_ns,
		.end_ns = now_ns,
		.tid = t->tid,
		.name = t->open[t->nopen - 1].name,
	};
	return err;
}

/* ---- open ranges ----------------------------------------------------------------------------- */

static struct share_thread *share_thread_find(const struct range_shares *rs, uint32_t tid)
{
	for (uint32_t i = 0; i < rs->nthreads; i++)
		if (rs->threads[i].tid == tid)
			return &rs->threads[i];
	return NULL;
}

static struct share_thread *share_thread_of(struct range_shares *rs, uint32_t tid)
{
	struct share_thread *t = share_thread_find(rs, tid);

	if (t)
		return t;
	if (rs->nthreads == THREADS) {
		t = &rs->threads[0];
		for (uint32_t i = 1; i < THREADS; i++)
			t = rs->threads[i].seen_ns < t->seen_ns ? &rs->threads[i] : t;
		t->tid = tid;
		t->nopen = 0;
		return t;
	}
	t = grow_add(rs->threads, rs->nthreads, rs->threads_cap, THREADS);
	if (t)
		*t = (struct share_thread){.tid = tid};
	return t;
}

static uint8_t range_share_name_of(struct range_shares *rs, const char *text)
{
	char(*name)[GP_NAME_MAX];

	if (!*text || !strcmp(text, SHARE_OTHER))
		return NAME_OTHER;
	for (uint32_t i = 0; i < rs->nnames; i++)
		if (!strcmp(rs->names[i], text))
			return (uint8_t)i;
	name = grow_add(rs->names, rs->nnames, rs->names_cap, NAMES);
	if (!name)
		return NAME_OTHER;
	snprintf(*name, sizeof(*name), "%s", text);
	return (uint8_t)(rs->nnames - 1);
}

static int range_opens(struct range_shares *rs, const struct signal *s)
{
	struct share_thread *t = share_thread_of(rs, s->tid);
	struct share_range *open;
	int err;

	if (!t)
		return -ENOMEM;
	err = range_share_piece_add(rs, t, s->ts_ns);
	/* such a depth is not plausible: the ends of ranges were lost */
	if (t->nopen == GP_RANGE_DEPTH)
		t->nopen = 0;
	open = grow_add(t->open, t->nopen, t->open_cap, GP_RANGE_DEPTH);
	if (!open)
		return -ENOMEM;
	*open = (struct share_range){s->begin_ns, range_share_name_of(rs, s->text)};
	t->seen_ns = s->ts_ns;
	return err;
}

static int range_closes(struct range_shares *rs, const struct signal *s)
{
	struct share_thread *t = share_thread_find(rs, s->tid);
	uint32_t at = t ? t->nopen : 0;
	int err;

	while (at && t->open[at - 1].begin_ns != s->begin_ns)
		at--;
	if (!at)
		return 0;
	/* If a record may have been lost since the last change, the time since then is not added to
	 * any range. */
	err = s->tainted ? 0 : range_share_piece_add(rs, t, s->ts_ns);
	t->nopen = at - 1;
	t->seen_ns = s->ts_ns;
	return err;
}

int range_shares_feed(struct range_shares *rs, const struct signal *s)
{
	switch (s->kind) {
	case SIGNAL_RANGE_BEGIN:
	case SIGNAL_FORWARD:
		return range_opens(rs, s);
	case SIGNAL_RANGE:
		return range_closes(rs, s);
	case SIGNAL_GAP:
		for (uint32_t i = 0; i < rs->nthreads; i++)
			rs->threads[i].nopen = 0;
		return 0;
	default:
		return 0;
	}
}

/* ---- steps ----------------------------------------------------------------------------------- */

static struct share_loop *share_loop_find(const struct range_shares *rs, uint32_t loop)
{
	for (uint32_t i = 0; i < rs->nloops; i++)
		if (rs->loops[i].loop == loop)
			return &rs->loops[i];
	return NULL;
}

static struct share_loop *share_loop_of(struct range_shares *rs, uint32_t loop)
{
	struct share_loop *l = share_loop_find(rs, loop);

	if (l)
		return l;
	l = grow_add(rs->loops, rs->nloops, rs->loops_cap, STEP_LOOPS);
	if (l)
		*l = (struct share_loop){.loop = loop};
	return l;
}

/* Returns the index of a range's name in l->name; adds the name if there is room. Returns
 * SHARE_NAMES (which stands for all other ranges) if there is none, or if the name is
 * NAME_OTHER. */
static uint32_t share_loop_part(struct share_loop *l, uint8_t name)
{
	if (name == NAME_OTHER)
		return SHARE_NAMES;
	for (uint32_t i = 0; i < l->nnames; i++)
		if (l->name[i] == name)
			return i;
	if (l->nnames == SHARE_NAMES)
		return SHARE_NAMES;
	l->name[l->nnames] = name;
	return l->nnames++;
}

/* Returns the index of the first piece that ends after ns. */
static uint64_t range_share_pieces_after(const struct range_shares *rs, uint64_t ns)
{
	uint64_t low = rs->first, high = rs->next;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (range_share_piece_at(rs, mid)->end_ns > ns)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void range_share_parts_add(struct share_loop *l, uint64_t *ns, const struct step *s,
				  uint8_t name, uint64_t from_ns, uint64_t to_ns)
{
	from_ns = larger_of(from_ns, s->start_ns);
	to_ns = smaller_of(to_ns, s->end_ns);
	if (to_ns > from_ns)
		ns[share_loop_part(l, name)] += to_ns - from_ns;
}

/* Fills *ret with ranges and their times. steps: number of steps with each range; NULL: the times
 * are of a single step. */
static void range_share_parts_view(const struct range_shares *rs, const struct share_loop *l,
				   const uint64_t *ns, const uint64_t *steps,
				   struct share_view *ret)
{
	ret->nparts = 0;
	for (uint32_t i = 0; i < SHARE_PARTS; i++) {
		struct share_part *p = &ret->part[ret->nparts];

		if (!ns[i])
			continue;
		snprintf(p->name, sizeof(p->name), "%s",
			 i < SHARE_NAMES ? rs->names[l->name[i]] : SHARE_OTHER);
		p->ns = ns[i];
		p->steps = steps ? steps[i] : 1;
		ret->nparts++;
	}
}

bool range_shares_step(struct range_shares *rs, const struct step *s, bool counts,
		       struct share_view *ret)
{
	const struct share_thread *t = share_thread_find(rs, s->tid);
	struct share_loop *l = share_loop_of(rs, s->loop);
	uint64_t ns[SHARE_PARTS] = {0},
		 i = rs->cap ? range_share_pieces_after(rs, s->start_ns) : rs->next;

	ret->nparts = 0;
	if (l && s->end_ns > l->end_ns)
		l->end_ns = s->end_ns;
	if (!l || s->flags & STEP_tainted || s->start_ns < rs->gone_ns)
		return false;
	for (; i < rs->next; i++) {
		const struct share_piece *p = range_share_piece_at(rs, i);

		if (p->tid == s->tid)
			range_share_parts_add(l, ns, s, p->name, p->begin_ns, p->end_ns);
	}
	/* the range on top is still open, so it covers the rest of the step */
	if (t && t->nopen)
		range_share_parts_add(l, ns, s, t->open[t->nopen - 1].name, t->seen_ns, UINT64_MAX);
	for (uint32_t k = 0; counts && k < SHARE_PARTS; k++) {
		l->ns[k] += ns[k];
		l->steps[k] += ns[k] > 0;
	}
	range_share_parts_view(rs, l, ns, NULL, ret);
	return true;
}

void range_shares_view(const struct range_shares *rs, uint32_t loop, struct share_view *ret)
{
	const struct share_loop *l = share_loop_find(rs, loop);

	ret->nparts = 0;
	if (l)
		range_share_parts_view(rs, l, l->ns, l->steps, ret);
}

/* ---- state ----------------------------------------------------------------------------------- */

static void share_threads_archive(struct archive *a, struct range_shares *rs)
{
	archive_items(a, rs->threads, rs->nthreads, rs->threads_cap, THREADS);
	for (uint32_t i = 0; i < rs->nthreads; i++) {
		struct share_thread *t = &rs->threads[i];

		archive_fields(a, t, tid, seen_ns);
		archive_items(a, t->open, t->nopen, t->open_cap, GP_RANGE_DEPTH);
		for (uint32_t k = 0; k < t->nopen; k++) {
			archive_field(a, t->open[k].begin_ns);
			archive_below(a, &t->open[k].name, NAMES + 1);
			archive_require(a, t->open[k].name == NAME_OTHER ||
						   t->open[k].name < rs->nnames);
		}
	}
}

/* The capacity of the ring is saved too: it decides when a full ring grows. */
static void share_pieces_archive(struct archive *a, struct range_shares *rs)
{
	archive_fields(a, rs, first, gone_ns);
	archive_ring(a, rs->pieces, rs->first, rs->next, rs->cap, PIECES_MIN, PIECES);
	for (uint64_t i = rs->first; i < rs->next; i++) {
		struct share_piece *p = range_share_piece_at(rs, i);

		archive_fields(a, p, begin_ns, end_ns, tid);
		archive_below(a, &p->name, NAMES + 1);
		archive_require(a, p->name == NAME_OTHER || p->name < rs->nnames);
	}
}

static void share_loops_archive(struct archive *a, struct range_shares *rs)
{
	archive_items(a, rs->loops, rs->nloops, rs->loops_cap, STEP_LOOPS);
	for (uint32_t i = 0; i < rs->nloops; i++) {
		struct share_loop *l = &rs->loops[i];

		archive_fields(a, l, loop, end_ns);
		archive_below(a, &l->nnames, SHARE_NAMES + 1);
		for (uint32_t k = 0; k < l->nnames; k++) {
			archive_below(a, &l->name[k], NAMES);
			archive_require(a, l->name[k] < rs->nnames);
		}
		archive_fields(a, l, ns, steps);
		for (uint32_t k = l->nnames; k < SHARE_NAMES; k++)
			archive_require(a, !l->ns[k]);
	}
}

void range_shares_archive(struct archive *a, struct range_shares **at)
{
	struct range_shares *rs = *at = archive_object(a, *at, sizeof(*rs));

	if (!rs)
		return;
	archive_items(a, rs->names, rs->nnames, rs->names_cap, NAMES);
	for (uint32_t i = 0; i < rs->nnames; i++)
		archive_field(a, rs->names[i]);
	share_threads_archive(a, rs);
	share_pieces_archive(a, rs);
	share_loops_archive(a, rs);
}
