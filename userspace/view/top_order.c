/* SPDX-License-Identifier: Apache-2.0 */
/* top_order.c - filters and sorts the jobs and ranks of gp-bpf top. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/view/top_frame.h"

#define X(id, name, key) [TOP_JOB_##id] = {name, key},
const struct top_sort_row top_job_sorts[TOP_JOB_SORT_COUNT] = {TOP_JOB_SORTS(X)};
#undef X
#define X(id, name, key) [TOP_RANK_##id] = {name, key},
const struct top_sort_row top_rank_sorts[TOP_RANK_SORT_COUNT] = {TOP_RANK_SORTS(X)};
#undef X

/* context that qsort_r() passes to the comparison functions */
struct order {
	const struct top_state *state;
	const struct top_ui *ui;
};

static int top_order_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compares two shares. Negative shares are unknown and come last. */
static int top_order_share_less(double a, double b)
{
	if ((a < 0) != (b < 0))
		return a < 0 ? 1 : -1;
	return a < b ? -1 : a > b;
}

int top_job_trouble(const struct top_job *j)
{
	unsigned marks = top_job_marks(j);

	if (marks & TOP_HUNG)
		return 7;
	if (!strcmp(j->state, "down"))
		return 6;
	if (marks & TOP_SILENT)
		return 5;
	if (marks & TOP_STRAGGLER)
		return 4;
	if (marks & TOP_SLOW)
		return 3;
	if (!strcmp(j->state, "running"))
		return j->futile >= JOB_FUTILE ? 2 : 1;
	return 0;
}

static uint64_t top_order_step_time(const struct top_state *s, const struct top_job *j)
{
	return j->shown < s->nranks ? s->ranks[j->shown].p50_ns : 0;
}

static double top_order_badput_share(const struct top_time *t)
{
	uint64_t ns;

	top_badput(t, &ns);
	return t->observed_ns ? (double)ns / (double)t->observed_ns : 0;
}

static int top_order_jobs_compare(const struct top_state *s, enum top_job_sort by,
				  const struct top_job *a, const struct top_job *b)
{
	char x[80], y[80];

	switch (by) {
	case TOP_JOB_JOB:
		return strcmp(top_job_name(x, sizeof(x), s, a), top_job_name(y, sizeof(y), s, b));
	case TOP_JOB_STATE:
		return strcmp(a->state, b->state);
	case TOP_JOB_RANKS:
		return top_order_compare(b->alive, a->alive);
	case TOP_JOB_STEP:
		return top_order_compare(b->step, a->step);
	case TOP_JOB_TIME:
		return top_order_compare(top_order_step_time(s, b), top_order_step_time(s, a));
	case TOP_JOB_GOODPUT:
		return top_order_share_less(top_goodput(&a->time), top_goodput(&b->time));
	case TOP_JOB_BADPUT:
		return top_order_share_less(top_order_badput_share(&b->time),
					    top_order_badput_share(&a->time));
	case TOP_JOB_DISRUPTIONS:
		return top_order_compare(b->disruptions, a->disruptions);
	default:
		return top_job_trouble(b) - top_job_trouble(a);
	}
}

static int top_order_job_order(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct top_job *x = &o->state->jobs[i], *y = &o->state->jobs[k];
	int by = top_order_jobs_compare(o->state, o->ui->sort, x, y);

	if (!by)
		by = top_order_jobs_compare(o->state, TOP_JOB_JOB, x, y);
	else if (o->ui->reverse)
		by = -by;
	return by ? by : top_order_compare(i, k);
}

static bool top_order_matches(const char *filter, const char *name)
{
	if (!*filter)
		return true;
	if (!strpbrk(filter, "*?["))
		return strcasestr(name, filter);
	return !fnmatch(filter, name, FNM_CASEFOLD);
}

uint32_t top_jobs_order(const struct top_state *s, const struct top_ui *ui, uint32_t ret[TOP_JOBS])
{
	struct order o = {s, ui};
	char name[80];
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->njobs; i++)
		if (top_order_matches(ui->filter, top_job_name(name, sizeof(name), s, &s->jobs[i])))
			ret[n++] = i;
	qsort_r(ret, n, sizeof(*ret), top_order_job_order, &o);
	return n;
}

static double top_order_wait_share(const struct top_rank *r)
{
	double whole = (double)r->mean_ns * (double)r->count;

	return r->wait_known && whole > 0 ? (double)r->wait_ns / whole : -1;
}

static int top_order_ranks_compare(enum top_rank_sort by, const struct top_rank *a,
				   const struct top_rank *b)
{
	switch (by) {
	case TOP_RANK_PID:
		return top_order_compare(a->pid, b->pid);
	case TOP_RANK_NODE:
		return strcmp(a->node, b->node);
	case TOP_RANK_STATE:
		return strcmp(a->state, b->state);
	case TOP_RANK_STEP:
		return top_order_compare(b->step, a->step);
	case TOP_RANK_LAST: /* the rank whose last step is oldest comes first */
		return top_order_compare(a->last_end_ns, b->last_end_ns);
	case TOP_RANK_TIME:
		return top_order_compare(b->p50_ns, a->p50_ns);
	case TOP_RANK_P99:
		return top_order_compare(b->p99_ns, a->p99_ns);
	case TOP_RANK_GOODPUT:
		return top_order_share_less(top_goodput(&a->time), top_goodput(&b->time));
	case TOP_RANK_WAIT: /* The rank that waits least comes first, because the others wait for
			       it. */
		return top_order_share_less(top_order_wait_share(a), top_order_wait_share(b));
	case TOP_RANK_TROUBLE: /* the lowest bit that is set in marks is the worst trouble */
		return top_order_compare((a->marks & -a->marks) - 1u, (b->marks & -b->marks) - 1u);
	default:
		return 0;
	}
}

static int top_order_ranks(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct top_rank *x = &o->state->ranks[i], *y = &o->state->ranks[k];
	int by;

	if (x->alive != y->alive)
		return x->alive ? -1 : 1;
	by = top_order_ranks_compare(o->ui->rank_sort, x, y);
	by = by ? by : top_order_compare(i, k);
	return o->ui->rank_reverse ? -by : by;
}

uint32_t top_ranks_order(const struct top_state *s, const struct top_job *j,
			 const struct top_ui *ui, uint32_t ret[TOP_RANKS])
{
	struct order o = {s, ui};

	for (uint32_t i = 0; i < j->ranks; i++)
		ret[i] = j->first + i;
	qsort_r(ret, j->ranks, sizeof(*ret), top_order_ranks, &o);
	return j->ranks;
}

uint32_t top_job_at(const struct top_state *s, const struct top_ui *ui, const uint32_t *order,
		    uint32_t n)
{
	for (uint32_t i = 0; ui->any && i < n; i++)
		if (!strcmp(s->jobs[order[i]].key, ui->job))
			return i;
	return 0;
}

uint32_t top_rank_at(const struct top_state *s, const struct top_ui *ui, const uint32_t *order,
		     uint32_t n)
{
	for (uint32_t i = 0; ui->any_pid && i < n; i++)
		if (s->ranks[order[i]].pid == ui->pid)
			return i;
	return 0;
}

const struct top_job *top_job_open(const struct top_state *s, const struct top_ui *ui)
{
	for (uint32_t i = 0; ui->open && i < s->njobs; i++)
		if (!strcmp(s->jobs[i].key, ui->job))
			return &s->jobs[i];
	return NULL;
}
