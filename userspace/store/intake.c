/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"

/* ---- minutes of one rank: formed, closed, merged when they cannot be written, written -------- */

#define MINUTE_NS      60000000000ll
#define CLOCK_SLACK_NS 100000000ll

static void intake_minute_add(struct intake_minute *into, const struct intake_minute *m)
{
	sums_add(&into->sums, &m->sums);
	into->steps += m->steps;
	sketch_merge(&into->times, &m->times);
	into->joined = true;
	if (m->until_ns > into->until_ns)
		into->until_ns = m->until_ns;
}

/* Merges two successive minutes of the rank into one: the pair that covers the shortest time. */
static void intake_minutes_squeeze(struct intake *t, struct intake_rank *r)
{
	struct intake_minute *best = NULL, *next;
	int64_t least = INT64_MAX;

	for (struct intake_minute *m = r->oldest; m && m->next; m = m->next) {
		int64_t ns = sums_total(&m->sums) / 2 + sums_total(&m->next->sums) / 2;

		if (m->number > r->taken && ns < least && !m->moves && !m->next->moves) {
			least = ns;
			best = m;
		}
	}
	if (!best)
		return;
	next = best->next;
	intake_minute_add(best, next);
	best->number = next->number;
	best->next = next->next;
	if (r->newest == next)
		r->newest = best;
	free(next);
	t->rows--;
	t->lost.merged++;
}

/* A move takes time from one bucket to others. Adds a move to the newest entry of the queue if that
 * entry is a move of the same kind; otherwise returns false. */
static bool intake_moves_join(struct intake_rank *r, const struct intake_minute *moves)
{
	struct intake_minute *m = r->newest;

	if (!moves->moves || !m || !m->moves || m->number <= r->taken || m->was != moves->was ||
	    m->first != moves->first || m->minute != moves->minute)
		return false;
	sums_add(&m->sums, &moves->sums);
	return true;
}

static bool intake_minute_put(struct intake *t, struct intake_rank *r,
			      const struct intake_minute *closed)
{
	struct intake_minute *m;

	if (intake_moves_join(r, closed))
		return true;
	m = malloc(sizeof(*m));
	if (!m)
		return false;
	*m = *closed;
	m->number = ++t->minutes;
	m->next = NULL;
	if (r->newest)
		r->newest->next = m;
	else
		r->oldest = m;
	r->newest = m;
	t->rows++;
	if (m->moves)
		return true;
	sums_add(&r->closed, &m->sums);
	r->closed_steps += m->steps;
	sketch_merge(&r->closed_times, &m->times);
	if (t->rows > INTAKE_ROWS)
		intake_minutes_squeeze(t, r);
	return true;
}

/* Ends the running minute and puts it into the queue of closed minutes. Without memory, the minute
 * continues. */
static void intake_minute_close(struct intake *t, struct intake_rank *r)
{
	if (!intake_minute_put(t, r, &r->running)) {
		t->lost.merged++;
		return;
	}
	memset(&r->running, 0, sizeof(r->running));
	r->runs = false;
}

/* ---- time of a job that ended with its last disruption --------------------------------------- */

static void intake_outage_note(struct intake_rank *r, int64_t minute, const struct sums *more)
{
	struct intake_outage *o = r->outage;

	if (!o)
		o = r->outage = calloc(1, sizeof(*o));
	if (!o)
		return;
	if (!o->count || o->minute[o->count - 1] != minute) {
		if (o->count == INTAKE_OUTAGE)
			return;
		o->minute[o->count++] = minute;
	}
	sums_add(&o->sums[o->count - 1], more);
}

static void intake_outage_drop(struct intake_rank *r)
{
	free(r->outage);
	r->outage = NULL;
}

static void intake_minute_less(struct intake *t, struct intake_rank *r, int64_t minute,
			       const struct sums *less)
{
	struct intake_minute m = {.minute = minute, .until_ns = r->about.until_ns};

	if (r->runs && r->running.minute == minute) {
		sums_take(&r->running.sums, less);
		return;
	}
	sums_take(&m.sums, less);
	/* Without memory for a correction, subtract the time from the running minute, so that the
	 * sum of the rank stays right. */
	if (!intake_minute_put(t, r, &m)) {
		t->lost.merged++;
		r->running.minute = r->runs ? r->running.minute : minute;
		r->runs = true;
		sums_take(&r->running.sums, less);
	}
}

/* Call when it turns out that the job ended with its last disruption. Subtracts the time since that
 * disruption from the minutes that contain it, the latest first. more: the (negative) increase of
 * the ledger. */
static void intake_outage_undo(struct intake *t, struct intake_rank *r, const struct sums *more)
{
	static const struct sums nothing;
	struct intake_outage *o = r->outage;
	struct sums left = {0};

	sums_take(&left, more);
	while (o->count--) {
		struct sums part = o->sums[o->count];

		for (int i = 0; i < SUMS_SLOTS; i++)
			part.ns[i] = part.ns[i] < left.ns[i] ? part.ns[i] : left.ns[i];
		sums_take(&left, &part);
		if (o->count) /* the earliest minute follows after the loop, with the rest */
			intake_minute_less(t, r, o->minute[o->count], &part);
		else
			sums_add(&left, &part);
	}
	intake_minute_less(t, r, o->minute[0], &left);
	intake_outage_drop(r);
	sums_add(&r->formed, more);
	r->formed_ns = r->about.until_ns;
	r->formed_mono_ns = r->about.until_mono_ns;
	r->running.until_ns = r->formed_ns;
	r->runs = r->running.steps || memcmp(&r->running.sums, &nothing, sizeof(nothing));
	if (!r->runs)
		memset(&r->running, 0, sizeof(r->running));
	r->changed = true;
}

/* ---- time that moves between buckets --------------------------------------------------------- */

/* When time leaves a bucket, it is moved to the buckets that gained time, in this order: hang, lost
 * progress, startup, then all others. */
static const int moves_to_first[] = {BUCKET_HANG, BUCKET_WASTED, BUCKET_PROGRAM_STARTUP};

static void intake_moves_take(struct sums *more, int slot, int64_t *left_ns, struct sums *into)
{
	int64_t ns = more->ns[slot] < *left_ns ? more->ns[slot] : *left_ns;

	if (ns <= 0)
		return;
	more->ns[slot] -= ns;
	into->ns[slot] += ns;
	*left_ns -= ns;
}

/* Queues a move of at most ns of time in closed minutes: from bucket `was` to the buckets that
 * gained time. Subtracts the moved time from `more`, the increase of the ledger. */
static void intake_moves_put(struct intake *t, struct intake_rank *r, int was, int64_t ns,
			     bool first, struct sums *more)
{
	struct intake_minute m = {.moves = true, .first = first, .was = was};
	int64_t left_ns = ns < r->closed.ns[was] ? ns : r->closed.ns[was];

	if (first) {
		m.minute = r->about.run_start_ns / MINUTE_NS;
		intake_moves_take(more, BUCKET_PROGRAM_STARTUP, &left_ns, &m.sums);
	}
	for (size_t i = 0; !first && i < sizeof(moves_to_first) / sizeof(*moves_to_first); i++)
		intake_moves_take(more, moves_to_first[i], &left_ns, &m.sums);
	for (int i = 0; !first && i < SUMS_SLOTS; i++)
		intake_moves_take(more, i, &left_ns, &m.sums);
	ns = sums_total(&m.sums);
	if (ns <= 0)
		return;
	if (!intake_minute_put(t, r,
			       /* without memory for the move, the running minute gets the changes,
				* so that the sum of the rank stays right */
			       &m)) {
		t->lost.merged++;
		sums_add(more, &m.sums);
		return;
	}
	more->ns[was] += ns;
	r->closed.ns[was] -= ns;
	r->before_ns -= was == BUCKET_GOODPUT ? m.sums.ns[BUCKET_WASTED] : 0;
	sums_add(&r->closed, &m.sums);
}

/* If the first steps of a run prove to be slow, moves their excess from GOODPUT to startup, in the
 * oldest minutes of the run. */
static void intake_moves_first(struct intake *t, struct intake_rank *r, struct sums *more)
{
	int64_t wasted_ns = more->ns[BUCKET_WASTED] > 0 ? more->ns[BUCKET_WASTED] : 0;
	int64_t ns = -more->ns[BUCKET_GOODPUT] - wasted_ns;
	int64_t run_ns = r->closed.ns[BUCKET_GOODPUT] - (r->before_ns > 0 ? r->before_ns : 0);

	ns = run_ns < ns ? run_ns : ns;
	if (more->ns[BUCKET_PROGRAM_STARTUP] < ns)
		ns = more->ns[BUCKET_PROGRAM_STARTUP];
	if (ns > 0)
		intake_moves_put(t, r, BUCKET_GOODPUT, ns, true, more);
}

/* If a bucket lost more time than the running minute has in this bucket, moves the difference in
 * earlier minutes, the latest first. */
static void intake_moves_last(struct intake *t, struct intake_rank *r, struct sums *more)
{
	for (int i = 0; i < SUMS_SLOTS; i++) {
		int64_t has_ns = r->runs ? r->running.sums.ns[i] : 0;

		if (more->ns[i] < 0 && has_ns + more->ns[i] < 0)
			intake_moves_put(t, r, i, -(has_ns + more->ns[i]), false, more);
	}
}

/* When a new run of a job begins, records the job's GOODPUT before it: the row of a job covers all
 * its runs. */
static void intake_run_update(struct intake_rank *r)
{
	if (!r->about.job || r->run_mono_ns == r->about.run_mono_ns)
		return;
	r->run_mono_ns = r->about.run_mono_ns;
	r->before_ns = 0;
	if ((int64_t)(r->run_mono_ns - r->about.start_mono_ns) > 0)
		r->before_ns = r->closed.ns[BUCKET_GOODPUT] + r->running.sums.ns[BUCKET_GOODPUT];
}

/* Returns true if more time may be added to a minute than it lasts: the clock was set back, the
 * start of the rank was corrected, or this is the first snapshot of the rank. */
static bool intake_time_joins(const struct intake_rank *r)
{
	int64_t real_ns = r->about.until_ns - r->formed_ns;

	return !r->formed_mono_ns || r->formed_start_ns != r->about.start_mono_ns ||
	       real_ns + CLOCK_SLACK_NS < (int64_t)(r->about.until_mono_ns - r->formed_mono_ns);
}

/* ---- forming minutes ------------------------------------------------------------------------- */

/* Adds the increase of the rank's ledger since the last snapshot to the running minute. If the
 * increase begins in a later minute, first closes the running minute. */
static void intake_form(struct intake *t, struct intake_rank *r)
{
	int64_t from_ns = r->formed_ns ? r->formed_ns : r->about.start_ns,
		minute = from_ns / MINUTE_NS;
	static const struct sums nothing;
	struct sums more = r->now;

	intake_run_update(r);
	sums_take(&more, &r->base);
	sums_take(&more, &r->formed);
	if (r->about.ended && r->formed_ns && !r->runs && !r->shown_steps &&
	    !memcmp(&more, &nothing, sizeof(more)))
		return;
	/* The ledger has less time than the store: this snapshot is older than the stored state.
	 * Wait for later snapshots. */
	if (sums_total(&more) < 0 && !r->about.ended) {
		if (r->outage && !strcmp(r->about.state, job_state_name[JOB_OVER]))
			intake_outage_undo(t, r, &more);
		return;
	}
	if (r->runs && r->running.minute != minute)
		intake_minute_close(t, r);
	if (!r->runs)
		r->running.minute = minute;
	r->runs = true;
	sums_add(&r->formed, &more);
	intake_moves_first(t, r, &more);
	intake_moves_last(t, r, &more);
	sums_add(&r->running.sums, &more);
	if (r->about.job && !strcmp(r->about.state, job_state_name[JOB_DOWN]))
		intake_outage_note(r, minute, &more);
	else
		intake_outage_drop(r);
	r->running.steps += r->shown_steps;
	sketch_merge(&r->running.times, &r->shown_times);
	r->running.joined |= intake_time_joins(r);
	r->running.until_ns = r->formed_ns = r->about.until_ns;
	r->formed_mono_ns = r->about.until_mono_ns;
	r->formed_start_ns = r->about.start_mono_ns;
	r->shown_steps = 0;
	memset(&r->shown_times, 0, sizeof(r->shown_times));
	r->changed = true;
	if (r->about.ended)
		intake_minute_close(t, r);
}

/* Continues a rank that another watch stored: computes the base, the part of the new ledger that is
 * not added to the stored one. Time that both watches observed counts once; time that neither
 * observed is unobserved. */
static void intake_rebase(struct intake_rank *r, const struct sums *had, int64_t until_ns,
			  bool ended)
{
	int64_t gap_ns = 0;

	memset(&r->base, 0, sizeof(r->base));
	if (!r->about.job) {
		gap_ns = sums_total(&r->first) - sums_total(had);
		r->base = r->first;
	} else if (r->about.start_ns < until_ns) {
		gap_ns = r->first_ns - until_ns;
		r->base = r->first;
	} else if (!ended) {
		gap_ns = r->about.start_ns - until_ns;
	}
	sums_take(&r->base, had);
	r->base.ns[BUCKET_UNOBSERVED] -= gap_ns > 0 ? gap_ns : 0;
	r->rebased = true;
}

void intake_place(struct intake *t, struct intake_rank *r, const struct intake_place *p)
{
	struct sums had = p->closed;
	int64_t until_ns = p->running.until_ns ? p->running.until_ns : p->until_ns;

	sums_add(&had, &p->running.sums);
	r->id = p->id;
	r->placed = true;
	r->settled = p->gone_on && p->ended && !r->about.job;
	r->formed = had;
	r->closed = p->closed;
	r->closed_steps = p->closed_steps;
	r->closed_times = p->closed_times;
	r->running = p->running;
	r->run_mono_ns = 0;
	r->before_ns = 0;
	r->formed_mono_ns = 0;
	r->runs = p->running.until_ns;
	r->formed_ns = r->runs ? p->running.until_ns : p->until_ns;
	r->base = p->base;
	/* If the job's history came from another node, it already contains the time that this node
	 * stored: the whole ledger counts, so the base is 0. */
	r->rebased = !p->gone_on && r->about.job && r->about.carried &&
		     sums_total(&r->first) >= sums_total(&had);
	if (r->rebased)
		memset(&r->base, 0, sizeof(r->base));
	else if (!p->gone_on && sums_total(&had))
		intake_rebase(r, &had, until_ns, p->ended);
	if (!r->settled)
		intake_form(t, r);
}

static void intake_minutes_drop(struct intake *t, struct intake_rank *r, uint64_t upto)
{
	while (r->oldest && r->oldest->number <= upto) {
		struct intake_minute *m = r->oldest;

		r->oldest = m->next;
		free(m);
		t->rows--;
	}
	if (!r->oldest)
		r->newest = NULL;
}

void intake_written(struct intake *t, struct intake_rank *r, bool done)
{
	if (done)
		intake_minutes_drop(t, r, r->taken);
	r->changed |= !done;
	r->rebased |= r->rebasing && !done;
	r->earlier |= r->earlying && !done;
	r->rebasing = r->earlying = false;
	r->taken = 0;
	r->settled |= r->about.ended && !r->changed;
}

/* Forgets the row of a rank in the store, for example after its job was renamed. Written data
 * remains in that row; later time goes to another row. */
static void intake_unplace(struct intake *t, struct intake_rank *r)
{
	intake_minutes_drop(t, r, UINT64_MAX);
	memset(&r->running, 0, sizeof(r->running));
	r->placed = r->runs = r->settled = false;
	intake_outage_drop(r);
}

void intake_again(struct intake *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct intake_rank *r = t->ranks[i];

		r->shown_steps += r->closed_steps + r->running.steps;
		sketch_merge(&r->shown_times, &r->closed_times);
		sketch_merge(&r->shown_times, &r->running.times);
		intake_unplace(t, r);
		memset(&r->formed, 0, sizeof(r->formed));
		memset(&r->base, 0, sizeof(r->base));
		memset(&r->closed, 0, sizeof(r->closed));
		memset(&r->closed_times, 0, sizeof(r->closed_times));
		r->closed_steps = r->taken = 0;
		r->id = r->formed_ns = 0;
		r->formed_mono_ns = 0;
		r->rebased = r->rebasing = false;
		if (r->disruptions)
			memset(r->disruptions, 0, JOB_DISRUPTIONS * sizeof(*r->disruptions));
	}
}

static void intake_rank_free(struct intake *t, struct intake_rank *r)
{
	intake_minutes_drop(t, r, UINT64_MAX);
	free(r->disruptions);
	intake_outage_drop(r);
	free(r);
}

/* ---- all ranks ------------------------------------------------------------------------------- */

/* Start times of the same process may differ by up to this (ns): the kernel side reports
 * nanoseconds, /proc ticks of 10 ms. */
#define START_SLACK_NS 20000000ull
/* An entry is removed when it was missing in this many successive snapshots and all its data is
 * written. */
#define ABSENT_MAX 3

struct intake *intake_new(void)
{
	struct intake *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->by_pid = table_new();
	t->by_job = table_new();
	if (t->by_pid && t->by_job)
		return t;
	intake_free(t);
	return NULL;
}

void intake_free(struct intake *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->count; i++)
		intake_rank_free(t, t->ranks[i]);
	table_free(t->by_pid, NULL);
	table_free(t->by_job, NULL);
	free(t);
}

static struct intake_rank *intake_entry_new(struct intake *t, struct table *by, uint64_t key)
{
	struct intake_rank *r = t->count < INTAKE_RANKS ? calloc(1, sizeof(*r)) : NULL;

	if (r && table_put(by, key, r)) {
		free(r);
		r = NULL;
	}
	if (!r) {
		t->lost.ranks++;
		return NULL;
	}
	r->about.rank = r->about.world_size = -1;
	t->ranks[t->count++] = r;
	return r;
}

static struct intake_rank *intake_rank_new(struct intake *t, uint32_t pid)
{
	struct intake_rank *r = intake_entry_new(t, t->by_pid, pid);

	if (r)
		r->about.pid = pid;
	return r;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static bool intake_same_start(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < START_SLACK_NS;
}

/* Returns true if a process that began at start_ns is the process of entry r. The start in the
 * entry may be too late, if records of the process came before its identity. */
static bool intake_start_between(uint64_t start_ns, uint64_t until_ns, const struct intake_rank *r)
{
	return start_ns < r->about.start_mono_ns && r->about.start_mono_ns < until_ns;
}

/* Returns the entry of the process that has the fact's pid now. Makes a new entry if there is none,
 * or if the pid was that of an earlier process or program. */
static struct intake_rank *intake_rank_of_fact(struct intake *t, const struct fact *f)
{
	struct intake_rank *r = table_get(t->by_pid, f->pid);
	bool other = r && r->seen && f->start_ns &&
		     !intake_same_start(f->start_ns, r->about.start_mono_ns) &&
		     !intake_start_between(f->start_ns, f->mono_ns, r);

	return r && !r->left && !other ? r : intake_rank_new(t, f->pid);
}

static void intake_step_add(struct intake_rank *r, const struct step *s)
{
	r->new_steps++;
	if (!(s->flags & STEP_NO_SAMPLE))
		sketch_add(&r->new_times, s->end_ns - s->start_ns);
}

static void intake_note_texts(struct intake_note *n, const char *text, const char *words)
{
	log_escape(n->text, sizeof(n->text), text ? text : "", GP_PATH_MAX);
	log_escape(n->words, sizeof(n->words), words ? words : "", sizeof(n->words));
}

static struct intake_note *intake_note_new(struct intake *t, struct intake_rank *r,
					   enum fact_type type)
{
	struct intake_note *n = &t->notes[t->nnotes];

	if (t->nnotes == INTAKE_NOTES) {
		t->lost.notes++;
		return NULL;
	}
	memset(n, 0, sizeof(*n));
	n->rank = r;
	n->type = type;
	t->nnotes++;
	return n;
}

static void intake_note_add(struct intake *t, struct intake_rank *r, const struct fact *f)
{
	struct intake_note *n = intake_note_new(t, r, f->type);

	if (!n)
		return;
	n->real_ns = f->real_ns;
	n->mono_ns = f->mono_ns;
	if (f->type == FACT_CHECKPOINT) {
		n->checkpoint = *f->checkpoint;
		/* Do not copy the pointer, which is valid only during this call. */
		n->checkpoint.match = NULL;
		if (f->checkpoint->match)
			n->match = *f->checkpoint->match;
		intake_note_texts(n, f->checkpoint->file, NULL);
	} else {
		n->health = *f->health;
		n->health.causes = NULL;
		n->health.examination = NULL;
		n->health.line = NULL;
		if (f->health->causes)
			n->causes = *f->health->causes;
		intake_note_texts(n, f->health->phase, f->health->evidence);
	}
}

void intake_fact(struct intake *t, const struct fact *f)
{
	struct intake_rank *r;

	if (f->number <= t->skip || (t->blind && f->repeated))
		return;
	t->last_fact = f->number;
	switch (f->type) {
	case FACT_RANK:
		r = table_get(t->by_pid, f->pid);
		if (r && f->state->state == STATE_ENDED)
			r->over = true;
		else if (r)
			r->left |= r->over;
		return;
	case FACT_STEP:
	case FACT_CHECKPOINT:
	case FACT_HEALTH:
		r = intake_rank_of_fact(t, f);
		if (!r)
			t->lost.facts++;
		else if (f->type == FACT_STEP)
			intake_step_add(r, &f->step->step);
		else
			intake_note_add(t, r, f);
		return;
	default:
		return;
	}
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static bool intake_rank_matches(const struct intake_rank *r, const struct rank_view *v)
{
	return r->about.pid == v->pid &&
	       intake_same_start(r->about.start_mono_ns, v->start_mono_ns);
}

static struct intake_rank *intake_rank_of_view(struct intake *t, const struct rank_view *v)
{
	struct intake_rank *r = table_get(t->by_pid, v->pid);

	if (r && r->seen && intake_rank_matches(r, v))
		return r;
	for (uint32_t i = 0; i < t->count; i++)
		if (!t->ranks[i]->about.job && t->ranks[i]->seen &&
		    intake_rank_matches(t->ranks[i], v))
			return t->ranks[i];
	return r && (!r->seen || intake_start_between(v->start_mono_ns, v->ledger.now_ns, r))
		       ? r
		       : intake_rank_new(t, v->pid);
}

static const struct job_view *intake_job_of(const struct snapshot *s, uint64_t key)
{
	for (uint32_t i = 0; key && i < s->njobs; i++)
		if (s->jobs[i].key == key)
			return &s->jobs[i];
	return NULL;
}

/* Writes the key that identifies a job in the store. A job without a name is identified by its
 * number in the model and the boot ID, because these numbers are repeated after a boot. */
static void intake_key_of(char out[INTAKE_KEY_MAX], const struct snapshot *s, uint64_t key,
			  const char *name, const char *uid)
{
	if (*name)
		snprintf(out, INTAKE_KEY_MAX, *uid ? "name/%s/uid/%s" : "name/%s", name, uid);
	else
		snprintf(out, INTAKE_KEY_MAX, "boot/%.40s/%016llx", s->session.boot_id,
			 (unsigned long long)key);
}

void intake_key(char out[INTAKE_KEY_MAX], const struct snapshot *s, const struct job_view *j)
{
	intake_key_of(out, s, j->key, j->name, j->uid);
}

void intake_former_key(char out[INTAKE_KEY_MAX], const struct snapshot *s,
		       const struct job_former *f)
{
	intake_key_of(out, s, f->key, f->name, f->uid);
}

/* Sets the key and title under which the store keeps the job. j: the job; NULL: it is not known,
 * and the job name of rank v is used. v: NULL if the call is about the whole job. A rank without a
 * job is stored as a job of its own. */
static void intake_find_job(struct intake_about *a, const struct snapshot *s,
			    const struct job_view *j, const struct rank_view *v)
{
	const char *name = j && *j->name ? j->name : v ? v->job : "";

	if (j) {
		intake_key(a->key, s, j);
		memcpy(a->uid, j->uid, sizeof(a->uid));
		a->carried = j->carried_runs;
	} else if (*name)
		snprintf(a->key, sizeof(a->key), "name/%s", name);
	else if (v)
		snprintf(a->key, sizeof(a->key), "process/%.40s/%u/%llu", s->session.boot_id,
			 v->pid, (unsigned long long)v->start_mono_ns / START_SLACK_NS);
	if (*name || (v && (!j || v->pid == j->first_pid || !*a->title)))
		snprintf(a->title, sizeof(a->title), "%s", *name ? name : v->command);
}

static void intake_ledger_update(struct intake_rank *r, const struct snapshot *s,
				 const struct ledger_view *l)
{
	struct intake_about *a = &r->about;

	a->max_step = l->max_step;
	a->until_ns = s->real_ns - (int64_t)(s->mono_ns - l->now_ns);
	a->until_mono_ns = l->now_ns;
	sums_of_ledger(&r->now, l);
	if (r->seen)
		return;
	r->seen = true;
	r->first = r->now;
	r->first_ns = a->until_ns;
}

static void intake_rank_update(struct intake_rank *r, const struct snapshot *s,
			       const struct rank_view *v)
{
	struct intake_about *a = &r->about;
	const struct loop_view *l = v->nloops ? &v->loops[0] : NULL;

	intake_find_job(a, s, intake_job_of(s, v->job_key), v);
	a->run = v->run;
	a->accelerators = v->accelerators;
	snprintf(a->perf_tag, sizeof(a->perf_tag), "%s", s->program.perf_tag);
	snprintf(a->session_tag, sizeof(a->session_tag), "%s", s->program.session_tag);
	a->rank = v->rank;
	a->world_size = v->world_size;
	snprintf(a->comm, sizeof(a->comm), "%s", v->comm);
	snprintf(a->command, sizeof(a->command), "%s", v->command);
	if (l) {
		snprintf(a->tier, sizeof(a->tier), "%s", tier_name[l->state.tier]);
		snprintf(a->marker, sizeof(a->marker), "%s", l->state.marker);
	}
	r->earlier |= r->seen && v->start_mono_ns < a->start_mono_ns;
	a->start_mono_ns = v->start_mono_ns;
	a->start_ns = s->real_ns - (int64_t)(s->mono_ns - v->start_mono_ns);
	intake_ledger_update(r, s, &v->ledger);
	if (!v->alive && !a->ended) {
		a->ended = true;
		a->status = v->status;
		a->end_mono_ns = v->ledger.now_ns;
		a->end_ns = a->until_ns;
	}
}

static bool intake_disruption_same(const struct job_disruption *a, const struct job_disruption *b)
{
	return a->number == b->number && a->over == b->over && a->estimated == b->estimated &&
	       a->d.at_ns == b->d.at_ns && a->d.resumed_ns == b->d.resumed_ns &&
	       a->d.resumed_step == b->d.resumed_step && a->d.wasted_ns == b->d.wasted_ns &&
	       a->d.recovery_ns == b->d.recovery_ns && a->d.down_ns == b->d.down_ns &&
	       a->d.starts == b->d.starts && !strcmp(a->how, b->how) &&
	       a->why.cause == b->why.cause;
}

/* Adds a note for each disruption that is new or has changed. */
static void intake_disruptions_update(struct intake *t, struct intake_rank *r,
				      const struct snapshot *s, const struct job_view *j)
{
	if (!r->disruptions && j->ndisruptions)
		r->disruptions = calloc(JOB_DISRUPTIONS, sizeof(*r->disruptions));
	for (uint32_t i = 0; r->disruptions && i < j->ndisruptions; i++) {
		const struct job_disruption *f = &j->disruptions[i];
		struct job_disruption *had = &r->disruptions[f->number % JOB_DISRUPTIONS];
		struct intake_note *n;

		if (intake_disruption_same(had, f))
			continue;
		n = intake_note_new(t, r, FACT_DISRUPTION);
		if (!n)
			continue;
		n->mono_ns = s->mono_ns;
		n->real_ns = s->real_ns;
		n->disruption = *had = *f;
		intake_note_texts(n, f->how, NULL);
	}
}

/* Call when the model has begun a new ledger for the job. Sets the base so that the stored time is
 * kept and all time of the new ledger is added to it. */
static void intake_job_anew(struct intake_rank *r)
{
	memset(&r->base, 0, sizeof(r->base));
	sums_take(&r->base, &r->formed);
	r->rebased = true;
}

static void intake_types_update(struct intake *t, const struct ledger_view *l)
{
	for (uint32_t i = 0; i < l->ntypes; i++)
		if (l->types[i].ns && l->types[i].name && l->types[i].name < LEDGER_TYPES)
			t->typed |= 1u << l->types[i].name;
}

/* Finds the job's entry under a former name, and moves it to the present name. It is not moved
 * while its base waits to be written, or if another job has an entry with the present name. */
static struct intake_rank *intake_job_former(struct intake *t, const struct job_view *j)
{
	for (uint32_t i = j->nformer_names; i-- > 0;) {
		struct intake_rank *r = table_get(t->by_job, j->former_names[i].key);

		if (!r)
			continue;
		if (!r->rebased && !r->rebasing && !table_get(t->by_job, j->key) &&
		    !table_put(t->by_job, j->key, r)) {
			table_take(t->by_job, r->about.job_key);
			r->about.job_key = j->key;
			intake_unplace(t, r);
		}
		return r;
	}
	return NULL;
}

static struct intake_rank *intake_job_entry(struct intake *t, const struct snapshot *s,
					    const struct job_view *j)
{
	struct intake_rank *r = intake_job_former(t, j);

	r = r ? r : table_get(t->by_job, j->key);
	if (!r) {
		r = intake_entry_new(t, t->by_job, j->key);
		if (!r)
			return NULL;
		r->about.job = true;
		r->about.job_key = j->key;
	}
	r->absent = 0;
	r->about.nformer_names = j->nformer_names;
	for (uint32_t i = 0; i < j->nformer_names; i++)
		intake_former_key(r->about.former[i], s, &j->former_names[i]);
	return r;
}

static void intake_jobs_update(struct intake *t, const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->njobs; i++) {
		const struct job_view *j = &s->jobs[i];
		struct intake_rank *r = intake_job_entry(t, s, j);
		uint64_t start_ns = j->ledger.start_ns;

		if (!r)
			continue;
		intake_find_job(&r->about, s, j, NULL);
		for (uint32_t k = 0; k < s->nranks && !*j->name && !*r->about.title; k++)
			if (s->ranks[k].job_key == j->key)
				intake_find_job(&r->about, s, j, &s->ranks[k]);
		snprintf(r->about.state, sizeof(r->about.state), "%s", job_state_name[j->state]);
		/* Compare start times as signed numbers: a history from another node may begin
		 * before the boot of this one. */
		if (r->placed && (int64_t)(start_ns - r->about.until_mono_ns) > 0)
			intake_job_anew(r);
		r->about.start_mono_ns = start_ns;
		r->about.start_ns = s->real_ns - (int64_t)(s->mono_ns - start_ns);
		r->about.run_mono_ns = j->run_start_ns;
		r->about.run_start_ns = s->real_ns - (int64_t)(s->mono_ns - j->run_start_ns);
		r->about.world_size = j->world_size;
		r->about.disruptions = j->carried ? j->ledger.disruptions : 0;
		r->about.steps = j->carried ? j->ledger.steps : 0;
		intake_ledger_update(r, s, &j->ledger);
		intake_types_update(t, &j->ledger);
		intake_disruptions_update(t, r, s, j);
		if (r->placed)
			intake_form(t, r);
	}
}

static void intake_rank_drop(struct intake *t, uint32_t i)
{
	struct intake_rank *r = t->ranks[i];
	uint32_t kept = 0, ready = 0;

	for (uint32_t n = 0; n < t->nnotes; n++) {
		if (t->notes[n].rank == r)
			continue;
		ready += n < t->ready;
		t->notes[kept++] = t->notes[n];
	}
	t->lost.notes += t->nnotes - kept;
	t->nnotes = kept;
	t->ready = ready;
	if (r->about.job)
		table_take(t->by_job, r->about.job_key);
	else if (table_get(t->by_pid, r->about.pid) == r)
		table_take(t->by_pid, r->about.pid);
	t->ranks[i] = t->ranks[--t->count];
	intake_rank_free(t, r);
}

/* The steps since the last snapshot are added to the next minute that is formed, even if the rank
 * has no row in the store yet. */
static void intake_steps_shown(struct intake_rank *r)
{
	if (!r->new_steps)
		return;
	r->shown_steps += r->new_steps;
	sketch_merge(&r->shown_times, &r->new_times);
	r->new_steps = 0;
	memset(&r->new_times, 0, sizeof(r->new_times));
}

void intake_snapshot(struct intake *t, const struct snapshot *s)
{
	if (!s->real_ns) /* without wall-clock time, the minute of the snapshot is not known */
		return;
	t->types = s->types;
	for (uint32_t i = 0; i < t->count; i++) {
		t->ranks[i]->absent++;
		intake_steps_shown(t->ranks[i]);
	}
	intake_jobs_update(t, s);
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *v = &s->ranks[i];
		struct intake_rank *r = v->trainer ? intake_rank_of_view(t, v) : NULL;

		if (!r)
			continue;
		r->absent = 0;
		if (r->settled)
			continue;
		intake_rank_update(r, s, v);
		intake_types_update(t, &v->ledger);
		if (r->placed)
			intake_form(t, r);
	}
	t->closed = t->last_fact > t->skip ? t->last_fact : t->skip;
	t->ready = t->nnotes;
}

bool intake_unplaced(const struct intake *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->ranks[i]->seen && !t->ranks[i]->placed)
			return true;
	return false;
}

bool intake_due(const struct intake *t)
{
	bool due = t->ready;

	for (uint32_t i = 0; i < t->count && !due; i++)
		due = t->ranks[i]->changed || (t->ranks[i]->seen && !t->ranks[i]->placed);
	return due;
}

void intake_noted(struct intake *t, uint32_t n)
{
	t->nnotes -= n;
	t->ready -= n;
	memmove(t->notes, t->notes + n, t->nnotes * sizeof(t->notes[0]));
}

void intake_forget(struct intake *t)
{
	for (uint32_t i = t->count; i-- > 0;) {
		struct intake_rank *r = t->ranks[i];

		if (r->absent >= ABSENT_MAX &&
		    (r->settled || !r->seen || (r->placed && !r->changed && !r->oldest))) {
			t->lost.ranks += !r->seen;
			intake_rank_drop(t, i);
		}
	}
}
