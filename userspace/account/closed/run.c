/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - splits the records of a log into runs, and finds the steps of each run, for --semantics
 * closed. */
#include "userspace/account/closed/closed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct closed_run *closed_new_run(struct closed *c, int64_t time_us, bool started)
{
	struct closed_run *run = closed_add(c, runs);

	if (!run)
		return NULL;
	*run = (struct closed_run){
		.base = c->nsteps,
		.begin_us = time_us,
		.life_us = time_us,
		.busy_us = time_us,
		.train_us = time_us,
		.after_us = GOODPUT_UNKNOWN,
		.end_us = GOODPUT_UNKNOWN,
		.first = GOODPUT_UNKNOWN,
		.last = GOODPUT_UNKNOWN,
		.waste = GOODPUT_UNKNOWN,
		.waste_us = GOODPUT_UNKNOWN,
		.started = started,
	};
	if (c->nruns > 1) {
		c->warnings[WARN_SKEW] += time_us < run[-1].life_us;
		c->warnings[WARN_STALE_END] += run[-1].end_us != GOODPUT_UNKNOWN;
	}
	return run;
}

void closed_touch(struct closed *c, struct closed_run *run, int64_t time_us, bool training)
{
	if (!run->started && time_us < run->begin_us && run == c->runs)
		run->begin_us = time_us;
	if (time_us > run->life_us)
		run->life_us = time_us;
	if (run->end_us != GOODPUT_UNKNOWN && time_us > run->end_us) {
		run->end_us = GOODPUT_UNKNOWN;
		c->warnings[WARN_STALE_END]++;
	}
	if (training && time_us >= run->train_us) {
		run->train_us = time_us;
		run->after_us = GOODPUT_UNKNOWN;
	} else if (!training && time_us >= run->train_us && run->after_us == GOODPUT_UNKNOWN) {
		run->after_us = time_us;
	}
}

int64_t closed_sign_us(const struct closed *c, size_t r)
{
	const struct closed_run *run = &c->runs[r];
	bool in_place = r + 1 < c->nruns && !run[1].started;
	int64_t busy_us = in_place ? run->train_us : run->busy_us;

	if (r + 1 < c->nruns && run[1].begin_us < busy_us)
		busy_us = run[1].begin_us;
	return in_place || busy_us > run->life_us ? busy_us : run->life_us;
}

/* ---- steps ----------------------------------------------------------------------------------- */

#define SHIFT_MAX 4096 /* limit of steps that are shifted in the array to insert a late step */

static size_t closed_top(const struct closed *c, const struct closed_run *run)
{
	return run + 1 < c->runs + c->nruns ? run[1].base : c->nsteps;
}

size_t closed_steps_of(const struct closed *c, size_t r)
{
	return closed_top(c, &c->runs[r]) - c->runs[r].base;
}

size_t closed_steps_until(const struct closed *c, size_t r, int64_t at_us)
{
	size_t low = c->runs[r].base, high = low + closed_steps_of(c, r);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->steps[middle].time_us <= at_us)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the index of a run's first step whose number is at least `number`. */
static size_t closed_find(const struct closed *c, const struct closed_run *run, int64_t number)
{
	size_t low = run->base, high = closed_top(c, run);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->steps[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns when a run began step `number`. i: index of the first step with at least that number. If
 * the step was not logged, the time is interpolated. */
static int64_t closed_begun(const struct closed *c, const struct closed_run *run, size_t i,
			    int64_t number)
{
	const struct closed_step *q = &c->steps[i], *p = q - 1;

	if (i == run->base || q->number == number)
		return q->time_us;
	return p->time_us +
	       (int64_t)((double)(q->time_us - p->time_us) * (double)(number - p->number) /
			 (double)(q->number - p->number));
}

/* Removes the steps with indexes in [from, to), and corrects the base of each run. */
static void closed_remove(struct closed *c, size_t from, size_t to)
{
	memmove(&c->steps[from], &c->steps[to], (c->nsteps - to) * sizeof(*c->steps));
	c->nsteps -= to - from;
	for (size_t i = c->nruns; i-- > 0 && c->runs[i].base > from;)
		c->runs[i].base = c->runs[i].base >= to ? c->runs[i].base - (to - from) : from;
}

/* Returns the run before `run` that the step with index i belongs to. Of several runs with base i
 * this is the last one, because the others have no steps. */
static struct closed_run *closed_owner(const struct closed *c, const struct closed_run *run,
				       size_t i)
{
	size_t low = 0, high = (size_t)(run - c->runs);

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->runs[middle].base <= i)
			low = middle;
		else
			high = middle;
	}
	return &c->runs[low];
}

/* Marks the steps of earlier runs with this or a higher number as wasted, because `run` repeats
 * them. */
static void closed_disprove(struct closed *c, struct closed_run *run, int64_t number)
{
	while (run->base) {
		struct closed_run *old = closed_owner(c, run, run->base - 1);
		size_t top = closed_top(c, old), i = closed_find(c, old, number);
		int64_t from_us, to_us = old->waste_us;

		if (i == top)
			break;
		from_us = closed_begun(c, old, i, number);
		if (to_us == GOODPUT_UNKNOWN)
			to_us = closed_sign_us(c, (size_t)(old - c->runs));
		run->cost_us += to_us > from_us ? to_us - from_us : 0;
		old->waste = number;
		old->waste_us = from_us;
		closed_remove(c, i, top);
		if (i > old->base)
			break;
	}
}

/* Corrects the base of the runs after `run` (they have no steps) after a step was added to
 * `run`. */
static void closed_move_later(struct closed *c, struct closed_run *run)
{
	for (struct closed_run *later = run + 1; later < c->runs + c->nruns; later++)
		later->base = c->nsteps;
}

static int closed_push(struct closed *c, struct closed_run *run, const struct closed_step *s)
{
	struct closed_step *at;

	if (run->first == GOODPUT_UNKNOWN) {
		closed_disprove(c, run, s->number);
		run->first = s->number;
		run->first_us = s->time_us;
	}
	at = closed_add(c, steps);
	if (!at)
		return -ENOMEM;
	*at = *s;
	closed_move_later(c, run);
	run->last = s->number;
	run->last_us = s->time_us;
	return 0;
}

/* Returns true if two records of the same step number come from two hosts: their times differ by at
 * most a second, or half a step. */
static bool closed_same(const struct closed_run *run, int64_t a_us, int64_t b_us)
{
	int64_t apart_us = a_us > b_us ? a_us - b_us : b_us - a_us, steps = run->last - run->first;

	return apart_us <= CLOSED_WRITERS_US ||
	       (steps > 0 && apart_us <= (run->last_us - run->first_us) / steps / 2);
}

/* Inserts a step that was logged late: its record is older than that of the run's last step. */
static int closed_late(struct closed *c, struct closed_run *run, const struct closed_step *s)
{
	size_t top = closed_top(c, run), i = closed_find(c, run, s->number);
	struct closed_step *at = &c->steps[i];
	bool fits;

	if (i < top && at->number == s->number && closed_same(run, at->time_us, s->time_us)) {
		c->warnings[at->time_us == s->time_us ? WARN_DUPLICATE : WARN_WRITERS]++;
		return 0;
	}
	c->warnings[WARN_DISORDER]++;
	fits = i < top && at->number > s->number && at->time_us >= s->time_us &&
	       (i == run->base || at[-1].time_us <= s->time_us);
	if (!fits || top != c->nsteps || top - i > SHIFT_MAX)
		return 0;
	if (!closed_add(c, steps))
		return -ENOMEM;
	memmove(&c->steps[i + 1], &c->steps[i], (top - i) * sizeof(*c->steps));
	c->steps[i] = *s;
	closed_move_later(c, run);
	if (i == run->base) {
		run->first = s->number;
		run->first_us = s->time_us;
		closed_disprove(c, run, s->number);
	}
	return 0;
}

/* Handles a step number that is not above the run's last one: the step was logged again, or the job
 * went back to an earlier step without a job_start. */
static int closed_again(struct closed *c, struct closed_run *run, const struct closed_step *s)
{
	size_t i = closed_find(c, run, s->number);

	if (i < closed_top(c, run) && c->steps[i].number == s->number &&
	    closed_same(run, c->steps[i].time_us, s->time_us)) {
		c->warnings[c->steps[i].time_us == s->time_us ? WARN_DUPLICATE : WARN_WRITERS]++;
		return 0;
	}
	/* A later run has begun: this step cannot be inserted any more. */
	if (run != &c->runs[c->nruns - 1]) {
		c->warnings[WARN_DISORDER]++;
		return 0;
	}
	run = closed_new_run(c, s->time_us, false);
	return run ? closed_push(c, run, s) : -ENOMEM;
}

/* Returns the run that a step belongs to. A late step belongs to an earlier run only if no later
 * run has steps. */
static struct closed_run *closed_run_of(struct closed *c, int64_t time_us)
{
	struct closed_run *run = c->nruns ? &c->runs[c->nruns - 1]
					  : closed_new_run(c, time_us, false);

	for (int i = 0; run && run > c->runs && i < CLOSED_SEARCH_BACK; i++, run--)
		if (!run->started || time_us >= run->begin_us || run->first != GOODPUT_UNKNOWN)
			break;
	return run;
}

int closed_take_step(struct closed *c, const struct goodput_record *r)
{
	struct closed_step s = {r->time_us, r->number};
	struct closed_run *run;
	size_t at, runs;
	int err;

	if (r->number < 0) {
		c->warnings[WARN_INSANE]++;
		return 0;
	}
	run = closed_run_of(c, s.time_us);
	if (!run)
		return -ENOMEM;
	if (run->started && s.time_us < run->begin_us) {
		c->warnings[WARN_DISORDER]++;
		return 0;
	}
	at = (size_t)(run - c->runs);
	runs = c->nruns;
	if (run->first == GOODPUT_UNKNOWN || (s.time_us >= run->last_us && s.number > run->last))
		err = closed_push(c, run, &s);
	else if (s.time_us >= run->last_us)
		err = closed_again(c, run, &s);
	else
		err = closed_late(c, run, &s);
	if (!err) /* if the step began a new run, it is a sign of life of that run */
		closed_touch(c, &c->runs[c->nruns > runs ? c->nruns - 1 : at], s.time_us, true);
	return err;
}
