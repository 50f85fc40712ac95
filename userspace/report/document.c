/* SPDX-License-Identifier: Apache-2.0 */
/* document.c - collects a job's data from the store for a report. */
#include "userspace/report/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slowdown that cost less than 1/MINOR of the job's elapsed time is counted, but not listed. */
#define MINOR		1000
#define DOCUMENT_NS_MAX (INT64_MAX / 2)
#define BUCKET_NS_MAX	(INT64_MAX / 256)

struct reading {
	struct report_document *document;
	struct store *store;
	int64_t run; /* ID of the run whose ranks the document lists */
	uint32_t most;
};

/* ---- lists ----------------------------------------------------------------------------------- */

int document_list_add(struct document_list *l, const void *item, size_t size)
{
	char *at = l->at;

	if (l->count == l->room && l->room < DOCUMENT_LIST) {
		uint32_t room = l->room ? 2 * l->room : 16;

		at = realloc(at, room * size);
		if (!at)
			return -ENOMEM;
		l->at = at;
		l->room = room;
	}
	/* The list is full: drop a quarter of the items at once, so that the cost for each new item
	 * stays small. */
	if (l->count == DOCUMENT_LIST) {
		memmove(at, at + DOCUMENT_LIST / 4 * size,
			(DOCUMENT_LIST - DOCUMENT_LIST / 4) * size);
		l->count -= DOCUMENT_LIST / 4;
		l->earlier += DOCUMENT_LIST / 4;
	}
	memcpy(at + l->count++ * size, item, size);
	return 0;
}

static int64_t document_bounded_ns(int64_t ns)
{
	return ns > BUCKET_NS_MAX ? BUCKET_NS_MAX : ns < -BUCKET_NS_MAX ? -BUCKET_NS_MAX : ns;
}

/* Clamps a time or duration from a file, which may be any number, so that the sum of two cannot
 * overflow. */
static void document_clamp_ns(int64_t *ns)
{
	if (*ns == STORE_NONE)
		return;
	if (*ns < 0)
		*ns = 0;
	if (*ns > DOCUMENT_NS_MAX)
		*ns = DOCUMENT_NS_MAX;
}

/* ---- data of the store ----------------------------------------------------------------------- */

static bool document_outside_span(const struct report_document *s, int64_t from_ns, int64_t to_ns)
{
	return to_ns < s->span.from_ns || (s->span.to_ns && from_ns >= s->span.to_ns);
}

static bool document_is_whole(const struct store_span *span)
{
	return !span->from_ns && !span->to_ns;
}

/* Reads the totals of a rank within the requested span. whole: totals of the rank's whole life,
 * returned if the span covers everything. */
static int document_rank_totals(const struct reading *r, int64_t rank,
				const struct store_totals *whole, struct store_totals *ret)
{
	const struct report_document *s = r->document;

	*ret = *whole;
	return document_is_whole(&s->span) && !s->exclusions.count
		       ? 0
		       : store_rank_totals(r->store, rank, &s->span, true, ret);
}

static int document_take_run(void *ctx, const struct store_run *run)
{
	struct reading *r = ctx;
	struct document_run own = {.run = *run};
	struct store_totals totals;
	int err;

	document_clamp_ns(&own.run.start_ns);
	document_clamp_ns(&own.run.last_ns);
	document_clamp_ns(&own.run.end_ns);
	if (document_outside_span(r->document, run->start_ns, run->last_ns))
		return 0;
	err = document_rank_totals(r, run->reference, &run->totals, &totals);
	own.sums = totals.sums;
	own.steps = totals.steps;
	report_times_of_sketch(&own.times, &totals.times, 0);
	if (run->ranks >= 2 || r->most < 2) {
		r->run = run->id;
		r->most = run->ranks;
		r->document->attempt = run->attempt;
	}
	return err ? err : document_list_add(&r->document->runs, &own, sizeof(own));
}

static int document_take_rank(void *ctx, const struct store_rank *rank)
{
	struct reading *r = ctx;
	struct document_rank own = {.rank = *rank};
	struct store_totals totals;
	int err;

	document_clamp_ns(&own.rank.start_ns);
	document_clamp_ns(&own.rank.end_ns);
	if (r->document->ranks.count == DOCUMENT_LIST) { /* Ranks arrive in order of their number:
							    keep the first DOCUMENT_LIST. */
		r->document->ranks.earlier++;
		return 0;
	}
	err = document_rank_totals(r, rank->id, &rank->totals, &totals);
	own.sums = totals.sums;
	own.steps = totals.steps;
	report_times_of_sketch(&own.times, &totals.times, 0);
	return err ? err : document_list_add(&r->document->ranks, &own, sizeof(own));
}

static int document_take_disruption(void *ctx, const struct disruption_row *row)
{
	struct report_document *s = ((struct reading *)ctx)->document;
	struct disruption_row d = *row;
	int64_t *const ns[] = {&d.at_ns, &d.resumed_ns, &d.wasted_ns, &d.recovery_ns, &d.down_ns};

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		document_clamp_ns(ns[i]);
	if (d.recovery_ns > 0)
		s->recovery_ns += (uint64_t)d.recovery_ns;
	if (d.wasted_ns > 0)
		s->wasted_ns += (uint64_t)d.wasted_ns;
	s->unrecovered += !d.over;
	return document_list_add(&s->disruptions, &d, sizeof(d));
}

static int document_take_checkpoint(void *ctx, const struct store_checkpoint *row)
{
	struct report_document *s = ((struct reading *)ctx)->document;
	struct store_checkpoint own = *row, *c = &own;

	document_clamp_ns(&own.start_ns);
	document_clamp_ns(&own.end_ns);
	if (c->restore) {
		s->restores++;
		s->restores_guessed += c->estimated || c->saved_step == STORE_NONE;
	} else {
		s->saves++;
		s->saves_async += c->async;
		if (!c->async && c->end_ns > c->start_ns)
			s->saves_ns += (uint64_t)(c->end_ns - c->start_ns);
		if (c->closed && c->step != STORE_NONE)
			s->secured_step = c->step;
	}
	return document_list_add(&s->checkpoints, c, sizeof(*c));
}

/* Adds a health event. The event "recovered" marks the end of a slowdown, and an earlier row of the
 * list marks its start. */
static int document_take_health(void *ctx, const struct store_health *h)
{
	struct document_list *l = &((struct reading *)ctx)->document->healths;
	struct store_health own = *h, *had = l->at;

	for (uint32_t i = l->count; i-- > 0 && !strcmp(h->kind, "recovered");) {
		if (had[i].rank != h->rank || strcmp(had[i].kind, "fail_slow") != 0)
			continue;
		had[i].over = true;
		break;
	}
	document_clamp_ns(&own.onset_ns);
	document_clamp_ns(&own.at_ns);
	own.size_ns = own.size_ns < DOCUMENT_NS_MAX ? own.size_ns : DOCUMENT_NS_MAX;
	return document_list_add(l, &own, sizeof(own));
}

static int document_note_add(struct document_list *l, const struct store_note *n)
{
	struct store_note own = *n;

	document_clamp_ns(&own.at_ns);
	document_clamp_ns(&own.to_ns);
	return document_list_add(l, &own, sizeof(own));
}

static int document_take_mark(void *ctx, const struct store_note *n)
{
	return document_note_add(&((struct reading *)ctx)->document->marks, n);
}

/* Adds an exclusion if it overlaps a minute in which the job ran. */
static int document_take_exclusion(void *ctx, const struct store_note *n)
{
	struct report_document *s = ((struct reading *)ctx)->document;

	if (n->at_ns >= s->to_ns - s->to_ns % STORE_MINUTE_NS + STORE_MINUTE_NS ||
	    n->to_ns <= s->from_ns - s->from_ns % STORE_MINUTE_NS)
		return 0;
	return document_note_add(&s->exclusions, n);
}

/* Returns true if an exclusion overlaps the minute: the totals exclude such minutes as a whole.
 * Returns false for spans longer than a minute, whose step times cannot be split. */
static bool document_is_left_out(const struct report_document *s, int64_t from_ns, int64_t to_ns)
{
	bool out = false;

	for (uint32_t i = 0; to_ns - from_ns == STORE_MINUTE_NS && i < s->exclusions.count; i++) {
		const struct store_note *n = DOCUMENT_AT(s->exclusions, struct store_note, i);

		out |= n->at_ns < to_ns && n->to_ns > from_ns;
	}
	return out;
}

static int document_take_minute(void *ctx, int64_t from_ns, int64_t to_ns,
				const struct store_totals *t)
{
	struct report_document *s = ((struct reading *)ctx)->document;

	if (!document_is_left_out(s, from_ns, to_ns))
		curve_merge(s->curve, from_ns, &t->times);
	return 0;
}

/* ---- derived figures ------------------------------------------------------------------------- */

/* Splits the time of custom events by type, as far as the stored data separates types. The types'
 * sum never exceeds the bucket. */
static void document_types_make(const struct store *st, const struct sums *from,
				struct ledger_view *l, struct type_names *names)
{
	uint64_t left_ns = l->ns[BUCKET_CUSTOM];
	size_t prefix = strlen(bucket_name[BUCKET_CUSTOM]) + 1;
	const char *name;

	/* type 0: time of all custom events that have no type of their own in the list */
	l->ntypes = 1;
	for (uint32_t i = BUCKET_COUNT; i < SUMS_SLOTS && l->ntypes < LEDGER_TYPES; i++) {
		uint64_t ns = document_bounded_ns(from->ns[i]) > 0
				      ? (uint64_t)document_bounded_ns(from->ns[i])
				      : 0;

		ns = ns < left_ns ? ns : left_ns;
		name = store_bucket(st, i);
		if (!ns || !name || !*name)
			continue;
		if (!strncmp(name, bucket_name[BUCKET_CUSTOM], prefix - 1) &&
		    name[prefix - 1] == '.')
			name += prefix;
		snprintf(names->name[l->ntypes], LEDGER_TYPE_MAX, "%s", name);
		l->types[l->ntypes] = (struct ledger_type){l->ntypes, ns};
		l->ntypes++;
		left_ns -= ns;
	}
	l->types[0].ns = left_ns;
}

/* Fills the ledger. Buckets unknown to this version become custom events. A bucket can be negative
 * if later records moved its time out of the span: other buckets are then reduced, so that the sum
 * stays the elapsed time. */
static void document_ledger_make(const struct sums *from, uint64_t excluded_ns,
				 struct ledger_view *l)
{
	int64_t ns[BUCKET_COUNT] = {0}, owed = 0;

	for (int i = 0; i < SUMS_SLOTS; i++)
		ns[i < BUCKET_COUNT ? i : BUCKET_CUSTOM] += document_bounded_ns(from->ns[i]);
	for (int i = 0; i < BUCKET_COUNT; i++) {
		if (ns[i] < 0) {
			owed -= ns[i];
			ns[i] = 0;
		}
	}
	for (int i = BUCKET_COUNT - 1; i >= 0 && owed; i--) {
		int64_t less = ns[i] < owed ? ns[i] : owed;

		ns[i] -= less;
		owed -= less;
	}
	for (int i = 0; i < BUCKET_COUNT; i++) {
		l->ns[i] = (uint64_t)ns[i];
		l->now_ns += (uint64_t)ns[i];
	}
	l->ns[BUCKET_EXCLUDED] = excluded_ns;
	l->now_ns += excluded_ns;
}

static void document_ledger_count(struct report_document *s)
{
	struct ledger_view *l = &s->ledger;

	l->steps = s->totals.steps;
	l->max_step = s->job.max_step;
	l->disruptions = s->disruptions.count + s->disruptions.earlier;
	if (s->elsewhere && l->disruptions < s->job.disruptions)
		l->disruptions = s->job.disruptions;
}

/* Returns the slowdown that the "recovered" row `end` ended. */
static struct store_health *document_slowdown_start(const struct report_document *s, uint32_t end)
{
	struct store_health *all = s->healths.at;

	for (uint32_t i = end; i-- > 0;)
		if (all[i].rank == all[end].rank && !strcmp(all[i].kind, "fail_slow"))
			return all[i].onset_ns == all[end].onset_ns ? &all[i] : NULL;
	return NULL;
}

/* Estimates how much time a slowdown cost, in ns. end->size_ns is the extra time of each step; the
 * number of steps follows from their usual length. */
static double document_weigh_cost_ns(const struct report_document *s,
				     const struct store_health *end)
{
	double usual_ns = (double)sketch_quantile(&s->totals.times, 0.5),
	       more_ns = (double)end->size_ns, lasted_ns = (double)(end->at_ns - end->onset_ns);

	return usual_ns + more_ns > 0 ? lasted_ns * more_ns / (usual_ns + more_ns) : lasted_ns;
}

/* Marks slowdowns that cost little as minor, because a busy machine has many that last only a few
 * steps. */
static void document_weigh(struct report_document *s)
{
	struct store_health *all = s->healths.at;

	for (uint32_t i = 0; i < s->healths.count; i++) {
		struct store_health *from = strcmp(all[i].kind, "recovered")
						    ? NULL
						    : document_slowdown_start(s, i);

		if (!from || document_weigh_cost_ns(s, &all[i]) * MINOR >=
				     (double)ledger_elapsed(&s->ledger))
			continue;
		from->minor = all[i].minor = true;
		s->minor++;
	}
}

static void document_clip_span(struct report_document *s)
{
	s->from_ns = s->job.first_ns;
	s->to_ns = s->job.last_ns;
	document_clamp_ns(&s->from_ns);
	document_clamp_ns(&s->to_ns);
	if (s->span.from_ns > s->from_ns)
		s->from_ns = s->span.from_ns;
	if (s->span.to_ns && s->span.to_ns < s->to_ns)
		s->to_ns = s->span.to_ns;
	if (s->to_ns < s->from_ns)
		s->to_ns = s->from_ns;
}

static int document_curve_fill(struct reading *r)
{
	struct report_document *s = r->document;
	int err = 0;

	if (s->every_step)
		return 0;
	s->curve = malloc(sizeof(*s->curve));
	if (!s->curve)
		return -ENOMEM;
	curve_init(s->curve, STORE_MINUTE_NS);
	for (uint32_t i = 0; !err && i < s->runs.count; i++)
		err = store_minutes(r->store,
				    DOCUMENT_AT(s->runs, struct document_run, i)->run.reference,
				    &s->span, document_take_minute, r);
	return err;
}

/* Numbers the disruptions by counting, because a store does not number them. This is only possible
 * if all of them were read. */
static void document_number_disruptions(struct report_document *s)
{
	struct disruption_row *d = s->disruptions.at;

	for (uint32_t i = 0; i < s->disruptions.count; i++)
		if (document_is_whole(&s->span) && !s->elsewhere)
			d[i].number = s->disruptions.earlier + i + 1;
}

static int document_read(struct reading *r)
{
	struct report_document *s = r->document;
	const struct store_span *span = &s->span;
	int64_t job = s->job.id;
	int err = store_exclusions(r->store, span, document_take_exclusion, r);

	err = err ? err : store_job_totals(r->store, job, span, true, &s->totals);
	err = err ? err : store_runs(r->store, job, document_take_run, r);
	if (!err && r->run)
		err = store_ranks(r->store, r->run, document_take_rank, r);
	err = err ? err : store_disruptions(r->store, job, span, document_take_disruption, r);
	err = err ? err : store_checkpoints(r->store, job, span, document_take_checkpoint, r);
	err = err ? err : store_healths(r->store, job, span, document_take_health, r);
	err = err ? err : store_marks(r->store, job, span, document_take_mark, r);
	return err ? err : document_curve_fill(r);
}

int document_of_store(struct report_document **ret, struct store *st, const struct store_job *job,
		      const struct store_span *span, struct curve *curve)
{
	struct report_document *s = calloc(1, sizeof(*s));
	struct reading r = {.document = s, .store = st};
	struct verdict_facts facts;
	int err;

	if (!s) {
		free(curve);
		return -ENOMEM;
	}
	s->job = *job;
	s->span = *span;
	s->secured_step = STORE_NONE;
	s->curve = curve;
	s->every_step = curve;
	document_clip_span(s);
	err = document_read(&r);
	if (err) {
		document_close(s);
		return err;
	}
	if (job->carried && document_is_whole(span) && !s->exclusions.count)
		s->elsewhere = job->runs > s->runs.count ? job->runs - s->runs.count : 0;
	document_ledger_make(&s->totals.sums, s->totals.excluded_ns, &s->ledger);
	document_ledger_count(s);
	document_types_make(st, &s->totals.sums, &s->ledger, &s->types);
	s->unreadable = store_unreadable(st);
	s->steps = s->totals.steps;
	report_times_of_sketch(&s->times, &s->totals.times, report_ideal_ns(&s->totals.times));
	document_number_disruptions(s);
	document_weigh(s);
	document_say(s);
	verdict_facts_of_document(&facts, s);
	verdict_find(&s->verdicts, &facts);
	*ret = s;
	return 0;
}

int document_windows(struct report_document *s, struct store *st, const uint64_t *length_ns)
{
	struct store_totals *t = calloc(1, sizeof(*t));
	int err = t ? 0 : -ENOMEM;

	for (int i = 0; !err && i < WINDOWS_MAX && length_ns[i]; i++) {
		struct document_window *w = &s->windows[s->nwindows++];
		struct store_span span = {.to_ns = s->span.to_ns};

		*w = (struct document_window){
			.length_ns = length_ns[i], .from_ns = s->from_ns, .whole = true};
		if (s->to_ns - s->from_ns > (int64_t)length_ns[i]) {
			w->from_ns = s->to_ns - (int64_t)length_ns[i];
			w->from_ns -= w->from_ns % STORE_MINUTE_NS;
			w->from_ns = w->from_ns > s->from_ns ? w->from_ns : s->from_ns;
			w->whole = false;
		}
		span.from_ns = w->from_ns;
		*t = (struct store_totals){0};
		err = store_job_totals(st, s->job.id, w->whole ? &s->span : &span, true, t);
		document_ledger_make(&t->sums, t->excluded_ns, &w->ledger);
		document_types_make(st, &t->sums, &w->ledger, &w->types);
		w->steps = t->steps;
	}
	free(t);
	return err;
}

void document_close(struct report_document *s)
{
	if (!s)
		return;
	free(s->runs.at);
	free(s->ranks.at);
	free(s->disruptions.at);
	free(s->checkpoints.at);
	free(s->healths.at);
	free(s->marks.at);
	free(s->exclusions.at);
	free(s->curve);
	if (s->compared)
		store_comparison_free(s->compared);
	free(s->compared);
	free(s);
}
