/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends that belong together, as intervals; and the union of a run's intervals. */
#include <errno.h>
#include <stdlib.h>

#include "userspace/account/closed_internal.h"

#define OPEN_MAX 64 /* events open at once, of those that have names */

struct open {
	int64_t from_us;
	uint32_t name, seq;
	uint8_t kind; /* of its start */
};

struct pairing {
	struct closed_work *w;
	size_t run;
	int64_t begin_us, until_us; /* of the run */
	struct open open[OPEN_MAX];
	unsigned nopen;
};

int64_t closed_sign_us(const struct closed *c, size_t r)
{
	const struct closed_run *run = &c->runs[r];
	bool in_place = r + 1 < c->nruns && !run[1].started;
	int64_t busy_us = in_place ? run->train_us : run->busy_us;

	if (r + 1 < c->nruns && run[1].begin_us < busy_us)
		busy_us = run[1].begin_us;
	return in_place || busy_us > run->life_us ? busy_us : run->life_us;
}

int64_t closed_run_until(const struct closed_work *w, size_t r)
{
	return r + 1 < w->c->nruns ? w->c->runs[r + 1].begin_us : w->until_us;
}

static enum bucket bucket_of(const struct closed *c, uint8_t kind, uint32_t name)
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

static void pair_interval(struct pairing *p, const struct open *o, int64_t to_us)
{
	struct closed_work *w = p->w;
	int64_t from_us = o->from_us > p->begin_us ? o->from_us : p->begin_us;
	struct closed_interval *i;

	to_us = to_us < p->until_us ? to_us : p->until_us;
	if (to_us <= from_us)
		return;
	i = closed_grow((void **)&w->intervals, &w->nintervals, &w->cap_intervals, sizeof(*i));
	if (!i) {
		w->error = -ENOMEM;
		return;
	}
	*i = (struct closed_interval){from_us, to_us, o->name, o->seq,
				      bucket_of(w->c, o->kind, o->name)};
}

static void pair_drop(struct pairing *p, unsigned i)
{
	for (p->nopen--; i < p->nopen; i++)
		p->open[i] = p->open[i + 1];
}

static unsigned pair_find(const struct pairing *p, uint8_t kind, uint32_t name)
{
	unsigned i = 0;

	while (i < p->nopen && (p->open[i].kind != kind || p->open[i].name != name))
		i++;
	return i;
}

/* A second start of what is open: the end of the first was lost. */
static void pair_start(struct pairing *p, const struct closed_event *e)
{
	unsigned i = pair_find(p, e->kind, e->name);

	if (i < p->nopen) {
		p->w->warnings[WARN_OPEN]++;
		pair_drop(p, i);
	}
	if (p->nopen == OPEN_MAX) {
		p->w->warnings[WARN_OPEN]++;
		return;
	}
	p->open[p->nopen++] = (struct open){e->time_us, e->name, e->seq, e->kind};
}

static void pair_end(struct pairing *p, const struct closed_event *e)
{
	unsigned i = pair_find(p, (uint8_t)(e->kind - 1), e->name);

	if (i == p->nopen) {
		p->w->warnings[WARN_ORPHANS]++;
		return;
	}
	pair_interval(p, &p->open[i], e->time_us);
	pair_drop(p, i);
}

static int64_t next_step_us(const struct pairing *p, int64_t from_us)
{
	const struct closed *c = p->w->c;
	const struct closed_run *run = &c->runs[p->run];
	size_t low = run->base, high = low + closed_steps_of(c, p->run);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->steps[middle].time_us <= from_us)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < run->base + closed_steps_of(c, p->run))
		return c->steps[low].time_us;
	return run->last != GOODPUT_UNKNOWN && run->last_us > from_us ? run->last_us : INT64_MAX;
}

/* What is open at the end of a run went on until the step that was told next: what blocks the
 * trainer is over then, whether or not that was told. Without one, as long as the run lived, or
 * still. */
static void pair_rest(struct pairing *p)
{
	const struct closed *c = p->w->c;
	bool alive = p->run + 1 == c->nruns && c->runs[p->run].end_us == GOODPUT_UNKNOWN;
	int64_t life_us = alive ? p->until_us : closed_sign_us(c, p->run);

	for (unsigned i = 0; i < p->nopen; i++) {
		int64_t to_us = next_step_us(p, p->open[i].from_us);

		p->w->warnings[WARN_OPEN]++;
		if (to_us >= life_us) {
			to_us = life_us;
			p->w->open[p->run] |= alive;
		}
		pair_interval(p, &p->open[i], to_us);
	}
}

static void pair_event(struct pairing *p, const struct closed_event *e)
{
	struct open whole = {e->time_us, 0, e->seq, e->kind};

	switch (e->kind) {
	case GOODPUT_SAVE:
	case GOODPUT_RESTORE:
	case GOODPUT_EMERGENCY_RESTORE:
		pair_interval(p, &whole, e->time_us + e->duration_us);
		break;
	case GOODPUT_INIT_START:
	case GOODPUT_PREP_START:
	case GOODPUT_LOAD_START:
	case GOODPUT_CUSTOM_START:
	case GOODPUT_ELASTIC_WAIT_START:
	case GOODPUT_ELASTIC_REINIT_START:
		pair_start(p, e);
		break;
	default:
		pair_end(p, e);
	}
}

static int event_order(const void *a, const void *b)
{
	const struct closed_event *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int interval_order(const void *a, const void *b)
{
	const struct closed_interval *x = a, *y = b;

	if (x->from_us != y->from_us)
		return x->from_us < y->from_us ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* The union of a run's intervals, in order, apart from each other. */
static size_t pair_cover(struct closed_work *w, size_t first, size_t n)
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

static void pair_run(struct closed_work *w, size_t r, size_t *at)
{
	const struct closed *c = w->c;
	struct pairing p = {.w = w,
			    .run = r,
			    .begin_us = c->runs[r].begin_us,
			    .until_us = closed_run_until(w, r)};
	size_t first = w->nintervals;
	bool sorted = true;

	for (; *at < c->nevents && c->events[*at].run == r; ++*at)
		pair_event(&p, &c->events[*at]);
	pair_rest(&p);
	for (size_t i = first + 1; i < w->nintervals && sorted; i++)
		sorted = interval_order(&w->intervals[i - 1], &w->intervals[i]) <= 0;
	if (!sorted)
		qsort(&w->intervals[first], w->nintervals - first, sizeof(*w->intervals),
		      interval_order);
}

int closed_pair(struct closed_work *w)
{
	struct closed *c = (struct closed *)w->c; /* putting events in order changes no answer */
	size_t runs = c->nruns, at = 0, n = 0;

	if (c->events_mixed)
		qsort(c->events, c->nevents, sizeof(*c->events), event_order);
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
		pair_run(w, r, &at);
		w->first_interval[r + 1] = w->nintervals;
	}
	w->cover = calloc(w->nintervals + 1, sizeof(*w->cover));
	if (w->error || !w->cover)
		return -ENOMEM;
	for (size_t r = 0, all = w->nintervals; r < runs; r++) {
		w->nintervals = w->first_interval[r + 1];
		n = pair_cover(w, w->first_interval[r], n);
		w->first_cover[r + 1] = n;
		w->nintervals = all;
	}
	return 0;
}
