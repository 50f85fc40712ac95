/* SPDX-License-Identifier: Apache-2.0 */
/* What was settled, as a timeline. */
#include <errno.h>
#include <stdlib.h>

#include "userspace/account/closed_internal.h"

static int64_t later(int64_t a_us, int64_t b_us)
{
	return a_us > b_us ? a_us : b_us;
}

/* ---- steps
 * --------------------------------------------------------------------------------------- */

static void done_add(struct goodput_history *h, int64_t end_us, int64_t each_us, uint64_t count)
{
	h->done[h->ndone++] = (struct goodput_done){end_us, each_us, count};
}

static void history_steps(const struct closed_work *w, size_t r, struct goodput_history *h)
{
	const struct closed_end *end = &w->ends[r];
	size_t cover = w->first_cover[r];
	struct goodput_run *run = &h->runs[h->nruns - 1];
	struct closed_stretch t;

	for (size_t i = 0; closed_stretch(w, r, i, &cover, &t); i++) {
		done_add(h, t.to_us, t.net_us / (int64_t)t.count, t.count);
		run->max_step = later(run->max_step, t.number + (int64_t)t.count - 1);
	}
	/* The step in flight, where something shows that it was done. */
	if (w->c->runs[r].waste == GOODPUT_UNKNOWN && end->at_us != GOODPUT_UNKNOWN) {
		done_add(h, end->at_us, GOODPUT_UNKNOWN, 1);
		run->max_step = later(run->max_step, end->number);
	}
	run->dones = h->ndone - run->first_done;
}

/* ---- checkpoints
 * --------------------------------------------------------------------------------- */

static void history_saved(const struct closed_work *w, const struct closed_event *e,
			  struct goodput_history *h)
{
	int64_t from_us = later(e->time_us, w->c->runs[e->run].begin_us);
	int64_t to_us = e->time_us + e->duration_us, until_us = closed_run_until(w, e->run);
	struct goodput_run *run = &h->runs[h->nruns - 1];
	struct goodput_saved *last = run->saves ? &h->saved[h->nsaved - 1] : NULL;
	bool restore = e->kind != GOODPUT_SAVE;

	to_us = later(from_us, to_us < until_us ? to_us : until_us);
	if (last && last->restore == restore && last->number == e->number &&
	    from_us <= last->to_us) {
		last->to_us = later(last->to_us, to_us);
		last->copies++;
		return;
	}
	h->saved[h->nsaved++] = (struct goodput_saved){from_us, to_us, e->number, 1, restore};
	run->saves++;
}

static void history_checkpoints(const struct closed_work *w, size_t r, size_t *event,
				struct goodput_history *h)
{
	const struct closed *c = w->c;

	for (; *event < c->nevents && c->events[*event].run <= r; ++*event) {
		uint8_t kind = c->events[*event].kind;

		if (kind == GOODPUT_SAVE || kind == GOODPUT_RESTORE ||
		    kind == GOODPUT_EMERGENCY_RESTORE)
			history_saved(w, &c->events[*event], h);
	}
}

/* ---- runs
 * ---------------------------------------------------------------------------------------- */

static void history_run(const struct closed_work *w, size_t r, struct goodput_history *h,
			struct goodput_run *runs)
{
	const struct closed_run *run = &w->c->runs[r];
	struct goodput_run *last = h->nruns ? &runs[h->nruns - 1] : NULL;
	bool more = r + 1 < w->c->nruns;
	int64_t until_us = more ? closed_sign_us(w->c, r) : w->now_us;

	if (!last || run->started) {
		int64_t from_us = last ? later(last->until_us, run->begin_us) : w->start_us;

		last = &runs[h->nruns++];
		*last = (struct goodput_run){
			.from_us = from_us, .first_done = h->ndone, .first_saved = h->nsaved};
	}
	if (more && w->ends[r].at_us != GOODPUT_UNKNOWN)
		until_us = later(until_us, w->ends[r].at_us);
	last->until_us = later(last->from_us, until_us < w->now_us ? until_us : w->now_us);
	last->graceful = run->end_us != GOODPUT_UNKNOWN;
	last->over = more || w->ended;
}

int closed_history(struct closed_work *w, struct goodput_answer *ret)
{
	const struct closed *c = w->c;
	struct goodput_history *h = calloc(1, sizeof(*h));
	struct goodput_run *runs = calloc(c->nruns + 1, sizeof(*runs));
	size_t event = 0;

	ret->history = h;
	if (!h)
		free(runs);
	if (!h)
		return -ENOMEM;
	h->runs = runs;
	h->done = calloc(c->nsteps + c->nruns + 1, sizeof(*h->done));
	h->saved = calloc(c->nevents + 1, sizeof(*h->saved));
	if (!runs || !h->done || !h->saved)
		return -ENOMEM;
	for (size_t r = 0; r < c->nruns; r++) {
		history_run(w, r, h, runs);
		history_steps(w, r, h);
		history_checkpoints(w, r, &event, h);
	}
	h->pieces = w->pieces;
	h->npieces = w->npieces;
	w->pieces = NULL;
	w->npieces = 0;
	return 0;
}

size_t goodput_piece_at(const struct goodput_piece *pieces, size_t n, uint64_t at_ns)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pieces[middle].to_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void goodput_history_free(struct goodput_history *h)
{
	if (!h)
		return;
	free(h->pieces);
	free(h->done);
	free(h->runs);
	free(h->saved);
	free(h);
}
