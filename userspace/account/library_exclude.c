/* SPDX-License-Identifier: Apache-2.0 */
/* The library's second way through a log, which it takes when spans are excluded: other rules in
 * places. */
#include "userspace/account/library.h"

#include <errno.h>
#include <stdlib.h>

struct tally {
	goodput_wide productive, first, wasted;
	size_t pairs;
	int64_t least, max_productive;
	struct goodput_dict times; /* seconds */
};

static int tally_step(struct tally *t, const struct goodput_entry *step, goodput_wide left)
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

static int settle(struct tally *t, struct library_sums *s, struct goodput_dict *times)
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

static int one_segment(const struct library_calc *c, const struct library_segment *g,
		       const struct goodput_cover *customs, struct library_sums *s,
		       struct goodput_dict *times)
{
	struct tally t = {.least = g->steps[0].key};
	int err = 0;

	for (size_t i = 1; i < g->count; i++)
		if (g->steps[i].key < t.least)
			t.least = g->steps[i].key;
	for (size_t i = 1; !err && i < g->count; i++) {
		int64_t from = g->steps[i - 1].value, to = g->steps[i].value;
		goodput_wide out = goodput_cover_shared(&c->exclusion->cover, from, to), left;

		s->excluded += out;
		left = (goodput_wide)to - from - out;
		if (g->steps[i].key > g->boundary) {
			t.wasted += left > 0 ? left : 0;
		} else if (library_is_pair(g, i)) {
			left -= goodput_cover_shared(customs, from, to);
			err = tally_step(&t, &g->steps[i - 1], left > 0 ? left : 0);
		}
	}
	if (!err)
		err = settle(&t, s, times);
	goodput_dict_free(&t.times);
	return err;
}

/* By type: a type is told of as soon as there is a productive step, with 0 where it shares nothing.
 */
static int by_name(const struct library_calc *c, const struct library_segment *segments,
		   size_t count, struct library_sums *s)
{
	struct goodput_range *spans = NULL;
	struct goodput_cover steps = {0};
	size_t n = 0, room = 0;
	bool ok = true;

	for (size_t k = 0; ok && c->custom_count && k < count; k++)
		for (size_t i = 1; ok && i < segments[k].count; i++) {
			if (!library_is_pair(&segments[k], i))
				continue;
			ok = goodput_room(&spans, n, &room, sizeof(*spans));
			if (ok)
				spans[n++] = (struct goodput_range){segments[k].steps[i - 1].value,
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
		err = one_segment(c, &segments[k], &customs, s, times);
	if (!err)
		err = by_name(c, segments, count, s);
	goodput_cover_free(&customs);
	return err;
}
