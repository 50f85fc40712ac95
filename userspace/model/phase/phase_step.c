/* SPDX-License-Identifier: Apache-2.0 */
/* phase_step.c - divides a finished step into phases. */
#include "userspace/model/phase/phase_private.h"

#include "userspace/base/number.h"

/* ---- breaks ---------------------------------------------------------------------------------- */

/* Returns the first backward of the step's loop within (from_ns, to_ns); 0: none. */
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

/* Takes the breaks in order of time and merges adjacent ones: an evaluation may contain a
 * checkpoint. Takes only those that ended by end_ns; the others are kept for later steps. */
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

/* The execution ends where the next one was queued: its work is the longest interval between the
 * breaks, of equal ones the later. */
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

/* The step starts after a break before its work, and ends before a break after it. */
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
			/* in the middle of its work: its time cannot be used for statistics */
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

/* Adds a part of a forward pass. */
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

/* Another mark begins: a forward pass continues after it. */
static void phase_step_split_interrupt(struct phase_split *sp, const struct phase_mark *m)
{
	if (!sp->backward_ns)
		phase_step_split_forward(sp, m->begin_ns);
	phase_step_split_backward_end(sp, m->begin_ns);
	sp->from_ns = larger_of(m->end_ns, sp->from_ns);
}

/* Only a batch shows where a forward pass begins: without a loader, rollouts of an agent or the
 * preparation of a batch may come before it. */
static bool phase_step_forward_is_known(const struct phase_split *sp)
{
	return sp->pf->seen & 1u << MARK_FETCH;
}

static void phase_step_split_backward(struct phase_split *sp, const struct phase_mark *m)
{
	if (m->begin_ns < sp->updated_ns) /* a closure: its time is part of the update */
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

/* A part of it was not observed: its length is known, but not its contents, nor whether it was one
 * step. */
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

/* Marks are sorted by their ends. An update whose closure ran backward passes ends after them. */
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

	/* The end of the backward is known only if the end of the step follows at once. */
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

	if (!pf->cap || (i == pf->first && pf->first)) /* some marks were dropped */
		return;
	while (i > pf->first && phase_mark_at(pf, i - 1)->end_ns == s->start_ns)
		i--; /* a backward that ended the previous step */
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
