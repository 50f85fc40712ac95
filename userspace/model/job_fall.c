/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/job_internal.h"

#include <stdio.h>
#include <string.h>

static void fall_fact(struct rank_env *env, const struct job *j, const struct job_fall *fall,
		      uint64_t now_ns)
{
	struct fact f = {
		.type = FACT_DISRUPTION,
		.number = ++env->facts,
		.mono_ns = now_ns,
		.real_ns = anchors_real(&env->anchors, now_ns),
		.pid = fall->why.pid,
		.rank = fall->why.rank,
		.world_size = j->world_size,
		.job = j->name,
		.disruption = fall,
	};

	if (env->sink)
		env->sink(env->ctx, &f);
}

void job_fall_open(struct job *j, const struct rank *r, uint64_t now_ns,
		   const struct job_cause *why)
{
	job_fall_settle(j);
	j->fell = true;
	j->untold = true;
	j->fall = (struct job_fall){
		.why = *why,
		.d = {.at_ns = now_ns,
		      .step = j->last_step ? (int64_t)j->last_step : DISRUPTION_NO_STEP,
		      .resumed_step = DISRUPTION_NO_STEP},
	};
	j->fall.why.pid = r->pid;
	j->fall.why.rank = r->process.rank;
	job_time_sums(j, now_ns, j->fall_past_ns);
}

/* What is done to a pod comes before what its process shows of it. */
static bool outranked(const struct job_cause *why)
{
	static const char *const causes[] = {"asked", "killed", "exit", "crashed"};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (!strcmp(why->cause, causes[i]))
			return true;
	return false;
}

bool job_cause_noticed(struct job_cause *why, unsigned what)
{
	if (!outranked(why))
		return false;
	snprintf(why->cause, sizeof(why->cause), "%s", notice_name[what]);
	return true;
}

/* Who deletes a pod, or drains its node, may do so because it fell. */
void job_noticed(const struct rank *r, uint64_t now_ns, unsigned what)
{
	struct job *j = jobs_find(&r->env->jobs, r->job_key);
	bool ends = what == GP_NOTICE_evicted || what == GP_NOTICE_preempted ||
		    what == GP_NOTICE_oom;

	if (!j || !j->fell || !(j->untold || j->unsettled) || j->fall.why.pid != r->pid || !ends ||
	    now_ns - j->fall.d.at_ns > JOB_GRACE_NS || !job_cause_noticed(&j->fall.why, what))
		return;
	if (j->untold)
		return;
	j->falls[(j->nfalls - 1) % JOB_FALLS] = j->fall;
	job_fall_settle(j);
}

static void cause_count(struct job *j, const char *cause)
{
	uint32_t i = 0;

	while (i < j->ncauses && strcmp(j->causes[i].cause, cause) != 0)
		i++;
	if (i == JOB_CAUSES)
		return;
	if (i == j->ncauses)
		snprintf(j->causes[j->ncauses++].cause, sizeof(j->causes[i].cause), "%s", cause);
	j->causes[i].count++;
}

/* A count never goes back: it waits until no other cause can come. */
void job_fall_settle(struct job *j)
{
	if (j->unsettled)
		cause_count(j, j->fall.why.cause);
	j->unsettled = false;
}

void job_fall_tell(struct rank_env *env, struct job *j, uint64_t now_ns)
{
	j->untold = false;
	j->fall.number = ++j->nfalls;
	j->unsettled = true;
	if (!outranked(&j->fall.why))
		job_fall_settle(j);
	j->falls[(j->nfalls - 1) % JOB_FALLS] = j->fall;
	fall_fact(env, j, &j->fall, now_ns);
}

/* What the parts leave over is what was not settled when it began or ended. */
static void fall_split(struct job *j, uint64_t end_ns)
{
	struct job_fall *f = &j->fall;
	uint64_t sums_ns[BUCKET_COUNT], left_ns = f->d.recovery_ns;

	job_time_sums(j, end_ns, sums_ns);
	for (int b = 0; b < BUCKET_COUNT; b++) {
		uint64_t part = sums_ns[b] > j->fall_past_ns[b] ? sums_ns[b] - j->fall_past_ns[b]
								: 0;

		f->split_ns[b] = part < left_ns ? part : left_ns;
		left_ns -= f->split_ns[b];
	}
	f->split_ns[BUCKET_OTHER] += left_ns;
	f->d.down_ns = f->split_ns[BUCKET_RECOVERY];
}

void job_fall_close(struct rank_env *env, struct job *j, uint64_t start_ns, uint64_t end_ns,
		    uint64_t step)
{
	struct disruption *d = &j->fall.d;

	d->resumed_ns = start_ns;
	d->resumed_step = (int64_t)step;
	d->recovery_ns = job_before(d->at_ns, end_ns) ? end_ns - d->at_ns : 0;
	fall_split(j, end_ns);
	job_fall_settle(j);
	j->fall.over = true;
	j->fell = false;
	j->starts = 0;
	j->falls[(j->nfalls - 1) % JOB_FALLS] = j->fall;
	fall_fact(env, j, &j->fall, end_ns);
}
