/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_who.c - whose series a page has: each name once, and of all no more than there is room
 * for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

static bool old(const struct page *p, uint64_t end_ns)
{
	return p->s->mono_ns > end_ns && p->s->mono_ns - end_ns > PROMETHEUS_GRACE_NS;
}

/* ---- jobs
 * ---------------------------------------------------------------------------------------- */

const char *page_job_name(const struct job_view *j, char room[PAGE_JOB_MAX])
{
	if (*j->name)
		return j->name;
	snprintf(room, PAGE_JOB_MAX, "pid-%u", j->first_pid);
	return room;
}

static bool job_over(const struct job_view *j)
{
	return j->state == JOB_OVER || j->state == JOB_ENDED;
}

/* A name may read as what another job that has none is called. */
static bool same_name(const struct job_view *a, const struct job_view *b)
{
	char room[2][PAGE_JOB_MAX];

	if (*a->name && *b->name)
		return !strcmp(a->name, b->name);
	if (!*a->name && !*b->name)
		return a->first_pid == b->first_pid;
	if (strncmp(*a->name ? a->name : b->name, "pid-", 4) != 0)
		return false;
	return !strcmp(page_job_name(a, room[0]), page_job_name(b, room[1]));
}

/* Two jobs of one name (one ended long ago): the one that goes on has the series, else the newer
 * one. */
static bool job_replaced(const struct snapshot *s, uint32_t at)
{
	const struct job_view *own = &s->jobs[at];

	for (uint32_t i = 0; i < s->njobs; i++) {
		const struct job_view *j = &s->jobs[i];

		if (i == at || !same_name(j, own))
			continue;
		if (job_over(j) != job_over(own) ? job_over(own) : i > at)
			return true;
	}
	return false;
}

static void take_jobs(struct page *p, bool over)
{
	for (uint32_t i = 0; i < p->s->njobs; i++) {
		const struct job_view *j = &p->s->jobs[i];

		if (job_over(j) != over || (over && old(p, j->ledger.now_ns)))
			continue;
		if (job_replaced(p->s, i))
			p->jobs_same_name += !over;
		else if (p->njobs == PROMETHEUS_JOBS)
			p->jobs_no_room++;
		else
			p->jobs[p->njobs++] = j;
	}
}

/* ---- processes
 * ----------------------------------------------------------------------------------- */

struct one { /* a process that may have series */
	const struct rank_view *r;
	uint32_t at;	  /* in the snapshot */
	uint32_t job;	  /* in the snapshot; njobs: none */
	const char *name; /* job_id */
	bool by_pid;
	bool kept;
};

static uint32_t job_of(const struct snapshot *s, uint64_t key)
{
	uint32_t i = key ? 0 : s->njobs;

	while (i < s->njobs && s->jobs[i].key != key)
		i++;
	return i;
}

static int same_series(const struct one *a, const struct one *b)
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

/* Of one series, who has it comes first: who lives, trains, is newer. */
static int series_order(const void *x, const void *y)
{
	const struct one *a = x, *b = y;
	int order = same_series(a, b);

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

static int snapshot_order(const void *x, const void *y)
{
	const struct one *a = x, *b = y;

	if (a->r->alive != b->r->alive)
		return a->r->alive ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void rank_labels(struct page *p, const struct one *o)
{
	buffer_add(&p->labels, "{", 1);
	metric_label(&p->labels, "job_id", o->name);
	if (o->r->rank >= 0)
		metric_label_uint(&p->labels, "rank", (uint64_t)o->r->rank);
	if (o->by_pid)
		metric_label_uint(&p->labels, "pid", o->r->pid);
	p->label_end[p->nranks] = p->labels.len;
	p->by_pid[p->nranks] = o->by_pid;
	for (size_t i = 0; i < p->njobs && o->job < p->s->njobs; i++)
		p->of_job[p->nranks] |= p->jobs[i] == &p->s->jobs[o->job] && p->jobs[i]->told_here;
	p->ranks[p->nranks++] = o->r;
}

/* Of each job its first trainer in its last run, also when that has ended and others go on: another
 * one's counts, which are about as many, would be taken for so many more. */
static void take_first(struct page *p)
{
	for (uint32_t i = 0; i < p->s->nranks; i++) {
		const struct rank_view *r = &p->s->ranks[i];
		uint32_t job = r->trainer ? job_of(p->s, r->job_key) : p->s->njobs;

		for (size_t k = 0; job < p->s->njobs && k < p->njobs; k++)
			if (p->jobs[k] == &p->s->jobs[job] &&
			    (!p->first[k] || r->run > p->first[k]->run))
				p->first[k] = r;
	}
}

/* Those that may have series: what ended has none once its job's next run has begun. */
static uint32_t candidates(struct page *p, struct one *all, uint32_t *newest,
			   char (*room)[PAGE_JOB_MAX])
{
	const struct snapshot *s = p->s;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nranks; i++) {
		uint32_t job = job_of(s, s->ranks[i].job_key);

		if (newest[job] < s->ranks[i].run)
			newest[job] = s->ranks[i].run;
	}
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];
		uint32_t job = job_of(s, r->job_key);

		if (s->node.on && !r->trainer) /* of a whole node: what serves, or idles */
			continue;
		if (!r->alive &&
		    (old(p, r->ledger.now_ns) || (job < s->njobs && r->run < newest[job])))
			continue;
		all[n] = (struct one){.r = r, .at = i, .job = job, .name = r->job};
		if (job < s->njobs)
			all[n].name = page_job_name(&s->jobs[job], room[job]);
		all[n].by_pid = r->rank < 0 || !*all[n].name;
		n++;
	}
	return n;
}

static void take_ranks(struct page *p, struct one *all, uint32_t n)
{
	qsort(all, n, sizeof(*all), series_order);
	for (uint32_t i = 0; i < n; i++) {
		all[i].kept = !i || same_series(&all[i - 1], &all[i]);
		p->ranks_same_rank += !all[i].kept && all[i].r->alive;
	}
	qsort(all, n, sizeof(*all), snapshot_order);
	for (uint32_t i = 0; i < n && !p->labels.failed; i++) {
		if (all[i].kept && p->nranks == PROMETHEUS_RANKS)
			p->ranks_no_room++;
		else if (all[i].kept)
			rank_labels(p, &all[i]);
	}
}

int page_who(struct page *p)
{
	const struct snapshot *s = p->s;
	struct one *all = calloc((size_t)s->nranks + 1, sizeof(*all));
	uint32_t *newest = calloc((size_t)s->njobs + 1, sizeof(*newest));
	char(*room)[PAGE_JOB_MAX] = calloc((size_t)s->njobs + 1, PAGE_JOB_MAX);
	bool ok;

	p->attach = calloc((size_t)s->nattach + 1, sizeof(const struct attach_view *));
	ok = all && newest && room && p->attach;
	if (ok) {
		take_jobs(p, false);
		take_jobs(p, true);
		take_ranks(p, all, candidates(p, all, newest, room));
		take_first(p);
		for (uint32_t i = 0; i < s->nattach; i++)
			p->attach[p->nattach++] = &s->attach[i];
		qsort(p->attach, p->nattach, sizeof(const struct attach_view *), page_attach_order);
	}
	free(all);
	free(newest);
	free(room);
	return ok && !p->labels.failed ? 0 : -ENOMEM;
}

/* ---- who is left out
 * ----------------------------------------------------------------------------- */

static void unshown(struct page *p, const struct family *f, const char *cause, size_t count)
{
	metric_label(page_sample(p, f->name, NULL), "cause", cause);
	page_value_uint(p, p->out, count);
}

void page_jobs_unshown(struct page *p, const struct family *f)
{
	if (!p->s)
		return;
	unshown(p, f, "room", p->jobs_no_room);
	unshown(p, f, "same_name", p->jobs_same_name);
}

void page_ranks_unshown(struct page *p, const struct family *f)
{
	if (!p->s)
		return;
	unshown(p, f, "room", p->ranks_no_room + (size_t)p->s->unfollowed);
	unshown(p, f, "same_rank", p->ranks_same_rank);
}
