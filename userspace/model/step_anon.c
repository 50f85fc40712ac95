/* SPDX-License-Identifier: Apache-2.0 */
/* step_anon.c - steps of a torch whose ranges carry no name (1.13): what can be told from their order.
 *
 * Between two backwards of one thread a plain loop opens ranges for the optimizer's step, zero_grad and
 * the loader; between two micro-batches only the loader's. So where few ranges are the rule and two more
 * come now and then, those backwards end a step; where two or more come every time, each backward does.
 */
#include "userspace/model/step_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPENS_MAX    7	/* more are evaluation */
#define OPENS_UPDATE 2	/* the optimizer's step and zero_grad */
#define BASE_SHARE   4	/* 1 in 4 passes: the rule, not an accident */
#define SETTLE_PLAIN 8	/* backwards, when each has an update after it */
#define SETTLE_STEPS 3	/* updates, when batches accumulate */
#define SETTLE_NONE  33 /* backwards without a sign of an update */

/* Without DDP's own: its reducer's were left out (anon_reducer), its forward is one. */
static uint32_t pass_opens(const struct anon *a, const struct anon_pass *p)
{
	return a->reduces && p->opens ? p->opens - 1 : p->opens;
}

static struct mark pass_mark(struct step_finder *sf, const struct anon_pass *p, bool update)
{
	struct mark m = p->mark;

	m.hits = (struct hits){.backward = sf->anon->gathered};
	if (update && p->second_ns)
		m.end_ns = p->second_ns;
	m.apart = true;
	m.seq = sf->seq;
	m.fetch_seq = m.sep_seq = 0;
	return m;
}

static void pass_give(struct step_finder *sf, const struct anon_pass *p)
{
	struct anon *a = sf->anon;
	struct mark m;

	a->gathered++;
	if (a->accumulates && pass_opens(a, p) < a->base + OPENS_UPDATE)
		return;
	a->each = a->gathered == a->last ? a->last : 0;
	a->last = a->gathered;
	m = pass_mark(sf, p, a->accumulates || a->base >= OPENS_UPDATE);
	a->gathered = 0;
	stream_mark(sf, FAMILY_ANON, &m);
}

static void anon_count(const struct anon *a, uint32_t *ret_base, uint32_t *ret_low, uint32_t *ret_high)
{
	uint32_t counts[OPENS_MAX + 1] = {0}, base = 0;

	for (uint32_t i = 0; i < a->backlog; i++) {
		uint32_t opens = pass_opens(a, &a->passes[i]);

		counts[opens < OPENS_MAX ? opens : OPENS_MAX]++;
	}
	while (base < OPENS_MAX && counts[base] * BASE_SHARE < a->backlog)
		base++;
	*ret_base = base;
	*ret_low = *ret_high = 0;
	for (uint32_t i = 0; i <= OPENS_MAX; i++)
		*(i >= base + OPENS_UPDATE ? ret_high : ret_low) += counts[i];
}

static void anon_settle(struct step_finder *sf, bool final)
{
	struct anon *a = sf->anon;
	uint32_t base, low, high;
	bool plain, gathers;

	anon_count(a, &base, &low, &high);
	plain = base >= OPENS_UPDATE && a->backlog >= SETTLE_PLAIN;
	gathers = base < OPENS_UPDATE && high >= SETTLE_STEPS && low >= SETTLE_STEPS;
	if (!final && !plain && !gathers && a->backlog < SETTLE_NONE)
		return;
	a->settled = true;
	a->base = base;
	a->accumulates = base < OPENS_UPDATE && high && low;
	for (uint32_t i = 0; i < a->backlog; i++)
		pass_give(sf, &a->passes[i]);
	a->backlog = 0;
}

static void anon_pass(struct step_finder *sf, const struct anon_pass *p)
{
	struct anon *a = sf->anon;

	if (a->settled) {
		pass_give(sf, p);
		return;
	}
	a->passes[a->backlog++] = *p;
	anon_settle(sf, a->backlog == ANON_PASSES);
}

/* Ranges begin to be seen: the backwards before the first one had none between them. */
static void anon_start(struct step_finder *sf)
{
	struct tracker *t = sf->trackers[FAMILY_BACKWARD];
	struct lane *l = t && t->nlanes ? t->lanes[0] : NULL;

	sf->anon = calloc(1, sizeof(*sf->anon));
	if (!sf->anon) {
		sf->error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; l && i < l->nheld; i++) {
		const struct group *g = &l->held[i];
		struct mark m = {.begin_ns = g->begin_ns, .end_ns = g->end_ns, .tid = g->tid};

		m.thread = sf->backward_thread - 1;
		anon_backward(sf, &m);
	}
}

void anon_backward(struct step_finder *sf, const struct mark *m)
{
	struct anon *a = sf->anon;

	if (!a)
		return;
	if (a->running)
		anon_pass(sf, &a->pass);
	a->backwards++;
	a->running = true;
	a->pass = (struct anon_pass){.mark = *m};
}

void anon_open(struct step_finder *sf, uint32_t tid, uint64_t ts_ns)
{
	struct anon *a;

	if (!sf->anon)
		anon_start(sf);
	a = sf->anon;
	if (!a || !a->running || a->pass.mark.tid != tid)
		return;
	if (++a->pass.opens == OPENS_UPDATE)
		a->pass.second_ns = ts_ns;
}

/* DDP's reducer opens ranges during the backward, before it says that it is done. */
void anon_reducer(struct step_finder *sf)
{
	struct anon *a = sf->anon;

	if (!a || !a->running)
		return;
	a->reduces = true;
	a->pass.opens = 0;
	a->pass.second_ns = 0;
}

/* The last backward of a closure is followed by nothing when the process ends; it is complete when it had
 * as many as those before. */
static void anon_rest(struct step_finder *sf)
{
	struct anon *a = sf->anon;
	struct mark m;

	if (!a->accumulates || !a->gathered || a->gathered != a->each)
		return;
	m = pass_mark(sf, &a->pass, false);
	m.flags |= STEP_imputed;
	stream_mark(sf, FAMILY_ANON, &m);
}

void anon_finish(struct step_finder *sf)
{
	struct anon *a = sf->anon;
	uint32_t low, high;

	if (!a)
		return;
	/* The batch that would have followed was not fetched any more. */
	if (a->running && !a->settled)
		anon_count(a, &a->base, &low, &high);
	a->pass.opens += a->base;
	if (a->running)
		anon_pass(sf, &a->pass);
	a->running = false;
	if (!a->settled)
		anon_settle(sf, true);
	anon_rest(sf);
}
