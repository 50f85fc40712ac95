/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/model/job_internal.h"

#define SURE 0.8 /* of which checkpoint was read */

const char *const job_state_name[] = {
	[JOB_RUNNING] = "running",
	[JOB_DOWN] = "down",
	[JOB_OVER] = "over",
	[JOB_ENDED] = "ended",
};

static void job_free(struct job *j)
{
	checkpoints_free(j->files);
	window_free(j->window);
	straggler_free(j->straggler);
	job_places_free(j->places);
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

/* The first of those that are over, in order of appearance, gives way. */
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

/* *ret NULL: there are too many. */
static int jobs_get(struct rank_env *env, uint64_t key, const char *name, const char *uid,
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
	j->away = &env->away;
	j->world_size = j->attempt = -1;
	j->state = JOB_ENDED;
	snprintf(j->name, sizeof(j->name), "%s", name);
	if (*name)
		snprintf(j->uid, sizeof(j->uid), "%s", uid);
	job_formers_take(js, key);
	js->job[js->count++] = j;
	*ret = j;
	return 0;
}

int jobs_named(struct rank_env *env, const char *name, const char *uid, struct job **ret)
{
	return jobs_get(env, job_name_key(name, uid), name, uid, ret);
}

/* ---- runs
 * ---------------------------------------------------------------------------------------- */

/* A process that was born after the run fell, or that is of a later attempt, is of the next one,
 * though others may still be dying. */
static bool job_begins(const struct job *j, const struct rank *r)
{
	return !j->members || job_attempt_later(j, r) ||
	       (j->fell && j->fell_ns > j->run_start_ns && r->start_ns >= j->fell_ns);
}

static void job_run(struct job *j, struct rank *r, uint64_t now_ns)
{
	if (j->fell && j->untold) /* it was asked to end, did, and goes on */
		job_fall_tell(r->env, j, now_ns);
	job_work_begin(j, r);
	straggler_free(j->straggler);
	job_places_free(j->places);
	j->straggler = NULL;
	j->places = NULL;
	memset(j->standing, 0, sizeof(j->standing));
	j->runs++;
	j->run_start_ns = r->start_ns;
	j->state = JOB_RUNNING;
	if (j->fell)
		j->fall.d.starts++;
	j->starts++;
}

static bool job_ranks_before(const struct rank *a, const struct rank *b)
{
	return (unsigned)a->process.rank < (unsigned)b->process.rank; /* unknown last */
}

int job_join(struct rank *r, uint64_t now_ns)
{
	const char *uid, *name = rank_job_named(r, &uid);
	bool begins;
	struct job *j;
	int err;

	if (r->job)
		return 0;
	err = jobs_get(r->env, r->job_key, name, uid, &j);
	if (err || !j)
		return err;
	if (!j->runs && r->place)
		j->from = r->place->job_from;
	begins = job_begins(j, r);
	if (job_attempt_later(j, r))
		job_attempt_fell(j, r);
	if (begins)
		job_run(j, r, now_ns);
	r->since_real_ns = anchors_real(&r->env->anchors, r->observed_ns);
	j->since_real_ns = j->since_real_ns ? j->since_real_ns : r->since_real_ns;
	j->members++;
	r->job = j;
	r->run = j->runs;
	job_attempt(j, r, begins);
	j->first_pid = j->first_pid ? j->first_pid : r->pid;
	r->standing = JOB_STANDS_unknown;
	j->standing[r->standing]++;
	job_ranked(r);
	if (begins && j->ref) /* of the run before, which is dying */
		job_time_leave(j);
	if (!j->ref)
		job_time_refer(j, r, false);
	else if (job_ranks_before(r, j->ref) && j->based_run != j->runs)
		job_time_refer(j, r, false);
	job_placed(r);
	return 0;
}

/* ---- steps
 * --------------------------------------------------------------------------------------- */

static const struct job_point *job_last_point(const struct job *j)
{
	return j->npoints ? &j->points[(j->npoints - 1) % JOB_POINTS] : NULL;
}

const struct job_point *job_point_of(const struct job *j, uint64_t step)
{
	uint32_t n = j->npoints < JOB_POINTS ? j->npoints : JOB_POINTS;

	for (uint32_t i = 1; i <= n; i++) {
		const struct job_point *p = &j->points[(j->npoints - i) % JOB_POINTS];

		if (p->step <= step)
			return p;
	}
	return NULL;
}

/* What the run has read. Where only the reference reads, it knows for the others; where files are
 * not watched, that a checkpoint was read may be known, and not which. */
static struct checkpoint_match job_resumed(const struct job *j, const struct rank *r)
{
	const struct rank *from = !r->resume.matched && j->ref && j->ref->run == j->runs ? j->ref
											 : r;
	struct checkpoint_match m = checkpoint_resumed(&from->resume, j->files, from->start_ns);
	const struct job_point *p = job_last_point(j);

	if (m.how == CHECKPOINT_BY_nothing && p && (from->seen | r->seen) & 1ull << SIGNAL_RESTORE)
		m = (struct checkpoint_match){.how = CHECKPOINT_BY_newest, .step = p->step};
	return m;
}

static const char *const how_words[CHECKPOINT_HOW_COUNT] = {
	[CHECKPOINT_BY_none] = "not known",
	[CHECKPOINT_BY_inode] = "the file it read is the one that was saved",
	[CHECKPOINT_BY_path] = "it read the saved file: path, size and time",
	[CHECKPOINT_BY_copy] = "it read a copy of the saved file",
	[CHECKPOINT_BY_changed] = "it read the saved file, changed since",
	[CHECKPOINT_BY_size] = "it read a file of that path and size",
	[CHECKPOINT_BY_number] = "by the number in the name of what it read",
	[CHECKPOINT_BY_newest] = "it read a checkpoint: the last one is taken",
	[CHECKPOINT_BY_nothing] = "no checkpoint was read: from the beginning",
};

/* From where the run goes on, and what of the progress before it is lost. */
static void job_base(struct job *j, const struct rank *r)
{
	struct checkpoint_match m = {0};
	const struct job_point *p;
	uint64_t lost_ns;

	j->based_run = j->runs;
	if (j->runs == 1)
		return;
	m = job_resumed(j, r);
	p = m.step ? job_point_of(j, m.step) : NULL;
	j->step_base = m.step;
	if (!j->fell ||
	    !j->last_step) /* another training, or more of one that had ended in order */
		return;
	lost_ns = job_time_waste(j, p ? p->goodput_ns : 0);
	job_work_lose(j, j->last_step > j->step_base ? j->last_step - j->step_base : 0, lost_ns, p);
	j->fall.d.wasted_ns += lost_ns;
	j->fall.estimated = checkpoint_estimated(&m) || m.confidence < SURE ||
			    (m.step && (!p || p->step != m.step));
	snprintf(j->fall.how, sizeof(j->fall.how), "%s", how_words[m.how]);
	j->last_step = j->step_base;
}

uint64_t job_step_base(struct rank *r)
{
	struct job *j = r->job;

	if (!j || r->run != j->runs)
		return r->step_base;
	if (j->based_run != j->runs)
		job_base(j, r);
	r->step_base = j->step_base;
	return r->step_base;
}

void job_step(struct rank *r, uint64_t start_ns, uint64_t end_ns, uint64_t number, bool timed)
{
	struct job *j = r->job;

	if (!j || r->run != j->runs)
		return;
	if (!j->ref &&
	    end_ns > j->time.edge_ns) { /* the reference ended, and the job goes on without it */
		job_time_refer(j, r, true);
		j->time.base_steps -= number > j->last_step; /* this one is the job's */
	}
	if (r != j->ref)
		return;
	job_work_step(j, start_ns, end_ns, timed);
	if (number > j->last_step)
		j->last_step = number;
	if (j->fell && !job_before(j->fall.d.at_ns, end_ns)) /* it is given out only now */
		j->fall.d.step = (int64_t)number;
	if (j->fell && !job_before(start_ns, j->fall.d.at_ns) && !j->untold)
		job_fall_close(r->env, j, start_ns, end_ns, number);
	j->starts = 0;
}

static struct job *job_of(const struct rank *r)
{
	return r->job ? r->job : jobs_find(&r->env->jobs, r->job_key);
}

uint64_t job_run_start(const struct rank *r)
{
	const struct job *j = job_of(r);

	return j && r->run && r->run == j->runs ? j->run_start_ns : 0;
}

struct checkpoints *job_checkpoints(const struct rank *r, bool make)
{
	struct job *j = job_of(r);

	if (j && !j->files && make)
		j->files = checkpoints_new();
	return j ? j->files : NULL;
}

struct straggler *job_straggler(const struct rank *r)
{
	struct job *j = r->job;

	if (!j || r->run != j->runs || j->members < 2)
		return NULL;
	if (!j->straggler)
		j->straggler = straggler_new();
	return j->straggler;
}

static enum job_standing job_standing(const struct rank *r)
{
	if (r->process.rank < 0)
		return r->place && r->place->later ? JOB_STANDS_later : JOB_STANDS_unknown;
	return r->process.rank ? JOB_STANDS_later : JOB_STANDS_first;
}

/* Those that leave stay counted until the next run: what was told of it goes on being told. */
static void job_stands(struct job *j, struct rank *r)
{
	j->standing[r->standing] -= j->standing[r->standing] > 0;
	r->standing = job_standing(r);
	j->standing[r->standing]++;
}

void job_ranked(struct rank *r)
{
	struct job *j = r->job;

	if (!j)
		return;
	if (r->process.world_size > 0)
		j->world_size = r->process.world_size;
	if (r->run == j->runs)
		job_stands(j, r);
}

uint32_t job_members(const struct rank *r)
{
	return r->job ? r->job->members : 0;
}

struct rank *job_reference(const struct rank *r)
{
	const struct job *j = job_of(r);

	return j && j->ref != r ? j->ref : NULL;
}

bool job_secured(const struct rank *r, uint64_t *ret_step, uint64_t *ret_ns)
{
	const struct job *j = job_of(r);
	const struct job_point *p = j ? job_last_point(j) : NULL;

	if (!p)
		return false;
	*ret_step = p->step;
	*ret_ns = p->goodput_ns;
	return true;
}

uint64_t job_goodput(const struct rank *r)
{
	return r->job && r->job->ref == r ? job_time_goodput(r->job) : 0;
}

/* What is written aside may be whole many steps later. */
static uint64_t goodput_at(const struct rank *r, uint64_t step)
{
	const struct rank_loop *lp = r->nloops ? r->loops[0] : NULL;

	for (uint64_t i = 0; lp && i < RANK_DONE && i < lp->steps; i++) {
		uint64_t at = (lp->steps - i) % RANK_DONE;

		if (lp->done[at].number == step)
			return lp->done[at].goodput_ns;
	}
	return job_time_goodput(r->job);
}

int job_point_add(struct job *j, uint64_t step, uint64_t goodput_ns)
{
	uint32_t need = j->npoints < JOB_POINTS ? j->npoints + 1 : JOB_POINTS;
	struct job_point *points = grow_items(j->points, &j->points_cap, need, JOB_POINTS,
					      sizeof(*points));

	if (!points)
		return -ENOMEM;
	j->points = points;
	j->points[j->npoints++ % JOB_POINTS] = (struct job_point){step, goodput_ns, j->work.away};
	return 0;
}

void job_saved(struct rank *r, uint64_t step)
{
	struct job *j = r->job;

	if (j && r == j->ref && job_point_add(j, step, goodput_at(r, step)))
		r->error = -ENOMEM;
}

/* ---- ends
 * ---------------------------------------------------------------------------------------- */

bool job_fell(struct rank *r, uint64_t now_ns, const struct job_cause *why, bool clean)
{
	struct job *j = r->job;

	if (!j || r->run != j->runs || !why)
		return false;
	j->fell_ns = now_ns;
	if (!j->fell)
		job_fall_open(j, r, now_ns, why);
	j->fall.d.graceful = clean;
	if (clean || !j->untold)
		return false;
	job_fall_tell(r->env, j, now_ns);
	return true;
}

void job_left(struct rank *r, uint64_t now_ns)
{
	struct job *j = r->job;

	if (!j)
		return;
	job_work_leave(j, r, now_ns);
	if (j->straggler && straggler_left(j->straggler, r->pid))
		rank_straggler_over(r, now_ns);
	r->job = NULL;
	j->members--;
	if (r == j->ref) {
		job_time_leave(j);
		if (j->fell && j->fall.why.pid == r->pid && r->run == j->runs)
			job_time_sums(j, now_ns, j->fall_past_ns);
	}
	if (!j->members)
		j->state = j->fell && !j->untold ? JOB_DOWN : JOB_ENDED;
}

/* ---- time
 * ---------------------------------------------------------------------------------------- */

void jobs_tick(struct rank_env *env, uint64_t now_ns)
{
	for (uint32_t i = 0; i < env->jobs.count; i++) {
		struct job *j = env->jobs.job[i];

		if (j->state == JOB_DOWN && job_before(j->time.edge_ns + JOB_WAIT_NS, now_ns))
			j->state = JOB_OVER;
		if (j->unsettled && now_ns - j->fall.d.at_ns > JOB_GRACE_NS)
			job_fall_settle(j);
	}
}

void jobs_settle(struct rank_env *env)
{
	for (uint32_t i = 0; i < env->jobs.count; i++)
		job_fall_settle(env->jobs.job[i]);
}

void jobs_stop(struct rank_env *env)
{
	for (uint32_t i = 0; i < env->jobs.count; i++) {
		struct job *j = env->jobs.job[i];

		if (j->state == JOB_DOWN)
			j->state = JOB_OVER;
	}
}
