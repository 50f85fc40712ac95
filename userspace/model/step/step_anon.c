/* SPDX-License-Identifier: Apache-2.0 */
/* step_anon.c - finds steps in torch 1.13, whose ranges have no name, by the order of the ranges.
 *
 * After a backward pass a plain loop opens ranges for the optimizer's step, for zero_grad and for
 * the loader. Between two micro-batches it opens only the loader's range. If most backward passes
 * are followed by few ranges, and some by at least two more than that, each pass of the second kind
 * ends a step. If all are followed by two or more ranges, each pass ends a step. If no update is
 * visible, each backward pass ends a step, too, but only on the thread that rule E (step.c) uses:
 * other threads may run nested passes. */
#include "userspace/model/step/step_private.h"

/* If more ranges than this follow a backward pass, the further ones come from an evaluation. Larger
 * counts are reduced to this number. */
#define OPENS_MAX    7
#define OPENS_UPDATE 2 /* number of ranges of an update: the optimizer's step and zero_grad */
/* The usual number of ranges after a backward pass must occur after at least 1 in 4 passes. */
#define BASE_SHARE 4
/* The meaning of the ranges is decided after SETTLE_PLAIN backward passes if an update follows each
 * one, after SETTLE_STEPS updates if several micro-batches make an update, and after SETTLE_NONE
 * backward passes if no update was seen. */
#define SETTLE_PLAIN 8
#define SETTLE_STEPS 3
#define SETTLE_NONE  33
/* If a thread is silent for this time (ns), another thread runs the loop now. */
#define SILENT_NS 1000000000ull

void anon_free(struct anon *a)
{
	if (a)
		free(a->passes);
	free(a);
}

/* Returns the number of ranges after the backward pass, without the range of DDP's forward pass.
 * Ranges of DDP's reducer were already dropped by anon_reducer(). */
static uint32_t anon_pass_opens(const struct anon *a, const struct anon_pass *p)
{
	return a->reduces && p->opens ? p->opens - 1 : p->opens;
}

static struct mark anon_pass_mark(const struct step_finder *sf, const struct anon *a,
				  const struct anon_pass *p, bool update)
{
	struct mark m = p->mark;

	m.hits = (struct hits){.backward = a->gathered};
	if (update && p->second_ns)
		m.end_ns = p->second_ns;
	m.apart = true;
	m.seq = sf->seq;
	m.fetch_seq = m.sep_seq = 0;
	return m;
}

static void anon_pass_give(struct step_finder *sf, struct anon *a, const struct anon_pass *p)
{
	struct mark m;

	a->gathered++;
	if (a->accumulates && anon_pass_opens(a, p) < a->base + OPENS_UPDATE)
		return;
	a->each = a->gathered == a->last ? a->last : 0;
	a->last = a->gathered;
	m = anon_pass_mark(sf, a, p, a->accumulates || a->base >= OPENS_UPDATE);
	a->gathered = 0;
	tracker_mark(sf, FAMILY_ANON, &m);
}

static void anon_count(const struct anon *a, uint32_t *ret_base, uint32_t *ret_low,
		       uint32_t *ret_high)
{
	uint32_t counts[OPENS_MAX + 1] = {0}, base = 0;

	for (uint32_t i = 0; i < a->backlog; i++) {
		uint32_t opens = anon_pass_opens(a, &a->passes[i]);

		counts[opens < OPENS_MAX ? opens : OPENS_MAX]++;
	}
	while (base < OPENS_MAX && counts[base] * BASE_SHARE < a->backlog)
		base++;
	*ret_base = base;
	*ret_low = *ret_high = 0;
	for (uint32_t i = 0; i <= OPENS_MAX; i++)
		*(i >= base + OPENS_UPDATE ? ret_high : ret_low) += counts[i];
}

static bool anon_elected(const struct step_finder *sf, const struct anon *a)
{
	return sf->backward_thread == a->thread + 1;
}

static void anon_settle(struct step_finder *sf, struct anon *a, bool final)
{
	uint32_t base, low, high;
	bool plain, gathers;

	anon_count(a, &base, &low, &high);
	plain = base >= OPENS_UPDATE && a->backlog >= SETTLE_PLAIN;
	gathers = base < OPENS_UPDATE && high >= SETTLE_STEPS && low >= SETTLE_STEPS;
	if (!final && !plain && !gathers && a->backlog < SETTLE_NONE)
		return;
	if (base < OPENS_UPDATE && !high && !anon_elected(sf, a)) {
		a->backlog = 0;
		return;
	}
	a->settled = true;
	a->base = base;
	a->accumulates = base < OPENS_UPDATE && high && low;
	for (uint32_t i = 0; i < a->backlog; i++)
		anon_pass_give(sf, a, &a->passes[i]);
	a->backlog = 0;
	a->passes = grow_free(a->passes, &a->passes_cap);
}

static void anon_pass(struct step_finder *sf, struct anon *a)
{
	struct anon_pass *pass;

	a->running = false;
	if (a->settled) {
		anon_pass_give(sf, a, &a->pass);
		return;
	}
	pass = grow_add(a->passes, a->backlog, a->passes_cap, ANON_PASSES);
	if (!pass) {
		sf->error = -ENOMEM;
		return;
	}
	*pass = a->pass;
	anon_settle(sf, a, a->backlog == ANON_PASSES);
}

static void anon_run(struct step_finder *sf, struct anon *a, const struct mark *m)
{
	if (a->running)
		anon_pass(sf, a);
	a->backwards++;
	a->running = true;
	a->pass = (struct anon_pass){.mark = *m};
}

/* Starts to observe a thread when its first range is seen, and adds its earlier backward passes,
 * which are in the groups held for FAMILY_BACKWARD. No range followed these passes. */
static struct anon *anon_start(struct step_finder *sf, uint32_t thread)
{
	struct tracker *t = sf->trackers[FAMILY_BACKWARD];
	struct candidate *l = t && t->ncandidates ? t->candidates[0] : NULL;
	struct anon *a = calloc(1, sizeof(*a));

	if (!a) {
		sf->error = -ENOMEM;
		return NULL;
	}
	a->thread = thread;
	sf->anon[thread] = a;
	for (uint32_t i = 0; l && anon_elected(sf, a) && i < l->nheld; i++) {
		const struct group *g = &l->held[i];
		struct mark m = {.begin_ns = g->begin_ns, .end_ns = g->end_ns, .tid = g->tid};

		m.thread = thread;
		anon_run(sf, a, &m);
	}
	return a;
}

void anon_backward(struct step_finder *sf, const struct mark *m)
{
	struct anon *a = sf->anon[m->thread];

	for (uint32_t i = 0; i < sf->nthreads; i++) {
		if (i != m->thread && sf->anon[i] && sf->anon[i]->running &&
		    silence_ns(sf, sf->threads[i].seen_ns) >= SILENT_NS)
			anon_pass(sf, sf->anon[i]);
	}
	if (!a && sf->backward_thread == m->thread + 1) {
		a = anon_start(sf, m->thread);
		if (a && a->running && a->pass.mark.end_ns == m->end_ns)
			/* anon_start() found this backward pass among the held groups and has
			 * processed it */
			return;
	}
	if (a)
		anon_run(sf, a, m);
}

void anon_open(struct step_finder *sf, uint32_t thread, uint64_t ts_ns)
{
	struct anon *a = sf->anon[thread];

	sf->anonymous = true;
	if (!a)
		a = anon_start(sf, thread);
	if (!a || !a->running)
		return;
	if (++a->pass.opens == OPENS_UPDATE)
		a->pass.second_ns = ts_ns;
}

/* Notes that an operator updated the parameter `ident` after the thread's last backward pass. */
void anon_operator(struct step_finder *sf, uint32_t thread, uint64_t ident)
{
	struct anon *a = sf->anon[thread];

	if (a && a->running && !a->pass.mark.ident)
		a->pass.mark.ident = ident;
}

/* Resets the count of ranges after the backward pass: DDP's reducer opened those that were counted
 * so far, while the pass ran. (On a GPU the pass runs in the device's thread, and its end is
 * reported later.) */
void anon_reducer(struct step_finder *sf, uint32_t thread)
{
	struct anon *a = sf->anon[thread];

	if ((!a || !a->running) && sf->backward_thread)
		a = sf->anon[sf->backward_thread - 1];
	if (!a || !a->running)
		return;
	a->reduces = true;
	a->pass.opens = 0;
	a->pass.second_ns = 0;
}

/* Call at the end of the process. If the optimizer's step calls a closure that runs the backward
 * passes, no range follows the last passes. If there are as many of these passes as in each of the
 * last two steps, they make a step. */
static void anon_rest(struct step_finder *sf, struct anon *a)
{
	struct mark m;

	if (!a->accumulates || !a->gathered || a->gathered != a->each)
		return;
	m = anon_pass_mark(sf, a, &a->pass, false);
	m.flags |= STEP_imputed;
	tracker_mark(sf, FAMILY_ANON, &m);
}

void anon_finish(struct step_finder *sf)
{
	uint32_t low, high;

	for (uint32_t i = 0; i < STEP_THREADS; i++) {
		struct anon *a = sf->anon[i];

		if (!a)
			continue;
		/* The process ended before it fetched the next batch, so the ranges of that fetch
		 * are missing after the last backward pass. They are added here. */
		if (a->running && !a->settled)
			anon_count(a, &a->base, &low, &high);
		a->pass.opens += a->base;
		if (a->running)
			anon_pass(sf, a);
		if (!a->settled)
			anon_settle(sf, a, true);
		anon_rest(sf, a);
	}
}
