/* SPDX-License-Identifier: Apache-2.0 */
/* job_named.c - what those who run a job say of it: its name where that comes late, its attempts,
 * and how long its pods took to run. */
#include <stdio.h>
#include <string.h>

#include "userspace/model/job_internal.h"

const char *const schedule_name[SCHEDULE_COUNT] = {
#define X(id, name) [id] = #name,
	SCHEDULE_PARTS(X)
#undef X
};

const char *job_name_of(const struct rank *r)
{
	const char *uid;

	return r->job && *r->job->name ? r->job->name : rank_job_named(r, &uid);
}

/* ---- names
 * ----------------------------------------------------------------------------------------- */

static void former_drop(struct job *j, uint32_t at)
{
	memmove(&j->formers[at], &j->formers[at + 1], (--j->nformers - at) * sizeof(j->formers[0]));
}

void job_formers_take(struct jobs *js, uint64_t key)
{
	for (uint32_t i = 0; i < js->count; i++)
		for (uint32_t k = js->job[i]->nformers; k-- > 0;)
			if (js->job[i]->formers[k].key == key)
				former_drop(js->job[i], k);
}

static void former_add(struct job *j)
{
	struct job_former *f;

	if (j->nformers == JOB_FORMERS)
		former_drop(j, 0);
	f = &j->formers[j->nformers++];
	f->key = j->key;
	memcpy(f->name, j->name, sizeof(f->name));
	memcpy(f->uid, j->uid, sizeof(f->uid));
}

bool job_rename(struct rank *r, uint64_t key)
{
	const struct gp_place *p = r->place;
	struct job *j = r->job;
	const char *name, *uid;

	if (!j || !p || p->job_from == GP_JOB_FROM_none || j->runs != 1 || j->carried_runs ||
	    (j->from != GP_JOB_FROM_none && p->job_from >= j->from) ||
	    jobs_find(&r->env->jobs, key))
		return false;
	name = rank_job_named(r, &uid);
	former_add(j);
	job_formers_take(&r->env->jobs, key);
	j->key = key;
	j->from = p->job_from;
	snprintf(j->name, sizeof(j->name), "%s", name);
	snprintf(j->uid, sizeof(j->uid), "%s", uid);
	return true;
}

/* ---- attempts
 * -------------------------------------------------------------------------------------- */

static int attempt_of(const struct rank *r)
{
	return r->place ? r->place->attempt : -1;
}

bool job_attempt_later(const struct job *j, const struct rank *r)
{
	return j->runs && j->attempt >= 0 && attempt_of(r) > j->attempt;
}

/* The end of the attempt before was not seen here, or was in order: it was elsewhere that the job
 * fell. */
void job_attempt_fell(struct job *j, const struct rank *r)
{
	uint64_t at_ns = j->ref ? r->start_ns : j->time.edge_ns;

	if (j->fell || !j->last_step)
		return;
	j->fell = j->untold = true;
	j->fell_ns = at_ns;
	j->fall = (struct job_fall){
		.why = {.cause = "unseen", .rank = -1, .exit_code = -1},
		.d = {.at_ns = at_ns,
		      .step = (int64_t)j->last_step,
		      .resumed_step = DISRUPTION_NO_STEP},
	};
	job_time_sums(j, at_ns, j->fall_past_ns);
}

void job_attempt(struct job *j, const struct rank *r, bool begins)
{
	if (begins || j->attempt < 0)
		j->attempt = attempt_of(r);
}

/* ---- scheduling
 * ------------------------------------------------------------------------------------ */

static int64_t within(int64_t at, int64_t from, int64_t to)
{
	return at < from ? from : at > to ? to : at;
}

/* Of what lies between two instants, UTC. A pod that was there before is neither made nor placed
 * again. */
static void schedule_split(struct scheduling *s, int64_t from, int64_t to, const struct gp_place *p)
{
	int64_t edge[SCHEDULE_COUNT + 1] = {from};

	if (to < from)
		return;
	edge[1] = within(p->created_ns, from, to);
	edge[2] = within(p->scheduled_ns, edge[1], to);
	edge[3] = within(p->started_ns, edge[2], to);
	edge[4] = to;
	s->known = true;
	for (int i = 0; i < SCHEDULE_COUNT; i++)
		s->ns[i] = (uint64_t)edge[i + 1] - (uint64_t)edge[i];
}

void job_placed(struct rank *r)
{
	const struct gp_place *p = r->place;
	struct job *j = r->job;
	int64_t to;

	if (!j || r->run != j->runs)
		return;
	if (j->attempt < 0)
		j->attempt = attempt_of(r);
	to = anchors_real(&r->env->anchors, r->start_ns);
	if (!p || to <= 0 || p->created_ns <= 0 || p->scheduled_ns <= 0 || p->started_ns <= 0)
		return;
	if (j->fell && j->fall.d.starts && !j->fall.scheduling.known)
		schedule_split(&j->fall.scheduling, anchors_real(&r->env->anchors, j->fall.d.at_ns),
			       to, p);
	else if (j->runs == 1 && !j->carried_runs && !j->scheduling.known)
		schedule_split(&j->scheduling, p->created_ns, to, p);
}

const struct scheduling *job_scheduling(const struct rank *r)
{
	return r->job && r->job->scheduling.known ? &r->job->scheduling : NULL;
}

void scheduling_archive(struct archive *a, struct scheduling *s)
{
	archive_number(a, &s->known);
	archive_numbers(a, s->ns);
}
