/* SPDX-License-Identifier: Apache-2.0 */
/* model_view.c - makes snapshots: the state of all processes and jobs at one instant. */
#include "userspace/model/model_private.h"

#include <stdio.h>

uint64_t model_roles(const struct model *m)
{
	uint64_t roles = 0;
	struct rank *r;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));)
		roles |= rank_roles(r, m->now_ns);
	return roles;
}

uint32_t model_chosen(const struct model *m)
{
	return m->env.step.probe;
}

static int model_view_compare_views(const void *a, const void *b)
{
	const struct rank_view *x = a, *y = b;

	if (x->trainer != y->trainer)
		return x->trainer ? -1 : 1;
	if (x->rank != y->rank)
		/* the cast sorts an unknown rank (-1) last */
		return (unsigned)x->rank < (unsigned)y->rank ? -1 : 1;
	if (x->start_mono_ns != y->start_mono_ns)
		return x->start_mono_ns < y->start_mono_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int model_view_snapshot_rank(const struct model *m, const struct rank *r, struct snapshot *s,
				    bool figures)
{
	struct rank_view *v = &s->ranks[s->nranks];
	int err = rank_view(r, m->now_ns, figures, v);

	s->nranks += !err;
	return err;
}

/* Returns the number of ranks in a snapshot. They are counted before memory is allocated, because a
 * view is large and often only few of a thousand watched processes are shown. */
static size_t model_view_ranks_shown(const struct model *m)
{
	size_t at = 0, n = m->ndead;
	struct rank *r;

	while ((r = table_next(m->live, &at, NULL)))
		n += rank_shown(r);
	return n;
}

static int model_view_snapshot_ranks(const struct model *m, struct snapshot *s, bool figures)
{
	struct rank *r;
	size_t at = 0;
	int err = 0;

	s->ranks = calloc(model_view_ranks_shown(m) + 1, sizeof(*s->ranks));
	if (!s->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < m->ndead; i++)
		err = model_view_snapshot_rank(m, m->dead[i], s, figures);
	while (!err && (r = table_next(m->live, &at, NULL)))
		err = rank_shown(r) ? model_view_snapshot_rank(m, r, s, figures) : 0;
	qsort(s->ranks, s->nranks, sizeof(*s->ranks), model_view_compare_views);
	return err;
}

static struct job_view *model_view_snapshot_job_find(const struct snapshot *s, uint64_t key)
{
	for (uint32_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].key == key)
			return &s->jobs[i];
	return NULL;
}

/* Names what is missing in the measured operations of a job. */
static void model_view_uncounted(const struct model *m, struct job_view *j)
{
	const struct model_probe *mp = table_get(m->probes.table, j->work.uncounted);
	const char *name = mp ? mp->def.id : "";

	if (j->program.source == PROGRAM_configured)
		name = "";
	else if (j->work.uncounted == UNCOUNTED_ACCELERATOR)
		name = "accelerator";
	else if (j->work.uncounted == UNCOUNTED_RANKS)
		name = "ranks";
	snprintf(j->program.uncounted, sizeof(j->program.uncounted), "%s", name);
}

static int model_view_snapshot_jobs(const struct model *m, struct snapshot *s, bool figures)
{
	const struct jobs *js = &m->env.jobs;

	s->jobs = calloc(js->count + 1, sizeof(*s->jobs));
	if (!s->jobs)
		return -ENOMEM;
	for (s->njobs = 0; s->njobs < js->count; s->njobs++) {
		job_view(js->job[s->njobs], m->now_ns, &s->jobs[s->njobs]);
		if (figures)
			job_view_windows(js->job[s->njobs], model_env_windows(&m->env),
					 &s->jobs[s->njobs]);
	}
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];
		struct job_view *j = r->alive && r->job_key
					     ? model_view_snapshot_job_find(s, r->job_key)
					     : NULL;

		if (j)
			job_view_rank(j, &(struct job_view_share){
						 .ledger = &r->ledger,
						 .accelerators = r->accelerators,
						 .operations = &r->operations,
						 .operations_steps = r->operations_steps,
						 .uncounted = r->uncounted,
					 });
	}
	for (uint32_t i = 0; i < s->njobs; i++) {
		job_view_work(&s->jobs[i], &m->env.program);
		model_view_uncounted(m, &s->jobs[i]);
	}
	return 0;
}

static struct snapshot *model_view_snapshot_new(struct model *m, bool figures)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->references = 1;
	if (model_view_snapshot_ranks(m, s, figures) || model_view_snapshot_jobs(m, s, figures) ||
	    model_probes_view(&m->probes, &s->attach)) {
		snapshot_unref(s);
		return NULL;
	}
	s->number = ++m->number;
	s->mono_ns = m->now_ns;
	s->real_ns = anchors_real(&m->env.anchors, m->now_ns);
	s->session = m->session;
	s->session_ns = m->session_ns;
	s->session_real_ns = m->session_real_ns;
	s->ended = m->ended;
	s->end = m->end;
	s->types = m->env.ranges.types;
	s->nattach = m->probes.nattach;
	s->budget_ppm = m->env.budget_ppm;
	s->program = m->env.program;
	memcpy(s->lost, m->lost, sizeof(s->lost));
	s->events = m->events;
	s->ledger_violations = m->env.ledger_violations;
	s->unfollowed = m->unfollowed;
	s->forgotten = m->forgotten;
	s->dropped = m->dropped;
	return s;
}

struct snapshot *model_snapshot(struct model *m)
{
	return model_view_snapshot_new(m, true);
}

struct snapshot *model_snapshot_brief(struct model *m)
{
	return model_view_snapshot_new(m, false);
}
