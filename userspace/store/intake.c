/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/store/intake_private.h"

static const char *const tier_name[] = {"", "A", "B", "C"}; /* by enum step_tier */

/* A start is told by the kernel to the nanosecond, by /proc in ticks of 10 ms. */
#define START_SLACK_NS 20000000ull
#define ABSENT_MAX     3 /* snapshots that a process with facts may be missing from */

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

static struct intake_rank *entry_new(struct intake *t, struct table *by, uint64_t key)
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

static struct intake_rank *rank_new(struct intake *t, uint32_t pid)
{
	struct intake_rank *r = entry_new(t, t->by_pid, pid);

	if (r)
		r->about.pid = pid;
	return r;
}

/* ---- facts
 * ------------------------------------------------------------------------------------------- */

static bool near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < START_SLACK_NS;
}

/* A process whose records came before it was introduced turns out to have begun earlier: who of its
 * number lived since before that start, and beyond it, is the same. */
static bool spans(uint64_t start_ns, uint64_t until_ns, const struct intake_rank *r)
{
	return start_ns < r->about.start_mono_ns && r->about.start_mono_ns < until_ns;
}

/* About the process that has the number now, and the program that it runs now. */
static struct intake_rank *rank_of_fact(struct intake *t, const struct fact *f)
{
	struct intake_rank *r = table_get(t->by_pid, f->pid);
	bool other = r && r->seen && f->start_ns && !near(f->start_ns, r->about.start_mono_ns) &&
		     !spans(f->start_ns, f->mono_ns, r);

	return r && !r->left && !other ? r : rank_new(t, f->pid);
}

static void step_add(struct intake_rank *r, const struct step *s)
{
	r->told_steps++;
	if (!(s->flags & STEP_NO_SAMPLE))
		sketch_add(&r->told_times, s->end_ns - s->start_ns);
}

static void note_texts(struct intake_note *n, const char *text, const char *words)
{
	log_escape(n->text, sizeof(n->text), text ? text : "", GP_PATH_MAX);
	log_escape(n->words, sizeof(n->words), words ? words : "", sizeof(n->words));
}

static struct intake_note *note_new(struct intake *t, struct intake_rank *r, enum fact_type type)
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

static void note_add(struct intake *t, struct intake_rank *r, const struct fact *f)
{
	struct intake_note *n = note_new(t, r, f->type);

	if (!n)
		return;
	n->real_ns = f->real_ns;
	n->mono_ns = f->mono_ns;
	if (f->type == FACT_CHECKPOINT) {
		n->checkpoint = *f->checkpoint;
		n->checkpoint.match = NULL; /* f's */
		if (f->checkpoint->match)
			n->match = *f->checkpoint->match;
		note_texts(n, f->checkpoint->file, NULL);
	} else {
		n->health = *f->health;
		note_texts(n, f->health->phase, f->health->evidence);
	}
}

void intake_fact(struct intake *t, const struct fact *f)
{
	struct intake_rank *r;

	if (f->number <= t->skip || (t->blind && f->told))
		return;
	t->told = f->number;
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
		r = rank_of_fact(t, f);
		if (!r)
			t->lost.facts++;
		else if (f->type == FACT_STEP)
			step_add(r, &f->step->step);
		else
			note_add(t, r, f);
		return;
	default:
		return;
	}
}

/* ---- snapshots
 * --------------------------------------------------------------------------------------- */

static bool is(const struct intake_rank *r, const struct rank_view *v)
{
	return r->about.pid == v->pid && near(r->about.start_mono_ns, v->start_mono_ns);
}

static struct intake_rank *rank_of_view(struct intake *t, const struct rank_view *v)
{
	struct intake_rank *r = table_get(t->by_pid, v->pid);

	if (r && r->seen && is(r, v))
		return r;
	for (uint32_t i = 0; i < t->count; i++)
		if (!t->ranks[i]->about.job && t->ranks[i]->seen && is(t->ranks[i], v))
			return t->ranks[i];
	return r && (!r->seen || spans(v->start_mono_ns, v->ledger.now_ns, r))
		       ? r
		       : rank_new(t, v->pid);
}

static const struct job_view *job_of(const struct snapshot *s, uint64_t key)
{
	for (uint32_t i = 0; key && i < s->njobs; i++)
		if (s->jobs[i].key == key)
			return &s->jobs[i];
	return NULL;
}

/* A job without a name is known by the model's number for it, which holds for a boot. */
static void key_of(char out[INTAKE_KEY_MAX], const struct snapshot *s, uint64_t key,
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
	key_of(out, s, j->key, j->name, j->uid);
}

void intake_former_key(char out[INTAKE_KEY_MAX], const struct snapshot *s,
		       const struct job_former *f)
{
	key_of(out, s, f->key, f->name, f->uid);
}

/* A process that no job has is one by itself. */
static void job_look(struct intake_about *a, const struct snapshot *s, const struct job_view *j,
		     const struct rank_view *v)
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

static void ledger_look(struct intake_rank *r, const struct snapshot *s,
			const struct ledger_view *l)
{
	struct intake_about *a = &r->about;

	a->max_step = l->max_step;
	a->until_ns = s->real_ns - (int64_t)(s->mono_ns - l->now_ns);
	sums_of_ledger(&r->now, l);
	if (r->seen)
		return;
	r->seen = true;
	r->first = r->now;
	r->first_ns = a->until_ns;
}

static void rank_look(struct intake_rank *r, const struct snapshot *s, const struct rank_view *v)
{
	struct intake_about *a = &r->about;
	const struct loop_view *l = v->nloops ? &v->loops[0] : NULL;

	job_look(a, s, job_of(s, v->job_key), v);
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
	ledger_look(r, s, &v->ledger);
	if (!v->alive && !a->ended) {
		a->ended = true;
		a->status = v->status;
		a->end_mono_ns = v->ledger.now_ns;
		a->end_ns = a->until_ns;
	}
}

static bool fall_same(const struct job_fall *a, const struct job_fall *b)
{
	return a->number == b->number && a->over == b->over && a->estimated == b->estimated &&
	       a->d.at_ns == b->d.at_ns && a->d.resumed_ns == b->d.resumed_ns &&
	       a->d.resumed_step == b->d.resumed_step && a->d.wasted_ns == b->d.wasted_ns &&
	       a->d.recovery_ns == b->d.recovery_ns && a->d.down_ns == b->d.down_ns &&
	       a->d.starts == b->d.starts && !strcmp(a->how, b->how) &&
	       !strcmp(a->why.cause, b->why.cause);
}

/* What is new of a disruption, or became of it. */
static void falls_look(struct intake *t, struct intake_rank *r, const struct snapshot *s,
		       const struct job_view *j)
{
	if (!r->falls && j->nfalls)
		r->falls = calloc(JOB_FALLS, sizeof(*r->falls));
	for (uint32_t i = 0; r->falls && i < j->nfalls; i++) {
		const struct job_fall *f = &j->falls[i];
		struct job_fall *had = &r->falls[f->number % JOB_FALLS];
		struct intake_note *n;

		if (fall_same(had, f))
			continue;
		n = note_new(t, r, FACT_DISRUPTION);
		if (!n)
			continue;
		n->mono_ns = s->mono_ns;
		n->real_ns = s->real_ns;
		n->disruption = *had = *f;
		note_texts(n, f->how, NULL);
	}
}

/* The job's ledger began anew, behind what is known of it: that stays, and all of the new one is
 * added. */
static void job_anew(struct intake_rank *r)
{
	memset(&r->base, 0, sizeof(r->base));
	sums_take(&r->base, &r->formed);
	r->rebased = true;
}

static void types_look(struct intake *t, const struct ledger_view *l)
{
	for (uint32_t i = 0; i < l->ntypes; i++)
		if (l->types[i].ns && l->types[i].name && l->types[i].name < LEDGER_TYPES)
			t->typed |= 1u << l->types[i].name;
}

/* What it was told as before. It goes by its new key once what there is to write of it can be told
 * anew, and what another job of that name did before is written. */
static struct intake_rank *job_former(struct intake *t, const struct job_view *j)
{
	for (uint32_t i = j->nformers; i-- > 0;) {
		struct intake_rank *r = table_get(t->by_job, j->formers[i].key);

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

static struct intake_rank *job_entry(struct intake *t, const struct snapshot *s,
				     const struct job_view *j)
{
	struct intake_rank *r = job_former(t, j);

	r = r ? r : table_get(t->by_job, j->key);
	if (!r) {
		r = entry_new(t, t->by_job, j->key);
		if (!r)
			return NULL;
		r->about.job = true;
		r->about.job_key = j->key;
	}
	r->absent = 0;
	r->about.nformers = j->nformers;
	for (uint32_t i = 0; i < j->nformers; i++)
		intake_former_key(r->about.former[i], s, &j->formers[i]);
	return r;
}

static void jobs_look(struct intake *t, const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->njobs; i++) {
		const struct job_view *j = &s->jobs[i];
		struct intake_rank *r = job_entry(t, s, j);
		uint64_t start_ns = j->ledger.start_ns;

		if (!r)
			continue;
		job_look(&r->about, s, j, NULL);
		for (uint32_t k = 0; k < s->nranks && !*j->name && !*r->about.title; k++)
			if (s->ranks[k].job_key == j->key)
				job_look(&r->about, s, j, &s->ranks[k]);
		snprintf(r->about.state, sizeof(r->about.state), "%s", job_state_name[j->state]);
		/* One that was carried here may have begun before the boot. */
		if (r->placed && (int64_t)(start_ns - r->about.until_mono_ns) > 0)
			job_anew(r);
		r->about.until_mono_ns = j->ledger.now_ns;
		r->about.start_mono_ns = start_ns;
		r->about.start_ns = s->real_ns - (int64_t)(s->mono_ns - start_ns);
		r->about.world_size = j->world_size;
		r->about.falls = j->carried ? j->ledger.disruptions : 0;
		r->about.steps = j->carried ? j->ledger.steps : 0;
		ledger_look(r, s, &j->ledger);
		types_look(t, &j->ledger);
		falls_look(t, r, s, j);
		if (r->placed)
			intake_form(t, r);
	}
}

static void rank_drop(struct intake *t, uint32_t i)
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

/* What comes after the snapshot goes with the next one, also where the place becomes known in
 * between. */
static void steps_shown(struct intake_rank *r)
{
	if (!r->told_steps)
		return;
	r->shown_steps += r->told_steps;
	sketch_merge(&r->shown_times, &r->told_times);
	r->told_steps = 0;
	memset(&r->told_times, 0, sizeof(r->told_times));
}

void intake_snapshot(struct intake *t, const struct snapshot *s)
{
	if (!s->real_ns) /* no minute to put it in */
		return;
	t->types = s->types;
	for (uint32_t i = 0; i < t->count; i++) {
		t->ranks[i]->absent++;
		steps_shown(t->ranks[i]);
	}
	jobs_look(t, s);
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *v = &s->ranks[i];
		struct intake_rank *r = v->trainer ? rank_of_view(t, v) : NULL;

		if (!r)
			continue;
		r->absent = 0;
		if (r->settled)
			continue;
		rank_look(r, s, v);
		types_look(t, &v->ledger);
		if (r->placed)
			intake_form(t, r);
	}
	t->closed = t->told > t->skip ? t->told : t->skip;
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
			rank_drop(t, i);
		}
	}
}
