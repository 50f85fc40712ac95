/* SPDX-License-Identifier: Apache-2.0 */
/* step_emit.c - gives finished steps their number, start and end, and queues them. */
#include "userspace/model/step/step_private.h"

#include "userspace/base/hash.h"
#include "userspace/model/step/step_program.h"

static void step_emit_out_push(struct step_finder *sf, const struct step *s)
{
	struct step *out;

	if (sf->out_head && sf->out_head == sf->nout)
		sf->out_head = sf->nout = 0;
	out = grow_add(sf->out, sf->nout, sf->out_cap, UINT32_MAX);
	if (out)
		*out = *s;
	else
		sf->error = -ENOMEM;
}

static void step_loop_remember(struct loop *lp, const struct step *s, struct hits hits)
{
	lp->recent[lp->nrecent % STEP_RECENT] = hits;
	lp->recent_ns[lp->nrecent % STEP_RECENT] = s->end_ns - s->start_ns;
	lp->nrecent++;
	lp->ambiguous += !!(s->flags & STEP_ambiguous);
	lp->tainted = lp->tainted << 1 | !!(s->flags & STEP_tainted);
}

/* Returns a hash that identifies the step's optimizer. A hyperparameter search makes an optimizer
 * for each model, perhaps with parameters at the same address, so the number of optimizers made is
 * part of the hash. That number is not used if a new optimizer is made every few steps (all train
 * one model then), or if several loops run. If this update's optimizer is unknown, the loop's usual
 * optimizer is used. */
static uint64_t step_optimizer(const struct step_finder *sf, const struct candidate *l,
			       const struct token *t)
{
	bool counts = sf->nloops <= 1 && !candidate_inner(sf, l);
	uint64_t ident = t->ident ? t->ident : l->unit.pattern[0].ident,
		 made = counts ? sf->optimizers : 0;

	if (l->unit.by_class)
		ident = 0;
	return t->name ^ ident << 32 ^ ident ^ hash_bytes(HASH_START, &made, sizeof(made));
}

static void step_loop_give(struct step_finder *sf, struct candidate *l, const struct group *g,
			   uint32_t flags)
{
	struct loop *lp = sf->loops[l->loop];
	struct step s = {
		.loop = l->loop,
		.start_ns = lp->start_ns,
		.end_ns = g->end_ns,
		.micro_batches = (uint32_t)g->hits.backward,
		.updates = g->updates,
		.flags = flags,
		.tier = family_row[l->family].tier,
		.boundary = step_boundary_of(sf, l->family),
		.unit = step_unit(sf),
		.series = step_series_of(sf, lp, l->family),
		.tid = g->tid,
		.optimizer = step_optimizer(sf, l, &g->token),
	};

	lp->waits = lp->waits << 1 | sf->waited;
	sf->waited = false;

	if (!g->skipped)
		lp->number++;
	s.number = lp->number;
	lp->start_ns = s.end_ns;
	step_loop_remember(lp, &s, g->hits);
	step_emit_out_push(sf, &s);
}

void step_emit(struct step_finder *sf, struct candidate *l, const struct group *g)
{
	struct loop *lp = sf->loops[l->loop];
	uint32_t flags = g->flags;
	uint64_t start_ns = lp->start_ns;

	/* This family may have been elected late. Skip groups of a time for which steps were
	 * already made of another family's marks. */
	if (lp->nrecent && (l->family == FAMILY_ANON ? g->begin_ns : g->end_ns) <= start_ns)
		return;
	if (candidate_doubtful(sf, l))
		flags |= STEP_ambiguous;
	if (g->skipped) {
		step_loop_give(sf, l, g, flags | STEP_skipped_update);
		return;
	}
	if (sf->config.multiply <= 1) {
		step_loop_give(sf, l, g, flags);
		return;
	}
	if (!lp->nmany)
		lp->many = *g;
	else {
		lp->many.end_ns = g->end_ns;
		lp->many.tid = g->tid;
		lp->many.updates += g->updates;
		lp->many.hits = hits_add(lp->many.hits, g->hits);
		lp->many.flags |= flags;
	}
	if (++lp->nmany < sf->config.multiply)
		return;
	lp->nmany = 0;
	step_loop_give(sf, l, &lp->many, lp->many.flags);
}
