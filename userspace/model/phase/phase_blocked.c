/* SPDX-License-Identifier: Apache-2.0 */
/* phase_blocked.c - how long a step was blocked, and where. */
#include "userspace/model/phase/phase_private.h"

#include "userspace/base/number.h"

uint64_t phase_marks_after(const struct phase_finder *pf, uint64_t ns)
{
	uint64_t low = pf->first, high = pf->next;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (phase_mark_at(pf, mid)->end_ns > ns)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

bool phase_mark_counts(const struct phase_finder *pf, const struct phase_mark *m,
		       const struct step *s)
{
	const struct phase_thread *t;

	if (m->tid == s->tid)
		return true;
	t = phase_thread_find(pf, s->tid);
	if (t && t->backward)
		return false;
	t = phase_thread_find(pf, m->tid);
	return t && t->backward && !t->updates;
}

/* Returns true for marks of the step's own thread, and for collectives that other threads call for
 * its backward. */
static bool blocked_counts(const struct phase_split *sp, const struct phase_mark *m)
{
	const struct phase_thread *t;

	if (!mark_blocks(m->kind))
		return false;
	if (phase_mark_counts(sp->pf, m, &sp->out->step))
		return true;
	if (m->kind != MARK_COLLECTIVE || !sp->worked_ns || m->begin_ns < sp->worked_ns)
		return false;
	t = phase_thread_find(sp->pf, m->tid);
	return t && !t->backward && !t->updates;
}

/* Returns the index after the last mark that may overlap time up to to_ns: the first mark that ends
 * later. */
static uint64_t phase_blocked_marks_until(const struct phase_finder *pf, uint64_t first,
					  uint64_t to_ns)
{
	uint64_t last = first;

	while (last < pf->next && (last == first || phase_mark_at(pf, last - 1)->end_ns < to_ns))
		last++;
	return last;
}

/* ---- how long -------------------------------------------------------------------------------- */

struct blocked { /* an interval that is summed, from its end to its start */
	uint64_t ns[MARK_KINDS];
	uint64_t lowest_ns;  /* lowest instant summed so far */
	enum mark_kind kind; /* kind of the mark that is counted down to that instant */
};

/* Threads may be blocked at the same time: each moment counts once, for the step's own thread if
 * that is blocked. Earlier marks in this walk end later, so their overlap with this one lasts from
 * their earliest start on. */
static void blocked_add(struct blocked *b, const struct phase_mark *m, bool own, uint64_t from_ns,
			uint64_t to_ns)
{
	uint64_t begin_ns = larger_of(m->begin_ns, from_ns);
	uint64_t end_ns = smaller_of(m->end_ns, to_ns);
	uint64_t shared_ns;

	if (end_ns <= begin_ns)
		return;
	shared_ns = end_ns <= b->lowest_ns ? 0 : end_ns - larger_of(begin_ns, b->lowest_ns);
	b->ns[m->kind] += end_ns - begin_ns - shared_ns;
	if (own && shared_ns <= b->ns[b->kind]) {
		b->ns[b->kind] -= shared_ns;
		b->ns[m->kind] += shared_ns;
	}
	if (begin_ns >= b->lowest_ns)
		return;
	b->lowest_ns = begin_ns;
	b->kind = m->kind;
}

uint64_t phase_blocked_ns(const struct phase_split *sp, uint64_t from_ns, uint64_t to_ns,
			  uint64_t *ret_ns)
{
	struct blocked b = {.lowest_ns = to_ns};
	uint64_t first, sum_ns = 0;

	if (!(sp->pf->seen & MARKS_BLOCKING)) /* usual for loops on a CPU */
		return 0;
	first = phase_marks_after(sp->pf, from_ns);
	for (uint64_t i = phase_blocked_marks_until(sp->pf, first, to_ns); i > first; i--) {
		const struct phase_mark *m = phase_mark_at(sp->pf, i - 1);

		if (blocked_counts(sp, m))
			blocked_add(&b, m, m->tid == sp->out->step.tid, from_ns, to_ns);
	}
	for (int k = 0; k < MARK_KINDS; k++) {
		sum_ns += b.ns[k];
		if (ret_ns)
			ret_ns[k] += b.ns[k];
	}
	return sum_ns;
}

/* ---- where ----------------------------------------------------------------------------------- */

struct places { /* sorted, without overlaps */
	struct step_piece piece[STEP_PIECES];
	bool own[STEP_PIECES]; /* on the step's thread */
	uint32_t n;
};

static uint64_t phase_blocked_piece_ns(const struct step_piece *p)
{
	return p->to_ns - p->from_ns;
}

/* If there is no room, the shortest one is removed. Returns false if that is the new one. */
static bool phase_blocked_places_room(struct places *at, uint64_t ns)
{
	uint32_t least = 0;

	if (at->n < STEP_PIECES)
		return true;
	for (uint32_t i = 1; i < at->n; i++)
		least = phase_blocked_piece_ns(&at->piece[i]) <
					phase_blocked_piece_ns(&at->piece[least])
				? i
				: least;
	if (phase_blocked_piece_ns(&at->piece[least]) >= ns)
		return false;
	at->n--;
	memmove(&at->piece[least], &at->piece[least + 1], (at->n - least) * sizeof(at->piece[0]));
	memmove(&at->own[least], &at->own[least + 1], (at->n - least) * sizeof(at->own[0]));
	return true;
}

/* The piece ends after all stored ones. If two threads were blocked at the same time the piece
 * belongs to the step's own thread, otherwise to the later one; blocked time of another thread
 * before that is dropped. */
static void phase_blocked_places_add(struct places *at, struct step_piece p, bool own)
{
	while (at->n && at->piece[at->n - 1].to_ns > p.from_ns) {
		struct step_piece *last = &at->piece[at->n - 1];

		if (!own && at->own[at->n - 1]) {
			p.from_ns = last->to_ns;
			break;
		}
		last->to_ns = p.from_ns;
		if (last->to_ns > last->from_ns)
			break;
		at->n--;
	}
	if (p.to_ns <= p.from_ns || !phase_blocked_places_room(at, phase_blocked_piece_ns(&p)))
		return;
	at->piece[at->n] = p;
	at->own[at->n++] = own;
}

static void phase_blocked_split_places(const struct phase_split *sp)
{
	static const enum phase phase[MARK_KINDS] = {
		[MARK_SYNC] = PHASE_SYNC,	[MARK_COLLECTIVE] = PHASE_COLLECTIVE,
		[MARK_COPY] = PHASE_TRANSFER,	[MARK_COPY_OUT] = PHASE_TRANSFER,
		[MARK_COMPILE] = PHASE_COMPILE,
	};
	struct fact_step *out = sp->out;
	const struct step *s = &out->step;
	uint64_t first = phase_marks_after(sp->pf, s->start_ns),
		 last = phase_blocked_marks_until(sp->pf, first, s->end_ns);
	struct places at = {.n = 0};

	for (uint64_t i = first; i < last; i++) {
		const struct phase_mark *m = phase_mark_at(sp->pf, i);
		struct step_piece p = {phase[m->kind], m->begin_ns, m->end_ns};

		if (!blocked_counts(sp, m))
			continue;
		p.from_ns = larger_of(p.from_ns, s->start_ns);
		p.to_ns = smaller_of(p.to_ns, s->end_ns);
		if (p.to_ns > p.from_ns)
			phase_blocked_places_add(&at, p, m->tid == s->tid);
	}
	memcpy(out->blocked, at.piece, at.n * sizeof(at.piece[0]));
	out->nblocked = at.n;
}

void phase_split_blocked(struct phase_split *sp)
{
	struct fact_step *out = sp->out;
	uint64_t ns[MARK_KINDS] = {0}, whole_ns = out->step.end_ns - out->step.start_ns, blocked_ns,
		 excluded_ns;

	blocked_ns = phase_blocked_ns(sp, out->step.start_ns, out->step.end_ns, ns);
	excluded_ns = blocked_ns + out->phase_ns[PHASE_DATA];
	out->phase_ns[PHASE_SYNC] = ns[MARK_SYNC];
	out->phase_ns[PHASE_COLLECTIVE] = ns[MARK_COLLECTIVE];
	out->phase_ns[PHASE_TRANSFER] = ns[MARK_COPY] + ns[MARK_COPY_OUT];
	out->phase_ns[PHASE_COMPILE] = ns[MARK_COMPILE];
	out->wait_ns = ns[MARK_SYNC] + ns[MARK_COLLECTIVE] + ns[MARK_COPY_OUT];
	out->host_ns = more_than(whole_ns, excluded_ns);
	out->device_known = sp->pf->seen &
			    (1u << MARK_SYNC | 1u << MARK_COLLECTIVE | 1u << MARK_COPY_OUT);
	if (blocked_ns)
		phase_blocked_split_places(sp);
}
