/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c - adds the runs of a log to a ledger, ordered by time, for --semantics closed. */
#include "userspace/account/closed/closed.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/account/log/deviation_batch.h"
#include "userspace/base/order.h"
#include "userspace/model/time/deviation.h"
#include "userspace/model/time/hang.h"

/* ---- pairs starts and ends into intervals; the union of a run's intervals -------------------- */

#define OPEN_MAX 64 /* limit of named events that are open at the same time */

struct open {
	int64_t from_us;
	uint32_t name, seq;
	uint8_t kind; /* kind of the record that started the event */
};

struct pairing {
	struct closed_work *w;
	size_t run;
	int64_t begin_us, until_us; /* time in which events of the run are counted */
	struct open open[OPEN_MAX];
	unsigned nopen;
};

int64_t closed_run_until(const struct closed_work *w, size_t r)
{
	return r + 1 < w->c->nruns ? w->c->runs[r + 1].begin_us : w->until_us;
}

static enum bucket settle_bucket_of(const struct closed *c, uint8_t kind, uint32_t name)
{
	switch (kind) {
	case GOODPUT_INIT_START:
		return BUCKET_ACCELERATOR_INIT;
	case GOODPUT_PREP_START:
		return BUCKET_TRAINING_PREP;
	case GOODPUT_LOAD_START:
		return BUCKET_DATA_LOADING;
	case GOODPUT_ELASTIC_WAIT_START:
		return c->scale_up && c->scale_up(c->ctx, name) ? BUCKET_SCALE_UP
								: BUCKET_SLICE_DOWN;
	case GOODPUT_ELASTIC_REINIT_START:
		return BUCKET_REINIT;
	case GOODPUT_SAVE:
		return BUCKET_CHECKPOINT_SAVE;
	case GOODPUT_RESTORE:
	case GOODPUT_EMERGENCY_RESTORE:
		return BUCKET_CHECKPOINT_RESTORE;
	default:
		return BUCKET_CUSTOM;
	}
}

static void settle_pair_interval(struct pairing *p, const struct open *o, int64_t to_us)
{
	struct closed_work *w = p->w;
	int64_t from_us = o->from_us > p->begin_us ? o->from_us : p->begin_us;
	struct closed_interval *i;

	to_us = to_us < p->until_us ? to_us : p->until_us;
	if (to_us <= from_us)
		return;
	i = closed_add(w, intervals);
	if (!i) {
		w->error = -ENOMEM;
		return;
	}
	*i = (struct closed_interval){from_us, to_us, o->name, o->seq,
				      settle_bucket_of(w->c, o->kind, o->name)};
}

static void settle_pair_drop(struct pairing *p, unsigned i)
{
	for (p->nopen--; i < p->nopen; i++)
		p->open[i] = p->open[i + 1];
}

static unsigned settle_pair_find(const struct pairing *p, uint8_t kind, uint32_t name)
{
	unsigned i = 0;

	while (i < p->nopen && (p->open[i].kind != kind || p->open[i].name != name))
		i++;
	return i;
}

/* Handles the start of an event. If the event is open already, its end was not logged: drops the
 * earlier start. */
static void settle_pair_start(struct pairing *p, const struct closed_event *e)
{
	unsigned i = settle_pair_find(p, e->kind, e->name);

	if (i < p->nopen) {
		p->w->warnings[WARN_OPEN]++;
		settle_pair_drop(p, i);
	}
	if (p->nopen == OPEN_MAX) {
		p->w->warnings[WARN_OPEN]++;
		return;
	}
	p->open[p->nopen++] = (struct open){e->time_us, e->name, e->seq, e->kind};
}

static void settle_pair_end(struct pairing *p, const struct closed_event *e)
{
	unsigned i = settle_pair_find(p, (uint8_t)(e->kind - 1), e->name);

	if (i == p->nopen) {
		p->w->warnings[WARN_ORPHANS]++;
		return;
	}
	settle_pair_interval(p, &p->open[i], e->time_us);
	settle_pair_drop(p, i);
}

static int64_t settle_next_step_us(const struct pairing *p, int64_t from_us)
{
	const struct closed *c = p->w->c;
	const struct closed_run *run = &c->runs[p->run];
	size_t next = closed_steps_until(c, p->run, from_us);

	if (next < run->base + closed_steps_of(c, p->run))
		return c->steps[next].time_us;
	return run->last != GOODPUT_UNKNOWN && run->last_us > from_us ? run->last_us : INT64_MAX;
}

/* Ends the events that are still open at the end of a run. Such an event lasted until the next
 * logged step, because events block the trainer. Without a next step, it lasted until the end of
 * the run, or is still open. */
static void settle_pair_rest(struct pairing *p)
{
	const struct closed *c = p->w->c;
	bool alive = p->run + 1 == c->nruns && c->runs[p->run].end_us == GOODPUT_UNKNOWN;
	int64_t life_us = alive ? p->until_us : closed_sign_us(c, p->run);

	for (unsigned i = 0; i < p->nopen; i++) {
		int64_t to_us = settle_next_step_us(p, p->open[i].from_us);

		p->w->warnings[WARN_OPEN]++;
		if (to_us >= life_us) {
			to_us = life_us;
			p->w->open[p->run] |= alive;
		}
		settle_pair_interval(p, &p->open[i], to_us);
	}
}

static void settle_pair_event(struct pairing *p, const struct closed_event *e)
{
	struct open whole = {e->time_us, 0, e->seq, e->kind};

	switch (e->kind) {
	case GOODPUT_SAVE:
	case GOODPUT_RESTORE:
	case GOODPUT_EMERGENCY_RESTORE:
		settle_pair_interval(p, &whole, e->time_us + e->duration_us);
		break;
	case GOODPUT_INIT_START:
	case GOODPUT_PREP_START:
	case GOODPUT_LOAD_START:
	case GOODPUT_CUSTOM_START:
	case GOODPUT_ELASTIC_WAIT_START:
	case GOODPUT_ELASTIC_REINIT_START:
		settle_pair_start(p, e);
		break;
	default:
		settle_pair_end(p, e);
	}
}

static int settle_event_order(const void *a, const void *b)
{
	const struct closed_event *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int settle_interval_order(const void *a, const void *b)
{
	const struct closed_interval *x = a, *y = b;

	if (x->from_us != y->from_us)
		return x->from_us < y->from_us ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Computes the union of a run's intervals: sorted, without overlaps. */
static size_t settle_pair_cover(struct closed_work *w, size_t first, size_t n)
{
	for (size_t i = first; i < w->nintervals; i++) {
		const struct closed_interval *v = &w->intervals[i];
		struct goodput_span *last = &w->cover[n];

		if (i > first && v->from_us <= last[-1].to_us)
			last[-1].to_us = v->to_us > last[-1].to_us ? v->to_us : last[-1].to_us;
		else
			w->cover[n++] = (struct goodput_span){v->from_us, v->to_us};
	}
	return n;
}

static void settle_pair_run(struct closed_work *w, size_t r, size_t *at)
{
	const struct closed *c = w->c;
	struct pairing p = {.w = w,
			    .run = r,
			    .begin_us = c->runs[r].begin_us,
			    .until_us = closed_run_until(w, r)};
	size_t first = w->nintervals;
	bool sorted = true;

	for (; *at < c->nevents && c->events[*at].run == r; ++*at)
		settle_pair_event(&p, &c->events[*at]);
	settle_pair_rest(&p);
	for (size_t i = first + 1; i < w->nintervals && sorted; i++)
		sorted = settle_interval_order(&w->intervals[i - 1], &w->intervals[i]) <= 0;
	if (!sorted)
		qsort(&w->intervals[first], w->nintervals - first, sizeof(*w->intervals),
		      settle_interval_order);
}

int closed_pair(struct closed_work *w)
{
	/* Casting const away is safe: only the order of the events is changed, on which no answer
	 * depends. */
	struct closed *c = (struct closed *)w->c;
	size_t runs = c->nruns, at = 0, n = 0;

	if (c->events_mixed)
		qsort(c->events, c->nevents, sizeof(*c->events), settle_event_order);
	c->events_mixed = false;
	w->first_interval = calloc(runs + 1, sizeof(*w->first_interval));
	w->first_cover = calloc(runs + 1, sizeof(*w->first_cover));
	w->open = calloc(runs, sizeof(*w->open));
	w->ends = calloc(runs, sizeof(*w->ends));
	w->resumed = calloc(runs, sizeof(*w->resumed));
	if (!w->first_interval || !w->first_cover || !w->open || !w->ends || !w->resumed)
		return -ENOMEM;
	for (size_t r = runs, next = runs; r-- > 0;) {
		w->resumed[r] = next;
		next = c->runs[r].first != GOODPUT_UNKNOWN ? r : next;
	}
	for (size_t r = 0; r < runs && !w->error; r++) {
		w->ends[r].at_us = GOODPUT_UNKNOWN;
		settle_pair_run(w, r, &at);
		w->first_interval[r + 1] = w->nintervals;
	}
	w->cover = calloc(w->nintervals + 1, sizeof(*w->cover));
	if (w->error || !w->cover)
		return -ENOMEM;
	for (size_t r = 0, all = w->nintervals; r < runs; r++) {
		w->nintervals = w->first_interval[r + 1];
		n = settle_pair_cover(w, w->first_interval[r], n);
		w->first_cover[r + 1] = n;
		w->nintervals = all;
	}
	return 0;
}

/* ---- step times, and the ideal step ---------------------------------------------------------- */

/* With fewer steps there is no ideal step time, as in model/time/deviation.h. */
#define IDEAL_MIN 3
/* With fewer steps in all, the first steps of each run are not used to compute the ideal step
 * time. */
#define IDEAL_FEW 32

static int64_t closed_covered_us(const struct closed_work *w, size_t r, size_t *cover,
				 int64_t from_us, int64_t to_us)
{
	int64_t sum_us = 0;

	if (*cover == w->first_cover[r + 1])
		return 0;
	while (*cover < w->first_cover[r + 1] && w->cover[*cover].to_us <= from_us)
		++*cover;
	for (size_t i = *cover; i < w->first_cover[r + 1] && w->cover[i].from_us < to_us; i++) {
		int64_t a_us = w->cover[i].from_us, b_us = w->cover[i].to_us;

		sum_us += (b_us < to_us ? b_us : to_us) - (a_us > from_us ? a_us : from_us);
	}
	return sum_us;
}

bool closed_stretch(const struct closed_work *w, size_t r, size_t i, size_t *cover,
		    struct closed_stretch *ret)
{
	const struct closed_run *run = &w->c->runs[r];
	size_t n = closed_steps_of(w->c, r);
	struct closed_stretch t = {.run = r};
	const struct closed_step *s;

	if (i >= n)
		return false;
	s = &w->c->steps[run->base + i];
	if (i + 1 < n) {
		t.to_us = s[1].time_us;
		t.count = (uint64_t)(s[1].number - s->number);
	} else if (run->waste != GOODPUT_UNKNOWN) {
		t.to_us = run->waste_us;
		t.count = (uint64_t)(run->waste - s->number);
	} else {
		return false;
	}
	t.from_us = s->time_us;
	t.number = s->number;
	t.net_us = t.to_us - t.from_us - closed_covered_us(w, r, cover, t.from_us, t.to_us);
	*ret = t;
	return true;
}

static void settle_ideal_collect(struct closed_work *w, bool firsts)
{
	struct closed_stretch t;

	w->nwork = 0;
	for (size_t r = 0; r < w->c->nruns; r++) {
		size_t cover = w->first_cover[r];

		for (size_t i = 0; closed_stretch(w, r, i, &cover, &t); i++)
			if (i || firsts)
				w->work[w->nwork++] = (uint64_t)t.net_us / t.count;
	}
}

static void settle_ideal_find(struct closed_work *w, bool firsts)
{
	uint64_t med, limit, sum = 0, count = 0;

	med = order_median(w->work, (uint32_t)w->nwork);
	w->mad_us = (int64_t)order_spread(w->work, (uint32_t)w->nwork, med);
	limit = med + 3 * (uint64_t)w->mad_us;
	settle_ideal_collect(w, firsts);
	for (size_t i = 0; i < w->nwork; i++) {
		if (w->work[i] <= limit) {
			sum += w->work[i];
			count++;
		}
	}
	w->ideal_us = (int64_t)(count ? sum / count : med);
	/* If most steps are equal and a few are short, the ideal is below the median. Widen the
	 * limit, so that a usual step does not count as startup. */
	if ((int64_t)med > w->ideal_us)
		w->mad_us += ((int64_t)med - w->ideal_us + 2) / 3;
	w->has_ideal = true;
}

int closed_ideal(struct closed_work *w)
{
	bool firsts = true;
	size_t all;

	w->work = malloc((w->c->nsteps + 1) * sizeof(*w->work));
	if (!w->work)
		return -ENOMEM;
	settle_ideal_collect(w, true);
	all = w->nwork;
	if (all >= IDEAL_MIN && all < IDEAL_FEW) {
		settle_ideal_collect(w, false);
		firsts = !w->nwork;
		if (firsts)
			settle_ideal_collect(w, true);
	}
	if (all >= IDEAL_MIN)
		settle_ideal_find(w, firsts);
	w->nwork = all;
	if (w->c->query->ideal_us) {
		w->ideal_us = w->c->query->ideal_us;
		w->has_ideal = true;
	}
	return 0;
}

/* ---- deviations and windows ------------------------------------------------------------------ */

static double settle_seconds(int64_t us)
{
	return (double)us / 1e6;
}

int closed_step_times(struct closed_work *w, struct goodput_answer *ret)
{
	void *served = w->work; /* reuses the array of step times for deviations */
	double *off = served;	/* deviation of each step from the ideal, in seconds */
	struct goodput_part *p = &ret->cumulative;
	struct goodput_step_time *times, *deviations;
	size_t n = 0;

	p->has_ideal = w->has_ideal;
	p->ideal_s = settle_seconds(w->ideal_us);
	if (!w->nwork)
		return 0;
	ret->step_times = times = calloc(w->nwork, sizeof(*times));
	ret->deviations = deviations = w->has_ideal ? calloc(w->nwork, sizeof(*deviations)) : NULL;
	if (!times || (w->has_ideal && !deviations))
		return -ENOMEM;
	for (size_t r = 0; r < w->c->nruns; r++) {
		size_t cover = w->first_cover[r];
		struct closed_stretch t;

		for (size_t i = 0; closed_stretch(w, r, i, &cover, &t); i++, n++) {
			int64_t each_us = t.net_us / (int64_t)t.count,
				off_us = each_us - w->ideal_us;

			times[n] = (struct goodput_step_time){t.number, settle_seconds(each_us)};
			off[n] = settle_seconds(off_us < 0 ? -off_us : off_us);
			if (deviations)
				deviations[n] = (struct goodput_step_time){t.number, off[n]};
		}
	}
	ret->step_time_count = n;
	ret->deviation_count = deviations ? n : 0;
	if (!deviations)
		return 0;
	p->has_deviation = true;
	p->deviation_mean_s = deviation_batch_mean(off, n);
	p->deviation_cumulative_s = deviation_batch_metric(off, n, false);
	p->deviation_interval_s = deviation_batch_metric(off, n, true);
	return 0;
}

/* ---- feeding a log's runs to a ledger -------------------------------------------------------- */

/* After this number of steps, the hang limit is computed from the run's steps. */
#define STEPPING 3
#define LEAST_US 30000000 /* shorter silence, in microseconds, is never a hang (hang.h) */
/* Silence shorter than this number of ideal steps is never a hang. */
#define HANG_STEPS 3

/* Maximum number of intervals that the ledger can sort between two records of steps. */
#define PENDING_MAX 16384

struct settling {
	struct closed_work *w;
	size_t run;
	size_t interval, cover; /* positions in w->intervals and w->cover */
	size_t steps;		/* number of the run's steps that were added to the ledger */
	/* Number of steps for which the `steps` records stand: more than `steps` if some steps
	 * were not logged. */
	uint64_t counted;
	uint64_t last_count;
	uint64_t goodput_ns; /* GOODPUT of all earlier runs */
	/* when wasted time began in the run; INT64_MAX: no time was wasted */
	int64_t waste_us;
	int64_t sign_us;    /* when wasted time ended: at the run's last sign of life */
	int64_t longest_us; /* longest silence that ended with another record of the run */
	/* Statistics of all step times so far, computed as for a live job. */
	struct deviation *time;
	uint64_t timed, p99_ns, p99_at;
	bool hung;    /* a hang was booked between the last two records of steps */
	bool trained; /* an earlier run had steps */
};

static uint64_t settle_ns(int64_t us)
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
	last = closed_add(w, pieces);
	if (last)
		*last = (struct goodput_piece){s->from_ns, s->to_ns, s->type, s->bucket};
	else
		w->error = -ENOMEM;
}

static void settle_claim(struct settling *s, enum bucket b, int64_t from_us, int64_t to_us)
{
	if (to_us > from_us &&
	    ledger_interval(s->w->ledger, b, settle_ns(from_us), settle_ns(to_us)))
		s->w->error = -ENOMEM;
}

/* Adds the run's intervals that begin before to_us to the ledger. */
static void settle_intervals(struct settling *s, int64_t to_us)
{
	struct closed_work *w = s->w;

	for (; s->interval < w->first_interval[s->run + 1] &&
	       w->intervals[s->interval].from_us < to_us;
	     s->interval++) {
		const struct closed_interval *i = &w->intervals[s->interval];
		int err;

		/* Do not book an interval within wasted time, which is booked as a whole
		 * elsewhere. */
		if (i->from_us >= s->waste_us && i->to_us <= s->sign_us)
			err = 0;
		else if (i->bucket == BUCKET_CUSTOM)
			err = ledger_custom(w->ledger, i->name, settle_ns(i->from_us),
					    settle_ns(i->to_us));
		else
			err = ledger_interval(w->ledger, i->bucket, settle_ns(i->from_us),
					      settle_ns(i->to_us));
		if (err)
			w->error = err;
	}
}

/* ---- silence --------------------------------------------------------------------------------- */

/* Returns the limit of silence in microseconds; longer silence is a hang. count: number of steps
 * that the next record stands for, which may all have passed without a record. */
static int64_t settle_hang_limit_us(const struct settling *s, uint64_t count, bool open)
{
	struct hang_case c = {
		.stepping = s->steps >= STEPPING,
		.p99_ns = s->p99_ns,
		.longest_ns = settle_ns(s->longest_us),
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

/* Computes the p99 of step times again when the number of steps has grown by a sixteenth. Not for
 * each step, because a thousand step times are sorted. */
static void settle_p99(struct settling *s)
{
	struct deviation_view v;

	if (s->timed <= s->p99_at + s->p99_at / 16)
		return;
	deviation_view(s->time, &v);
	s->p99_ns = v.p99_ns;
	s->p99_at = s->timed;
}

/* Books the time between two records (from_us, to_us) as HANG if it is longer than the limit.
 * count: number of steps that the next record stands for. */
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

		if (end_us - at_us > settle_hang_limit_us(s, count, false)) {
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

/* Books a long silence at the end of a log as HANG, because the log does not say whether the job
 * has ended. */
static void settle_tail(struct settling *s)
{
	struct closed_work *w = s->w;
	const struct closed_run *run = &w->c->runs[s->run];
	int64_t from_us = run->life_us;

	for (size_t i = w->first_cover[s->run]; !w->open[s->run] && i < w->first_cover[s->run + 1];
	     i++)
		if (w->cover[i].to_us >
		    from_us) /* if a checkpoint is still being written, silence begins at its end */
			from_us = w->cover[i].to_us;
	settle_p99(s);
	if (w->until_us - from_us > settle_hang_limit_us(s, s->last_count, w->open[s->run]))
		settle_claim(s, BUCKET_HANG, from_us, w->until_us);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void settle_step(struct settling *s, int64_t from_us, int64_t to_us, int64_t number,
			uint64_t count)
{
	struct closed_work *w = s->w;

	settle_intervals(s, to_us);
	ledger_steps(w->ledger, settle_ns(from_us), settle_ns(to_us), (uint64_t)number + count - 1,
		     count);
	s->steps++;
	s->counted += count;
	s->last_count = count;
}

/* Returns the time in microseconds of the step that was in progress at the end of a run. If the
 * next run shows that it was completed, this is the average time of the run's steps, at most the
 * time until the next run. Otherwise returns 0. */
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

/* ---- disruptions ----------------------------------------------------------------------------- */

/* Adds a disruption. Its recovery is added if a later run made a step. at_us: when the disrupted
 * run ended. */
static void settle_disruption(struct settling *s, int64_t at_us)
{
	struct closed_work *w = s->w;
	const struct closed *c = w->c;
	const struct closed_run *run = &c->runs[s->run], *next;
	size_t resumed = w->resumed[s->run];
	struct disruption *d = closed_add(w, disruptions);

	if (!d) {
		w->error = -ENOMEM;
		return;
	}
	*d = (struct disruption){
		.at_ns = settle_ns(at_us),
		.step = run->last,
		.resumed_step = DISRUPTION_NO_STEP,
		.graceful = run->end_us != GOODPUT_UNKNOWN,
	};
	for (size_t r = s->run + 1; r < c->nruns && r <= resumed; r++) {
		int64_t down_us = r == s->run + 1 ? at_us : closed_sign_us(c, r - 1);

		d->starts += c->runs[r].started;
		if (c->runs[r].started && c->runs[r].begin_us > down_us)
			d->down_ns += settle_ns(c->runs[r].begin_us - down_us);
	}
	if (resumed < c->nruns) {
		next = &c->runs[resumed];
		d->resumed_ns = settle_ns(next->first_us);
		d->resumed_step = next->first;
		d->wasted_ns = settle_ns(next->cost_us);
		d->recovery_ns = d->resumed_ns > d->at_ns ? d->resumed_ns - d->at_ns : 0;
	}
}

/* Books the time from the end of this run to the next run as RECOVERY. */
static void settle_over(struct settling *s)
{
	const struct closed *c = s->w->c;
	const struct closed_run *run = &c->runs[s->run], *next = run + 1;
	size_t resumed = s->w->resumed[s->run], last = s->run + 1;
	int64_t sign_us = closed_sign_us(c, s->run);

	if (run->waste != GOODPUT_UNKNOWN)
		settle_claim(s, BUCKET_WASTED, run->waste_us, sign_us);
	/* The run failed before its first step. If an earlier run had steps, the recovery of that
	 * run contains this time already. */
	if (run->first == GOODPUT_UNKNOWN) {
		if (!s->trained)
			settle_claim(s, BUCKET_RECOVERY, sign_us, next->begin_us);
		return;
	}
	if (s->w->ends[s->run].at_us != GOODPUT_UNKNOWN)
		sign_us = closed_later_us(sign_us, s->w->ends[s->run].at_us);
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

/* ---- runs ------------------------------------------------------------------------------------ */

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
			if (deviation_add(s->time, settle_ns(t.net_us) / t.count))
				w->error = -ENOMEM;
			s->timed++;
		}
		w->warnings[WARN_GAPS] += t.count - 1;
	}
	settle_last(s);
	/* The run has begun its first step: startup has ended. */
	if (!s->steps && closed_steps_of(w->c, s->run)) {
		settle_intervals(s, run->last_us);
		ledger_step(w->ledger, settle_ns(run->last_us), settle_ns(run->last_us), 0, false);
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

	w->ledger = ledger_new(settle_ns(w->start_us), settle_ns(w->start_us));
	if (!w->ledger || !s.time) {
		deviation_free(s.time);
		return -ENOMEM;
	}
	ledger_keep(w->ledger, PENDING_MAX);
	ledger_trace(w->ledger, settle_piece, w);
	ledger_ideal(w->ledger, settle_ns(w->ideal_us), settle_ns(w->mad_us));
	for (; s.run < w->c->nruns && !w->error; s.run++) {
		if (s.run)
			ledger_run(w->ledger, settle_ns(w->c->runs[s.run].begin_us));
		settle_run(&s);
	}
	ledger_end(w->ledger, settle_ns(w->until_us));
	ledger_view(w->ledger, &v);
	w->warnings[WARN_CROWDED] += v.merged;
	settle_merged(w);
	deviation_free(s.time);
	return w->error;
}
