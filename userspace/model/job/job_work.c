/* SPDX-License-Identifier: Apache-2.0 */
/* job_work.c - counts the steps that a job made and lost, and the time of its accelerators,
 * including idle time during outages. */
#include "userspace/model/job/job_private.h"

#include <math.h>

static uint32_t job_work_accelerators_of(const struct job_member *m)
{
	return program_accelerators(&m->env->program, m->accelerated);
}

static void job_work_outage_add(const struct job *j, double *ns, uint64_t to_ns)
{
	const struct job_work *w = &j->work;
	uint64_t excluded_ns = exclusion_within(j->excluded, w->left_ns, to_ns);

	ns[BUCKET_RECOVERY] += (double)(to_ns - w->left_ns - excluded_ns) * w->run_accelerators;
	ns[BUCKET_EXCLUDED] += (double)excluded_ns * w->run_accelerators;
}

/* Begins a run. No other job uses the accelerators while a job is down, so the outage is added to
 * its accelerator time. */
void job_work_begin(struct job *j, const struct job_member *m)
{
	struct job_work *w = &j->work;

	if (j->disrupted && !j->members && m->start_ns > w->left_ns)
		job_work_outage_add(j, w->past_ns, m->start_ns);
	w->before_accelerators = w->run_accelerators;
	w->run_ranks = w->run_accelerators = 0;
	w->run_operations = (struct operations){0};
	w->run_measured = w->run_measured_steps = w->run_uncounted = 0;
}

/* Counts a step. Excluded time counts neither as a part of the step nor in the time from which the
 * rate of steps is computed. */
void job_work_step(struct job *j, uint64_t start_ns, uint64_t end_ns, bool timed)
{
	uint64_t ns = end_ns - start_ns,
		 kept_ns = ns - exclusion_within(j->excluded, start_ns, end_ns);
	double share = ns ? (double)kept_ns / (double)ns : 1;
	struct job_work *w = &j->work;

	w->made++;
	w->excluded += 1 - share;
	w->timed_steps += timed ? share : 0;
	w->timed_ns += timed ? kept_ns : 0;
}

/* Moves lost progress to WASTED. The ranks train together, so every rank lost as much as the
 * reference rank. */
void job_work_lose(struct job *j, uint64_t steps, uint64_t goodput_ns, const struct job_point *p)
{
	struct job_work *w = &j->work;
	double lost_ns = (double)goodput_ns * w->before_accelerators;

	if (lost_ns > w->past_ns[BUCKET_GOODPUT])
		lost_ns = w->past_ns[BUCKET_GOODPUT];
	w->past_ns[BUCKET_GOODPUT] -= lost_ns;
	w->past_ns[BUCKET_WASTED] += lost_ns;
	w->lost += steps;
	w->excluded = fmin(w->excluded,
			   p ? p->excluded : 0); /* remove the excluded shares of the lost steps */
}

/* Lowers the number of measured steps to that of one more rank; 0: it was not measured. */
static void job_work_steps_least(uint32_t *least, uint32_t steps)
{
	if (steps && (!*least || steps < *least))
		*least = steps;
}

void job_work_leave(struct job *j, const struct job_member *m, uint64_t now_ns)
{
	uint32_t n = job_work_accelerators_of(m);
	struct job_work *w = &j->work;
	struct ledger_view v;

	ledger_view(m->ledger, &v);
	for (int b = 0; b < BUCKET_COUNT; b++)
		w->past_ns[b] += (double)v.ns[b] * n;
	w->left_ns = now_ns;
	if (m->run == j->runs) {
		w->run_ranks++;
		w->run_accelerators += n;
		operations_add(&w->run_operations, m->operations, 1);
		w->run_measured += operations_sum(m->operations) > 0;
		job_work_steps_least(&w->run_measured_steps, m->operations_steps);
		w->run_uncounted = w->run_uncounted ? w->run_uncounted : m->uncounted;
	} else if (m->run + 1 == j->runs) {
		w->before_accelerators += n;
	}
}

/* ---- view ------------------------------------------------------------------------------------ */

void job_work_view(const struct job *j, uint64_t now_ns, struct job_view *ret)
{
	const struct job_work *w = &j->work;

	ret->run_ranks = w->run_ranks;
	ret->accelerators = w->run_accelerators;
	for (int b = 0; b < BUCKET_COUNT; b++)
		ret->accelerator_ns[b] = w->past_ns[b];
	if (j->state == JOB_DOWN && now_ns > w->left_ns)
		job_work_outage_add(j, ret->accelerator_ns, now_ns);
	ret->work = (struct program_seen){
		.timed_steps = w->timed_steps,
		.timed_ns = w->timed_ns,
		.made = w->made,
		.lost = w->lost,
		.excluded = w->excluded,
		.operations = w->run_operations,
		.flops_steps = w->run_measured_steps,
		.uncounted = w->run_uncounted,
	};
	ret->run_measured = w->run_measured;
}

void job_view_rank(struct job_view *v, const struct job_view_share *r)
{
	v->run_ranks++;
	v->run_measured += operations_sum(r->operations) > 0;
	operations_add(&v->work.operations, r->operations, 1);
	job_work_steps_least(&v->work.flops_steps, r->operations_steps);
	v->work.uncounted = v->work.uncounted ? v->work.uncounted : r->uncounted;
	v->accelerators += r->accelerators;
	for (int b = 0; b < BUCKET_COUNT; b++)
		v->accelerator_ns[b] += (double)r->ledger->ns[b] * r->accelerators;
}

/* Returns the number of accelerators on all nodes. Each rank on another node is assumed to have as
 * many as a rank on this node. Returns 0 if these have different numbers. */
static double job_work_accelerators_everywhere(const struct job_view *v)
{
	uint32_t each = v->run_ranks ? v->accelerators / v->run_ranks : 0;

	if (v->world_size <= 0 || (uint32_t)v->world_size <= v->run_ranks)
		return v->accelerators;
	return each * v->run_ranks == v->accelerators ? (double)each * v->world_size : 0;
}

void job_view_work(struct job_view *v, const struct program_config *c)
{
	const struct ledger_view *l = &v->ledger;

	/* Ranks on other nodes are assumed to do what those here do, as for accelerators. */
	if (v->run_measured < v->run_ranks && v->run_measured && !v->work.uncounted)
		v->work.uncounted = UNCOUNTED_RANKS;
	if (v->run_ranks && v->world_size > 0 && (uint32_t)v->world_size > v->run_ranks)
		operations_add(&v->work.operations, &v->work.operations,
			       (double)v->world_size / v->run_ranks - 1);
	v->work.accelerators = job_work_accelerators_everywhere(v);
	v->work.goodput_ns = l->ns[BUCKET_GOODPUT];
	v->work.observed_ns = ledger_elapsed(l) - l->ns[BUCKET_UNOBSERVED];
	program_view(c, &v->work, &v->program);
}

/* ---- state ----------------------------------------------------------------------------------- */

void job_work_archive(struct archive *a, struct job_work *w)
{
	archive_fields(a, w, made, lost, timed_steps, timed_ns, excluded);
	archive_require(a, w->timed_steps >= 0 && w->timed_steps <= (double)w->made);
	archive_require(a, w->excluded >= 0 && w->excluded <= (double)w->made);
	archive_field(a, w->past_ns);
	for (int b = 0; b < BUCKET_COUNT; b++)
		archive_require(a, w->past_ns[b] >= 0);
	archive_fields(a, w, run_ranks, run_accelerators, before_accelerators, left_ns);
	operations_archive(a, &w->run_operations);
	archive_fields(a, w, run_measured, run_measured_steps, run_uncounted);
}
