/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/library.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/ingest/goodput_names.h"

static void phase_init(struct library_phase *p)
{
	*p = (struct library_phase){.start = GOODPUT_UNKNOWN};
}

struct library_calc *library_calc_new(const struct goodput_query *q,
				      bool (*scale_up)(void *, uint32_t), void *ctx,
				      bool keep_times)
{
	struct library_calc *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->elastic = q->elastic;
	c->scale_up = scale_up;
	c->ctx = ctx;
	c->keep_times = keep_times;
	c->first_start = c->last_start = c->end = c->load_start = GOODPUT_UNKNOWN;
	c->last_step = c->last_step_time = c->folded_until = c->first_start_us = GOODPUT_UNKNOWN;
	c->sync = true;
	phase_init(&c->init);
	phase_init(&c->prep);
	phase_init(&c->reinit);
	return c;
}

static int compare_span(const void *a, const void *b)
{
	const struct goodput_range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

int library_calc_exclude(struct library_calc *c, const struct goodput_span *spans, size_t count)
{
	struct goodput_range *merged = calloc(count + 1, sizeof(*merged));
	struct library_exclusion *x = calloc(1, sizeof(*x));
	size_t n = 0, kept = 0;
	bool ok;

	if (!merged || !x) {
		free(merged);
		free(x);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) /* one that ends before it begins shares nothing */
		merged[n++] = (struct goodput_range){.from = library_ticks(spans[i].from_us),
						     .to = library_ticks(spans[i].to_us)};
	qsort(merged, n, sizeof(*merged), compare_span);
	for (size_t i = 0; i < n; i++) {
		if (!kept || merged[i].from > merged[kept - 1].to)
			merged[kept++] = merged[i];
		else if (merged[i].to > merged[kept - 1].to)
			merged[kept - 1].to = merged[i].to;
	}
	ok = goodput_cover_make(&x->cover, merged, kept);
	free(merged);
	x->sync = true;
	c->exclusion = x;
	return ok ? 0 : -ENOMEM;
}

static void saves_free(struct library_saves *s)
{
	goodput_dict_free(&s->places[0]);
	goodput_dict_free(&s->places[1]);
	free(s->means);
}

void library_calc_free(struct library_calc *c)
{
	if (!c)
		return;
	goodput_dict_free(&c->steps);
	for (size_t i = 0; i < c->closed_count; i++)
		free(c->closed[i].steps);
	free(c->closed);
	library_sums_free(&c->folded);
	free(c->init.spans);
	free(c->prep.spans);
	free(c->reinit.spans);
	goodput_dict_free(&c->open_customs);
	goodput_dict_free(&c->open_waits);
	free(c->customs);
	saves_free(&c->saves);
	saves_free(&c->restores);
	free(c->slices);
	goodput_dict_free(&c->times);
	if (c->exclusion) {
		goodput_cover_free(&c->exclusion->cover);
		library_sums_free(&c->exclusion->folded);
		goodput_dict_free(&c->exclusion->times);
		free(c->exclusion);
	}
	free(c);
}

/* Segments that are too many become sums: all at once, so that each step is looked at once. */
static int fold(struct library_calc *c)
{
	struct library_exclusion *x = c->exclusion;
	int err = library_segments(c, c->closed, c->closed_count, &c->folded);

	if (!err && x)
		err = library_segments_excluding(c, c->closed, c->closed_count, &x->folded,
						 &x->times);
	if (err)
		return err;
	for (size_t i = 0; i < c->closed_count; i++) {
		for (size_t k = 0; k < c->closed[i].count; k++)
			if (c->closed[i].steps[k].value > c->folded_until)
				c->folded_until = c->closed[i].steps[k].value;
		free(c->closed[i].steps);
	}
	c->closed_count = c->closed_steps = 0;
	return 0;
}

static int close_segment(struct library_calc *c, int64_t boundary)
{
	void *fit = realloc(c->steps.entries, c->steps.count * sizeof(*c->steps.entries));
	struct library_segment *s;

	if (fit)
		c->steps.entries = fit;
	if (!goodput_room(&c->closed, c->closed_count, &c->closed_room, sizeof(*c->closed)))
		return -ENOMEM;
	s = &c->closed[c->closed_count++];
	*s = (struct library_segment){c->steps.entries, c->steps.count, boundary};
	c->closed_steps += s->count + 4; /* the segment itself is as large as a few */
	c->steps.entries = NULL;
	goodput_dict_free(&c->steps);
	return c->closed_steps > LIBRARY_CLOSED_MAX ? fold(c) : 0;
}

static void exclude_recovery(struct library_calc *c, int64_t last)
{
	struct library_exclusion *x = c->exclusion;
	goodput_wide shared;

	x->sync = true;
	if (c->last_start == GOODPUT_UNKNOWN || !c->last_start || !last || c->last_start <= last)
		return;
	shared = goodput_cover_shared(&x->cover, last, c->last_start);
	x->recovery += c->last_start - last - shared;
	x->excluded += shared;
	x->has_recovery = true;
}

/* A number that the segment has already: the library's only sign of a disruption. */
static int disrupt(struct library_calc *c, int64_t number)
{
	int64_t last = c->steps.entries[c->steps.count - 1].value;

	c->disruptions++;
	c->sync = true;
	if (c->has_last_load) { /* charged again, whatever it was */
		c->load_sync += c->last_load;
		c->has_sync = true;
		c->has_last_load = false;
	}
	if (c->last_start != GOODPUT_UNKNOWN && c->last_start > last) {
		c->recovery += c->last_start - last;
		c->has_recovery = true;
	}
	if (c->exclusion)
		exclude_recovery(c, last);
	return close_segment(c, number);
}

static int feed_step(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	struct goodput_entry *e;
	int err;

	if (c->keep_times && c->last_step != GOODPUT_UNKNOWN && r->number - 1 == c->last_step) {
		e = goodput_dict_put(&c->times, c->last_step);
		if (!e)
			return -ENOMEM;
		e->real = library_seconds((goodput_wide)at - c->last_step_time);
	}
	c->step_records++;
	c->last_step = r->number;
	c->last_step_time = at;
	if (goodput_dict_find(&c->steps, r->number)) {
		err = disrupt(c, r->number);
		if (err)
			return err;
	}
	e = goodput_dict_put(&c->steps, r->number);
	if (!e)
		return -ENOMEM;
	e->value = at;
	return 0;
}

static void excluded_span(struct library_exclusion *x, int64_t from, int64_t to, goodput_wide *sum)
{
	goodput_wide shared, left;

	if (!x || !from) /* the library takes a start of 0 for none there */
		return;
	shared = goodput_cover_shared(&x->cover, from, to);
	left = (goodput_wide)to - from - shared;
	*sum += left > 0 ? left : 0;
	x->excluded += shared;
}

static void phase_start(struct library_calc *c, int64_t *start, int64_t at)
{
	c->reopened += *start != GOODPUT_UNKNOWN;
	*start = at;
}

static int phase_end(struct library_calc *c, struct library_phase *p, int64_t at,
		     goodput_wide *excluding)
{
	int64_t from = p->start;

	if (from == GOODPUT_UNKNOWN) {
		c->orphans++;
		return 0;
	}
	p->start = GOODPUT_UNKNOWN;
	p->sum += at - from;
	if (excluding)
		excluded_span(c->exclusion, from, at, excluding);
	if (!c->elastic || from >= at)
		return 0;
	if (!goodput_room(&p->spans, p->count, &p->room, sizeof(*p->spans)))
		return -ENOMEM;
	p->spans[p->count++] = (struct goodput_range){.from = from, .to = at};
	return 0;
}

static void load_end(struct library_calc *c, int64_t at)
{
	struct library_exclusion *x = c->exclusion;
	int64_t from = c->load_start;
	goodput_wide before = x ? x->load : 0;

	if (from == GOODPUT_UNKNOWN) {
		c->orphans++;
		return;
	}
	c->load_start = GOODPUT_UNKNOWN;
	c->last_load = at - from;
	c->has_last_load = true;
	c->load += c->last_load;
	if (c->sync) {
		c->load_sync += c->last_load;
		c->has_sync = true;
		c->sync = false;
	}
	if (!x || !from)
		return;
	excluded_span(x, from, at, &x->load);
	if (x->sync) {
		x->load_sync += x->load - before;
		x->has_sync = true;
		x->sync = false;
	}
}

/* The start of a named event, or its end with *ret_from where it had one. */
static int named(struct library_calc *c, struct goodput_dict *open, const struct goodput_record *r,
		 int64_t at, int64_t *ret_from)
{
	bool start = r->kind == GOODPUT_CUSTOM_START || r->kind == GOODPUT_ELASTIC_WAIT_START;
	struct goodput_entry *e = goodput_dict_find(open, r->name);
	bool is_open = e && e->value != GOODPUT_UNKNOWN;

	*ret_from = is_open && !start ? e->value : GOODPUT_UNKNOWN;
	c->merged += start && r->name == GOODPUT_NAMES_MORE;
	c->reopened += start && is_open;
	c->orphans += !start && !is_open;
	if (!e && start) {
		e = goodput_dict_put(open, r->name);
		if (!e)
			return -ENOMEM;
	}
	if (e)
		e->value = start ? at : GOODPUT_UNKNOWN;
	return 0;
}

static int feed_custom(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	int64_t from;
	int err = named(c, &c->open_customs, r, at, &from);

	if (err || from == GOODPUT_UNKNOWN || from >= at)
		return err;
	if (!goodput_room(&c->customs, c->custom_count, &c->custom_room, sizeof(*c->customs)))
		return -ENOMEM;
	c->customs[c->custom_count++] = (struct goodput_range){from, at, r->name};
	c->late_customs += from < c->folded_until;
	return 0;
}

static int feed_wait(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	int64_t from;
	int err = named(c, &c->open_waits, r, at, &from);
	bool up;

	if (err || from == GOODPUT_UNKNOWN || from >= at)
		return err;
	up = c->scale_up && c->scale_up(c->ctx, r->name);
	c->waits[up] += at - from;
	c->has_wait[up] = true;
	return 0;
}

static int feed_slices(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	if (!goodput_room(&c->slices, c->slice_count, &c->slice_room, sizeof(*c->slices)))
		return -ENOMEM;
	c->slices[c->slice_count] = (struct library_slices){at, (int64_t)c->slice_count, r->active,
							    r->available, r->total ? r->total : 1};
	c->slice_count++;
	return 0;
}

static int feed_elastic(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	switch (r->kind) {
	case GOODPUT_SLICES:
		return feed_slices(c, r, at);
	case GOODPUT_ELASTIC_REINIT_START:
		phase_start(c, &c->reinit.start, at);
		return 0;
	case GOODPUT_ELASTIC_REINIT_END:
		return phase_end(c, &c->reinit, at, NULL);
	default:
		return feed_wait(c, r, at);
	}
}

static int feed_checkpoint(struct library_calc *c, const struct goodput_record *r)
{
	struct library_saves *s = r->kind == GOODPUT_SAVE ? &c->saves : &c->restores;
	struct goodput_dict *places = &s->places[r->persistent];
	struct goodput_entry *e;

	c->nulls += r->partial || r->duration_us == GOODPUT_UNKNOWN;
	if (r->duration_us == GOODPUT_UNKNOWN)
		return 0;
	e = goodput_dict_find(places, r->number);
	if (!e) {
		if (!goodput_room(&s->means, s->count, &s->room, sizeof(*s->means)))
			return -ENOMEM;
		e = goodput_dict_put(places, r->number);
		if (!e)
			return -ENOMEM;
		e->value = (int64_t)s->count;
		s->means[s->count++] = (struct library_mean){0};
	}
	s->means[e->value].sum_s += (double)r->duration_us / 1e6;
	s->means[e->value].count++;
	return 0;
}

static int feed_phase(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	struct library_exclusion *x = c->exclusion;

	switch (r->kind) {
	case GOODPUT_INIT_START:
		phase_start(c, &c->init.start, at);
		return 0;
	case GOODPUT_INIT_END:
		return phase_end(c, &c->init, at, x ? &x->init : NULL);
	case GOODPUT_PREP_START:
		phase_start(c, &c->prep.start, at);
		return 0;
	case GOODPUT_PREP_END:
		return phase_end(c, &c->prep, at, x ? &x->prep : NULL);
	case GOODPUT_LOAD_START:
		phase_start(c, &c->load_start, at);
		return 0;
	default:
		load_end(c, at);
		return 0;
	}
}

int library_calc_feed(struct library_calc *c, const struct goodput_record *r)
{
	int64_t at = r->time_us == GOODPUT_UNKNOWN ? 0 : library_ticks(r->time_us);

	c->records++;
	switch (r->kind) {
	case GOODPUT_JOB_START:
		if (c->first_start == GOODPUT_UNKNOWN) {
			c->first_start = at;
			c->first_start_us = r->time_us;
		}
		c->last_start = at;
		return 0;
	case GOODPUT_JOB_END:
		c->end = at;
		return 0;
	case GOODPUT_STEP:
		return feed_step(c, r, at);
	case GOODPUT_CUSTOM_START:
	case GOODPUT_CUSTOM_END:
		return feed_custom(c, r, at);
	case GOODPUT_SAVE:
	case GOODPUT_RESTORE:
	case GOODPUT_EMERGENCY_RESTORE:
		return feed_checkpoint(c, r);
	case GOODPUT_SLICES:
	case GOODPUT_ELASTIC_WAIT_START:
	case GOODPUT_ELASTIC_WAIT_END:
	case GOODPUT_ELASTIC_REINIT_START:
	case GOODPUT_ELASTIC_REINIT_END:
		return c->elastic ? feed_elastic(c, r, at) : 0;
	default:
		return feed_phase(c, r, at);
	}
}
