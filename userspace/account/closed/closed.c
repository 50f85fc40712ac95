/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/closed/closed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* two job_start records that differ by at most this time are from several hosts of one run */
#define SAME_START_US 1000000

static void *closed_create(const struct goodput_query *q, bool (*scale_up)(void *, uint32_t),
			   void *ctx)
{
	struct closed *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->query = q;
	c->scale_up = scale_up;
	c->ctx = ctx;
	return c;
}

static void closed_destroy(void *engine)
{
	struct closed *c = engine;

	if (!c)
		return;
	free(c->runs);
	free(c->steps);
	free(c->events);
	free(c->samples);
	free(c->kept);
	free(c);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Returns the run that a record belongs to: the last run, or an earlier one if the record is older
 * than the last run. */
static struct closed_run *closed_run_at(struct closed *c, int64_t time_us)
{
	struct closed_run *run = c->nruns ? &c->runs[c->nruns - 1]
					  : closed_new_run(c, time_us, false);

	for (size_t i = 0; run && run > c->runs && i < CLOSED_SEARCH_BACK; i++, run--)
		if (time_us >= run->begin_us)
			return run;
	return run;
}

static bool closed_start_again(struct closed *c, int64_t time_us)
{
	for (size_t i = 0; i < CLOSED_SEARCH_BACK && i < c->nruns; i++) {
		const struct closed_run *run = &c->runs[c->nruns - 1 - i];
		int64_t apart_us = time_us - run->begin_us;

		if (!run->started || apart_us < -SAME_START_US || apart_us > SAME_START_US)
			continue;
		c->warnings[apart_us ? WARN_WRITERS : WARN_DUPLICATE]++;
		return true;
	}
	return false;
}

static int closed_start(struct closed *c, int64_t time_us)
{
	struct closed_run *run = c->nruns ? &c->runs[c->nruns - 1] : NULL;

	/* If no step was recorded before the first job_start, the records before it belong to the
	 * same run. */
	if (run && run == c->runs && !run->started &&
	    (run->first == GOODPUT_UNKNOWN || time_us <= run->begin_us)) {
		run->begin_us = time_us;
		run->started = true;
		closed_touch(c, run, time_us, false);
		return 0;
	}
	if (closed_start_again(c, time_us))
		return 0;
	return closed_new_run(c, time_us, true) ? 0 : -ENOMEM;
}

static int closed_job_end(struct closed *c, int64_t time_us)
{
	struct closed_run *run = closed_run_at(c, time_us);

	if (!run)
		return -ENOMEM;
	if (run != &c->runs[c->nruns - 1] || time_us < run->life_us) {
		c->warnings[WARN_STALE_END]++;
		return 0;
	}
	if (run->end_us == time_us)
		c->warnings[WARN_DUPLICATE]++;
	else if (run->end_us != GOODPUT_UNKNOWN)
		c->warnings[WARN_WRITERS]++;
	run->end_us = GOODPUT_UNKNOWN;
	closed_touch(c, run, time_us, true);
	run->end_us = time_us;
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool closed_is_training(uint8_t kind)
{
	switch (kind) {
	case GOODPUT_STEP:
	case GOODPUT_LOAD_START:
	case GOODPUT_LOAD_END:
	case GOODPUT_CUSTOM_START:
	case GOODPUT_CUSTOM_END:
	case GOODPUT_SAVE:
		return true;
	default:
		return false;
	}
}

static int closed_event(struct closed *c, const struct goodput_record *r, int64_t time_us)
{
	bool checkpoint = closed_is_checkpoint(r->kind);
	struct closed_run *run;
	struct closed_event *e;

	if (checkpoint && r->duration_us == GOODPUT_UNKNOWN) {
		c->warnings[WARN_NULLS]++;
		return 0;
	}
	if (checkpoint && (r->duration_us < 0 || r->duration_us > CLOSED_LEAP_US)) {
		c->warnings[WARN_INSANE]++;
		return 0;
	}
	run = closed_run_at(c, time_us);
	e = run ? closed_add(c, events) : NULL;
	if (!e)
		return -ENOMEM;
	/* A checkpoint is logged when it is complete, so its start may be earlier than the previous
	 * record. */
	c->warnings[WARN_DISORDER] += !checkpoint && time_us < run->life_us;
	closed_touch(c, run, time_us, closed_is_training(r->kind));
	if (checkpoint && time_us + r->duration_us > run->busy_us)
		run->busy_us = time_us + r->duration_us;
	if (r->kind == GOODPUT_SAVE && time_us + r->duration_us > run->train_us)
		run->train_us = time_us + r->duration_us;
	*e = (struct closed_event){time_us,
				   checkpoint ? r->duration_us : 0,
				   checkpoint ? r->number : GOODPUT_UNKNOWN,
				   (uint32_t)(run - c->runs),
				   r->name,
				   (uint32_t)c->nevents,
				   r->kind};
	if (c->nevents > 1 &&
	    (e[-1].run > e->run || (e[-1].run == e->run && e[-1].time_us > time_us)))
		c->events_mixed = true;
	return 0;
}

static int closed_slices(struct closed *c, const struct goodput_record *r)
{
	struct closed_sample *s = closed_add(c, samples);

	if (!s)
		return -ENOMEM;
	*s = (struct closed_sample){r->time_us, r->active, r->total, r->available,
				    (uint32_t)c->nsamples};
	c->samples_mixed |= c->nsamples > 1 && s[-1].time_us > s->time_us;
	return 0;
}

/* ---- plausible times ------------------------------------------------------------------------- */

/* Returns the time of a record. For a checkpoint whose start was not logged, this is the write
 * time, minus the duration if the log has both. */
static int64_t closed_instant(const struct goodput_record *r)
{
	if (r->time_us != GOODPUT_UNKNOWN || r->write_us == GOODPUT_UNKNOWN)
		return r->time_us;
	if (r->written && r->duration_us > 0 && r->duration_us <= CLOSED_LEAP_US)
		return r->write_us - r->duration_us;
	return r->write_us;
}

/* Processes a record whose time was checked to be plausible. Returns 0 or -ENOMEM. */
static int closed_take(struct closed *c, const struct goodput_record *r)
{
	int64_t time_us = closed_instant(r);

	c->job = r->job;
	c->anchor_us = time_us;
	if (time_us > c->last_us || !c->accepted)
		c->last_us = time_us;
	c->accepted++;
	switch (r->kind) {
	case GOODPUT_JOB_START:
		return closed_start(c, time_us);
	case GOODPUT_JOB_END:
		return closed_job_end(c, time_us);
	case GOODPUT_STEP:
		return closed_take_step(c, r);
	case GOODPUT_SLICES:
		return closed_slices(c, r);
	default:
		return r->kind < GOODPUT_KINDS ? closed_event(c, r, time_us) : 0;
	}
}

static bool closed_near(int64_t a_us, int64_t b_us)
{
	return a_us - b_us <= CLOSED_LEAP_US && b_us - a_us <= CLOSED_LEAP_US;
}

/* Drops the first record of the log, because its time was wrong: the time of no other record is
 * near it. */
static void closed_forget_first(struct closed *c)
{
	c->nruns = c->nsteps = c->nevents = c->nsamples = 0;
	c->accepted = 0;
	c->warnings[WARN_INSANE]++;
}

static int closed_believe(struct closed *c, const struct goodput_record *r)
{
	int64_t time_us = closed_instant(r);
	int err = 0;

	if (time_us < 0 || time_us > GOODPUT_TIME_MAX_US) { /* also rejects GOODPUT_UNKNOWN */
		c->warnings[closed_is_checkpoint(r->kind) && time_us == GOODPUT_UNKNOWN
				    ? WARN_NULLS
				    : WARN_INSANE]++;
		return 0;
	}
	if (!c->accepted || closed_near(time_us, c->anchor_us)) {
		c->warnings[WARN_INSANE] += c->nheld;
		c->nheld = 0;
		return closed_take(c, r);
	}
	if (c->nheld && !closed_near(time_us, closed_instant(&c->held[c->nheld - 1]))) {
		c->warnings[WARN_INSANE] += c->nheld;
		c->nheld = 0;
	}
	c->held[c->nheld++] = *r;
	if (c->nheld < CLOSED_HELD)
		return 0;
	if (c->accepted == 1)
		closed_forget_first(c);
	for (unsigned i = 0; i < CLOSED_HELD && !err; i++)
		err = closed_take(c, &c->held[i]);
	c->nheld = 0;
	return err;
}

static int closed_feed(void *engine, const struct goodput_record *r)
{
	struct closed *c = engine;

	if (c->query->at_count) {
		struct goodput_record *kept = closed_add(c, kept);

		if (!kept)
			return -ENOMEM;
		*kept = *r;
	}
	return closed_believe(c, r);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void closed_work_free(struct closed_work *w)
{
	free(w->intervals);
	free(w->first_interval);
	free(w->cover);
	free(w->first_cover);
	free(w->open);
	free(w->ends);
	free(w->resumed);
	free(w->work);
	free(w->pieces);
	free(w->disruptions);
	ledger_free(w->ledger);
}

/* Returns when the last run ended. If the clock of that run was behind, returns at least the time
 * of the last sign of life of earlier runs. */
static int64_t closed_end(const struct closed *c)
{
	int64_t end_us = c->runs[c->nruns - 1].end_us;

	for (size_t r = 0; end_us != GOODPUT_UNKNOWN && r + 1 < c->nruns; r++)
		end_us = c->runs[r].life_us > end_us ? c->runs[r].life_us : end_us;
	return end_us;
}

static void closed_times(struct closed_work *w)
{
	const struct closed *c = w->c;
	int64_t now_us = c->query->now_us, end_us = closed_end(c);

	w->start_us = c->runs[0].begin_us;
	w->until_us = c->last_us;
	if (now_us == GOODPUT_UNKNOWN)
		now_us = c->last_us;
	if (end_us != GOODPUT_UNKNOWN) {
		w->until_us = end_us;
		w->ended = now_us >= end_us;
		now_us = w->ended ? end_us : now_us;
	} else if (now_us > w->until_us) {
		w->until_us = now_us;
	}
	w->now_us = now_us > w->start_us ? now_us : w->start_us;
	if (w->until_us < w->start_us)
		w->until_us = w->start_us;
}

static int closed_whole(struct closed *c, struct goodput_answer *ret)
{
	struct closed_work w = {.c = c};
	int err = 0;

	ret->job = c->job;
	ret->now_us = c->query->now_us;
	memcpy(w.warnings, c->warnings, sizeof(w.warnings));
	w.warnings[WARN_INSANE] += c->nheld;
	if (c->nruns) {
		closed_times(&w);
		ret->now_us = w.now_us;
		ret->ended = w.ended;
		w.warnings[WARN_NO_START] += !c->runs[0].started;
		err = closed_pair(&w);
		if (!err)
			err = closed_ideal(&w);
		if (!err)
			err = closed_settle(&w);
		if (!err)
			err = closed_step_times(&w, ret);
	}
	if (!err)
		err = closed_answers(&w, ret);
	if (!err && c->query->history)
		err = closed_history(&w, ret);
	memcpy(ret->warnings, w.warnings, sizeof(w.warnings));
	closed_work_free(&w);
	return err;
}

/* Computes the answers for earlier instants. For each instant, a new engine processes the records
 * that were written until then. */
static int closed_earlier(struct closed *c, struct goodput_answer *ret)
{
	const struct goodput_query *q = c->query;
	struct goodput_query then = {.elastic = q->elastic, .ideal_us = q->ideal_us};
	int err = 0;

	ret->at = calloc(q->at_count, sizeof(*ret->at));
	if (!ret->at)
		return -ENOMEM;
	ret->at_count = q->at_count;
	for (size_t i = 0; i < q->at_count && !err; i++) {
		struct closed *e = closed_create(&then, c->scale_up, c->ctx);
		struct goodput_answer a = {0};

		then.now_us = q->at_us[i];
		err = e ? 0 : -ENOMEM;
		for (size_t k = 0; k < c->nkept && !err; k++)
			if (c->kept[k].write_us <= q->at_us[i])
				err = closed_believe(e, &c->kept[k]);
		if (!err)
			err = closed_whole(e, &a);
		ret->at[i] = a.cumulative;
		ret->at[i].to_us = q->at_us[i];
		a.cumulative.custom = NULL;
		goodput_answer_free(&a);
		closed_destroy(e);
	}
	return err;
}

static int closed_answer(void *engine, struct goodput_answer *ret)
{
	struct closed *c = engine;
	struct goodput_answer a = {0};
	int err = closed_whole(c, &a);

	if (!err && c->query->at_count)
		err = closed_earlier(c, &a);
	if (err)
		goodput_answer_free(&a);
	else
		*ret = a;
	return err;
}

const struct goodput_engine goodput_closed = {
	.create = closed_create,
	.destroy = closed_destroy,
	.feed = closed_feed,
	.answer = closed_answer,
};
