/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void put(struct library_raw *r, enum goodput_badput b, double s)
{
	r->badput_s[b] = s;
	r->has |= 1u << b;
}

static double means(const struct library_saves *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += s->means[i].sum_s / (double)s->means[i].count;
	return sum;
}

/* The open segment, up to its last number. */
static struct library_segment open_segment(const struct library_calc *c)
{
	struct library_segment open = {c->steps.entries, c->steps.count, INT64_MIN};

	for (size_t i = 0; i < open.count; i++)
		if (open.steps[i].key > open.boundary)
			open.boundary = open.steps[i].key;
	return open;
}

static int raw_custom(const struct library_sums *s, struct library_raw *ret)
{
	ret->custom = calloc(s->custom.count + 1, sizeof(*ret->custom));
	if (!ret->custom)
		return -ENOMEM;
	for (size_t i = 0; i < s->custom.count; i++)
		ret->custom[i] = (struct goodput_custom){.name = (uint32_t)s->custom.entries[i].key,
							 .s = s->custom.entries[i].real};
	ret->custom_count = s->custom.count;
	return 0;
}

static int raw_sums(const struct library_sums *s, struct library_raw *ret)
{
	ret->productive_s = s->productive_s;
	if (s->any)
		put(ret, BADPUT_WASTED, library_seconds(s->wasted));
	if (s->any_pair) {
		put(ret, BADPUT_STARTUP, s->startup_s);
		put(ret, BADPUT_CUSTOM, 0);
	}
	return raw_custom(s, ret);
}

static void raw_phases(const struct library_calc *c, struct library_raw *ret)
{
	put(ret, BADPUT_INIT, library_seconds(c->init.sum));
	put(ret, BADPUT_PREP, library_seconds(c->prep.sum));
	if (c->has_sync)
		put(ret, BADPUT_LOAD_SYNC, library_seconds(c->load_sync));
	put(ret, BADPUT_LOAD_ASYNC, library_seconds(c->load - c->load_sync));
	if (c->has_recovery)
		put(ret, BADPUT_RECOVERY, library_seconds(c->recovery));
	put(ret, BADPUT_SAVE, means(&c->saves));
	put(ret, BADPUT_RESTORE, means(&c->restores));
	ret->nulls = c->nulls > 0;
}

static void raw_last(const struct library_calc *c, const struct library_segment *open,
		     const struct library_sums *s, struct library_raw *ret)
{
	const struct goodput_entry *last = goodput_dict_find(&c->steps, open->boundary);

	ret->last_recorded_step = open->boundary;
	ret->max_productive_step = s->max_productive;
	if (c->end != GOODPUT_UNKNOWN) {
		ret->productive_s += library_seconds((goodput_wide)c->end - last->value);
		ret->max_productive_step = open->boundary;
	}
	ret->productive_s -= ret->badput_s[BADPUT_SAVE];
}

int library_raw(const struct library_calc *c, struct library_raw *ret)
{
	struct library_segment open = open_segment(c);
	struct library_sums s;
	int err;

	*ret = (struct library_raw){.disruptions = c->disruptions};
	err = library_sums_copy(&c->folded, &s);
	if (!err)
		err = library_segments(c, c->closed, c->closed_count, &s);
	if (!err && open.count)
		err = library_segments(c, &open, 1, &s);
	raw_phases(c, ret);
	if (!err)
		err = raw_sums(&s, ret);
	if (!err && open.count)
		raw_last(c, &open, &s, ret);
	if (!err && c->elastic)
		err = library_elastic(c, ret);
	library_sums_free(&s);
	if (err)
		library_raw_free(ret);
	return err;
}

int library_raw_copy(const struct library_raw *from, struct library_raw *ret)
{
	size_t bytes = (from->custom_count + 1) * sizeof(*from->custom);

	*ret = *from;
	ret->custom = malloc(bytes);
	if (!ret->custom)
		return -ENOMEM;
	if (from->custom_count)
		memcpy(ret->custom, from->custom, bytes - sizeof(*from->custom));
	return 0;
}

void library_raw_free(struct library_raw *r)
{
	free(r->custom);
	*r = (struct library_raw){0};
}

/* The exclusions' way: no checkpoints, nothing of the elastic calculator. */
int library_raw_excluding(const struct library_calc *c, struct library_raw *ret,
			  double *ret_excluded_s, struct goodput_dict *ret_times)
{
	const struct library_exclusion *x = c->exclusion;
	struct library_segment open = open_segment(c);
	goodput_wide excluded = x->excluded;
	struct library_sums s;
	int err;

	*ret = (struct library_raw){.disruptions = c->disruptions};
	err = library_sums_copy(&x->folded, &s);
	for (size_t i = 0; !err && i < x->times.count; i++) {
		struct goodput_entry *e = goodput_dict_put(ret_times, x->times.entries[i].key);

		if (e)
			e->real = x->times.entries[i].real;
		else
			err = -ENOMEM;
	}
	if (!err)
		err = library_segments_excluding(c, c->closed, c->closed_count, &s, ret_times);
	if (!err && open.count)
		err = library_segments_excluding(c, &open, 1, &s, ret_times);
	if (!err)
		err = raw_sums(&s, ret);
	if (err)
		goto done;
	ret->max_productive_step = s.max_of_all;
	if (open.count) {
		ret->last_recorded_step = open.boundary;
		if (c->end != GOODPUT_UNKNOWN && c->end) {
			int64_t last = goodput_dict_find(&c->steps, open.boundary)->value;
			goodput_wide out = goodput_cover_shared(&x->cover, last, c->end);
			goodput_wide left = (goodput_wide)c->end - last - out;

			ret->productive_s += left > 0 ? library_seconds(left) : 0;
			ret->max_productive_step = open.boundary;
			excluded += out;
		}
	}
	put(ret, BADPUT_INIT, library_seconds(x->init));
	put(ret, BADPUT_PREP, library_seconds(x->prep));
	if (x->has_sync)
		put(ret, BADPUT_LOAD_SYNC, library_seconds(x->load_sync));
	put(ret, BADPUT_LOAD_ASYNC, library_seconds(x->load - x->load_sync));
	if (x->has_recovery)
		put(ret, BADPUT_RECOVERY, library_seconds(x->recovery));
	*ret_excluded_s = library_seconds(excluded + s.excluded);
done:
	library_sums_free(&s);
	return err;
}
