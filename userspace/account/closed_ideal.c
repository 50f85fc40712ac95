/* SPDX-License-Identifier: Apache-2.0 */
/* Step times, and the ideal among them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/account/deviation_batch.h"
#include "userspace/account/closed_internal.h"
#include "userspace/model/order.h"

#define IDEAL_MIN 3  /* steps, as model/deviation */
#define IDEAL_FEW 32 /* of so few, those that began a run say nothing of the ideal */

int64_t closed_covered_us(const struct closed_work *w, size_t r, size_t *cover, int64_t from_us,
			  int64_t to_us)
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

static void ideal_collect(struct closed_work *w, bool firsts)
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

static void ideal_find(struct closed_work *w, bool firsts)
{
	uint64_t med, limit, sum = 0, count = 0;

	med = order_median(w->work, (uint32_t)w->nwork);
	w->mad_us = (int64_t)order_spread(w->work, (uint32_t)w->nwork, med);
	limit = med + 3 * (uint64_t)w->mad_us;
	ideal_collect(w, firsts);
	for (size_t i = 0; i < w->nwork; i++) {
		if (w->work[i] <= limit) {
			sum += w->work[i];
			count++;
		}
	}
	w->ideal_us = (int64_t)(count ? sum / count : med);
	/* Many equal steps and a few short ones: a usual step must not look like startup. */
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
	ideal_collect(w, true);
	all = w->nwork;
	if (all >= IDEAL_MIN && all < IDEAL_FEW) {
		ideal_collect(w, false);
		firsts = !w->nwork;
		if (firsts)
			ideal_collect(w, true);
	}
	if (all >= IDEAL_MIN)
		ideal_find(w, firsts);
	w->nwork = all;
	if (w->c->query->ideal_us) {
		w->ideal_us = w->c->query->ideal_us;
		w->has_ideal = true;
	}
	return 0;
}

/* ---- what is told of them
 * ------------------------------------------------------------------------ */

static double seconds(int64_t us)
{
	return (double)us / 1e6;
}

int closed_step_times(struct closed_work *w, struct goodput_answer *ret)
{
	void *served = w->work; /* the times in it have */
	double *off = served;	/* from the ideal */
	struct goodput_part *p = &ret->cumulative;
	struct goodput_step_time *times, *deviations;
	size_t n = 0;

	p->has_ideal = w->has_ideal;
	p->ideal_s = seconds(w->ideal_us);
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

			times[n] = (struct goodput_step_time){t.number, seconds(each_us)};
			off[n] = seconds(off_us < 0 ? -off_us : off_us);
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
