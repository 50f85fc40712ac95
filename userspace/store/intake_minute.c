/* SPDX-License-Identifier: Apache-2.0 */
/* Minutes of one rank: formed, closed, merged when they cannot be written, written. */
#include <stdlib.h>
#include <string.h>

#include "userspace/store/intake_private.h"

#define MINUTE_NS 60000000000ll

static void minute_add(struct intake_minute *into, const struct intake_minute *m)
{
	sums_add(&into->sums, &m->sums);
	into->steps += m->steps;
	sketch_merge(&into->times, &m->times);
	if (m->until_ns > into->until_ns)
		into->until_ns = m->until_ns;
}

/* The two neighbours that stand for the least time together become one. */
static void minutes_squeeze(struct intake *t, struct intake_rank *r)
{
	struct intake_minute *best = NULL, *next;
	int64_t least = INT64_MAX;

	for (struct intake_minute *m = r->oldest; m && m->next; m = m->next) {
		int64_t ns = sums_total(&m->sums) / 2 + sums_total(&m->next->sums) / 2;

		if (m->number > r->taken && ns < least) {
			least = ns;
			best = m;
		}
	}
	if (!best)
		return;
	next = best->next;
	minute_add(best, next);
	best->number = next->number;
	best->next = next->next;
	if (r->newest == next)
		r->newest = best;
	free(next);
	t->rows--;
	t->lost.merged++;
}

static bool minute_put(struct intake *t, struct intake_rank *r, const struct intake_minute *closed)
{
	struct intake_minute *m = malloc(sizeof(*m));

	if (!m)
		return false;
	*m = *closed;
	m->number = ++t->minutes;
	m->next = NULL;
	if (r->newest)
		r->newest->next = m;
	else
		r->oldest = m;
	r->newest = m;
	t->rows++;
	sums_add(&r->closed, &m->sums);
	r->closed_steps += m->steps;
	sketch_merge(&r->closed_times, &m->times);
	if (t->rows > INTAKE_ROWS)
		minutes_squeeze(t, r);
	return true;
}

/* No memory: the minute goes on. */
static void minute_close(struct intake *t, struct intake_rank *r)
{
	if (!minute_put(t, r, &r->running)) {
		t->lost.merged++;
		return;
	}
	memset(&r->running, 0, sizeof(r->running));
	r->runs = false;
}

/* ---- a job that is over since it fell
 * ---------------------------------------------------------------- */

static void outage_note(struct intake_rank *r, int64_t minute, const struct sums *more)
{
	struct intake_outage *o = r->outage;

	if (!o)
		o = r->outage = calloc(1, sizeof(*o));
	if (!o)
		return;
	if (!o->count || o->minute[o->count - 1] != minute) {
		if (o->count == INTAKE_OUTAGE)
			return;
		o->minute[o->count++] = minute;
	}
	sums_add(&o->sums[o->count - 1], more);
}

static void outage_drop(struct intake_rank *r)
{
	free(r->outage);
	r->outage = NULL;
}

static void minute_less(struct intake *t, struct intake_rank *r, int64_t minute,
			const struct sums *less)
{
	struct intake_minute m = {.minute = minute, .until_ns = r->about.until_ns};

	if (r->runs && r->running.minute == minute) {
		sums_take(&r->running.sums, less);
		return;
	}
	sums_take(&m.sums, less);
	if (!minute_put(t, r, &m)) { /* the sum stays right */
		t->lost.merged++;
		r->running.minute = r->runs ? r->running.minute : minute;
		r->runs = true;
		sums_take(&r->running.sums, less);
	}
}

/* What the job has not after all: out of the minutes that got it, the last ones first; more:
 * negative. */
static void outage_undo(struct intake *t, struct intake_rank *r, const struct sums *more)
{
	static const struct sums nothing;
	struct intake_outage *o = r->outage;
	struct sums left = {0};

	sums_take(&left, more);
	while (o->count--) {
		struct sums part = o->sums[o->count];

		for (int i = 0; i < SUMS_SLOTS; i++)
			part.ns[i] = part.ns[i] < left.ns[i] ? part.ns[i] : left.ns[i];
		sums_take(&left, &part);
		if (o->count) /* the first one has the rest too, if there is any */
			minute_less(t, r, o->minute[o->count], &part);
		else
			sums_add(&left, &part);
	}
	minute_less(t, r, o->minute[0], &left);
	outage_drop(r);
	sums_add(&r->formed, more);
	r->formed_ns = r->about.until_ns;
	r->running.until_ns = r->formed_ns;
	r->runs = r->running.steps || memcmp(&r->running.sums, &nothing, sizeof(nothing));
	if (!r->runs)
		memset(&r->running, 0, sizeof(r->running));
	r->changed = true;
}

/* ---- forming
 * ----------------------------------------------------------------------------------------- */

void intake_form(struct intake *t, struct intake_rank *r)
{
	int64_t from_ns = r->formed_ns ? r->formed_ns : r->about.start_ns,
		minute = from_ns / MINUTE_NS;
	static const struct sums nothing;
	struct sums more = r->now;

	sums_take(&more, &r->base);
	sums_take(&more, &r->formed);
	if (r->about.ended && r->formed_ns && !r->runs && !r->shown_steps &&
	    !memcmp(&more, &nothing, sizeof(more)))
		return;
	/* Told from a state before the one that is stored, and on its way there. */
	if (sums_total(&more) < 0 && !r->about.ended) {
		if (r->outage && !strcmp(r->about.state, job_state_name[JOB_OVER]))
			outage_undo(t, r, &more);
		return;
	}
	if (r->runs && r->running.minute != minute)
		minute_close(t, r);
	if (!r->runs)
		r->running.minute = minute;
	r->runs = true;
	sums_add(&r->formed, &more);
	sums_add(&r->running.sums, &more);
	if (r->about.job && !strcmp(r->about.state, job_state_name[JOB_DOWN]))
		outage_note(r, minute, &more);
	else
		outage_drop(r);
	r->running.steps += r->shown_steps;
	sketch_merge(&r->running.times, &r->shown_times);
	r->running.until_ns = r->formed_ns = r->about.until_ns;
	r->shown_steps = 0;
	memset(&r->shown_times, 0, sizeof(r->shown_times));
	r->changed = true;
	if (r->about.ended)
		minute_close(t, r);
}

/* What goes on beside what is stored, though another watch knew it: what both saw counts as it is
 * stored, what none saw is not observed. */
static void rebase(struct intake_rank *r, const struct sums *had, int64_t until_ns, bool ended)
{
	int64_t gap_ns = 0;

	memset(&r->base, 0, sizeof(r->base));
	if (!r->about.job) {
		gap_ns = sums_total(&r->first) - sums_total(had);
		r->base = r->first;
	} else if (r->about.start_ns < until_ns) {
		gap_ns = r->first_ns - until_ns;
		r->base = r->first;
	} else if (!ended) {
		gap_ns = r->about.start_ns - until_ns;
	}
	sums_take(&r->base, had);
	r->base.ns[BUCKET_UNOBSERVED] -= gap_ns > 0 ? gap_ns : 0;
	r->rebased = true;
}

void intake_place(struct intake *t, struct intake_rank *r, const struct intake_place *p)
{
	struct sums had = p->closed;
	int64_t until_ns = p->running.until_ns ? p->running.until_ns : p->until_ns;

	sums_add(&had, &p->running.sums);
	r->id = p->id;
	r->placed = true;
	r->settled = p->gone_on && p->ended && !r->about.job;
	r->formed = had;
	r->closed = p->closed;
	r->closed_steps = p->closed_steps;
	r->closed_times = p->closed_times;
	r->running = p->running;
	r->runs = p->running.until_ns;
	r->formed_ns = r->runs ? p->running.until_ns : p->until_ns;
	r->base = p->base;
	/* What was carried here holds what this node had of it before. */
	r->rebased = !p->gone_on && r->about.job && r->about.carried &&
		     sums_total(&r->first) >= sums_total(&had);
	if (r->rebased)
		memset(&r->base, 0, sizeof(r->base));
	else if (!p->gone_on && sums_total(&had))
		rebase(r, &had, until_ns, p->ended);
	if (!r->settled)
		intake_form(t, r);
}

static void minutes_drop(struct intake *t, struct intake_rank *r, uint64_t upto)
{
	while (r->oldest && r->oldest->number <= upto) {
		struct intake_minute *m = r->oldest;

		r->oldest = m->next;
		free(m);
		t->rows--;
	}
	if (!r->oldest)
		r->newest = NULL;
}

void intake_written(struct intake *t, struct intake_rank *r, bool done)
{
	if (done)
		minutes_drop(t, r, r->taken);
	r->changed |= !done;
	r->rebased |= r->rebasing && !done;
	r->earlier |= r->earlying && !done;
	r->rebasing = r->earlying = false;
	r->taken = 0;
	r->settled |= r->about.ended && !r->changed;
}

void intake_unplace(struct intake *t, struct intake_rank *r)
{
	minutes_drop(t, r, UINT64_MAX);
	memset(&r->running, 0, sizeof(r->running));
	r->placed = r->runs = r->settled = false;
	outage_drop(r);
}

void intake_again(struct intake *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct intake_rank *r = t->ranks[i];

		r->shown_steps += r->closed_steps + r->running.steps;
		sketch_merge(&r->shown_times, &r->closed_times);
		sketch_merge(&r->shown_times, &r->running.times);
		intake_unplace(t, r);
		memset(&r->formed, 0, sizeof(r->formed));
		memset(&r->base, 0, sizeof(r->base));
		memset(&r->closed, 0, sizeof(r->closed));
		memset(&r->closed_times, 0, sizeof(r->closed_times));
		r->closed_steps = r->taken = 0;
		r->id = r->formed_ns = 0;
		r->rebased = r->rebasing = false;
		if (r->falls)
			memset(r->falls, 0, JOB_FALLS * sizeof(*r->falls));
	}
}

void intake_rank_free(struct intake *t, struct intake_rank *r)
{
	minutes_drop(t, r, UINT64_MAX);
	free(r->falls);
	outage_drop(r);
	free(r);
}
