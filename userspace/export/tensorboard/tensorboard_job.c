/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/tensorboard/tensorboard_job.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/ingest/goodput_names.h"

#define NS_PER_S   1e9
#define CUSTOM	   "CUSTOM_BADPUT_EVENTS."
#define DEVIATION  "step_deviation"
#define HELD_MAX   32768 /* limit of steps that wait for the ideal step time of their rank */
#define HELD_SOME  1024	 /* in a replay, a snapshot is taken when this many steps wait */
#define STEP_TIME  "performance/step_time_seconds"
#define STEP_QUEUE "performance/step_queued_seconds"

struct tb_job { /* state of a job after the previous snapshot */
	uint64_t key;
	uint64_t written_ns; /* now_ns of the job's ledger when the job was last written */
	bool over;	     /* the job was written for the last time, and its file is closed */
};

struct tb_rank {
	uint32_t pid;
	bool alive;
	uint64_t ideal_ns; /* 0: unknown */
};

struct tb_jobs {
	struct tb_board *board;
	struct tb_step *held; /* steps that wait for the ideal step time of their rank */
	uint32_t nheld, held_cap;
	struct tb_rank *rank; /* ranks in the newest snapshot */
	uint32_t nranks, ranks_cap;
	/* for each rank that ended since the snapshot before: one of its steps */
	struct tb_step *ended;
	uint32_t nended, ended_cap;
	uint64_t shown_ns; /* time of the newest snapshot */
	struct tb_job *job,
		*before; /* jobs of this snapshot and of the one before: JOBS_MAX each */
	uint32_t count, count_before;
};

int tb_jobs_new(struct tb_jobs **ret, struct tb_board *board)
{
	struct tb_jobs *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->board = board;
	j->job = calloc(JOBS_MAX, sizeof(*j->job));
	j->before = calloc(JOBS_MAX, sizeof(*j->before));
	if (!j->job || !j->before) {
		tb_jobs_free(j);
		return -ENOMEM;
	}
	*ret = j;
	return 0;
}

void tb_jobs_free(struct tb_jobs *j)
{
	if (!j)
		return;
	free(j->job);
	free(j->before);
	free(j->held);
	free(j->rank);
	free(j->ended);
	free(j);
}

static void tb_job_folder(char out[TB_NAME_MAX], const char *job, uint32_t pid)
{
	if (*job)
		tb_folder_name(out, job);
	else
		snprintf(out, TB_NAME_MAX, "pid-%u", pid);
}

/* Writes a type of badput: the tag of "CUSTOM_BADPUT_EVENTS.EVAL" is
 * badput/custom_badput_events/eval, displayed as its last part. */
static void tb_job_put_badput(struct tb_board *b, const char *run, struct tb_scalar s,
			      const char *type, const char *custom)
{
	char tag[TB_TAG_MAX];
	size_t from;

	if (!custom && !strncmp(type, CUSTOM, strlen(CUSTOM)))
		custom = type + strlen(CUSTOM);
	if (custom)
		snprintf(tag, sizeof(tag), "badput/custom_badput_events/%s", custom);
	else
		snprintf(tag, sizeof(tag), "badput/%s", type);
	for (char *c = tag; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	from = custom ? strlen("badput/custom_badput_events/") : strlen("badput/");
	s.tag = tag;
	s.display = tag + from;
	tb_board_put(b, run, &s);
}

static struct tb_scalar tb_job_tagged(struct tb_scalar s, const char *tag, double value)
{
	const char *last = strrchr(tag, '/');

	s.tag = tag;
	s.display = last ? last + 1 : NULL;
	s.value = value;
	return s;
}

static void tensorboard_job_put(struct tb_board *b, const char *run, struct tb_scalar s,
				const char *tag, double value)
{
	s = tb_job_tagged(s, tag, value);
	tb_board_put(b, run, &s);
}

/* ---- steps ----------------------------------------------------------------------------------- */

bool tb_step_of(struct tb_step *ret, const struct fact *f)
{
	const struct step *s = f->type == FACT_STEP ? &f->step->step : NULL;

	if (!s || s->unit != UNIT_STEP || s->end_ns <= s->start_ns || !s->number)
		return false;
	*ret = (struct tb_step){
		.real_ns = f->real_ns ? f->real_ns - (int64_t)(f->mono_ns - s->end_ns) : 0,
		.number = s->number,
		.ns = s->end_ns - s->start_ns,
		.pid = f->pid,
		.run = f->run,
		.loop = s->loop,
		.flags = s->flags,
		.rank = f->rank,
		.repeated = f->repeated,
		.series = s->series,
	};
	snprintf(ret->job, sizeof(ret->job), "%s", f->job ? f->job : "");
	return true;
}

static void tb_job_hold(struct tb_jobs *j, const struct tb_step *s)
{
	struct tb_step *held = j->nheld < HELD_MAX ? grow_items(j->held, &j->held_cap, j->nheld + 1,
								HELD_MAX, sizeof(*held))
						   : NULL;

	if (!held) {
		tb_board_drop(j->board, TB_DROP_QUEUE, 1);
		return;
	}
	j->held = held;
	j->held[j->nheld++] = *s;
}

static const struct tb_rank *job_rank_of(const struct tb_jobs *j, uint32_t pid)
{
	for (const struct tb_rank *r = j->rank; r < j->rank + j->nranks; r++)
		if (r->pid == pid)
			return r;
	return NULL;
}

/* Writes the name of the run folder that a step belongs to. */
static void tb_job_run(char run[TB_RUN_MAX], const struct tb_step *s)
{
	char folder[TB_NAME_MAX], rank[24];

	tb_job_folder(folder, s->job, s->pid);
	if (s->rank >= 0)
		snprintf(rank, sizeof(rank), "rank-%d", s->rank);
	else
		snprintf(rank, sizeof(rank), "pid-%u", s->pid);
	snprintf(run, TB_RUN_MAX, "%s/run-%u/%s", folder, s->run ? s->run : 1, rank);
}

static struct tb_scalar tb_job_scalar_of(const struct tb_step *s)
{
	return (struct tb_scalar){.step = (int64_t)s->number - 1,
				  .wall_s = (double)s->real_ns / NS_PER_S};
}

static void tb_job_put_step(struct tb_jobs *j, const char *run, const struct tb_step *s,
			    const char *tag, double value)
{
	struct tb_scalar out = tb_job_tagged(tb_job_scalar_of(s), tag, value);

	if (s->repeated)
		tb_board_put_again(j->board, run, &out);
	else
		tb_board_put(j->board, run, &out);
}

static void tb_job_put_deviation(struct tb_jobs *j, const char *run, const struct tb_step *s,
				 uint64_t ideal_ns)
{
	tb_job_put_step(j, run, s, DEVIATION, fabs((double)s->ns - (double)ideal_ns) / NS_PER_S);
}

/* Writes the held steps of ranks whose ideal step time is in the snapshot. Drops the held steps of
 * ranks that ended without an ideal step time. */
static void tb_job_put_held(struct tb_jobs *j)
{
	const struct tb_rank *r;
	char run[TB_RUN_MAX];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < j->nheld; i++) {
		r = job_rank_of(j, j->held[i].pid);
		if (r && r->ideal_ns) {
			tb_job_run(run, &j->held[i]);
			tb_job_put_deviation(j, run, &j->held[i], r->ideal_ns);
		} else if (r && r->alive) {
			j->held[kept++] = j->held[i];
		}
	}
	j->nheld = kept;
	if (kept)
		return;
	free(j->held);
	j->held = NULL;
	j->held_cap = 0;
}

bool tb_jobs_wait(const struct tb_jobs *j)
{
	return j->nheld >= HELD_SOME;
}

void tb_jobs_step(struct tb_jobs *j, const struct tb_step *s)
{
	const char *name = s->series == SERIES_RATE ? STEP_QUEUE : STEP_TIME;
	const struct tb_rank *r = job_rank_of(j, s->pid);
	char run[TB_RUN_MAX], tag[64];

	if (s->real_ns <= 0) {
		tb_board_drop(j->board, TB_DROP_CLOCK, 1);
		return;
	}
	tb_job_run(run, s);
	if (s->loop)
		snprintf(tag, sizeof(tag), "loop_%u/%s", s->loop, name);
	tb_job_put_step(j, run, s, s->loop ? tag : name, (double)s->ns / NS_PER_S);
	if (s->loop || s->flags & STEP_NO_SAMPLE || s->series == SERIES_RATE)
		return;
	if (r && r->ideal_ns)
		tb_job_put_deviation(j, run, s, r->ideal_ns);
	else
		tb_job_hold(j, s);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void tb_job_put(struct tb_jobs *j, const struct snapshot *s, const struct job_view *v)
{
	uint64_t observed_ns = ledger_elapsed(&v->ledger) - v->ledger.ns[BUCKET_UNOBSERVED], ns;
	struct tb_scalar out = {.step = v->last_step ? (int64_t)v->last_step - 1 : 0,
				.wall_s = (double)s->real_ns / NS_PER_S};
	const struct tb_rank *r = v->reference_pid ? job_rank_of(j, v->reference_pid) : NULL;
	char room[LEDGER_NAME_MAX], folder[TB_NAME_MAX], run[TB_RUN_MAX];
	const char *name;

	if (!observed_ns)
		return;
	tb_job_folder(folder, v->name, v->first_pid);
	snprintf(run, sizeof(run), "%s/goodput", folder);
	tensorboard_job_put(j->board, run, out, "goodput/goodput",
			    100 * (double)v->ledger.ns[BUCKET_GOODPUT] / (double)observed_ns);
	for (uint32_t b = 0; (name = ledger_part(&v->ledger, &s->types, b, room, &ns)); b++) {
		if (b == BUCKET_GOODPUT || b == BUCKET_UNOBSERVED ||
		    (!ns && (b >= BUCKET_COUNT || !(bucket_use[b] & BUCKET_USE_ALWAYS))))
			continue;
		out.value = 100 * (double)ns / (double)observed_ns;
		tb_job_put_badput(j->board, run, out, name, NULL);
	}
	tensorboard_job_put(j->board, run, out, "job/disruptions", (double)v->ledger.disruptions);
	if (r && r->ideal_ns)
		tensorboard_job_put(j->board, run, out, "performance/ideal_step_time_seconds",
				    (double)r->ideal_ns / NS_PER_S);
}

/* Returns true if this node reports the job, and no newer job has the same name, because both jobs
 * would be written to the same files. */
static bool job_shown(const struct snapshot *s, const struct job_view *v)
{
	if (!v->reported_here)
		return false;
	for (const struct job_view *next = v + 1; next < s->jobs + s->njobs; next++)
		if (*v->name && next->reported_here && !strcmp(v->name, next->name))
			return false;
	return true;
}

static const struct tb_job *tb_job_before(const struct tb_jobs *j, uint64_t key)
{
	for (uint32_t i = 0; i < j->count_before; i++)
		if (j->before[i].key == key)
			return &j->before[i];
	return NULL;
}

static void tb_job_ranks_of(struct tb_jobs *j, const struct snapshot *s)
{
	struct tb_rank *rank = grow_items(j->rank, &j->ranks_cap, s->nranks, UINT32_MAX,
					  sizeof(*rank));

	if (!rank && s->nranks)
		return;
	j->rank = rank;
	j->nranks = 0;
	for (const struct rank_view *r = s->ranks; r < s->ranks + s->nranks; r++) {
		struct tb_rank *to = &j->rank[j->nranks];

		if (!r->nloops || r->loops[0].state.unit != UNIT_STEP)
			continue;
		*to = (struct tb_rank){r->pid, r->alive, r->loops[0].time.ideal_ns};
		j->nranks++;
	}
}

/* Ends the runs of ranks that ended before the previous snapshot: their last steps are written by
 * now. */
static void tb_job_ranks_over(struct tb_jobs *j, const struct snapshot *s)
{
	char run[TB_RUN_MAX];
	struct tb_step *ended;

	for (uint32_t i = 0; i < j->nended; i++) {
		tb_job_run(run, &j->ended[i]);
		tb_board_over(j->board, run);
		/* also end the run of the steps that were reported before the rank was known */
		j->ended[i].rank = -1;
		tb_job_run(run, &j->ended[i]);
		tb_board_over(j->board, run);
	}
	j->nended = 0;
	for (const struct rank_view *r = s->ranks; r < s->ranks + s->nranks; r++) {
		if (r->alive || !r->trainer || r->ledger.now_ns <= j->shown_ns)
			continue;
		ended = grow_items(j->ended, &j->ended_cap, j->nended + 1, UINT32_MAX,
				   sizeof(*ended));
		if (!ended)
			break;
		j->ended = ended;
		ended[j->nended] = (struct tb_step){.pid = r->pid, .run = r->run, .rank = r->rank};
		memcpy(ended[j->nended++].job, r->job, sizeof(r->job));
	}
	j->shown_ns = s->mono_ns;
}

/* Writes a job if its ledger has advanced; closes its file once the job has ended and was written.
 */
static struct tb_job job_put(struct tb_jobs *j, const struct snapshot *s, const struct job_view *v)
{
	const struct tb_job *was = tb_job_before(j, v->key);
	struct tb_job now = {.key = v->key, .written_ns = v->ledger.now_ns};
	char folder[TB_NAME_MAX], run[TB_RUN_MAX];

	if (!was || was->written_ns != v->ledger.now_ns) {
		tb_job_put(j, s, v);
		return now;
	}
	now.over = v->ledger.ended;
	if (now.over && !was->over) {
		tb_job_folder(folder, v->name, v->first_pid);
		snprintf(run, sizeof(run), "%s/goodput", folder);
		tb_board_over(j->board, run);
	}
	return now;
}

void tb_jobs_snapshot(struct tb_jobs *j, const struct snapshot *s)
{
	struct tb_job *swap = j->before;

	if (s->real_ns <= 0)
		return;
	tb_job_ranks_of(j, s);
	j->before = j->job;
	j->count_before = j->count;
	j->job = swap;
	j->count = 0;
	for (const struct job_view *v = s->jobs; v < s->jobs + s->njobs && j->count < JOBS_MAX;
	     v++) {
		if (!job_shown(s, v))
			continue;
		j->job[j->count++] = job_put(j, s, v);
	}
	tb_job_put_held(j);
	tb_job_ranks_over(j, s);
}

/* ---- from a log ------------------------------------------------------------------------------ */

bool tb_answer(struct tb_board *board, const struct goodput_answer *a,
	       const struct goodput_names *names)
{
	const struct goodput_part *p = &a->cumulative;
	struct tb_scalar out = {.wall_s = (double)a->now_us / 1e6};
	char folder[TB_NAME_MAX], run[TB_RUN_MAX];

	if (p->error || !p->has_pct || a->now_us <= 0)
		return false;
	tb_job_folder(folder, goodput_name(names, a->job), 0);
	snprintf(run, sizeof(run), "%s/goodput", folder);
	out.step = p->max_productive_step < 0 ? 0 : p->max_productive_step;
	tensorboard_job_put(board, run, out, "goodput/goodput", p->goodput_pct);
	for (int b = 0; b < BADPUTS; b++) {
		out.value = p->badput_pct[b];
		if (p->has_pct & 1u << b && b != BADPUT_CUSTOM)
			tb_job_put_badput(board, run, out, badput_name(b), NULL);
	}
	for (size_t i = 0; i < p->custom_count; i++) {
		out.value = p->custom[i].pct;
		tb_job_put_badput(board, run, out, badput_name(BADPUT_CUSTOM),
				  goodput_name(names, p->custom[i].name));
	}
	for (size_t i = 0; i < a->deviation_count; i++) {
		out.step = a->deviations[i].number;
		tensorboard_job_put(board, run, out, DEVIATION, a->deviations[i].s);
	}
	return true;
}
