/* SPDX-License-Identifier: Apache-2.0 */
/* A log's runs, told to a ledger from left to right. */
#include <errno.h>
#include <stdlib.h>

#include "userspace/model/deviation.h"
#include "userspace/account/closed_internal.h"
#include "userspace/model/hang.h"

#define STEPPING   3	    /* steps after which a run's limit is that of steps */
#define LEAST_US   30000000 /* no silence below this is a hang (hang.h) */
#define HANG_STEPS 3	    /* nor one of fewer ideal steps, however long these are */

#define PENDING_MAX 16384 /* intervals in one stretch whose places are kept */

struct settling {
	struct closed_work *w;
	size_t run;
	size_t interval, cover; /* where it stands among the run's */
	size_t steps;		/* of this run, settled */
	uint64_t counted;	/* ... that they stand for */
	uint64_t last_count;
	uint64_t goodput_ns;	/* before the run */
	int64_t waste_us;	/* INT64_MAX: nothing was wasted, else from here ... */
	int64_t sign_us;	/* ... to here */
	int64_t longest_us;	/* silence that ended by itself */
	struct deviation *time; /* of steps so far, as a live job's */
	uint64_t timed, p99_ns, p99_at;
	bool hung;    /* this stretch is */
	bool trained; /* some run before had steps */
};

static uint64_t ns_of(int64_t us)
{
	return us > 0 ? (uint64_t)us * 1000 : 0;
}

static void settle_piece(void *ctx, const struct ledger_span *s)
{
	struct closed_work *w = ctx;
	struct goodput_piece *last = w->npieces ? &w->pieces[w->npieces - 1] : NULL;

	if (last && last->bucket == s->bucket && last->name == s->type &&
	    last->to_ns == s->from_ns) {
		last->to_ns = s->to_ns;
		return;
	}
	last = closed_grow((void **)&w->pieces, &w->npieces, &w->cap_pieces, sizeof(*last));
	if (last)
		*last = (struct goodput_piece){s->from_ns, s->to_ns, s->type, s->bucket};
	else
		w->error = -ENOMEM;
}

static void settle_claim(struct settling *s, enum bucket b, int64_t from_us, int64_t to_us)
{
	if (to_us > from_us && ledger_interval(s->w->ledger, b, ns_of(from_us), ns_of(to_us)))
		s->w->error = -ENOMEM;
}

/* The run's intervals that begin before to_us. */
static void settle_intervals(struct settling *s, int64_t to_us)
{
	struct closed_work *w = s->w;

	for (; s->interval < w->first_interval[s->run + 1] &&
	       w->intervals[s->interval].from_us < to_us;
	     s->interval++) {
		const struct closed_interval *i = &w->intervals[s->interval];
		int err;

		if (i->from_us >= s->waste_us && i->to_us <= s->sign_us) /* all of it is wasted */
			err = 0;
		else if (i->bucket == BUCKET_CUSTOM)
			err = ledger_custom(w->ledger, i->name, ns_of(i->from_us), ns_of(i->to_us));
		else
			err = ledger_interval(w->ledger, i->bucket, ns_of(i->from_us),
					      ns_of(i->to_us));
		if (err)
			w->error = err;
	}
}

/* ---- silence
 * ------------------------------------------------------------------------------------- */

/* Count: steps that one record stands for; so many may pass without a word. */
static int64_t hang_limit_us(const struct settling *s, uint64_t count, bool open)
{
	struct hang_case c = {
		.stepping = s->steps >= STEPPING,
		.p99_ns = s->p99_ns,
		.longest_ns = ns_of(s->longest_us),
		.compiling = open,
	};
	uint64_t limit_us = hang_limit_ns(&c, GP_WHY_unknown) / 1000;
	uint64_t least_us = (uint64_t)s->w->ideal_us * HANG_STEPS;

	limit_us = limit_us > least_us ? limit_us : least_us;
	if (s->steps >= STEPPING && limit_us < (uint64_t)GOODPUT_TIME_MAX_US / count)
		limit_us *= count;
	else if (s->steps >= STEPPING)
		limit_us = GOODPUT_TIME_MAX_US;
	return (int64_t)limit_us;
}

/* Seldom, as it takes a look at a thousand steps. */
static void settle_p99(struct settling *s)
{
	struct deviation_view v;

	if (s->timed <= s->p99_at + s->p99_at / 16)
		return;
	deviation_view(s->time, &v);
	s->p99_ns = v.p99_ns;
	s->p99_at = s->timed;
}

/* Of what nothing is told between from and to: what is too long is a hang from its first instant.
 */
static void settle_silence(struct settling *s, int64_t from_us, int64_t to_us, uint64_t count)
{
	const struct closed_work *w = s->w;
	int64_t at_us = from_us;

	s->hung = false;
	if (to_us - from_us < LEAST_US)
		return;
	settle_p99(s);
	for (size_t i = s->cover; at_us < to_us; i++) {
		bool any = i < w->first_cover[s->run + 1] && w->cover[i].from_us < to_us;
		int64_t end_us = any ? w->cover[i].from_us : to_us;

		if (end_us - at_us > hang_limit_us(s, count, false)) {
			settle_claim(s, BUCKET_HANG, at_us, end_us);
			s->hung = true;
		}
		if (s->steps >= STEPPING && (end_us - at_us) / (int64_t)count > s->longest_us)
			s->longest_us = (end_us - at_us) / (int64_t)count;
		at_us = any && w->cover[i].to_us > at_us ? w->cover[i].to_us : end_us;
		if (!any)
			break;
	}
}

/* At the end of a log nobody says whether the job still lives. */
static void settle_tail(struct settling *s)
{
	struct closed_work *w = s->w;
	const struct closed_run *run = &w->c->runs[s->run];
	int64_t from_us = run->life_us;

	for (size_t i = w->first_cover[s->run]; !w->open[s->run] && i < w->first_cover[s->run + 1];
	     i++)
		if (w->cover[i].to_us > from_us) /* a checkpoint goes on */
			from_us = w->cover[i].to_us;
	settle_p99(s);
	if (w->until_us - from_us > hang_limit_us(s, s->last_count, w->open[s->run]))
		settle_claim(s, BUCKET_HANG, from_us, w->until_us);
}

/* ---- steps
 * --------------------------------------------------------------------------------------- */

static void settle_step(struct settling *s, int64_t from_us, int64_t to_us, int64_t number,
			uint64_t count)
{
	struct closed_work *w = s->w;

	settle_intervals(s, to_us);
	ledger_steps(w->ledger, ns_of(from_us), ns_of(to_us), (uint64_t)number + count - 1, count);
	s->steps++;
	s->counted += count;
	s->last_count = count;
}

/* The step in flight when a run ended, where the next one shows that it was done: it took what its
 * run's steps took, and no more than there was. */
static int64_t settle_credit_us(struct settling *s, size_t resumed)
{
	const struct closed *c = s->w->c;
	const struct closed_run *run = &c->runs[s->run];
	int64_t gap_us = c->runs[s->run + 1].begin_us - run->last_us, mean_us = s->w->ideal_us;
	struct ledger_view v;

	if (c->runs[resumed].first <= run->last || gap_us <= 0)
		return 0;
	ledger_view(s->w->ledger, &v);
	if (s->counted)
		mean_us = (int64_t)((v.ns[BUCKET_GOODPUT] - s->goodput_ns) / s->counted / 1000);
	return mean_us < gap_us ? mean_us : gap_us;
}

static void settle_last(struct settling *s)
{
	struct closed_work *w = s->w;
	const struct closed *c = w->c;
	const struct closed_run *run = &c->runs[s->run];
	size_t resumed = w->resumed[s->run], n = closed_steps_of(c, s->run);
	int64_t number = n ? c->steps[run->base + n - 1].number : 0, to_us = GOODPUT_UNKNOWN;

	if (run->waste != GOODPUT_UNKNOWN) {
		w->ends[s->run] = (struct closed_end){n ? run->waste_us : GOODPUT_UNKNOWN,
						      run->waste - 1};
		return;
	}
	if (!n)
		return;
	if (run->end_us != GOODPUT_UNKNOWN)
		to_us = run->end_us;
	else if (resumed < c->nruns && settle_credit_us(s, resumed) > 0)
		to_us = run->last_us + settle_credit_us(s, resumed);
	if (to_us == GOODPUT_UNKNOWN)
		return;
	settle_step(s, run->last_us, to_us, number, 1);
	w->ends[s->run] = (struct closed_end){to_us, number};
}

/* ---- disruptions
 * --------------------------------------------------------------------------------- */

static int64_t later(int64_t a_us, int64_t b_us)
{
	return a_us > b_us ? a_us : b_us;
}

/* What stopped, and what was done about it. Returns until when the job was down; from_us: since
 * when. */
static void settle_disruption(struct settling *s, int64_t at_us)
{
	struct closed_work *w = s->w;
	const struct closed *c = w->c;
	const struct closed_run *run = &c->runs[s->run], *next;
	size_t resumed = w->resumed[s->run];
	struct disruption *d = closed_grow((void **)&w->disruptions, &w->ndisruptions,
					   &w->cap_disruptions, sizeof(*d));

	if (!d) {
		w->error = -ENOMEM;
		return;
	}
	*d = (struct disruption){
		.at_ns = ns_of(at_us),
		.step = run->last,
		.resumed_step = DISRUPTION_NO_STEP,
		.graceful = run->end_us != GOODPUT_UNKNOWN,
	};
	for (size_t r = s->run + 1; r < c->nruns && r <= resumed; r++) {
		int64_t down_us = r == s->run + 1 ? at_us : closed_sign_us(c, r - 1);

		d->starts += c->runs[r].started;
		if (c->runs[r].started && c->runs[r].begin_us > down_us)
			d->down_ns += ns_of(c->runs[r].begin_us - down_us);
	}
	if (resumed < c->nruns) {
		next = &c->runs[resumed];
		d->resumed_ns = ns_of(next->first_us);
		d->resumed_step = next->first;
		d->wasted_ns = ns_of(next->cost_us);
		d->recovery_ns = d->resumed_ns > d->at_ns ? d->resumed_ns - d->at_ns : 0;
	}
}

/* A run is over and another came: what lies between is recovery. */
static void settle_over(struct settling *s)
{
	const struct closed *c = s->w->c;
	const struct closed_run *run = &c->runs[s->run], *next = run + 1;
	size_t resumed = s->w->resumed[s->run], last = s->run + 1;
	int64_t sign_us = closed_sign_us(c, s->run);

	if (run->waste != GOODPUT_UNKNOWN)
		settle_claim(s, BUCKET_WASTED, run->waste_us, sign_us);
	if (run->first ==
	    GOODPUT_UNKNOWN) { /* a boot that came to nothing; after training it is covered */
		if (!s->trained)
			settle_claim(s, BUCKET_RECOVERY, sign_us, next->begin_us);
		return;
	}
	if (s->w->ends[s->run].at_us != GOODPUT_UNKNOWN)
		sign_us = later(sign_us, s->w->ends[s->run].at_us);
	for (size_t r = last; r < c->nruns && r <= resumed; r++)
		last = c->runs[r].started ? r : last;
	if (next->started)
		settle_claim(s, BUCKET_RECOVERY, sign_us, c->runs[last].begin_us);
	else
		settle_claim(s, BUCKET_RECOVERY, sign_us,
			     run->after_us != GOODPUT_UNKNOWN && run->after_us > sign_us
				     ? run->after_us
				     : next->begin_us);
	settle_disruption(s, sign_us);
}

/* ---- runs
 * ---------------------------------------------------------------------------------------- */

static void settle_run(struct settling *s)
{
	struct closed_work *w = s->w;
	const struct closed_run *run = &w->c->runs[s->run];
	struct closed_stretch t;
	struct ledger_view v;
	size_t cover;

	ledger_view(w->ledger, &v);
	s->goodput_ns = v.ns[BUCKET_GOODPUT];
	s->interval = w->first_interval[s->run];
	s->cover = cover = w->first_cover[s->run];
	s->sign_us = closed_sign_us(w->c, s->run);
	s->waste_us = run->waste_us == GOODPUT_UNKNOWN ? INT64_MAX : run->waste_us;
	s->steps = 0;
	s->counted = 0;
	s->last_count = 1;
	if (run->first != GOODPUT_UNKNOWN)
		settle_silence(s, run->begin_us, run->first_us, 1);
	for (size_t i = 0; closed_stretch(w, s->run, i, &cover, &t); i++) {
		s->cover = cover;
		settle_silence(s, t.from_us, t.to_us, t.count);
		settle_step(s, t.from_us, t.to_us, t.number, t.count);
		if (!s->hung) {
			if (deviation_add(s->time, ns_of(t.net_us) / t.count))
				w->error = -ENOMEM;
			s->timed++;
		}
		w->warnings[WARN_GAPS] += t.count - 1;
	}
	settle_last(s);
	if (!s->steps &&
	    closed_steps_of(w->c, s->run)) { /* its first is in flight: startup is over */
		settle_intervals(s, run->last_us);
		ledger_step(w->ledger, ns_of(run->last_us), ns_of(run->last_us), 0, false);
	}
	if (s->run + 1 < w->c->nruns)
		settle_over(s);
	else if (run->end_us == GOODPUT_UNKNOWN)
		settle_tail(s);
	settle_intervals(s, INT64_MAX);
	s->trained |= run->first != GOODPUT_UNKNOWN;
}

static void settle_merged(struct closed_work *w)
{
	uint64_t seen[65536 / 64] = {0}, types = 0;

	for (size_t i = 0; i < w->nintervals; i++) {
		uint32_t name = w->intervals[i].name % 65536;

		if (w->intervals[i].bucket != BUCKET_CUSTOM)
			continue;
		types += !(seen[name / 64] >> name % 64 & 1);
		seen[name / 64] |= 1ull << name % 64;
	}
	if (types > LEDGER_TYPES - 1)
		w->warnings[WARN_MERGED] += types - (LEDGER_TYPES - 1);
}

int closed_settle(struct closed_work *w)
{
	struct settling s = {.w = w, .time = deviation_new()};
	struct ledger_view v;

	w->ledger = ledger_new(ns_of(w->start_us), ns_of(w->start_us));
	if (!w->ledger || !s.time) {
		deviation_free(s.time);
		return -ENOMEM;
	}
	ledger_keep(w->ledger, PENDING_MAX);
	ledger_trace(w->ledger, settle_piece, w);
	ledger_ideal(w->ledger, ns_of(w->ideal_us), ns_of(w->mad_us));
	for (; s.run < w->c->nruns && !w->error; s.run++) {
		if (s.run)
			ledger_run(w->ledger, ns_of(w->c->runs[s.run].begin_us));
		settle_run(&s);
	}
	ledger_end(w->ledger, ns_of(w->until_us));
	ledger_view(w->ledger, &v);
	w->warnings[WARN_CROWDED] += v.merged;
	settle_merged(w);
	deviation_free(s.time);
	return w->error;
}
