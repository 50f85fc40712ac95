/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* What custom events take of productive steps. Runs of one clock: steps and events follow each
 * other, and one walk over both does. Else (`lengths`) it was found for every step beforehand. */
struct walk {
	struct goodput_range *events; /* by start */
	size_t count, next;
	goodput_wide *lengths;
};

static int compare_start(const void *a, const void *b)
{
	const struct goodput_range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int add_custom(struct library_sums *s, uint32_t name, goodput_wide ticks)
{
	struct goodput_entry *e = goodput_dict_put(&s->custom, name);

	if (!e)
		return -ENOMEM;
	e->real += library_seconds(ticks);
	return 0;
}

/* Productive steps of all segments as spans; without ret only their number. *ret_follow: each
 * begins where the one before ends, or later. */
static size_t productive(const struct library_segment *segments, size_t count,
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

static int walk_apart(struct walk *w, const struct library_segment *segments, size_t count,
		      size_t pairs, struct library_sums *s)
{
	struct goodput_range *spans = calloc(pairs + 1, sizeof(*spans));
	uint64_t *holders = calloc(w->count + 1, sizeof(*holders));
	bool follow;
	int err = -ENOMEM;

	w->lengths = calloc(pairs + 1, sizeof(*w->lengths));
	if (!spans || !holders || !w->lengths)
		goto done;
	productive(segments, count, spans, &follow);
	if (!goodput_contained(spans, pairs, w->events, w->count, w->lengths, holders))
		goto done;
	err = 0;
	for (size_t i = 0; !err && i < w->count; i++)
		if (holders[i])
			err = add_custom(s, w->events[i].name,
					 (goodput_wide)(w->events[i].to - w->events[i].from) *
						 (goodput_wide)holders[i]);
done:
	free(spans);
	free(holders);
	return err;
}

static int walk_start(struct walk *w, const struct library_calc *c,
		      const struct library_segment *segments, size_t count, struct library_sums *s)
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
	qsort(w->events, w->count, sizeof(*w->events), compare_start);
	pairs = productive(segments, count, NULL, &follow);
	return follow ? 0 : walk_apart(w, segments, count, pairs, s);
}

static void walk_end(struct walk *w)
{
	free(w->events);
	free(w->lengths);
}

/* Of the productive step [from, to]: each step in turn is asked about. */
static int walk_step(struct walk *w, int64_t from, int64_t to, struct library_sums *s,
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
		if (add_custom(s, e->name, e->to - e->from))
			return -ENOMEM;
	}
	return 0;
}

static int64_t least_step(const struct library_segment *s)
{
	int64_t least = s->steps[0].key;

	for (size_t i = 1; i < s->count; i++)
		if (s->steps[i].key < least)
			least = s->steps[i].key;
	return least;
}

struct tally { /* of one segment */
	goodput_wide productive, first, wasted;
	size_t pairs, others; /* others: pairs but that of the least step */
	int64_t max_productive;
};

static void settle(const struct tally *t, struct library_sums *s)
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
	int err = walk_start(&w, c, segments, count, s);

	for (size_t k = 0; !err && k < count; k++) {
		const struct library_segment *g = &segments[k];
		int64_t least = least_step(g);
		struct tally t = {0};

		s->max_productive = 0;
		if (!g->boundary) /* up to 0 a segment says nothing at all */
			continue;
		for (size_t i = 1; i < g->count; i++) {
			int64_t from = g->steps[i - 1].value, to = g->steps[i].value;
			goodput_wide left, custom;

			if (g->steps[i].key > g->boundary)
				t.wasted += to - from;
			if (!library_is_pair(g, i))
				continue;
			err = walk_step(&w, from, to, s, &custom);
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
		settle(&t, s);
	}
	walk_end(&w);
	return err;
}
