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

/* What of a phase lies in reinitialisations is told of there. */
static void without(struct library_raw *raw, enum goodput_badput b, const struct library_phase *p,
		    const struct goodput_cover *reinit)
{
	goodput_wide shared = 0;

	for (size_t i = 0; i < p->count; i++)
		shared += goodput_cover_shared(reinit, p->spans[i].from, p->spans[i].to);
	if (shared <= 0)
		return;
	raw->badput_s[b] -= library_seconds(shared);
	if (raw->badput_s[b] < 0)
		raw->badput_s[b] = 0;
}

int library_elastic(const struct library_calc *c, struct library_raw *raw)
{
	struct goodput_cover reinit;
	goodput_wide sum = 0;

	if (c->has_wait[0])
		put(raw, BADPUT_SLICE_DOWN, library_seconds(c->waits[0]));
	if (c->has_wait[1])
		put(raw, BADPUT_SCALE_UP, library_seconds(c->waits[1]));
	if (!c->reinit.count)
		return 0;
	for (size_t i = 0; i < c->reinit.count; i++)
		sum += c->reinit.spans[i].to - c->reinit.spans[i].from;
	put(raw, BADPUT_REINIT, library_seconds(sum));
	if (!goodput_cover_make(&reinit, c->reinit.spans, c->reinit.count))
		return -ENOMEM;
	without(raw, BADPUT_INIT, &c->init, &reinit);
	without(raw, BADPUT_PREP, &c->prep, &reinit);
	goodput_cover_free(&reinit);
	return 0;
}

static int compare_slices(const void *a, const void *b)
{
	const struct library_slices *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int library_efficiency(const struct library_calc *c, int64_t from, int64_t to,
		       struct goodput_part *part)
{
	struct library_slices *sorted;
	double total_s = library_seconds((goodput_wide)to - from);

	if (!c->slice_count)
		return 0;
	part->has_slices = true;
	part->stepping_efficiency = part->available_efficiency = 0;
	if (to <= from)
		return 0;
	sorted = malloc(c->slice_count * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, c->slices, c->slice_count * sizeof(*sorted));
	qsort(sorted, c->slice_count, sizeof(*sorted), compare_slices);
	for (size_t i = 0; i < c->slice_count; i++) {
		int64_t since = sorted[i].at > from ? sorted[i].at : from;
		int64_t until = i + 1 < c->slice_count && sorted[i + 1].at < to ? sorted[i + 1].at
										: to;
		double s;

		if (until <= since)
			continue;
		s = library_seconds(until - since);
		part->stepping_efficiency += sorted[i].active / sorted[i].total * s;
		part->available_efficiency += sorted[i].available / sorted[i].total * s;
	}
	part->stepping_efficiency /= total_s;
	part->available_efficiency /= total_s;
	free(sorted);
	return 0;
}
