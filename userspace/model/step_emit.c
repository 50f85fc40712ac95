/* SPDX-License-Identifier: Apache-2.0 */
/* step_emit.c - numbers and times of finished steps. */
#include "userspace/model/step_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/model/step_program.h"

#define WAIT_STEPS 8  /* before it is said that each step waits for the device */
#define WAIT_SHARE 90 /* of the last 32, per cent */

enum step_boundary family_boundary(enum family f)
{
	static const enum step_boundary boundary[] = {
		[FAMILY_RANGES] = BOUNDARY_UPDATE_EXIT,	 [FAMILY_ZERO_GRAD] = BOUNDARY_ZERO_GRAD,
		[FAMILY_UPDATE_OP] = BOUNDARY_UPDATE_OP, [FAMILY_REDUCER] = BOUNDARY_REDUCER,
		[FAMILY_ANON] = BOUNDARY_BACKWARD,	 [FAMILY_BACKWARD] = BOUNDARY_BACKWARD,
		[FAMILY_EXECUTE] = BOUNDARY_EXECUTE,	 [FAMILY_SYNC] = BOUNDARY_SYNC,
		[FAMILY_PROBE] = BOUNDARY_PROBE,	 [FAMILY_NONE] = BOUNDARY_NONE,
	};

	return boundary[f];
}

enum step_boundary step_boundary_of(const struct step_finder *sf, enum family f)
{
	if (f == FAMILY_EXECUTE && sf->exec && sf->exec->completes)
		return BOUNDARY_COMPLETION;
	return family_boundary(f);
}

enum step_series step_series_of(const struct step_finder *sf, const struct loop *lp, enum family f)
{
	enum step_boundary b = step_boundary_of(sf, f);
	uint32_t n = lp->nrecent < 32 ? (uint32_t)lp->nrecent : 32;
	uint32_t last = n < 32 ? (1u << n) - 1 : UINT32_MAX;

	if (b == BOUNDARY_COMPLETION || b == BOUNDARY_SYNC)
		return SERIES_SYNC;
	if (n >= WAIT_STEPS &&
	    100u * (uint32_t)__builtin_popcount(lp->waits & last) >= WAIT_SHARE * n)
		return SERIES_SYNC;
	return b == BOUNDARY_EXECUTE ? SERIES_RATE : SERIES_HOST;
}

enum step_tier family_tier(enum family f)
{
	if (f == FAMILY_NONE)
		return TIER_NONE;
	return f == FAMILY_REDUCER || f < FAMILY_ANON ? TIER_A : TIER_B;
}

static void out_push(struct step_finder *sf, const struct step *s)
{
	struct step *out;

	if (sf->out_head && sf->out_head == sf->nout)
		sf->out_head = sf->nout = 0;
	out = grow_items(sf->out, &sf->out_cap, sf->nout + 1, UINT32_MAX, sizeof(*out));
	if (!out) {
		sf->error = -ENOMEM;
		return;
	}
	sf->out = out;
	sf->out[sf->nout++] = *s;
}

static void loop_remember(struct loop *lp, const struct step *s, struct hits hits)
{
	lp->recent[lp->nrecent % STEP_RECENT] = hits;
	lp->recent_ns[lp->nrecent % STEP_RECENT] = s->end_ns - s->start_ns;
	lp->nrecent++;
	lp->tainted = lp->tainted << 1 | !!(s->flags & STEP_tainted);
}

static void loop_give(struct step_finder *sf, struct lane *l, const struct group *g, uint32_t flags)
{
	struct loop *lp = sf->loops[l->loop];
	struct step s = {
		.loop = l->loop,
		.start_ns = lp->start_ns,
		.end_ns = g->end_ns,
		.micro_batches = (uint32_t)g->hits.backward,
		.updates = g->updates,
		.flags = flags,
		.tier = family_tier(l->family),
		.boundary = step_boundary_of(sf, l->family),
		.unit = step_unit(sf),
		.series = step_series_of(sf, lp, l->family),
		.tid = g->tid,
	};

	lp->waits = lp->waits << 1 | sf->waited;
	sf->waited = false;

	if (!g->skipped)
		lp->number++;
	s.number = lp->number;
	lp->start_ns = s.end_ns;
	loop_remember(lp, &s, g->hits);
	out_push(sf, &s);
}

void step_emit(struct step_finder *sf, struct lane *l, const struct group *g)
{
	struct loop *lp = sf->loops[l->loop];
	uint32_t flags = g->flags;
	uint64_t start_ns = lp->start_ns;

	/* A family elected late finds in its hands what another one gave out already. */
	if (lp->nrecent && g->end_ns <= start_ns)
		return;
	if (l->unit.ambiguous)
		flags |= STEP_ambiguous;
	if (g->skipped) {
		loop_give(sf, l, g, flags | STEP_skipped_update);
		return;
	}
	if (sf->config.multiply <= 1) {
		loop_give(sf, l, g, flags);
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
	loop_give(sf, l, &lp->many, lp->many.flags);
}
