/* SPDX-License-Identifier: Apache-2.0 */
/* job_named.c - what the cluster reports about a job: its name, which may become known late, the
 * number of the attempt, and how long its pods took to start. */
#include "userspace/model/job/job_private.h"

const char *const schedule_name[SCHEDULE_COUNT] = {
#define X(id, name) [id] = #name,
	SCHEDULE_PARTS(X)
#undef X
};

const char *job_name_of(const struct job_member *m)
{
	const char *uid;

	return m->job && *m->job->name ? m->job->name : job_called(m, &uid);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void job_former_add(struct job *j)
{
	struct job_former *f;

	if (j->nformer_names == JOB_FORMERS)
		job_former_drop(j, 0);
	f = &j->former_names[j->nformer_names++];
	f->key = j->key;
	memcpy(f->name, j->name, sizeof(f->name));
	memcpy(f->uid, j->uid, sizeof(f->uid));
}

bool job_rename(struct job_member *m, uint64_t key)
{
	const struct gp_place *p = m->place;
	struct job *j = m->job;
	const char *name, *uid;

	if (!j || !p || p->job_from == GP_JOB_FROM_none || j->runs != 1 || j->carried_runs ||
	    (j->from != GP_JOB_FROM_none && p->job_from >= j->from) ||
	    jobs_find(&m->env->jobs, key))
		return false;
	name = job_called(m, &uid);
	job_former_add(j);
	job_former_names_take(&m->env->jobs, key);
	j->key = key;
	j->from = p->job_from;
	snprintf(j->name, sizeof(j->name), "%s", name);
	snprintf(j->uid, sizeof(j->uid), "%s", uid);
	return true;
}

/* ---- attempts -------------------------------------------------------------------------------- */

static int job_attempt_of(const struct job_member *m)
{
	return m->place ? m->place->attempt : -1;
}

bool job_attempt_later(const struct job *j, const struct job_member *m)
{
	if (j->members && m->place && m->place->local_attempt)
		return false;
	return j->runs && j->attempt >= 0 && job_attempt_of(m) > j->attempt;
}

/* Opens a disruption before a later attempt begins. No failure of the previous attempt was seen on
 * this node, so the job was disrupted on another one. */
void job_attempt_disrupted(struct job *j, const struct job_member *m)
{
	uint64_t at_ns = j->ref ? m->start_ns : j->time.edge_ns;

	if (j->disrupted || !j->last_step)
		return;
	j->disrupted = j->unreported = true;
	j->failed_ns = at_ns;
	j->disruption = (struct job_disruption){
		.why = {.cause = CAUSE_unseen, .rank = -1, .exit_code = -1},
		.d = {.at_ns = at_ns,
		      .step = (int64_t)j->last_step,
		      .resumed_step = DISRUPTION_NO_STEP},
	};
	job_time_sums(j, at_ns, j->disruption_past_ns);
}

void job_attempt(struct job *j, const struct job_member *m, bool begins)
{
	if (begins || j->attempt < 0)
		j->attempt = job_attempt_of(m);
}

/* ---- scheduling ------------------------------------------------------------------------------ */

static int64_t job_schedule_clamp(int64_t at, int64_t from, int64_t to)
{
	return at < from ? from : at > to ? to : at;
}

/* Divides the time from `from` to `to` (UTC) into the parts of scheduling. If the pod was created
 * or scheduled before `from`, the part for this is 0. */
static void job_schedule_split(struct scheduling *s, int64_t from, int64_t to,
			       const struct gp_place *p)
{
	int64_t edge[SCHEDULE_COUNT + 1] = {from};

	if (to < from)
		return;
	edge[1] = job_schedule_clamp(p->created_ns, from, to);
	edge[2] = job_schedule_clamp(p->scheduled_ns, edge[1], to);
	edge[3] = job_schedule_clamp(p->started_ns, edge[2], to);
	edge[4] = to;
	s->known = true;
	for (int i = 0; i < SCHEDULE_COUNT; i++)
		s->ns[i] = (uint64_t)edge[i + 1] - (uint64_t)edge[i];
}

void job_placed(struct job_member *m)
{
	const struct gp_place *p = m->place;
	struct job *j = m->job;
	int64_t to;

	if (!j || m->run != j->runs)
		return;
	if (j->attempt < 0)
		j->attempt = job_attempt_of(m);
	to = anchors_real(&m->env->anchors, m->start_ns);
	if (!p || to <= 0 || p->created_ns <= 0 || p->scheduled_ns <= 0 || p->started_ns <= 0)
		return;
	if (j->disrupted && j->disruption.d.starts && !j->disruption.scheduling.known)
		job_schedule_split(&j->disruption.scheduling,
				   anchors_real(&m->env->anchors, j->disruption.d.at_ns), to, p);
	else if (j->runs == 1 && !j->carried_runs && !j->scheduling.known)
		job_schedule_split(&j->scheduling, p->created_ns, to, p);
}

const struct scheduling *job_scheduling(const struct job_member *m)
{
	return m->job && m->job->scheduling.known ? &m->job->scheduling : NULL;
}

void scheduling_archive(struct archive *a, struct scheduling *s)
{
	archive_fields(a, s, known, ns);
}

const char *job_called(const struct job_member *m, const char **ret_uid)
{
	bool placed = m->place && *m->place->job;

	*ret_uid = placed && *m->place->job_uid ? m->place->job_uid : m->env->job_uid;
	return placed ? m->place->job : m->process.job;
}
