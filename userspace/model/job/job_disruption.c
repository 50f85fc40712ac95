/* SPDX-License-Identifier: Apache-2.0 */
/* job_disruption.c - disruptions of a job: when one begins and ends, its cause, and the facts sent
 * about it. */
#include "userspace/model/job/job_private.h"
#include "userspace/base/number.h"

static void job_disruption_fact(struct model_env *env, const struct job *j,
				const struct job_disruption *disruption, uint64_t now_ns)
{
	struct fact f = {
		.type = FACT_DISRUPTION,
		.number = ++env->facts,
		.mono_ns = now_ns,
		.real_ns = anchors_real(&env->anchors, now_ns),
		.pid = disruption->why.pid,
		.rank = disruption->why.rank,
		.world_size = j->world_size,
		.job = j->name,
		.disruption = disruption,
	};

	if (env->sink)
		env->sink(env->ctx, &f);
}

void job_disruption_open(struct job *j, const struct job_member *m, uint64_t now_ns,
			 const struct job_cause *why)
{
	job_disruption_settle(j);
	j->disrupted = true;
	j->unreported = true;
	j->disruption = (struct job_disruption){
		.why = *why,
		.d = {.at_ns = now_ns,
		      .step = j->last_step ? (int64_t)j->last_step : DISRUPTION_NO_STEP,
		      .resumed_step = DISRUPTION_NO_STEP},
	};
	j->disruption.why.pid = m->pid;
	j->disruption.why.rank = m->process.rank;
	job_time_sums(j, now_ns, j->disruption_past_ns);
}

bool job_cause_noticed(struct job_cause *why, unsigned what)
{
	if (!disruption_cause_is(why->cause, CAUSE_YIELDS_EVENT))
		return false;
	why->cause = disruption_cause_of_notice(what);
	return true;
}

/* Handles an event of the rank's pod or node. An event that followed from the disruption is not its
 * cause: a pod may be deleted, or its node drained, because the job was disrupted. */
void job_noticed(const struct job_member *m, uint64_t now_ns, unsigned what)
{
	struct job *j = jobs_find(&m->env->jobs, m->job_key);

	if (!j || !j->disrupted || !(j->unreported || j->unsettled) ||
	    j->disruption.why.pid != m->pid ||
	    !disruption_cause_is(disruption_cause_of_notice(what), CAUSE_ENDS_PROCESS) ||
	    now_ns - j->disruption.d.at_ns > JOB_GRACE_NS ||
	    !job_cause_noticed(&j->disruption.why, what))
		return;
	if (j->unreported)
		return;
	j->disruptions[(j->ndisruptions - 1) % JOB_DISRUPTIONS] = j->disruption;
	job_disruption_settle(j);
}

static void job_cause_count(struct job *j, enum disruption_cause cause)
{
	uint32_t i = 0;

	while (i < j->ncauses && j->causes[i].cause != cause)
		i++;
	if (i == JOB_CAUSES)
		return;
	if (i == j->ncauses)
		j->causes[j->ncauses++].cause = cause;
	j->causes[i].count++;
}

/* Counts the cause of the last disruption. Called once no other cause can replace it, because a
 * count never decreases. */
void job_disruption_settle(struct job *j)
{
	if (j->unsettled)
		job_cause_count(j, j->disruption.why.cause);
	j->unsettled = false;
}

void job_disruption_report(struct model_env *env, struct job *j, uint64_t now_ns)
{
	j->unreported = false;
	j->disruption.number = ++j->ndisruptions;
	j->unsettled = true;
	if (!disruption_cause_is(j->disruption.why.cause, CAUSE_YIELDS_EVENT))
		job_disruption_settle(j);
	j->disruptions[(j->ndisruptions - 1) % JOB_DISRUPTIONS] = j->disruption;
	job_disruption_fact(env, j, &j->disruption, now_ns);
}

/* Divides the recovery time by bucket. Time that was not settled when the disruption began or ended
 * is added to OTHER. */
static void job_disruption_split(struct job *j, uint64_t end_ns)
{
	struct job_disruption *f = &j->disruption;
	uint64_t sums_ns[BUCKET_COUNT], left_ns = f->d.recovery_ns;

	job_time_sums(j, end_ns, sums_ns);
	for (int b = 0; b < BUCKET_COUNT; b++) {
		f->split_ns[b] = take_up_to(&left_ns,
					    more_than(sums_ns[b], j->disruption_past_ns[b]));
	}
	f->split_ns[BUCKET_OTHER] += left_ns;
	f->d.down_ns = f->split_ns[BUCKET_RECOVERY];
}

void job_disruption_close(struct model_env *env, struct job *j, uint64_t start_ns, uint64_t end_ns,
			  uint64_t step)
{
	struct disruption *d = &j->disruption.d;

	d->resumed_ns = start_ns;
	d->resumed_step = (int64_t)step;
	d->recovery_ns = job_before(d->at_ns, end_ns) ? end_ns - d->at_ns : 0;
	job_disruption_split(j, end_ns);
	job_disruption_settle(j);
	j->disruption.over = true;
	j->disrupted = false;
	j->starts = 0;
	j->disruptions[(j->ndisruptions - 1) % JOB_DISRUPTIONS] = j->disruption;
	job_disruption_fact(env, j, &j->disruption, end_ns);
}
