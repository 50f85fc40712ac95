/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - computes the parts of an answer (struct goodput_part) from the ledger of a log: for
 * the whole time, for windows, and for the time that is not excluded. */
#include "userspace/account/closed/closed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sums {
	uint64_t ns[BUCKET_COUNT];
	struct ledger_type types[LEDGER_TYPES];
	uint32_t ntypes;
};

static int64_t closed_clamp_us(int64_t us, int64_t low_us, int64_t high_us)
{
	return us < low_us ? low_us : us > high_us ? high_us : us;
}

static void answer_sums_type(struct sums *s, uint32_t name, uint64_t ns)
{
	uint32_t i = 0;

	while (i < s->ntypes && s->types[i].name != name)
		i++;
	if (i == s->ntypes)
		s->types[s->ntypes++].name = name; /* types[] cannot overflow: the ledger
						      distinguishes at most LEDGER_TYPES types */
	s->types[i].ns += ns;
}

static void answer_sums_add(const struct closed_work *w, struct sums *s, int64_t from_us,
			    int64_t to_us)
{
	uint64_t from_ns = (uint64_t)from_us * 1000, to_ns = (uint64_t)to_us * 1000;

	for (size_t i = goodput_piece_at(w->pieces, w->npieces, from_ns);
	     i < w->npieces && w->pieces[i].from_ns < to_ns; i++) {
		const struct goodput_piece *p = &w->pieces[i];
		uint64_t a_ns = p->from_ns > from_ns ? p->from_ns : from_ns;
		uint64_t b_ns = p->to_ns < to_ns ? p->to_ns : to_ns;

		s->ns[p->bucket] += b_ns - a_ns;
		if (p->bucket == BUCKET_CUSTOM)
			answer_sums_type(s, p->name, b_ns - a_ns);
	}
}

/* ---- steps, slices --------------------------------------------------------------------------- */

/* Returns the number of the last step of run r that ended in (from_us, to_us]; -1: none. */
static int64_t answer_run_max_step(const struct closed_work *w, size_t r, int64_t from_us,
				   int64_t to_us)
{
	const struct closed_end *end = &w->ends[r];
	size_t begun = closed_steps_until(w->c, r, to_us);

	if (end->at_us != GOODPUT_UNKNOWN && end->at_us > from_us && end->at_us <= to_us)
		return end->number;
	/* The record of a step means that the step began, and that the step before it ended. */
	if (begun < w->c->runs[r].base + 2 || w->c->steps[begun - 1].time_us <= from_us)
		return -1;
	return w->c->steps[begun - 1].number - 1;
}

static int64_t answer_max_step(const struct closed_work *w, int64_t from_us, int64_t to_us)
{
	int64_t max = -1;

	for (size_t r = w->c->nruns; r-- > 0 && max < 0;)
		max = answer_run_max_step(w, r, from_us, to_us);
	return max < 0 ? 0 : max;
}

/* Returns the number of the last step that was recorded up to to_us and was not repeated by a later
 * run. */
static int64_t answer_last_step(const struct closed_work *w, int64_t to_us)
{
	for (size_t r = w->c->nruns; r-- > 0;) {
		size_t begun = closed_steps_until(w->c, r, to_us);

		if (begun > w->c->runs[r].base)
			return w->c->steps[begun - 1].number;
	}
	return 0;
}

static int answer_sample_order(const void *a, const void *b)
{
	const struct closed_sample *x = a, *y = b;

	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void closed_slice_efficiency(const struct closed_work *w, struct goodput_part *p,
				    int64_t from_us, int64_t to_us)
{
	const struct closed_sample *s = w->c->samples;
	double active = 0, available = 0;

	p->has_slices = w->c->query->elastic || w->c->nsamples;
	for (size_t i = 0; i < w->c->nsamples; i++) {
		int64_t a_us = closed_clamp_us(s[i].time_us, from_us, to_us);
		int64_t b_us = i + 1 < w->c->nsamples
				       ? closed_clamp_us(s[i + 1].time_us, from_us, to_us)
				       : to_us;

		if (!s[i].total)
			continue;
		active += (double)(b_us - a_us) * s[i].active / s[i].total;
		available += (double)(b_us - a_us) * s[i].available / s[i].total;
	}
	if (to_us > from_us) {
		p->stepping_efficiency = active / (double)(to_us - from_us);
		p->available_efficiency = available / (double)(to_us - from_us);
	}
}

/* ---- parts ----------------------------------------------------------------------------------- */

static double closed_seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static bool answer_badput_shown(const struct closed_work *w, int i, uint64_t ns)
{
	if (i == BADPUT_SLICE_DOWN || i == BADPUT_SCALE_UP || i == BADPUT_REINIT)
		return ns || w->c->query->elastic;
	return true;
}

static int answer_part_customs(const struct sums *s, double whole, struct goodput_part *p)
{
	p->custom = s->ntypes ? calloc(s->ntypes, sizeof(*p->custom)) : NULL;
	if (s->ntypes && !p->custom)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->ntypes; i++) {
		double ns = (double)s->types[i].ns;

		if (s->types[i].ns)
			p->custom[p->custom_count++] = (struct goodput_custom){
				s->types[i].name, ns / 1e9, whole > 0 ? 100 * ns / whole : 0};
	}
	return 0;
}

/* Fills a part of the answer from sums of time by bucket. total_ns: the time that these sums
 * cover. */
static int answer_part_fill(const struct closed_work *w, const struct sums *s, uint64_t total_ns,
			    struct goodput_part *p)
{
	double whole = (double)total_ns;
	uint64_t left_ns = total_ns;

	for (int i = 0; i < BUCKET_COUNT; i++)
		left_ns -= s->ns[i];
	p->residual_s = (double)(int64_t)left_ns / 1e9;
	p->productive_s = closed_seconds(s->ns[BUCKET_GOODPUT]);
	p->goodput_pct = whole > 0 ? 100 * (double)s->ns[BUCKET_GOODPUT] / whole : 0;
	for (int i = 0; i < BADPUTS; i++) {
		enum bucket b = badput_bucket[i];
		uint64_t ns = b < BUCKET_COUNT ? s->ns[b] : 0;

		p->badput_s[i] = closed_seconds(ns);
		p->badput_pct[i] = whole > 0 ? 100 * (double)ns / whole : 0;
		p->has_s |= (uint32_t)answer_badput_shown(w, i, ns) << i;
	}
	p->has_pct = p->has_s;
	return answer_part_customs(s, whole, p);
}

/* Counts the disruptions in [from, to). A disruption at now_us is counted in the window that ends
 * at now_us, so that only one of two adjacent windows counts it. A disruption that is earlier than
 * the one before it (a clock was behind) counts at the time of the one before it. */
static uint64_t closed_disruptions(const struct closed_work *w, int64_t from_us, int64_t to_us)
{
	int64_t edge_us = w->start_us, at_us;
	uint64_t n = 0;

	for (size_t i = 0; i < w->ndisruptions; i++) {
		at_us = (int64_t)(w->disruptions[i].at_ns / 1000);
		edge_us = at_us > edge_us ? at_us : edge_us;
		if (edge_us == w->now_us)
			n += from_us < edge_us && to_us >= edge_us;
		else
			n += edge_us >= from_us && edge_us < to_us && edge_us < w->now_us;
	}
	return n;
}

/* Fills the part for the window [from, to). Only the time of the window in which the job ran is
 * counted. */
static int answer_part_window(const struct closed_work *w, int64_t from_us, int64_t to_us,
			      struct goodput_part *p)
{
	int64_t a_us = closed_clamp_us(from_us, w->start_us, w->now_us),
		b_us = closed_clamp_us(to_us, a_us, w->now_us);
	struct sums s = {0};

	p->from_us = from_us;
	p->to_us = to_us;
	p->total_s = (double)(b_us - a_us) / 1e6;
	p->adjusted_s = p->total_s;
	answer_sums_add(w, &s, a_us, b_us);
	if (w->c->nruns) {
		p->max_productive_step = answer_max_step(w, a_us, b_us);
		p->last_recorded_step = answer_last_step(w, b_us);
		p->disruptions = closed_disruptions(w, from_us, to_us);
		closed_slice_efficiency(w, p, a_us, b_us);
	}
	return answer_part_fill(w, &s, (uint64_t)(b_us - a_us) * 1000, p);
}

static int answer_span_order(const void *a, const void *b)
{
	const struct goodput_span *x = a, *y = b;

	return x->from_us < y->from_us ? -1 : x->from_us > y->from_us;
}

/* Fills the part for the whole time without the excluded spans. Excluded spans may overlap. */
static int answer_part_excluded(const struct closed_work *w, const struct goodput_part *whole,
				struct goodput_part *p)
{
	const struct goodput_query *q = w->c->query;
	struct goodput_span *cut = calloc(q->exclude_count, sizeof(*cut));
	int64_t at_us = w->start_us, kept_us = 0;
	struct sums s = {0};

	if (!cut)
		return -ENOMEM;
	memcpy(cut, q->excludes, q->exclude_count * sizeof(*cut));
	qsort(cut, q->exclude_count, sizeof(*cut), answer_span_order);
	*p = *whole;
	p->custom = NULL;
	p->custom_count = 0;
	for (size_t i = 0; i <= q->exclude_count; i++) {
		int64_t to_us = i < q->exclude_count
					? closed_clamp_us(cut[i].from_us, at_us, w->now_us)
					: w->now_us;

		if (to_us > at_us) {
			answer_sums_add(w, &s, at_us, to_us);
			kept_us += to_us - at_us;
		}
		if (i < q->exclude_count)
			at_us = closed_clamp_us(cut[i].to_us, at_us, w->now_us);
	}
	free(cut);
	p->adjusted_s = (double)kept_us / 1e6;
	p->excluded_s = (double)(w->now_us - w->start_us - kept_us) / 1e6;
	return answer_part_fill(w, &s, (uint64_t)kept_us * 1000, p);
}

static int closed_windows(const struct closed_work *w, struct goodput_answer *ret)
{
	const struct goodput_query *q = w->c->query;
	int err = 0;

	ret->windows = q->window_count ? calloc(q->window_count, sizeof(*ret->windows)) : NULL;
	if (q->window_count && !ret->windows)
		return -ENOMEM;
	ret->window_count = q->window_count;
	for (size_t i = 0; i < q->window_count && !err; i++)
		err = answer_part_window(w, q->windows[i].from_us, q->windows[i].to_us,
					 &ret->windows[i]);
	return err;
}

int closed_answers(struct closed_work *w, struct goodput_answer *ret)
{
	/* Casting const away is safe: only the order of the samples is changed, on which no answer
	 * depends. */
	struct closed *c = (struct closed *)w->c;
	int err;

	if (c->samples_mixed)
		qsort(c->samples, c->nsamples, sizeof(*c->samples), answer_sample_order);
	c->samples_mixed = false;
	err = answer_part_window(w, w->start_us, w->now_us, &ret->cumulative);
	if (!err)
		err = closed_windows(w, ret);
	if (!err && c->query->exclude_count) {
		ret->has_excluded = true;
		err = answer_part_excluded(w, &ret->cumulative, &ret->excluded);
	}
	ret->cumulative.disruptions = closed_disruptions(w, INT64_MIN, INT64_MAX);
	ret->excluded.disruptions = ret->cumulative.disruptions;
	ret->disruptions = w->disruptions;
	ret->disruption_count = w->ndisruptions < DISRUPTIONS_KEPT ? w->ndisruptions
								   : DISRUPTIONS_KEPT;
	w->disruptions = NULL;
	return err;
}

/* ---- settled time as a timeline -------------------------------------------------------------- */

/* ---- steps ----------------------------------------------------------------------------------- */

static void closed_done_add(struct goodput_history *h, int64_t end_us, int64_t each_us,
			    uint64_t count)
{
	h->done[h->ndone++] = (struct goodput_done){end_us, each_us, count};
}

static void answer_history_steps(const struct closed_work *w, size_t r, struct goodput_history *h)
{
	const struct closed_end *end = &w->ends[r];
	size_t cover = w->first_cover[r];
	struct goodput_run *run = &h->runs[h->nruns - 1];
	struct closed_stretch t;

	for (size_t i = 0; closed_stretch(w, r, i, &cover, &t); i++) {
		closed_done_add(h, t.to_us, t.net_us / (int64_t)t.count, t.count);
		run->max_step = closed_later_us(run->max_step, t.number + (int64_t)t.count - 1);
	}
	/* No record of this run shows that its last step ended. The step counts if a later run or
	 * job_end shows that it ended. */
	if (w->c->runs[r].waste == GOODPUT_UNKNOWN && end->at_us != GOODPUT_UNKNOWN) {
		closed_done_add(h, end->at_us, GOODPUT_UNKNOWN, 1);
		run->max_step = closed_later_us(run->max_step, end->number);
	}
	run->dones = h->ndone - run->first_done;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static void answer_history_saved(const struct closed_work *w, const struct closed_event *e,
				 struct goodput_history *h)
{
	int64_t from_us = closed_later_us(e->time_us, w->c->runs[e->run].begin_us);
	int64_t to_us = e->time_us + e->duration_us, until_us = closed_run_until(w, e->run);
	struct goodput_run *run = &h->runs[h->nruns - 1];
	struct goodput_saved *last = run->saves ? &h->saved[h->nsaved - 1] : NULL;
	bool restore = e->kind != GOODPUT_SAVE;

	to_us = closed_later_us(from_us, to_us < until_us ? to_us : until_us);
	if (last && last->restore == restore && last->number == e->number &&
	    from_us <= last->to_us) {
		last->to_us = closed_later_us(last->to_us, to_us);
		last->copies++;
		return;
	}
	h->saved[h->nsaved++] = (struct goodput_saved){from_us, to_us, e->number, 1, restore};
	run->saves++;
}

static void answer_history_checkpoints(const struct closed_work *w, size_t r, size_t *event,
				       struct goodput_history *h)
{
	const struct closed *c = w->c;

	for (; *event < c->nevents && c->events[*event].run <= r; ++*event) {
		if (closed_is_checkpoint(c->events[*event].kind))
			answer_history_saved(w, &c->events[*event], h);
	}
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void answer_history_run(const struct closed_work *w, size_t r, struct goodput_history *h,
			       struct goodput_run *runs)
{
	const struct closed_run *run = &w->c->runs[r];
	struct goodput_run *last = h->nruns ? &runs[h->nruns - 1] : NULL;
	bool more = r + 1 < w->c->nruns;
	int64_t until_us = more ? closed_sign_us(w->c, r) : w->now_us;

	if (!last || run->started) {
		int64_t from_us = last ? closed_later_us(last->until_us, run->begin_us)
				       : w->start_us;

		last = &runs[h->nruns++];
		*last = (struct goodput_run){
			.from_us = from_us, .first_done = h->ndone, .first_saved = h->nsaved};
	}
	if (more && w->ends[r].at_us != GOODPUT_UNKNOWN)
		until_us = closed_later_us(until_us, w->ends[r].at_us);
	last->until_us = closed_later_us(last->from_us,
					 until_us < w->now_us ? until_us : w->now_us);
	last->graceful = run->end_us != GOODPUT_UNKNOWN;
	last->over = more || w->ended;
}

int closed_history(struct closed_work *w, struct goodput_answer *ret)
{
	const struct closed *c = w->c;
	struct goodput_history *h = calloc(1, sizeof(*h));
	struct goodput_run *runs = calloc(c->nruns + 1, sizeof(*runs));
	size_t event = 0;

	ret->history = h;
	if (!h)
		free(runs);
	if (!h)
		return -ENOMEM;
	h->runs = runs;
	h->done = calloc(c->nsteps + c->nruns + 1, sizeof(*h->done));
	h->saved = calloc(c->nevents + 1, sizeof(*h->saved));
	if (!runs || !h->done || !h->saved)
		return -ENOMEM;
	for (size_t r = 0; r < c->nruns; r++) {
		answer_history_run(w, r, h, runs);
		answer_history_steps(w, r, h);
		answer_history_checkpoints(w, r, &event, h);
	}
	h->pieces = w->pieces;
	h->npieces = w->npieces;
	w->pieces = NULL;
	w->npieces = 0;
	return 0;
}
