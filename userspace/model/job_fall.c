/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/job_internal.h"

#include <stdio.h>
#include <string.h>

static void fall_fact(struct rank_env *env, const struct job *j, const struct job_fall *fall, uint64_t now_ns)
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

void job_fall_open(struct job *j, const struct rank *r, uint64_t now_ns, const struct job_cause *why)
{
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

void job_fall_tell(struct rank_env *env, struct job *j, uint64_t now_ns)
{
	j->untold = false;
	j->fall.number = ++j->nfalls;
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
		uint64_t part = sums_ns[b] > j->fall_past_ns[b] ? sums_ns[b] - j->fall_past_ns[b] : 0;

		f->split_ns[b] = part < left_ns ? part : left_ns;
		left_ns -= f->split_ns[b];
	}
	f->split_ns[BUCKET_OTHER] += left_ns;
	f->d.down_ns = f->split_ns[BUCKET_RECOVERY];
}

void job_fall_close(struct rank_env *env, struct job *j, uint64_t start_ns, uint64_t end_ns, uint64_t step)
{
	struct disruption *d = &j->fall.d;

	d->resumed_ns = start_ns;
	d->resumed_step = (int64_t)step;
	d->recovery_ns = job_before(d->at_ns, end_ns) ? end_ns - d->at_ns : 0;
	fall_split(j, end_ns);
	j->fall.over = true;
	j->fell = false;
	j->starts = 0;
	j->falls[(j->nfalls - 1) % JOB_FALLS] = j->fall;
	fall_fact(env, j, &j->fall, end_ns);
}
