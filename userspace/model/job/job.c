/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - runs of a job: ranks join and leave, make steps and save checkpoints. */
#include "userspace/base/hash.h"
#include "userspace/base/number.h"
#include "userspace/model/job/job_private.h"

/* The checkpoint that a run resumed from is an estimate if its confidence is below this. */
#define SURE 0.8

/* ---- runs ------------------------------------------------------------------------------------ */

/* Returns true if the process begins another run of the job. A process of a later attempt, or one
 * that began after the run was disrupted, belongs to the next run, even if processes of the
 * previous run have not ended yet. A process that existed during a run belongs to that run, even if
 * it begins to train after the others ended. */
static bool job_begins(const struct job *j, const struct job_member *m)
{
	bool was_there = j->runs && !j->joins && !m->begun &&
			 !job_before(j->run_start_ns, m->start_ns);

	return (!j->members && !was_there) || job_attempt_later(j, m) ||
	       (j->disrupted && j->failed_ns > j->run_start_ns && m->start_ns >= j->failed_ns);
}

/* Returns true if the process is known to train together with others. */
static bool job_trains_together(const struct job_member *m)
{
	return (m->process.rank >= 0 && m->process.world_size > 1) || m->collects ||
	       m->seen & (1ull << SIGNAL_GROUP_BEGIN | 1ull << SIGNAL_REDUCER);
}

static uint64_t job_command_of(const struct job_member *m)
{
	const char *text = m->process.command;

	return *text ? hash_bytes(HASH_START, text, strlen(text)) : 0;
}

/* Finds a job that this process may continue: it is of the same process tree and had the same
 * command, and all its processes have ended. If there are several, prefers one that was started by
 * the same shell. */
static struct job *job_left_behind(const struct jobs *js, const struct job_member *m, uint64_t tree)
{
	uint64_t command = job_command_of(m);
	struct job *found = NULL;

	for (uint32_t i = 0; command && i < js->count; i++) {
		struct job *j = js->job[i];

		if (*j->name || j->members || j->together || !j->shell_pid || j->tree != tree ||
		    j->command != command)
			continue;
		if (!found || j->shell_pid == m->shell_pid)
			found = j;
	}
	return found;
}

void job_find(struct job_member *m)
{
	const struct job *at = jobs_find(&m->env->jobs, m->job_key);
	struct job *j;

	if (m->job || !m->shell_pid || !at || *at->name || at->together || job_trains_together(m))
		return;
	j = job_left_behind(&m->env->jobs, m, at->tree);
	m->job_key = j ? j->key : m->job_key;
}

/* Sets m->job_key. If a shell runs several independent trainings in parallel, each becomes a
 * separate job. Returns the key of the process tree. */
static uint64_t job_part_off(struct job_member *m)
{
	const struct job *j = jobs_find(&m->env->jobs, m->job_key);
	uint64_t tree = j ? j->tree : m->job_key;

	job_find(m);
	j = jobs_find(&m->env->jobs, m->job_key);
	if (j && j->members && !*j->name && m->shell_pid && m->branch_pid != j->branch_pid &&
	    !(j->together && job_trains_together(m)))
		m->job_key = hash_word(hash_word(HASH_START, m->branch_pid), m->start_ns);
	return tree;
}

static void job_run(struct job *j, struct job_member *m, uint64_t now_ns)
{
	/* The job was asked to end and ended. Now it continues, so that end was a disruption. */
	if (j->disrupted && j->unreported)
		job_disruption_report(m->env, j, now_ns);
	job_work_begin(j, m);
	straggler_free(j->straggler);
	job_places_free(j->places);
	job_lines_free(j->lines);
	j->straggler = NULL;
	j->places = NULL;
	j->lines = NULL;
	memset(j->standing, 0, sizeof(j->standing));
	j->runs++;
	j->run_start_ns = m->start_ns;
	j->state = JOB_RUNNING;
	if (j->disrupted)
		j->disruption.d.starts++;
	j->starts++;
}

static bool job_ranks_before(const struct job_member *a, const struct job_member *b)
{
	/* the cast sorts an unknown rank (-1) last */
	return (unsigned)a->process.rank < (unsigned)b->process.rank;
}

int job_join(struct job_member *m, uint64_t now_ns)
{
	const char *uid, *name = job_called(m, &uid);
	uint64_t tree;
	bool begins;
	struct job *j;
	int err;

	if (m->job)
		return 0;
	tree = *name ? 0 : job_part_off(m);
	err = jobs_get(m->env, m->job_key, name, uid, &j);
	if (err || !j)
		return err;
	if (!j->runs && m->place)
		j->from = m->place->job_from;
	begins = job_begins(j, m);
	if (job_attempt_later(j, m))
		job_attempt_disrupted(j, m);
	if (begins) {
		job_run(j, m, now_ns);
		j->tree = tree;
		j->command = job_command_of(m);
		j->shell_pid = m->shell_pid;
		j->branch_pid = m->branch_pid;
		j->together = false;
	}
	j->together |= job_trains_together(m);
	j->state = JOB_RUNNING;
	m->since_real_ns = anchors_real(&m->env->anchors, m->observed_ns);
	j->since_real_ns = j->since_real_ns ? j->since_real_ns : m->since_real_ns;
	j->members++;
	m->job = j;
	m->run = j->runs;
	job_attempt(j, m, begins);
	j->first_pid = j->first_pid ? j->first_pid : m->pid;
	m->standing = JOB_STANDS_unknown;
	j->standing[m->standing]++;
	job_ranked(m);
	if (begins && j->ref) /* The reference rank is of the previous run, which is ending. */
		job_time_leave(j);
	if (!j->ref)
		job_time_refer(j, m, false);
	else if (job_ranks_before(m, j->ref) && j->based_run != j->runs)
		job_time_refer(j, m, false);
	job_placed(m);
	return 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const struct job_point *job_last_point(const struct job *j)
{
	return j->npoints ? &j->points[(j->npoints - 1) % JOB_POINTS] : NULL;
}

/* Returns the checkpoint from which the run resumed. If this rank has read none, the one that the
 * reference rank has read applies. If gp-bpf saw no file of the job, but a restore, the last
 * checkpoint is assumed. */
static struct checkpoint_match job_resumed(const struct job *j, const struct job_member *m)
{
	const struct job_member *from = !m->resume.matched && j->ref && j->ref->run == j->runs
						? j->ref
						: m;
	struct checkpoint_match match = checkpoint_resumed(&from->resume, j->files, from->start_ns,
							   j->first_read);
	const struct job_point *p = job_last_point(j);

	if (match.how == CHECKPOINT_BY_nothing && p && !j->files &&
	    (from->seen | m->seen) & 1ull << SIGNAL_RESTORE)
		match = (struct checkpoint_match){.how = CHECKPOINT_BY_newest, .step = p->step};
	return match;
}

static const char *const how_words[CHECKPOINT_HOW_COUNT] = {
	[CHECKPOINT_BY_none] = "not known",
	[CHECKPOINT_BY_inode] = "the file it read is the one that was saved",
	[CHECKPOINT_BY_path] = "it read the saved file: path, size and time",
	[CHECKPOINT_BY_copy] = "it read a copy of the saved file",
	[CHECKPOINT_BY_changed] = "it read the saved file, changed since",
	[CHECKPOINT_BY_size] = "it read a file of that path and size",
	[CHECKPOINT_BY_number] = "estimated from the number in the name of the file it read",
	[CHECKPOINT_BY_newest] = "it read an unknown checkpoint: assumed to be the last one",
	[CHECKPOINT_BY_nothing] = "no checkpoint was read: from the beginning",
};

/* Notes that the run resumed from this step, or saved it. This is progress if no earlier run
 * reached it. */
static void job_headway(struct job *j, uint64_t step)
{
	if (step <= j->headway_step)
		return;
	j->headway_step = step;
	j->headway_run = j->runs;
	j->futile_runs = 0;
}

/* Called when all processes of a run have ended. Counts failed runs without progress
 * (futile_runs). */
static void job_run_over(struct job *j)
{
	if (!j->disrupted || j->unreported)
		j->futile_runs = 0;
	else if (j->headway_run != j->runs)
		j->futile_runs++;
}

/* Finds out from which step the run resumes, and moves the progress after that step to WASTED. */
static void job_base(struct job *j, const struct job_member *m)
{
	struct checkpoint_match match = {0};
	const struct job_point *p;
	uint64_t lost_ns;

	j->based_run = j->runs;
	if (j->runs == 1) {
		j->first_read = m->resume.unmatched;
		return;
	}
	match = job_resumed(j, m);
	p = match.step ? job_point_of(j, match.step) : NULL;
	j->step_base = match.step;
	job_headway(j, match.step);
	if (!j->last_step)
		return;
	/* the last run was not disrupted, so no progress is lost: this run continues it or is
	 * another training */
	if (!j->disrupted) {
		if (match.how == CHECKPOINT_BY_none)
			return;
		j->done_steps += more_than(j->last_step, match.step);
		j->last_step = match.step;
		return;
	}
	lost_ns = job_time_waste(j, p ? p->goodput_ns : 0);
	job_work_lose(j, more_than(j->last_step, j->step_base), lost_ns, p);
	j->disruption.d.wasted_ns += lost_ns;
	j->disruption.estimated = checkpoint_estimated(&match) || match.confidence < SURE ||
				  (match.step && (!p || p->step != match.step));
	snprintf(j->disruption.how, sizeof(j->disruption.how), "%s%s", how_words[match.how],
		 match.estimated ? "; its step is deduced" : "");
	j->last_step = j->step_base;
}

uint64_t job_step_base(struct job_member *m)
{
	struct job *j = m->job;

	if (!j || m->run != j->runs)
		return m->step_base;
	if (j->based_run != j->runs)
		job_base(j, m);
	m->step_base = j->step_base;
	return m->step_base;
}

void job_step(struct job_member *m, uint64_t start_ns, uint64_t end_ns, uint64_t number, bool timed)
{
	struct job *j = m->job;

	if (!j || m->run != j->runs)
		return;
	if (!j->ref &&
	    /* The reference rank has ended, so another rank of the run becomes the reference. */
	    end_ns > j->time.edge_ns) {
		job_time_refer(j, m, true);
		/* If the step is new, lower the base by one, so that the step counts for the job.
		 * `number` includes the steps of earlier runs. */
		j->time.base_steps -= number > j->last_step;
	}
	if (m != j->ref)
		return;
	job_work_step(j, start_ns, end_ns, timed);
	if (number > j->last_step)
		j->last_step = number;
	if (j->disrupted &&
	    /* this step ended before the disruption, but is reported after it */
	    !job_before(j->disruption.d.at_ns, end_ns))
		j->disruption.d.step = (int64_t)number;
	if (j->disrupted && !job_before(start_ns, j->disruption.d.at_ns) && !j->unreported)
		job_disruption_close(m->env, j, start_ns, end_ns, number);
	j->starts = 0;
}

static struct job *job_of(const struct job_member *m)
{
	return m->job ? m->job : jobs_find(&m->env->jobs, m->job_key);
}

uint64_t job_run_start(const struct job_member *m)
{
	const struct job *j = job_of(m);

	return j && m->run && m->run == j->runs ? j->run_start_ns : 0;
}

struct checkpoints *job_checkpoints(const struct job_member *m, bool make)
{
	struct job *j = job_of(m);

	if (j && !j->files && make)
		j->files = checkpoints_new();
	return j ? j->files : NULL;
}

struct straggler *job_straggler(const struct job_member *m)
{
	struct job *j = m->job;

	if (!j || m->run != j->runs || j->members < 2)
		return NULL;
	if (!j->straggler)
		j->straggler = straggler_new();
	return j->straggler;
}

static enum job_standing job_standing(const struct job_member *m)
{
	if (m->process.rank < 0)
		return m->place && m->place->later ? JOB_STANDS_later : JOB_STANDS_unknown;
	return m->process.rank ? JOB_STANDS_later : JOB_STANDS_first;
}

/* Counts the rank as the first, a later or an unknown one (enum job_standing). A rank that ended
 * stays counted until the next run, so that the same node keeps reporting the run. */
static void job_stands(struct job *j, struct job_member *m)
{
	j->standing[m->standing] -= j->standing[m->standing] > 0;
	m->standing = job_standing(m);
	j->standing[m->standing]++;
}

void job_ranked(struct job_member *m)
{
	struct job *j = m->job;

	if (!j)
		return;
	if (m->process.world_size > 0)
		j->world_size = m->process.world_size;
	if (m->run == j->runs)
		job_stands(j, m);
}

uint32_t job_members(const struct job_member *m)
{
	return m->job ? m->job->members : 0;
}

struct job_member *job_reference(const struct job_member *m)
{
	const struct job *j = job_of(m);

	return j && j->ref != m ? j->ref : NULL;
}

bool job_secured(const struct job_member *m, uint64_t *ret_step, uint64_t *ret_ns)
{
	const struct job *j = job_of(m);
	const struct job_point *p = j ? job_last_point(j) : NULL;

	if (!p)
		return false;
	*ret_step = p->step;
	*ret_ns = p->goodput_ns;
	return true;
}

uint64_t job_goodput(const struct job_member *m)
{
	return m->job && m->job->ref == m ? job_time_goodput(m->job) : 0;
}

int job_saved(struct job_member *m, uint64_t step, uint64_t goodput_ns)
{
	struct job *j = m->job;

	if (!j || m != j->ref)
		return 0;
	if (m->run == j->runs)
		job_headway(j, step);
	return job_point_add(j, step, goodput_ns);
}

/* ---- ends ------------------------------------------------------------------------------------ */

bool job_disrupted(struct job_member *m, uint64_t now_ns, const struct job_cause *why, bool clean)
{
	struct job *j = m->job;

	if (!j || m->run != j->runs || !why)
		return false;
	j->failed_ns = now_ns;
	if (!j->disrupted)
		job_disruption_open(j, m, now_ns, why);
	j->disruption.d.graceful = clean && !why->managed;
	if (clean || !j->unreported)
		return false;
	job_disruption_report(m->env, j, now_ns);
	return true;
}

void job_launcher_failed(const struct job_member *m, uint64_t now_ns)
{
	struct job *j = jobs_find(&m->env->jobs, m->job_key);

	if (!j || j->members || !j->disrupted || !j->unreported || !j->disruption.why.managed)
		return;
	job_disruption_report(m->env, j, now_ns);
	j->state = JOB_DOWN;
}

bool job_straggler_left(const struct job_member *m)
{
	return m->job && m->job->straggler && straggler_left(m->job->straggler, m->pid);
}

void job_left(struct job_member *m, uint64_t now_ns)
{
	struct job *j = m->job;

	if (!j)
		return;
	job_work_leave(j, m, now_ns);
	m->job = NULL;
	j->members--;
	if (m == j->ref) {
		job_time_leave(j);
		if (j->disrupted && j->disruption.why.pid == m->pid && m->run == j->runs)
			job_time_sums(j, now_ns, j->disruption_past_ns);
	}
	if (j->members)
		return;
	j->state = j->disrupted && !j->unreported ? JOB_DOWN : JOB_ENDED;
	if (m->run == j->runs)
		job_run_over(j);
}

/* ---- time ------------------------------------------------------------------------------------ */

void jobs_tick(struct model_env *env, uint64_t now_ns)
{
	for (uint32_t i = 0; i < env->jobs.count; i++) {
		struct job *j = env->jobs.job[i];

		if (j->state == JOB_DOWN && job_before(j->time.edge_ns + JOB_WAIT_NS, now_ns))
			j->state = JOB_OVER;
		if (j->unsettled && now_ns - j->disruption.d.at_ns > JOB_GRACE_NS)
			job_disruption_settle(j);
	}
}

void jobs_settle(struct model_env *env)
{
	for (uint32_t i = 0; i < env->jobs.count; i++)
		job_disruption_settle(env->jobs.job[i]);
}

void jobs_stop(struct model_env *env)
{
	for (uint32_t i = 0; i < env->jobs.count; i++) {
		struct job *j = env->jobs.job[i];

		if (j->state == JOB_DOWN)
			j->state = JOB_OVER;
	}
}
