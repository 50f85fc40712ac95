/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/library/cover.h"

#include <stdlib.h>

struct goodput_knot {
	int64_t at;
	int64_t depth;	   /* number of spans that contain the time directly after `at` */
	goodput_wide area; /* sum over all spans of their time before `at` */
};

static int cover_compare_knots(const void *a, const void *b)
{
	const struct goodput_knot *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

bool goodput_cover_make(struct goodput_cover *c, const struct goodput_range *spans, size_t count)
{
	*c = (struct goodput_cover){0};
	if (!count)
		return true;
	c->knots = calloc(2 * count, sizeof(*c->knots));
	if (!c->knots)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (spans[i].from >= spans[i].to)
			continue;
		c->knots[c->count++] = (struct goodput_knot){.at = spans[i].from, .depth = 1};
		c->knots[c->count++] = (struct goodput_knot){.at = spans[i].to, .depth = -1};
	}
	qsort(c->knots, c->count, sizeof(*c->knots), cover_compare_knots);
	for (size_t i = 1; i < c->count; i++) {
		struct goodput_knot *k = &c->knots[i];

		k->area = k[-1].area + (goodput_wide)(k->at - k[-1].at) * k[-1].depth;
		k->depth += k[-1].depth;
	}
	return true;
}

void goodput_cover_free(struct goodput_cover *c)
{
	free(c->knots);
	*c = (struct goodput_cover){0};
}

static goodput_wide cover_area(const struct goodput_cover *c, int64_t at)
{
	size_t low = 0, high = c->count;
	const struct goodput_knot *k;

	while (low < high) { /* binary search for the first knot after `at` */
		size_t mid = low + (high - low) / 2;

		if (c->knots[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return 0;
	k = &c->knots[low - 1];
	return k->area + (goodput_wide)(at - k->at) * k->depth;
}

goodput_wide goodput_cover_shared(const struct goodput_cover *c, int64_t from, int64_t to)
{
	return from < to && c->count ? cover_area(c, to) - cover_area(c, from) : 0;
}

/* A span with its index in the caller's array, which sorting changes. */
struct place {
	int64_t from, to;
	size_t at;
};

/* a Fenwick tree: adds values and computes prefix sums in O(log n); indexes begin at 1 */
struct tree {
	goodput_wide *sums;
	size_t count;
};

static void cover_tree_add(struct tree *t, size_t i, goodput_wide value)
{
	for (; i <= t->count; i += i & -i)
		t->sums[i] += value;
}

static goodput_wide cover_tree_sum(const struct tree *t, size_t i)
{
	goodput_wide sum = 0;

	for (; i; i -= i & -i)
		sum += t->sums[i];
	return sum;
}

static int cover_compare_from(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int cover_compare_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns how many of the sorted times are at or before `at`. */
static size_t cover_rank_of(const int64_t *times, size_t count, int64_t at)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (times[mid] <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct place *cover_places_by_from(const struct goodput_range *spans, size_t count)
{
	struct place *p = calloc(count, sizeof(*p));

	for (size_t i = 0; p && i < count; i++)
		p[i] = (struct place){spans[i].from, spans[i].to, i};
	if (p)
		qsort(p, count, sizeof(*p), cover_compare_from);
	return p;
}

/* For each outer span, sums the lengths of the inner spans within it. Processes the outer spans by
 * start, the latest first. The tree contains the inner spans that start at or after the outer span,
 * indexed by their end. */
static void cover_sum_lengths(const struct place *outer, size_t outer_count,
			      const struct place *inner, size_t inner_count, const int64_t *ends,
			      struct tree *t, goodput_wide *ret)
{
	size_t next = inner_count;

	for (size_t i = outer_count; i--;) {
		for (; next && inner[next - 1].from >= outer[i].from; next--)
			cover_tree_add(t, cover_rank_of(ends, t->count, inner[next - 1].to),
				       inner[next - 1].to - inner[next - 1].from);
		ret[outer[i].at] = cover_tree_sum(t, cover_rank_of(ends, t->count, outer[i].to));
	}
}

/* For each inner span, counts the outer spans that contain it. Processes the inner spans by start,
 * the earliest first. The tree contains the outer spans that start at or before the inner span,
 * indexed by the number of inner spans that end at or before the outer span's end. */
static void cover_count_holders(const struct place *outer, size_t outer_count,
				const struct place *inner, size_t inner_count, const int64_t *ends,
				struct tree *t, uint64_t *ret)
{
	size_t next = 0, rank;
	uint64_t in = 0;

	for (size_t i = 0; i < inner_count; i++) {
		for (; next < outer_count && outer[next].from <= inner[i].from; next++) {
			rank = cover_rank_of(ends, t->count, outer[next].to);
			if (!rank)
				continue;
			cover_tree_add(t, rank, 1);
			in++;
		}
		rank = cover_rank_of(ends, t->count,
				     /* subtract outer spans that end before the inner span */
				     inner[i].to - 1);
		ret[inner[i].at] = in - (uint64_t)cover_tree_sum(t, rank);
	}
}

bool goodput_contained(const struct goodput_range *outer, size_t outer_count,
		       const struct goodput_range *inner, size_t inner_count,
		       goodput_wide *ret_length, uint64_t *ret_holders)
{
	struct place *out = NULL, *in = NULL;
	struct tree lengths = {0}, holders = {0};
	int64_t *ends = NULL;
	bool ok = false;

	if (!outer_count || !inner_count) {
		for (size_t i = 0; ret_length && i < outer_count; i++)
			ret_length[i] = 0;
		for (size_t i = 0; ret_holders && i < inner_count; i++)
			ret_holders[i] = 0;
		return true;
	}
	out = cover_places_by_from(outer, outer_count);
	in = cover_places_by_from(inner, inner_count);
	ends = calloc(inner_count, sizeof(*ends));
	lengths = (struct tree){calloc(inner_count + 1, sizeof(*lengths.sums)), inner_count};
	holders = (struct tree){calloc(inner_count + 1, sizeof(*holders.sums)), inner_count};
	if (!out || !in || !ends || !lengths.sums || !holders.sums)
		goto done;
	for (size_t i = 0; i < inner_count; i++)
		ends[i] = inner[i].to;
	qsort(ends, inner_count, sizeof(*ends), cover_compare_time);
	if (ret_length)
		cover_sum_lengths(out, outer_count, in, inner_count, ends, &lengths, ret_length);
	if (ret_holders)
		cover_count_holders(out, outer_count, in, inner_count, ends, &holders, ret_holders);
	ok = true;
done:
	free(out);
	free(in);
	free(ends);
	free(lengths.sums);
	free(holders.sums);
	return ok;
}
