/* SPDX-License-Identifier: Apache-2.0 */
/* phase_step.c - what lies inside a finished step. */
#include "userspace/model/phase_internal.h"

#include <string.h>

struct split { /* a walk through the marks of one step, in order of time */
	struct fact_step *out;
	uint64_t from_ns;     /* where a forward pass may have begun */
	uint64_t forward_ns;  /* parts of one before from_ns, when it was interrupted */
	uint64_t backward_ns; /* where the backward that runs began; 0: none */
	uint64_t updated_ns;  /* end of the last update: their ranges may overlap */
	bool forward, backward, backward_open;
};

/* First mark that ends after ns. */
static uint64_t marks_after(const struct phase_finder *pf, uint64_t ns)
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

/* Marks of the step's thread; of the threads that run its backward when it runs none itself. */
static bool mark_counts(const struct phase_finder *pf, const struct phase_mark *m, const struct step *s)
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

/* ---- breaks -------------------------------------------------------------------------------------- */

/* A backward of the step's loop within (from_ns, to_ns). */
static bool worked(const struct phase_finder *pf, const struct step *s, uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t i = marks_after(pf, from_ns); i < pf->next; i++) {
		const struct phase_mark *m = phase_mark_at(pf, i);

		if (m->begin_ns >= to_ns)
			return false;
		if (m->kind == MARK_BACKWARD && mark_counts(pf, m, s))
			return true;
	}
	return false;
}

static bool break_counts(const struct phase_finder *pf, const struct phase_break *b, const struct step *s,
			 bool alone)
{
	const struct phase_thread *t = phase_thread_find(pf, s->tid);

	return alone || b->tid == s->tid || (t && !t->backward);
}

/* The step starts behind what comes before its work, or ends before what comes after it. */
static void step_cut(const struct phase_finder *pf, const struct phase_break *b, struct step *s,
		     uint64_t *resume_ns)
{
	if (b->end_ns <= s->start_ns || b->end_ns > s->end_ns)
		return;
	if (!worked(pf, s, s->start_ns, b->begin_ns)) {
		s->start_ns = b->end_ns;
		s->flags |= b->estimated ? STEP_estimated : 0;
	} else if (s->boundary != BOUNDARY_UPDATE_EXIT && !worked(pf, s, b->end_ns, s->end_ns)) {
		s->end_ns = b->begin_ns;
		s->flags |= b->estimated ? STEP_estimated : 0;
		*resume_ns = b->end_ns;
	}
}

static void step_cuts(struct phase_finder *pf, struct step *s, bool alone, uint64_t *resume_ns)
{
	uint64_t end_ns = s->end_ns;
	uint32_t kept = 0;

	if (*resume_ns && *resume_ns <= s->end_ns)
		s->start_ns = *resume_ns;
	*resume_ns = 0;
	for (uint32_t i = 0; i < pf->nbreaks; i++) {
		struct phase_break *b = &pf->breaks[i];
		bool counts = break_counts(pf, b, s, alone);

		if (counts)
			step_cut(pf, b, s, resume_ns);
		if (!counts || b->end_ns > end_ns)
			pf->breaks[kept++] = *b;
	}
	pf->nbreaks = kept;
}

/* ---- phases -------------------------------------------------------------------------------------- */

static void split_add(struct split *sp, enum phase p, uint64_t from_ns, uint64_t to_ns)
{
	const struct step *s = &sp->out->step;

	from_ns = from_ns > s->start_ns ? from_ns : s->start_ns;
	to_ns = to_ns < s->end_ns ? to_ns : s->end_ns;
	if (to_ns > from_ns)
		sp->out->phase_ns[p] += to_ns - from_ns;
}

static void split_backward_end(struct split *sp, uint64_t ns)
{
	if (sp->backward_ns) {
		split_add(sp, PHASE_BACKWARD, sp->backward_ns, ns);
		sp->backward = true;
	}
	sp->backward_ns = 0;
}

/* Something else begins: a forward pass goes on behind it. */
static void split_interrupt(struct split *sp, const struct phase_mark *m)
{
	if (!sp->backward_ns && m->begin_ns > sp->from_ns)
		sp->forward_ns += m->begin_ns - sp->from_ns;
	split_backward_end(sp, m->begin_ns);
	sp->from_ns = m->end_ns > sp->from_ns ? m->end_ns : sp->from_ns;
}

static void split_backward(struct split *sp, const struct phase_mark *m)
{
	if (m->begin_ns < sp->updated_ns) /* a closure: its time is the update's */
		return;
	if (!sp->backward_ns && m->begin_ns >= sp->from_ns && m->begin_ns != sp->out->step.start_ns) {
		sp->out->phase_ns[PHASE_FORWARD] += sp->forward_ns + m->begin_ns - sp->from_ns;
		sp->forward = true;
	}
	sp->forward_ns = 0;
	if (!sp->backward_ns && m->begin_ns < sp->out->step.end_ns)
		sp->backward_ns = m->begin_ns;
}

static void split_mark(struct split *sp, const struct phase_mark *m)
{
	switch (m->kind) {
	case MARK_FETCH:
		split_interrupt(sp, m);
		sp->forward_ns = 0;
		split_add(sp, PHASE_DATA, m->begin_ns, m->end_ns);
		break;
	case MARK_BACKWARD:
		split_backward(sp, m);
		break;
	case MARK_UPDATE:
		split_interrupt(sp, m);
		sp->forward_ns = 0;
		split_add(sp, PHASE_UPDATE, m->begin_ns > sp->updated_ns ? m->begin_ns : sp->updated_ns,
			  m->end_ns);
		sp->updated_ns = m->end_ns;
		break;
	case MARK_ZERO_GRAD:
		split_interrupt(sp, m);
		split_add(sp, PHASE_ZERO_GRAD, m->begin_ns, m->end_ns);
		break;
	case MARK_SYNC:
		split_add(sp, PHASE_SYNC, m->begin_ns, m->end_ns);
		break;
	case MARK_GAP:
		break;
	}
}

/* Some of it was not watched: how long it took is known, what it held and whether it was one is not. */
static bool step_unwatched(const struct phase_finder *pf, const struct step *s)
{
	for (uint64_t i = pf->cap ? marks_after(pf, s->start_ns) : pf->next; i < pf->next; i++) {
		const struct phase_mark *m = phase_mark_at(pf, i);

		if (m->begin_ns >= s->end_ns)
			return false;
		if (m->kind == MARK_GAP)
			return true;
	}
	return false;
}

/* The marks are in order of end. An update whose closure ran backwards ends after them. */
static const struct phase_mark *update_around(const struct phase_finder *pf, uint64_t i)
{
	const struct phase_mark *m = phase_mark_at(pf, i);

	for (uint64_t k = i + 1; k < pf->next && k < i + 64; k++) {
		const struct phase_mark *u = phase_mark_at(pf, k);

		if (u->kind == MARK_UPDATE && u->tid == m->tid)
			return u->begin_ns <= m->begin_ns ? u : NULL;
	}
	return NULL;
}

static void split_end(struct split *sp, const struct phase_finder *pf)
{
	static const enum phase phase_of[] = {[MARK_FETCH] = PHASE_DATA,
					      [MARK_UPDATE] = PHASE_UPDATE,
					      [MARK_ZERO_GRAD] = PHASE_ZERO_GRAD,
					      [MARK_SYNC] = PHASE_SYNC};
	struct fact_step *out = sp->out;
	enum step_boundary b = out->step.boundary;

	/* Where the backward ended is known only if what ends the step comes right after it. */
	if (b == BOUNDARY_REDUCER || b == BOUNDARY_UPDATE_OP)
		split_backward_end(sp, out->step.end_ns);
	if (sp->backward && !sp->backward_ns)
		out->phases_known |= 1u << PHASE_BACKWARD;
	else
		out->phase_ns[PHASE_BACKWARD] = 0;
	if (sp->forward)
		out->phases_known |= 1u << PHASE_FORWARD;
	for (int k = MARK_FETCH; k <= MARK_SYNC; k++) {
		if (k != MARK_BACKWARD && pf->seen & 1u << k)
			out->phases_known |= 1u << phase_of[k];
	}
}

static void step_split(struct phase_finder *pf, struct fact_step *out)
{
	const struct step *s = &out->step;
	struct split sp = {.out = out, .from_ns = s->start_ns};
	uint64_t i = marks_after(pf, s->start_ns);

	if (!pf->cap || (i == pf->first && pf->first)) /* some were given up */
		return;
	while (i > pf->first && phase_mark_at(pf, i - 1)->end_ns == s->start_ns)
		i--; /* a backward that ended the step before */
	for (; i < pf->next; i++) {
		const struct phase_mark *m = phase_mark_at(pf, i);

		if (m->begin_ns > s->end_ns)
			break;
		if (m->end_ns == s->start_ns && m->kind != MARK_BACKWARD)
			continue;
		if (!mark_counts(pf, m, s))
			continue;
		if (m->kind == MARK_BACKWARD && update_around(pf, i))
			continue;
		split_mark(&sp, m);
	}
	split_end(&sp, pf);
}

void phase_step(struct phase_finder *pf, const struct step *s, bool alone, uint64_t *resume_ns,
		struct fact_step *ret)
{
	*ret = (struct fact_step){.step = *s};
	step_cuts(pf, &ret->step, alone, resume_ns);
	if (step_unwatched(pf, &ret->step))
		ret->step.flags |= STEP_tainted;
	else
		step_split(pf, ret);
	if (s->end_ns > pf->stepped_ns)
		pf->stepped_ns = s->end_ns;
}
