/* SPDX-License-Identifier: Apache-2.0 */
/* job_table.c - the table of jobs, and the progress of each job in its checkpoints. */
#include <errno.h>
#include <stdlib.h>

#include "userspace/base/grow.h"
#include "userspace/base/hash.h"
#include "userspace/base/number.h"
#include "userspace/model/job/job_private.h"

const char *const job_state_name[] = {
	[JOB_RUNNING] = "running",
	[JOB_DOWN] = "down",
	[JOB_OVER] = "over",
	[JOB_ENDED] = "ended",
};

uint64_t job_name_key(const char *name, const char *uid)
{
	uint64_t key = hash_bytes(HASH_START, name, strlen(name));

	return *uid ? hash_bytes(hash_word(key, 'u'), uid, strlen(uid)) : key;
}

void job_former_drop(struct job *j, uint32_t at)
{
	memmove(&j->former_names[at], &j->former_names[at + 1],
		(--j->nformer_names - at) * sizeof(j->former_names[0]));
}

void job_former_names_take(struct jobs *js, uint64_t key)
{
	for (uint32_t i = 0; i < js->count; i++)
		for (uint32_t k = js->job[i]->nformer_names; k-- > 0;)
			if (js->job[i]->former_names[k].key == key)
				job_former_drop(js->job[i], k);
}

static void job_free(struct job *j)
{
	checkpoints_free(j->files);
	window_free(j->window);
	straggler_free(j->straggler);
	job_places_free(j->places);
	job_lines_free(j->lines);
	free(j->points);
	free(j);
}

void jobs_free(struct jobs *js)
{
	for (uint32_t i = 0; i < js->count; i++)
		job_free(js->job[i]);
	js->count = 0;
}

struct job *jobs_find(const struct jobs *js, uint64_t key)
{
	for (uint32_t i = 0; i < js->count; i++) {
		if (js->job[i]->key == key)
			return js->job[i];
	}
	return NULL;
}

/* Makes room in the table: removes, of the jobs that have ended, the one that was added first. */
static bool jobs_forget(struct jobs *js)
{
	for (uint32_t i = 0; i < js->count; i++) {
		struct job *j = js->job[i];

		if (j->members || (j->state != JOB_ENDED && j->state != JOB_OVER))
			continue;
		job_free(j);
		memmove(&js->job[i], &js->job[i + 1], (--js->count - i) * sizeof(js->job[0]));
		js->forgotten++;
		return true;
	}
	return false;
}

/* *ret is NULL if the table is full of jobs that have not ended. */
int jobs_get(struct model_env *env, uint64_t key, const char *name, const char *uid,
	     struct job **ret)
{
	struct jobs *js = &env->jobs;
	struct job *j = jobs_find(js, key);

	*ret = j;
	if (j)
		return 0;
	if (js->count == JOBS_MAX && !jobs_forget(js)) {
		js->forgotten++;
		return 0;
	}
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->key = key;
	j->excluded = &env->excluded;
	j->world_size = j->attempt = -1;
	j->state = JOB_ENDED;
	snprintf(j->name, sizeof(j->name), "%s", name);
	if (*name)
		snprintf(j->uid, sizeof(j->uid), "%s", uid);
	job_former_names_take(js, key);
	js->job[js->count++] = j;
	*ret = j;
	return 0;
}

int jobs_named(struct model_env *env, const char *name, const char *uid, struct job **ret)
{
	return jobs_get(env, job_name_key(name, uid), name, uid, ret);
}

static struct job_point *job_point_at(struct job *j, uint32_t i)
{
	return &j->points[i % JOB_POINTS];
}

const struct job_point *job_point_of(const struct job *j, uint64_t step)
{
	uint32_t n = smaller_of(j->npoints, JOB_POINTS);

	for (uint32_t i = 1; i <= n; i++) {
		const struct job_point *p = &j->points[(j->npoints - i) % JOB_POINTS];

		if (p->step <= step)
			return p;
	}
	return NULL;
}

int job_point_add(struct job *j, uint64_t step, uint64_t goodput_ns)
{
	uint32_t need = j->npoints < JOB_POINTS ? j->npoints + 1 : JOB_POINTS;
	struct job_point *points = grow_items(j->points, &j->points_cap, need, JOB_POINTS,
					      sizeof(*points));
	uint32_t i, first;

	if (!points)
		return -ENOMEM;
	j->points = points;
	i = j->npoints++;
	first = more_than(j->npoints, JOB_POINTS);
	/* A checkpoint that takes long to write may be complete only after a later one. */
	for (; i && i > first && job_point_at(j, i - 1)->run == j->runs &&
	       job_point_at(j, i - 1)->step > step;
	     i--)
		*job_point_at(j, i) = *job_point_at(j, i - 1);
	*job_point_at(j, i) = (struct job_point){step, goodput_ns, j->work.excluded, j->runs};
	return 0;
}
