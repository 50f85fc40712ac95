/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/measure/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool owners_is_old(const struct owners *o, uint64_t end_ns)
{
	uint64_t now_ns = o->snapshot->mono_ns;

	return now_ns > end_ns && now_ns - end_ns > OWNERS_GRACE_NS;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool owners_job_over(const struct job_view *j)
{
	return j->state == JOB_OVER || j->state == JOB_ENDED;
}

static bool owners_job_replaced(const struct snapshot *s, uint32_t at)
{
	const struct job_view *own = &s->jobs[at];

	for (uint32_t i = 0; i < s->njobs; i++) {
		const struct job_view *j = &s->jobs[i];

		if (i == at || !export_job_same(j, own))
			continue;
		if (owners_job_over(j) != owners_job_over(own) ? owners_job_over(own) : i > at)
			return true;
	}
	return false;
}

static void owners_take_jobs(struct owners *o, size_t most, bool over)
{
	for (uint32_t i = 0; i < o->snapshot->njobs; i++) {
		const struct job_view *j = &o->snapshot->jobs[i];

		if (owners_job_over(j) != over || (over && owners_is_old(o, j->ledger.now_ns)))
			continue;
		if (owners_job_replaced(o->snapshot, i))
			o->jobs_same_name += !over;
		else if (o->njobs == most)
			o->jobs_no_room++;
		else
			o->jobs[o->njobs++].job = j;
	}
}

/* ---- processes ------------------------------------------------------------------------------- */

struct candidate { /* a process that may have series */
	const struct rank_view *r;
	uint32_t at;  /* index of the process in the snapshot */
	uint32_t job; /* index of its job in the snapshot; njobs: none */
	const char *name;
	bool by_pid;
	bool kept;
};

static uint32_t owners_job_of(const struct snapshot *s, uint64_t key)
{
	uint32_t i = key ? 0 : s->njobs;

	while (i < s->njobs && s->jobs[i].key != key)
		i++;
	return i;
}

static int owners_same_series(const struct candidate *a, const struct candidate *b)
{
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	if (a->by_pid != b->by_pid)
		return a->by_pid ? 1 : -1;
	if (!a->by_pid && a->r->rank != b->r->rank)
		return a->r->rank < b->r->rank ? -1 : 1;
	return a->by_pid && a->r->pid != b->r->pid ? a->r->pid < b->r->pid ? -1 : 1 : 0;
}

/* Orders processes by series. Of several processes with the same series, the process that keeps the
 * series comes first. */
static int owners_series_order(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	int order = owners_same_series(a, b);

	if (order)
		return order;
	if (a->r->alive != b->r->alive)
		return a->r->alive ? -1 : 1;
	if (a->r->trainer != b->r->trainer)
		return a->r->trainer ? -1 : 1;
	if (a->r->start_mono_ns != b->r->start_mono_ns)
		return a->r->start_mono_ns > b->r->start_mono_ns ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static int owners_snapshot_order(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->r->alive != b->r->alive)
		return a->r->alive ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void owners_take_rank(struct owners *o, const struct candidate *c)
{
	struct owner_rank *own = &o->ranks[o->nranks++];

	own->rank = c->r;
	own->job = c->job < o->snapshot->njobs ? &o->snapshot->jobs[c->job] : NULL;
	own->job_id = own->job ? export_job_name(own->job, own->name) : c->r->job;
	own->by_pid = c->by_pid;
	for (size_t i = 0; i < o->njobs && own->job; i++)
		own->job_shown |= o->jobs[i].job == own->job && own->job->reported_here;
}

/* Selects the first training process of each job's last run, even if it has ended and others
 * continue. With another rank, the job's counters would seem to increase. */
static void owners_take_first(struct owners *o)
{
	const struct snapshot *s = o->snapshot;

	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];
		uint32_t job = r->trainer ? owners_job_of(s, r->job_key) : s->njobs;

		for (size_t k = 0; job < s->njobs && k < o->njobs; k++)
			if (o->jobs[k].job == &s->jobs[job] &&
			    (!o->jobs[k].first || r->run > o->jobs[k].first->run))
				o->jobs[k].first = r;
	}
}

/* Collects the processes that may have series. An ended process keeps its series until the next run
 * of its job begins. */
static uint32_t owners_candidates(const struct owners *o, struct candidate *all, uint32_t *newest,
				  char (*room)[EXPORT_JOB_ROOM])
{
	const struct snapshot *s = o->snapshot;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nranks; i++) {
		uint32_t job = owners_job_of(s, s->ranks[i].job_key);

		if (newest[job] < s->ranks[i].run)
			newest[job] = s->ranks[i].run;
	}
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];
		uint32_t job = owners_job_of(s, r->job_key);

		if (s->node.on && !r->trainer) /* does not train: a server, or an idle process */
			continue;
		if (!r->alive && (owners_is_old(o, r->ledger.now_ns) ||
				  (job < s->njobs && r->run < newest[job])))
			continue;
		all[n] = (struct candidate){.r = r, .at = i, .job = job, .name = r->job};
		if (job < s->njobs)
			all[n].name = export_job_name(&s->jobs[job], room[job]);
		all[n].by_pid = r->rank < 0 || !*all[n].name;
		n++;
	}
	return n;
}

static void owners_take_ranks(struct owners *o, size_t most, struct candidate *all, uint32_t n)
{
	qsort(all, n, sizeof(*all), owners_series_order);
	for (uint32_t i = 0; i < n; i++) {
		all[i].kept = !i || owners_same_series(&all[i - 1], &all[i]);
		o->ranks_same_rank += !all[i].kept && all[i].r->alive;
	}
	qsort(all, n, sizeof(*all), owners_snapshot_order);
	for (uint32_t i = 0; i < n; i++) {
		if (all[i].kept && o->nranks == most)
			o->ranks_no_room++;
		else if (all[i].kept)
			owners_take_rank(o, &all[i]);
	}
}

int owners_select(struct owners *ret, const struct snapshot *s, size_t most_jobs, size_t most_ranks)
{
	struct candidate *all = calloc((size_t)s->nranks + 1, sizeof(*all));
	uint32_t *newest = calloc((size_t)s->njobs + 1, sizeof(*newest));
	char(*room)[EXPORT_JOB_ROOM] = calloc((size_t)s->njobs + 1, EXPORT_JOB_ROOM);
	bool ok;

	*ret = (struct owners){.snapshot = s};
	ret->jobs = calloc((size_t)s->njobs + 1, sizeof(*ret->jobs));
	ret->ranks = calloc((size_t)s->nranks + 1, sizeof(*ret->ranks));
	ok = all && newest && room && ret->jobs && ret->ranks;
	if (ok) {
		owners_take_jobs(ret, most_jobs, false);
		owners_take_jobs(ret, most_jobs, true);
		owners_take_ranks(ret, most_ranks, all, owners_candidates(ret, all, newest, room));
		owners_take_first(ret);
	}
	free(all);
	free(newest);
	free(room);
	return ok ? 0 : -ENOMEM;
}

void owners_free(struct owners *o)
{
	free(o->jobs);
	free(o->ranks);
	*o = (struct owners){0};
}

void owners_points(const struct owners *o, const struct measure *m, size_t from, size_t to,
		   measure_point_fn *point, void *ctx)
{
	struct measure_put put = {
		.measure = m, .types = &o->snapshot->types, .point = point, .ctx = ctx};

	for (size_t i = 0; m->owner == MEASURE_JOB && i < o->njobs; i++) {
		put.job = o->jobs[i].job;
		if (put.job->reported_here)
			m->put(&put);
	}
	for (size_t i = from; m->owner != MEASURE_JOB && i < to && i < o->nranks; i++) {
		put.rank = o->ranks[i].rank;
		put.job = o->ranks[i].job;
		if (!put.rank->trainer)
			continue;
		if (m->owner == MEASURE_RANK)
			m->put(&put);
		for (uint32_t k = 0; m->owner == MEASURE_LOOP && k < put.rank->nloops; k++) {
			put.loop = &put.rank->loops[k];
			m->put(&put);
		}
	}
}
