/* SPDX-License-Identifier: Apache-2.0 */
/* step_cycle.c - counts cycles: the waits for the device of a process that shows no marker of
 * training. Such a process is not known to train. */
#include "userspace/model/step/step_private.h"

/* Waits must recur for this long (ns), or until the process ends, before they count as cycles. */
#define CYCLE_NS 1000000000ull

static bool cycle_nothing_else(const struct step_finder *sf)
{
	return !sf->exec && !sf->backward && !sf->fetched && !sf->zero_grad && !sf->updates_begun &&
	       !sf->anonymous;
}

static void cycle_mark(struct step_finder *sf, uint64_t i)
{
	const struct cycle *c = sf->cycle;
	struct signal s = {.kind = SIGNAL_SYNC};
	struct step_thread *t;
	struct mark m;

	i %= CYCLE_WAITS;
	s.begin_ns = c->wait[i].begin_ns;
	s.ts_ns = c->wait[i].end_ns;
	s.ident = c->wait[i].ident;
	s.tid = c->wait[i].tid;
	t = step_thread_of(sf, s.tid);
	if (!t)
		return;
	m = mark_make(sf, FAMILY_SYNC, t, &s);
	tracker_mark(sf, FAMILY_SYNC, &m);
}

/* Finds the probe that saw most waits, by the majority vote algorithm. The result is exact if one
 * probe saw more than half of the waits. */
static void cycle_vote(struct cycle *c, const char *probe)
{
	if (!probe)
		return;
	if (!c->votes)
		snprintf(c->probe, sizeof(c->probe), "%s", probe);
	if (!strcmp(c->probe, probe))
		c->votes++;
	else
		c->votes--;
}

/* Starts to report cycles: the last CYCLE_WAITS waits are reported as the first cycles. Earlier
 * waits are only added to the number. */
static void cycle_begin(struct step_finder *sf)
{
	struct cycle *c = sf->cycle;

	step_take(sf, FAMILY_SYNC);
	if (sf->elected != FAMILY_SYNC)
		return;
	sf->loops[0]->used = true;
	sf->loops[0]->start_ns = c->wait[c->n % CYCLE_WAITS].begin_ns;
	sf->loops[0]->number = c->n - CYCLE_WAITS;
	for (uint64_t i = 0; i < CYCLE_WAITS && !sf->error; i++)
		cycle_mark(sf, c->n + i);
}

/* Processes a wait for the device in a process that shows no marker of training. */
void cycle_wait(struct step_finder *sf, const struct signal *s)
{
	struct cycle *c = sf->cycle;
	uint32_t at;

	sf->waited = true;
	if (sf->fixed || (sf->elected != FAMILY_NONE && sf->elected != FAMILY_SYNC) ||
	    !cycle_nothing_else(sf))
		return;
	if (!c)
		c = sf->cycle = calloc(1, sizeof(*c));
	if (!c) {
		sf->error = -ENOMEM;
		return;
	}
	if (!c->n)
		c->first_ns = s->begin_ns;
	cycle_vote(c, s->origin);
	at = c->n++ % CYCLE_WAITS;
	c->wait[at].begin_ns = s->begin_ns;
	c->wait[at].end_ns = s->ts_ns;
	c->wait[at].ident = s->ident;
	c->wait[at].tid = s->tid;
	if (sf->elected == FAMILY_SYNC)
		cycle_mark(sf, at);
	else if (c->n >= CYCLE_WAITS && s->ts_ns >= c->first_ns + CYCLE_NS)
		cycle_begin(sf);
}

void cycle_finish(struct step_finder *sf)
{
	if (sf->cycle && sf->elected == FAMILY_NONE && !sf->fixed && sf->cycle->n >= CYCLE_WAITS &&
	    cycle_nothing_else(sf))
		cycle_begin(sf);
}
