/* SPDX-License-Identifier: Apache-2.0 */
/* phase_step.c - divides a finished step into phases, and adds up for how long and in which calls
 * it was blocked. */
#include "userspace/model/phase/phase_private.h"

#include "userspace/base/number.h"

/* ---- blocked --------------------------------------------------------------------------------- */

/* Returns the index of the first mark that ends after ns. */
static uint64_t phase_marks_after(const struct phase_finder *pf, uint64_t ns)
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

/* Returns true when the mark counts for the step: it is on the step's thread or, if the step's
 * thread runs no backward passes, on a thread that does. */
static bool phase_mark_counts(const struct phase_finder *pf, const struct phase_mark *m,
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

/* Returns true for blocking marks that count for the step, and for collectives that other threads
 * call after its first backward pass began. */
static bool phase_blocked_counts(const struct phase_split *sp, const struct phase_mark *m)
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

/* Returns the index after the last mark that may overlap the time before to_ns. Marks are sorted by
 * their end, so the first mark that ends at or after to_ns is the last one that may overlap. */
static uint64_t phase_blocked_marks_until(const struct phase_finder *pf, uint64_t first,
					  uint64_t to_ns)
{
	uint64_t last = first;

	while (last < pf->next && (last == first || phase_mark_at(pf, last - 1)->end_ns < to_ns))
		last++;
	return last;
}

/* blocked time of a step within an interval; phase marks are added one by one, the latest first */
struct blocked {
	uint64_t ns[MARK_KINDS];
	uint64_t lowest_ns;  /* start of the earliest mark that was added */
	enum mark_kind kind; /* kind of the earliest mark that was added */
};

/* Adds a mark. If several threads were blocked at once, their common time counts once, for the
 * step's own thread if it is one of them (own). Marks are added in descending order of their end,
 * so the mark overlaps the earlier ones from lowest_ns on. */
static void phase_blocked_add(struct blocked *b, const struct phase_mark *m, bool own,
			      uint64_t from_ns, uint64_t to_ns)
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

/* Returns how long the step was blocked between two instants. Adds the blocked time of each kind of
 * mark to ret_ns[kind]; ret_ns may be NULL. */
static uint64_t phase_blocked_ns(const struct phase_split *sp, uint64_t from_ns, uint64_t to_ns,
				 uint64_t *ret_ns)
{
	struct blocked b = {.lowest_ns = to_ns};
	uint64_t first, sum_ns = 0;

	/* no blocking call was seen, as is usual for a loop on a CPU */
	if (!(sp->pf->seen & MARKS_BLOCKING))
		return 0;
	first = phase_marks_after(sp->pf, from_ns);
	for (uint64_t i = phase_blocked_marks_until(sp->pf, first, to_ns); i > first; i--) {
		const struct phase_mark *m = phase_mark_at(sp->pf, i - 1);

		if (phase_blocked_counts(sp, m))
			phase_blocked_add(&b, m, m->tid == sp->out->step.tid, from_ns, to_ns);
	}
	for (int k = 0; k < MARK_KINDS; k++) {
		sum_ns += b.ns[k];
		if (ret_ns)
			ret_ns[k] += b.ns[k];
	}
	return sum_ns;
}

/* longest intervals in which a step was blocked: in order of time, without overlaps */
struct places {
	struct step_piece piece[STEP_PIECES];
	bool own[STEP_PIECES]; /* the interval is on the step's own thread */
	uint32_t n;
};

static uint64_t phase_blocked_piece_ns(const struct step_piece *p)
{
	return p->to_ns - p->from_ns;
}

/* Makes room for an interval of `ns`, by removing the shortest one if necessary. Returns false if
 * none is shorter than `ns`. */
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

/* Adds an interval that ends after all stored ones. Time in which two threads were blocked is given
 * to the step's own thread, or else to the later interval. */
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

		if (!phase_blocked_counts(sp, m))
			continue;
		p.from_ns = larger_of(p.from_ns, s->start_ns);
		p.to_ns = smaller_of(p.to_ns, s->end_ns);
		if (p.to_ns > p.from_ns)
			phase_blocked_places_add(&at, p, m->tid == s->tid);
	}
	memcpy(out->blocked, at.piece, at.n * sizeof(at.piece[0]));
	out->nblocked = at.n;
}

/* Computes for how long and where the step was blocked, and the remaining time of the host. */
static void phase_split_blocked(struct phase_split *sp)
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

/* ---- breaks ---------------------------------------------------------------------------------- */

/* Returns the start of the first backward pass of the step's loop in (from_ns, to_ns); 0: none. */
static uint64_t phase_first_backward(const struct phase_finder *pf, const struct step *s,
				     uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t i = pf->cap ? phase_marks_after(pf, from_ns) : pf->next; i < pf->next; i++) {
		const struct phase_mark *m = phase_mark_at(pf, i);

		if (m->begin_ns >= to_ns)
			return 0;
		if (m->kind == MARK_BACKWARD && phase_mark_counts(pf, m, s))
			return m->begin_ns;
	}
	return 0;
}

uint64_t phase_worked_ns(const struct phase_finder *pf, const struct step *s)
{
	return phase_first_backward(pf, s, s->start_ns, s->end_ns);
}

static bool phase_step_break_counts(const struct phase_finder *pf, const struct phase_break *b,
				    const struct step *s, bool alone)
{
	const struct phase_thread *t = phase_thread_find(pf, s->tid);

	return alone || b->tid == s->tid || (t && !t->backward);
}

static void step_begins(struct step *s, const struct phase_break *b)
{
	s->start_ns = b->end_ns;
	s->flags |= b->estimated ? STEP_estimated : 0;
}

static void step_ends(struct step *s, const struct phase_break *b)
{
	s->end_ns = b->begin_ns;
	s->flags |= b->estimated ? STEP_estimated : 0;
}

/* Writes the breaks within the step to ret, in order of time. Merges those that touch or overlap:
 * an evaluation may contain a checkpoint. Breaks that end after the step are kept for later
 * steps. */
static uint32_t phase_step_breaks_take(struct phase_finder *pf, const struct step *s, bool alone,
				       struct phase_break *ret)
{
	uint32_t kept = 0, n = 0, merged = 0;

	for (uint32_t i = 0; i < pf->nbreaks; i++) {
		struct phase_break b = pf->breaks[i];
		bool counts = phase_step_break_counts(pf, &b, s, alone);
		uint32_t k = n;

		if (!counts || b.end_ns > s->end_ns)
			pf->breaks[kept++] = b;
		if (!counts || b.end_ns > s->end_ns || b.end_ns <= s->start_ns)
			continue;
		for (; k && ret[k - 1].begin_ns > b.begin_ns; k--)
			ret[k] = ret[k - 1];
		ret[k] = b;
		n++;
	}
	pf->nbreaks = kept;
	for (uint32_t i = 0; i < n; i++) {
		struct phase_break *last = merged ? &ret[merged - 1] : NULL;

		if (!last || ret[i].begin_ns > last->end_ns) {
			ret[merged++] = ret[i];
			continue;
		}
		last->end_ns = larger_of(ret[i].end_ns, last->end_ns);
		last->estimated |= ret[i].estimated;
	}
	return merged;
}

/* Shortens an execution, which ends where the next one was queued, to its longest part without a
 * break. If two are equally long, the last part. */
static void phase_step_cut_execution(const struct phase_break *b, uint32_t n, struct step *s,
				     uint64_t *resume_ns)
{
	uint64_t most_ns = 0, from_ns = s->start_ns;
	uint32_t most = 0;

	for (uint32_t i = 0; i <= n; i++) {
		uint64_t to_ns = i < n ? b[i].begin_ns : s->end_ns;
		uint64_t ns = more_than(to_ns, from_ns);

		if (ns > most_ns || (ns == most_ns && i == n)) {
			most_ns = ns;
			most = i;
		}
		from_ns = i < n ? b[i].end_ns : from_ns;
	}
	if (most)
		step_begins(s, &b[most - 1]);
	if (most == n)
		return;
	*resume_ns = s->end_ns;
	step_ends(s, &b[most]);
}

/* Shortens a step: a break before the first backward pass moves the start of the step, and a break
 * after the last backward pass moves the end. */
static void phase_step_cut_marks(const struct phase_finder *pf, const struct phase_break *b,
				 uint32_t n, struct step *s, uint64_t *resume_ns)
{
	uint64_t end_ns = s->end_ns;

	for (uint32_t i = 0; i < n; i++) {
		if (!phase_first_backward(pf, s, s->start_ns, b[i].begin_ns)) {
			step_begins(s, &b[i]);
		} else if (s->boundary != BOUNDARY_UPDATE_EXIT &&
			   !phase_first_backward(pf, s, b[i].end_ns, end_ns)) {
			step_ends(s, &b[i]);
			*resume_ns = b[n - 1].end_ns;
			return;
			/* A break in the middle of the step cannot be cut off. If its length is an
			 * estimate, the time of the step is, too. */
		} else if (b[i].estimated) {
			s->flags |= STEP_estimated;
		}
	}
}

static void step_cuts(struct phase_finder *pf, struct step *s, bool alone, uint64_t *resume_ns)
{
	struct phase_break breaks[PHASE_BREAKS];
	uint32_t n;

	n = phase_step_breaks_take(pf, s, alone, breaks);
	if (*resume_ns && *resume_ns <= s->end_ns)
		s->start_ns = *resume_ns;
	*resume_ns = 0;
	while (n && breaks[0].end_ns <= s->start_ns)
		memmove(breaks, breaks + 1, --n * sizeof(*breaks));
	if (!n)
		return;
	if (s->boundary == BOUNDARY_EXECUTE)
		phase_step_cut_execution(breaks, n, s, resume_ns);
	else
		phase_step_cut_marks(pf, breaks, n, s, resume_ns);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void phase_step_split_piece(struct phase_split *sp, enum phase p, uint64_t from_ns,
				   uint64_t to_ns)
{
	struct fact_step *out = sp->out;

	if (out->npieces < STEP_PIECES && from_ns >= out->step.start_ns &&
	    to_ns <= out->step.end_ns)
		out->piece[out->npieces++] = (struct step_piece){
			.phase = p, .from_ns = from_ns, .to_ns = to_ns};
}

static void phase_step_split_add(struct phase_split *sp, enum phase p, uint64_t from_ns,
				 uint64_t to_ns)
{
	const struct step *s = &sp->out->step;

	from_ns = larger_of(from_ns, s->start_ns);
	to_ns = smaller_of(to_ns, s->end_ns);
	if (to_ns <= from_ns)
		return;
	sp->out->phase_ns[p] += to_ns - from_ns - phase_blocked_ns(sp, from_ns, to_ns, NULL);
	phase_step_split_piece(sp, p, from_ns, to_ns);
}

/* Adds the time up to to_ns to the forward pass in progress, without time in which the thread was
 * blocked. */
static void phase_step_split_forward(struct phase_split *sp, uint64_t to_ns)
{
	if (to_ns > sp->from_ns)
		sp->forward_ns += to_ns - sp->from_ns -
				  phase_blocked_ns(sp, sp->from_ns, to_ns, NULL);
}

static void phase_step_split_backward_end(struct phase_split *sp, uint64_t ns)
{
	if (sp->backward_ns) {
		phase_step_split_add(sp, PHASE_BACKWARD, sp->backward_ns, ns);
		sp->backward = true;
	}
	sp->backward_ns = 0;
}

/* Ends a part of the forward pass, or the backward pass, at the start of mark m. The forward pass
 * continues after m. */
static void phase_step_split_interrupt(struct phase_split *sp, const struct phase_mark *m)
{
	if (!sp->backward_ns)
		phase_step_split_forward(sp, m->begin_ns);
	phase_step_split_backward_end(sp, m->begin_ns);
	sp->from_ns = larger_of(m->end_ns, sp->from_ns);
}

/* Returns true if the starts of forward passes are known, because the process loads batches.
 * Without a loader, other work may come before the pass: rollouts of an agent, or the preparation
 * of a batch. */
static bool phase_step_forward_is_known(const struct phase_split *sp)
{
	return sp->pf->seen & 1u << MARK_FETCH;
}

static void phase_step_split_backward(struct phase_split *sp, const struct phase_mark *m)
{
	/* The optimizer's closure ran this backward pass, so it is part of the update. */
	if (m->begin_ns < sp->updated_ns)
		return;
	if (!sp->backward_ns && m->begin_ns >= sp->from_ns &&
	    m->begin_ns != sp->out->step.start_ns && phase_step_forward_is_known(sp)) {
		phase_step_split_forward(sp, m->begin_ns);
		sp->out->phase_ns[PHASE_FORWARD] += sp->forward_ns;
		if (m->begin_ns > sp->from_ns)
			phase_step_split_piece(sp, PHASE_FORWARD, sp->from_ns, m->begin_ns);
		sp->forward = true;
	}
	sp->forward_ns = 0;
	if (!sp->backward_ns && m->begin_ns < sp->out->step.end_ns)
		sp->backward_ns = m->begin_ns;
	sp->worked_ns = sp->worked_ns ? sp->worked_ns : m->begin_ns;
}

static void phase_step_split_mark(struct phase_split *sp, const struct phase_mark *m)
{
	switch (m->kind) {
	case MARK_FETCH:
		phase_step_split_interrupt(sp, m);
		sp->forward_ns = 0;
		phase_step_split_add(sp, PHASE_DATA, m->begin_ns, m->end_ns);
		break;
	case MARK_BACKWARD:
		phase_step_split_backward(sp, m);
		break;
	case MARK_UPDATE:
		phase_step_split_interrupt(sp, m);
		sp->forward_ns = 0;
		phase_step_split_add(sp, PHASE_UPDATE, larger_of(m->begin_ns, sp->updated_ns),
				     m->end_ns);
		sp->updated_ns = m->end_ns;
		break;
	case MARK_ZERO_GRAD:
		phase_step_split_interrupt(sp, m);
		phase_step_split_add(sp, PHASE_ZERO_GRAD, m->begin_ns, m->end_ns);
		break;
	default:
		break;
	}
}

/* Returns true if the step contains a gap in observation. Then its contents are unknown, and it may
 * have been more than one step. */
static bool step_unwatched(const struct phase_finder *pf, const struct step *s)
{
	for (uint64_t i = pf->cap ? phase_marks_after(pf, s->start_ns) : pf->next; i < pf->next;
	     i++) {
		const struct phase_mark *m = phase_mark_at(pf, i);

		if (m->begin_ns >= s->end_ns)
			return false;
		if (m->kind == MARK_GAP)
			return true;
	}
	return false;
}

/* Returns the update that contains mark i; NULL: none. An update contains backward passes if the
 * optimizer calls a closure that runs them. The update ends later, so its mark has a higher
 * index. */
static const struct phase_mark *phase_step_update_around(const struct phase_finder *pf, uint64_t i)
{
	const struct phase_mark *m = phase_mark_at(pf, i);

	for (uint64_t k = i + 1; k < pf->next && k < i + 64; k++) {
		const struct phase_mark *u = phase_mark_at(pf, k);

		if (u->kind == MARK_UPDATE && u->tid == m->tid)
			return u->begin_ns <= m->begin_ns ? u : NULL;
	}
	return NULL;
}

static void phase_step_split_end(struct phase_split *sp, const struct phase_finder *pf)
{
	static const struct {
		enum mark_kind mark;
		enum phase phase;
	} known[] = {{MARK_FETCH, PHASE_DATA},	    {MARK_UPDATE, PHASE_UPDATE},
		     {MARK_SYNC, PHASE_SYNC},	    {MARK_COLLECTIVE, PHASE_COLLECTIVE},
		     {MARK_COPY, PHASE_TRANSFER},   {MARK_COPY_OUT, PHASE_TRANSFER},
		     {MARK_COMPILE, PHASE_COMPILE}, {MARK_ZERO_GRAD, PHASE_ZERO_GRAD}};
	struct fact_step *out = sp->out;
	enum step_boundary b = out->step.boundary;

	/* At these boundaries the step ends with its backward pass. Otherwise the end of the last
	 * backward pass is unknown. */
	if (b == BOUNDARY_REDUCER || b == BOUNDARY_UPDATE_OP)
		phase_step_split_backward_end(sp, out->step.end_ns);
	if (sp->backward && !sp->backward_ns)
		out->phases_known |= 1u << PHASE_BACKWARD;
	else
		out->phase_ns[PHASE_BACKWARD] = 0;
	if (sp->forward)
		out->phases_known |= 1u << PHASE_FORWARD;
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		if (pf->seen & 1u << known[k].mark)
			out->phases_known |= 1u << known[k].phase;
	}
	phase_split_blocked(sp);
}

static void step_split(struct phase_finder *pf, struct fact_step *out)
{
	const struct step *s = &out->step;
	struct phase_split sp = {.out = out, .from_ns = s->start_ns, .pf = pf};
	uint64_t i = phase_marks_after(pf, s->start_ns);

	/* marks of this step may have been dropped */
	if (!pf->cap || (i == pf->first && pf->first))
		return;
	while (i > pf->first && phase_mark_at(pf, i - 1)->end_ns == s->start_ns)
		i--; /* include a backward pass whose mark ends at the start of this step */
	for (; i < pf->next; i++) {
		const struct phase_mark *m = phase_mark_at(pf, i);

		if (m->begin_ns > s->end_ns)
			break;
		if (m->end_ns == s->start_ns && m->kind != MARK_BACKWARD)
			continue;
		if (!phase_mark_counts(pf, m, s))
			continue;
		if (m->kind == MARK_BACKWARD && phase_step_update_around(pf, i))
			continue;
		phase_step_split_mark(&sp, m);
	}
	phase_step_split_end(&sp, pf);
}

void phase_step(struct phase_finder *pf, const struct step *s, bool alone, uint64_t *resume_ns,
		struct fact_step *ret)
{
	*ret = (struct fact_step){.step = *s};
	step_cuts(pf, &ret->step, alone, resume_ns);
	if (pf->handed_ns > ret->step.start_ns && pf->handed_ns <= ret->step.end_ns)
		ret->step.flags |= STEP_estimated;
	if (step_unwatched(pf, &ret->step))
		ret->step.flags |= STEP_tainted;
	else
		step_split(pf, ret);
	if (s->end_ns > pf->stepped_ns)
		pf->stepped_ns = s->end_ns;
	for (uint32_t i = 0; pf->bursts && i < pf->nthreads; i++) {
		struct burst *b = &pf->threads[i].save;

		if (b->active && !b->ran_ns && s->end_ns > b->begin_ns)
			b->ran_ns = s->end_ns;
	}
}
