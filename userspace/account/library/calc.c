/* SPDX-License-Identifier: Apache-2.0 */
/* calc.c - calculates as the goodput library does: splits the log into segments of steps, and sums
 * their productive and lost time. */
#include "userspace/account/library/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/ingest/goodput_names.h"

/* ---- segments -------------------------------------------------------------------------------- */

void library_sums_free(struct library_sums *s)
{
	goodput_dict_free(&s->custom);
	*s = (struct library_sums){0};
}

int library_sums_copy(const struct library_sums *from, struct library_sums *ret)
{
	*ret = *from;
	ret->custom = (struct goodput_dict){0};
	for (size_t i = 0; i < from->custom.count; i++) {
		struct goodput_entry *e = goodput_dict_put(&ret->custom,
							   from->custom.entries[i].key);

		if (!e)
			return -ENOMEM;
		e->real = from->custom.entries[i].real;
	}
	return 0;
}

/* State of a walk over productive steps that computes how much of each step custom events take. If
 * all records come from one clock, steps and events are in order, and are walked together.
 * Otherwise the time for each step is computed in advance (`lengths`). */
struct walk {
	struct goodput_range *events; /* sorted by start */
	size_t count, next;
	goodput_wide *lengths;
};

static int calc_compare_start(const void *a, const void *b)
{
	const struct goodput_range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int calc_add_custom(struct library_sums *s, uint32_t name, goodput_wide ticks)
{
	struct goodput_entry *e = goodput_dict_put(&s->custom, name);

	if (!e)
		return -ENOMEM;
	e->real += library_seconds(ticks);
	return 0;
}

/* Writes the productive steps of all segments to ret, which may be NULL, and returns their number.
 * *ret_follow: each step begins after the previous one has ended. */
static size_t calc_productive(const struct library_segment *segments, size_t count,
			      struct goodput_range *ret, bool *ret_follow)
{
	int64_t until = INT64_MIN;
	size_t n = 0;

	*ret_follow = true;
	for (size_t k = 0; k < count; k++) {
		const struct library_segment *s = &segments[k];

		for (size_t i = 1; s->boundary && i < s->count; i++) {
			if (!library_is_pair(s, i))
				continue;
			if (ret)
				ret[n] = (struct goodput_range){s->steps[i - 1].value,
								s->steps[i].value, 0};
			n++;
			if (s->steps[i - 1].value < until ||
			    s->steps[i].value < s->steps[i - 1].value)
				*ret_follow = false;
			until = s->steps[i].value;
		}
	}
	return n;
}

static int calc_walk_apart(struct walk *w, const struct library_segment *segments, size_t count,
			   size_t pairs, struct library_sums *s)
{
	struct goodput_range *spans = calloc(pairs + 1, sizeof(*spans));
	uint64_t *holders = calloc(w->count + 1, sizeof(*holders));
	bool follow;
	int err = -ENOMEM;

	w->lengths = calloc(pairs + 1, sizeof(*w->lengths));
	if (!spans || !holders || !w->lengths)
		goto done;
	calc_productive(segments, count, spans, &follow);
	if (!goodput_contained(spans, pairs, w->events, w->count, w->lengths, holders))
		goto done;
	err = 0;
	for (size_t i = 0; !err && i < w->count; i++)
		if (holders[i])
			err = calc_add_custom(s, w->events[i].name,
					      (goodput_wide)(w->events[i].to - w->events[i].from) *
						      (goodput_wide)holders[i]);
done:
	free(spans);
	free(holders);
	return err;
}

static int calc_walk_start(struct walk *w, const struct library_calc *c,
			   const struct library_segment *segments, size_t count,
			   struct library_sums *s)
{
	size_t pairs;
	bool follow;

	*w = (struct walk){.count = c->custom_count};
	if (!w->count)
		return 0;
	w->events = calloc(w->count, sizeof(*w->events));
	if (!w->events)
		return -ENOMEM;
	memcpy(w->events, c->customs, w->count * sizeof(*w->events));
	qsort(w->events, w->count, sizeof(*w->events), calc_compare_start);
	pairs = calc_productive(segments, count, NULL, &follow);
	return follow ? 0 : calc_walk_apart(w, segments, count, pairs, s);
}

static void calc_walk_end(struct walk *w)
{
	free(w->events);
	free(w->lengths);
}

/* Sets *ret to the time that custom events take of the productive step [from, to]. Call for all
 * productive steps, in order. */
static int calc_walk_step(struct walk *w, int64_t from, int64_t to, struct library_sums *s,
			  goodput_wide *ret)
{
	*ret = 0;
	if (w->lengths) {
		*ret = w->lengths[w->next++];
		return 0;
	}
	while (w->next < w->count && w->events[w->next].from < to) {
		const struct goodput_range *e = &w->events[w->next++];

		if (e->from < from || e->to > to)
			continue;
		*ret += e->to - e->from;
		if (calc_add_custom(s, e->name, e->to - e->from))
			return -ENOMEM;
	}
	return 0;
}

static int64_t calc_least_step(const struct library_segment *s)
{
	int64_t least = s->steps[0].key;

	for (size_t i = 1; i < s->count; i++)
		if (s->steps[i].key < least)
			least = s->steps[i].key;
	return least;
}

struct tally { /* sums over one segment */
	goodput_wide productive, first, wasted;
	size_t pairs, others; /* others: number of pairs except that of the lowest step */
	int64_t max_productive;
};

static void calc_segment_settle(const struct tally *t, struct library_sums *s)
{
	double all_s = library_seconds(t->productive), first_s = library_seconds(t->first),
	       extra_s = 0;

	s->wasted += t->wasted;
	s->any = true;
	s->max_productive = t->max_productive;
	if (!t->pairs)
		return;
	s->any_pair = true;
	if (t->others) {
		extra_s = first_s - (all_s - first_s) / (double)t->others;
		extra_s = extra_s > 0 ? extra_s : 0;
		s->productive_s += all_s - extra_s;
		s->startup_s += extra_s;
	} else {
		s->productive_s += first_s;
	}
}

int library_segments(const struct library_calc *c, const struct library_segment *segments,
		     size_t count, struct library_sums *s)
{
	struct walk w;
	int err = calc_walk_start(&w, c, segments, count, s);

	for (size_t k = 0; !err && k < count; k++) {
		const struct library_segment *g = &segments[k];
		int64_t least = calc_least_step(g);
		struct tally t = {0};

		s->max_productive = 0;
		/* The library ignores segments that ended because step 0 was repeated. */
		if (!g->boundary)
			continue;
		for (size_t i = 1; i < g->count; i++) {
			int64_t from = g->steps[i - 1].value, to = g->steps[i].value;
			goodput_wide left, custom;

			if (g->steps[i].key > g->boundary)
				t.wasted += to - from;
			if (!library_is_pair(g, i))
				continue;
			err = calc_walk_step(&w, from, to, s, &custom);
			if (err)
				break;
			left = (goodput_wide)to - from - custom;
			left = left > 0 ? left : 0;
			t.productive += left;
			if (g->steps[i - 1].key == least)
				t.first = left;
			else
				t.others++;
			t.pairs++;
			t.max_productive = g->steps[i - 1].key;
		}
		calc_segment_settle(&t, s);
	}
	calc_walk_end(&w);
	return err;
}

/* ---- segments with excluded spans ------------------------------------------------------------ */

/* The library handles excluded time by separate rules, which partly differ from those for the whole
 * job. */

struct exclude_tally {
	goodput_wide productive, first, wasted;
	size_t pairs;
	int64_t least, max_productive;
	struct goodput_dict times; /* step times in seconds */
};

static int calc_tally_step(struct exclude_tally *t, const struct goodput_entry *step,
			   goodput_wide left)
{
	struct goodput_entry *e = goodput_dict_put(&t->times, step->key);

	if (!e)
		return -ENOMEM;
	e->real = library_seconds(left);
	t->productive += left;
	if (step->key == t->least)
		t->first = left;
	t->pairs++;
	t->max_productive = step->key;
	return 0;
}

static int calc_exclude_settle(struct exclude_tally *t, struct library_sums *s,
			       struct goodput_dict *times)
{
	double all_s = library_seconds(t->productive), first_s = library_seconds(t->first);
	double average_s = first_s, extra_s;

	s->wasted += t->wasted;
	s->any = true;
	if (!t->pairs)
		return 0;
	s->any_pair = true;
	if (t->max_productive > s->max_of_all)
		s->max_of_all = t->max_productive;
	if (t->pairs > 1)
		average_s = (all_s - first_s) / (double)(t->pairs - 1);
	extra_s = first_s > average_s ? first_s - average_s : 0;
	s->productive_s += all_s - extra_s;
	s->startup_s += extra_s;
	for (size_t i = 0; i < t->times.count; i++) {
		const struct goodput_entry *from = &t->times.entries[i];
		struct goodput_entry *e = goodput_dict_put(times, from->key);

		if (!e)
			return -ENOMEM;
		e->real = from->key == t->least && average_s < from->real ? average_s : from->real;
	}
	return 0;
}

static int calc_one_segment(const struct library_calc *c, const struct library_segment *g,
			    const struct goodput_cover *customs, struct library_sums *s,
			    struct goodput_dict *times)
{
	struct exclude_tally t = {.least = calc_least_step(g)};
	int err = 0;

	for (size_t i = 1; !err && i < g->count; i++) {
		int64_t from = g->steps[i - 1].value, to = g->steps[i].value;
		goodput_wide out = goodput_cover_shared(&c->exclusion->cover, from, to), left;

		s->excluded += out;
		left = (goodput_wide)to - from - out;
		if (g->steps[i].key > g->boundary) {
			t.wasted += left > 0 ? left : 0;
		} else if (library_is_pair(g, i)) {
			left -= goodput_cover_shared(customs, from, to);
			err = calc_tally_step(&t, &g->steps[i - 1], left > 0 ? left : 0);
		}
	}
	if (!err)
		err = calc_exclude_settle(&t, s, times);
	goodput_dict_free(&t.times);
	return err;
}

/* Sums the time of custom events within productive steps, for each type. If there is a productive
 * step, each type gets an entry, which may be 0. */
static int calc_by_name(const struct library_calc *c, const struct library_segment *segments,
			size_t count, struct library_sums *s)
{
	struct goodput_range *spans = NULL, *span;
	struct goodput_cover steps = {0};
	size_t n = 0, room = 0;
	bool ok = true;

	for (size_t k = 0; ok && c->custom_count && k < count; k++)
		for (size_t i = 1; ok && i < segments[k].count; i++) {
			if (!library_is_pair(&segments[k], i))
				continue;
			span = grow_append(&spans, &n, &room, sizeof(*span));
			ok = span;
			if (ok)
				*span = (struct goodput_range){segments[k].steps[i - 1].value,
							       segments[k].steps[i].value, 0};
		}
	ok = ok && goodput_cover_make(&steps, spans, n);
	for (size_t i = 0; ok && n && i < c->custom_count; i++) {
		const struct goodput_range *r = &c->customs[i];
		struct goodput_entry *e = goodput_dict_put(&s->custom, r->name);

		ok = e;
		if (e)
			e->real += library_seconds(goodput_cover_shared(&steps, r->from, r->to));
	}
	goodput_cover_free(&steps);
	free(spans);
	return ok ? 0 : -ENOMEM;
}

int library_segments_excluding(const struct library_calc *c, const struct library_segment *segments,
			       size_t count, struct library_sums *s, struct goodput_dict *times)
{
	struct goodput_cover customs;
	int err = goodput_cover_make(&customs, c->customs, c->custom_count) ? 0 : -ENOMEM;

	for (size_t k = 0; !err && k < count; k++)
		err = calc_one_segment(c, &segments[k], &customs, s, times);
	if (!err)
		err = calc_by_name(c, segments, count, s);
	goodput_cover_free(&customs);
	return err;
}

/* ---- the calculator -------------------------------------------------------------------------- */

static void calc_phase_init(struct library_phase *p)
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
	calc_phase_init(&c->init);
	calc_phase_init(&c->prep);
	calc_phase_init(&c->reinit);
	return c;
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
	for (size_t i = 0; i < count; i++) /* a span that ends before it begins excludes no time */
		merged[n++] = (struct goodput_range){.from = library_ticks(spans[i].from_us),
						     .to = library_ticks(spans[i].to_us)};
	qsort(merged, n, sizeof(*merged), calc_compare_start);
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

static void calc_saves_free(struct library_saves *s)
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
	calc_saves_free(&c->saves);
	calc_saves_free(&c->restores);
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

/* If there are too many closed segments, replaces them by their sums. All are replaced together, so
 * that each step is processed only once. */
static int calc_fold(struct library_calc *c)
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

static int calc_close_segment(struct library_calc *c, int64_t boundary)
{
	void *fit = realloc(c->steps.entries, c->steps.count * sizeof(*c->steps.entries));
	struct library_segment *s;

	if (fit)
		c->steps.entries = fit;
	s = grow_append(&c->closed, &c->closed_count, &c->closed_room, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct library_segment){c->steps.entries, c->steps.count, boundary};
	/* A segment takes about as much memory as four steps. */
	c->closed_steps += s->count + 4;
	c->steps.entries = NULL;
	goodput_dict_free(&c->steps);
	return c->closed_steps > LIBRARY_CLOSED_MAX ? calc_fold(c) : 0;
}

static void calc_exclude_recovery(struct library_calc *c, int64_t last)
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

/* Handles a step number that is in the segment already. This is how the library detects a
 * disruption. */
static int calc_disrupt(struct library_calc *c, int64_t number)
{
	int64_t last = c->steps.entries[c->steps.count - 1].value;

	c->disruptions++;
	c->sync = true;
	/* At each disruption the library adds the last load once more, whatever this load was
	 * for. */
	if (c->has_last_load) {
		c->load_sync += c->last_load;
		c->has_sync = true;
		c->has_last_load = false;
	}
	if (c->last_start != GOODPUT_UNKNOWN && c->last_start > last) {
		c->recovery += c->last_start - last;
		c->has_recovery = true;
	}
	if (c->exclusion)
		calc_exclude_recovery(c, last);
	return calc_close_segment(c, number);
}

static int calc_feed_step(struct library_calc *c, const struct goodput_record *r, int64_t at)
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
		err = calc_disrupt(c, r->number);
		if (err)
			return err;
	}
	e = goodput_dict_put(&c->steps, r->number);
	if (!e)
		return -ENOMEM;
	e->value = at;
	return 0;
}

static void calc_excluded_span(struct library_exclusion *x, int64_t from, int64_t to,
			       goodput_wide *sum)
{
	goodput_wide shared, left;

	if (!x || !from) /* the goodput library treats a start of 0 as missing */
		return;
	shared = goodput_cover_shared(&x->cover, from, to);
	left = (goodput_wide)to - from - shared;
	*sum += left > 0 ? left : 0;
	x->excluded += shared;
}

static void calc_phase_start(struct library_calc *c, int64_t *start, int64_t at)
{
	c->reopened += *start != GOODPUT_UNKNOWN;
	*start = at;
}

static int calc_phase_end(struct library_calc *c, struct library_phase *p, int64_t at,
			  goodput_wide *excluding)
{
	struct goodput_range *span;
	int64_t from = p->start;

	if (from == GOODPUT_UNKNOWN) {
		c->orphans++;
		return 0;
	}
	p->start = GOODPUT_UNKNOWN;
	p->sum += at - from;
	if (excluding)
		calc_excluded_span(c->exclusion, from, at, excluding);
	if (!c->elastic || from >= at)
		return 0;
	span = grow_append(&p->spans, &p->count, &p->room, sizeof(*span));
	if (!span)
		return -ENOMEM;
	*span = (struct goodput_range){.from = from, .to = at};
	return 0;
}

static void calc_load_end(struct library_calc *c, int64_t at)
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
	calc_excluded_span(x, from, at, &x->load);
	if (x->sync) {
		x->load_sync += x->load - before;
		x->has_sync = true;
		x->sync = false;
	}
}

/* Handles the start or end of a named event. *ret_from: for an end, when the event started;
 * GOODPUT_UNKNOWN for a start, or for an end without a start. */
static int calc_named_event(struct library_calc *c, struct goodput_dict *open,
			    const struct goodput_record *r, int64_t at, int64_t *ret_from)
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

static int calc_feed_custom(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	struct goodput_range *span;
	int64_t from;
	int err = calc_named_event(c, &c->open_customs, r, at, &from);

	if (err || from == GOODPUT_UNKNOWN || from >= at)
		return err;
	span = grow_append(&c->customs, &c->custom_count, &c->custom_room, sizeof(*span));
	if (!span)
		return -ENOMEM;
	*span = (struct goodput_range){from, at, r->name};
	c->late_customs += from < c->folded_until;
	return 0;
}

static int calc_feed_wait(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	int64_t from;
	int err = calc_named_event(c, &c->open_waits, r, at, &from);
	bool up;

	if (err || from == GOODPUT_UNKNOWN || from >= at)
		return err;
	up = c->scale_up && c->scale_up(c->ctx, r->name);
	c->waits[up] += at - from;
	c->has_wait[up] = true;
	return 0;
}

static int calc_feed_slices(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	struct library_slices *s = grow_append(&c->slices, &c->slice_count, &c->slice_room,
					       sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct library_slices){at, s - c->slices, r->active, r->available,
				     r->total ? r->total : 1};
	return 0;
}

static int calc_feed_elastic(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	switch (r->kind) {
	case GOODPUT_SLICES:
		return calc_feed_slices(c, r, at);
	case GOODPUT_ELASTIC_REINIT_START:
		calc_phase_start(c, &c->reinit.start, at);
		return 0;
	case GOODPUT_ELASTIC_REINIT_END:
		return calc_phase_end(c, &c->reinit, at, NULL);
	default:
		return calc_feed_wait(c, r, at);
	}
}

static int calc_feed_checkpoint(struct library_calc *c, const struct goodput_record *r)
{
	struct library_saves *s = r->kind == GOODPUT_SAVE ? &c->saves : &c->restores;
	struct goodput_dict *places = &s->places[r->persistent];
	struct library_mean *mean;
	struct goodput_entry *e;

	c->nulls += r->partial || r->duration_us == GOODPUT_UNKNOWN;
	if (r->duration_us == GOODPUT_UNKNOWN)
		return 0;
	e = goodput_dict_find(places, r->number);
	if (!e) {
		e = goodput_dict_put(places, r->number);
		mean = e ? grow_append(&s->means, &s->count, &s->room, sizeof(*mean)) : NULL;
		if (!mean)
			return -ENOMEM;
		*mean = (struct library_mean){0};
		e->value = mean - s->means;
	}
	s->means[e->value].sum_s += (double)r->duration_us / 1e6;
	s->means[e->value].count++;
	return 0;
}

static int calc_feed_phase(struct library_calc *c, const struct goodput_record *r, int64_t at)
{
	struct library_exclusion *x = c->exclusion;

	switch (r->kind) {
	case GOODPUT_INIT_START:
		calc_phase_start(c, &c->init.start, at);
		return 0;
	case GOODPUT_INIT_END:
		return calc_phase_end(c, &c->init, at, x ? &x->init : NULL);
	case GOODPUT_PREP_START:
		calc_phase_start(c, &c->prep.start, at);
		return 0;
	case GOODPUT_PREP_END:
		return calc_phase_end(c, &c->prep, at, x ? &x->prep : NULL);
	case GOODPUT_LOAD_START:
		calc_phase_start(c, &c->load_start, at);
		return 0;
	default:
		calc_load_end(c, at);
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
		return calc_feed_step(c, r, at);
	case GOODPUT_CUSTOM_START:
	case GOODPUT_CUSTOM_END:
		return calc_feed_custom(c, r, at);
	case GOODPUT_SAVE:
	case GOODPUT_RESTORE:
	case GOODPUT_EMERGENCY_RESTORE:
		return calc_feed_checkpoint(c, r);
	case GOODPUT_SLICES:
	case GOODPUT_ELASTIC_WAIT_START:
	case GOODPUT_ELASTIC_WAIT_END:
	case GOODPUT_ELASTIC_REINIT_START:
	case GOODPUT_ELASTIC_REINIT_END:
		return c->elastic ? calc_feed_elastic(c, r, at) : 0;
	default:
		return calc_feed_phase(c, r, at);
	}
}
