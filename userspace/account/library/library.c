/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/library/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/account/log/job_log.h"

/* ---- warnings, counted while records are read ------------------------------------------------ */

struct library_watch {
	uint32_t job;
	/* last_us: latest time of all records; write_us: write time of the previous record */
	int64_t last_us, write_us;
	bool ended;
	struct goodput_record before[GOODPUT_KINDS];
	uint64_t counts[WARNINGS];
};

static void library_watch_init(struct library_watch *w)
{
	*w = (struct library_watch){.last_us = GOODPUT_UNKNOWN, .write_us = GOODPUT_UNKNOWN};
	for (int k = 0; k < GOODPUT_KINDS; k++)
		w->before[k].time_us = GOODPUT_UNKNOWN;
}

static void library_watch_step(struct library_watch *w, const struct goodput_record *r)
{
	const struct goodput_record *before = &w->before[GOODPUT_STEP];

	if (before->time_us != GOODPUT_UNKNOWN && r->number > before->number &&
	    (uint64_t)r->number - (uint64_t)before->number > 1)
		w->counts[WARN_GAPS] += (uint64_t)r->number - (uint64_t)before->number - 1;
}

static void library_watch_feed(struct library_watch *w, const struct goodput_record *r)
{
	const struct goodput_record *before = &w->before[r->kind];
	const struct goodput_record *step = &w->before[GOODPUT_STEP];
	int64_t at_us = r->written ? r->write_us : r->time_us;

	w->job = r->job;
	if (before->time_us != GOODPUT_UNKNOWN && before->time_us == r->time_us &&
	    before->number == r->number && before->name == r->name)
		w->counts[WARN_DUPLICATE]++;
	if (r->write_us < w->write_us)
		w->counts[WARN_DISORDER]++;
	if (r->kind == GOODPUT_STEP)
		library_watch_step(w, r);
	if (r->kind == GOODPUT_JOB_START && step->time_us != GOODPUT_UNKNOWN &&
	    r->time_us < step->time_us)
		w->counts[WARN_SKEW]++;
	if (w->ended && (r->kind == GOODPUT_STEP || r->kind == GOODPUT_JOB_START)) {
		w->counts[WARN_STALE_END]++;
		w->ended = false;
	}
	if (r->kind == GOODPUT_JOB_END)
		w->ended = true;
	w->write_us = r->write_us;
	w->before[r->kind] = *r;
	if (at_us > w->last_us)
		w->last_us = at_us;
}

static uint64_t library_memory_open_names(const struct goodput_dict *open)
{
	uint64_t n = 0;

	for (size_t i = 0; i < open->count; i++)
		n += open->entries[i].value != GOODPUT_UNKNOWN;
	return n;
}

static void library_watch_report(const struct library_watch *w, const struct library_calc *c,
				 uint64_t ret_warnings[WARNINGS])
{
	for (int i = 0; i < WARNINGS; i++)
		ret_warnings[i] = w->counts[i];
	ret_warnings[WARN_DISORDER] += c->late_customs;
	ret_warnings[WARN_NULLS] = c->nulls;
	ret_warnings[WARN_NO_START] = c->first_start == GOODPUT_UNKNOWN;
	ret_warnings[WARN_ORPHANS] = c->orphans;
	ret_warnings[WARN_MERGED] = c->merged;
	ret_warnings[WARN_OPEN] = (c->init.start != GOODPUT_UNKNOWN) +
				  (c->prep.start != GOODPUT_UNKNOWN) +
				  (c->reinit.start != GOODPUT_UNKNOWN) +
				  (c->load_start != GOODPUT_UNKNOWN) +
				  library_memory_open_names(&c->open_customs) +
				  library_memory_open_names(&c->open_waits) + c->reopened;
}

/* The state that a calculator of the goodput library keeps between queries. If no records were
 * added since the last query, the library repeats its answer, although a new calculation would give
 * another one. */
struct memory {
	struct library_raw good; /* the last answer without an error */
	bool has_good;
	uint64_t disruptions; /* number of disruptions in the last calculation */
	/* number of all records, and of steps, when the last query was answered */
	uint64_t records, steps;
	struct goodput_part step; /* ideal step and deviation of the last answer that had them */
};

struct window {
	struct library_calc *calc;
	struct goodput_span span;
	/* times of the first and last record, in ticks, in the order of the log */
	int64_t first, last;
};

struct engine {
	const struct goodput_query *q;
	struct library_calc *all;
	struct library_watch watch;
	/* calculator of the answers for the instants in query.at_us; NULL: the query lists no
	 * instants */
	struct library_calc *sequence;
	struct memory memory;
	/* answers at the instants of query.at_us; the first at_done are computed */
	struct goodput_part *at;
	size_t at_done;
	int64_t at_limit_us;
	struct window *windows, **by_start;
};

static void library_memory_free(struct memory *m)
{
	library_raw_free(&m->good);
}

static void library_destroy(void *engine)
{
	struct engine *e = engine;

	if (!e)
		return;
	for (size_t i = 0; e->at && i < e->at_done; i++)
		free(e->at[i].custom);
	free(e->at);
	for (size_t i = 0; e->windows && i < e->q->window_count; i++)
		library_calc_free(e->windows[i].calc);
	free(e->windows);
	free(e->by_start);
	library_memory_free(&e->memory);
	library_calc_free(e->sequence);
	library_calc_free(e->all);
	free(e);
}

static int library_memory_compare_windows(const void *a, const void *b)
{
	const struct window *const *x = a, *const *y = b;

	return (*x)->span.from_us < (*y)->span.from_us ? -1
						       : (*x)->span.from_us > (*y)->span.from_us;
}

static bool library_windows_new(struct engine *e, bool (*scale_up)(void *, uint32_t), void *ctx)
{
	size_t n = e->q->window_count;

	e->windows = calloc(n + 1, sizeof(*e->windows));
	e->by_start = calloc(n + 1, sizeof(*e->by_start));
	if (!e->windows || !e->by_start)
		return false;
	for (size_t i = 0; i < n; i++) {
		e->windows[i].span = e->q->windows[i];
		e->windows[i].calc = library_calc_new(e->q, scale_up, ctx, false);
		e->by_start[i] = &e->windows[i];
		if (!e->windows[i].calc)
			return false;
	}
	qsort(e->by_start, n, sizeof(struct window *), library_memory_compare_windows);
	return true;
}

static void *library_create(const struct goodput_query *q, bool (*scale_up)(void *, uint32_t),
			    void *ctx)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->q = q;
	library_watch_init(&e->watch);
	e->all = library_calc_new(q, scale_up, ctx, true);
	e->at = calloc(q->at_count + 1, sizeof(*e->at));
	e->at_limit_us = q->at_count ? q->at_us[0] : 0;
	if (q->at_count)
		e->sequence = library_calc_new(q, scale_up, ctx, true);
	if (e->all && e->at && (!q->at_count || e->sequence) &&
	    library_windows_new(e, scale_up, ctx) &&
	    (!q->exclude_count || !library_calc_exclude(e->all, q->excludes, q->exclude_count)))
		return e;
	library_destroy(e);
	return NULL;
}

/* Computes the ideal step time and the deviation. If there are no new steps, repeats the previous
 * values, as the library does. */
static int library_remember_steps(struct memory *m, const struct library_calc *c,
				  const struct goodput_query *q, struct goodput_part *part,
				  bool is_new, struct goodput_step_time **ret_deviations)
{
	struct goodput_part found = m->step;
	int err;

	if (part->error || is_new || !m->step.has_deviation) {
		err = library_deviation(&c->times, q, false, &found, ret_deviations);
		if (err)
			return err;
		if (!part->error && !found.has_ideal)
			found = m->step;
	}
	if (!part->error)
		m->step = found;
	part->has_ideal = found.has_ideal;
	part->has_deviation = found.has_deviation;
	part->ideal_s = found.ideal_s;
	part->deviation_mean_s = found.deviation_mean_s;
	part->deviation_cumulative_s = found.deviation_cumulative_s;
	part->deviation_interval_s = found.deviation_interval_s;
	return 0;
}

static int library_keep_good(struct memory *m, const struct library_raw *raw,
			     const struct goodput_part *part)
{
	struct library_raw good = *raw;

	good.custom = part->custom;
	good.custom_count = part->custom_count;
	library_raw_free(&m->good);
	m->has_good = false;
	if (library_raw_copy(&good, &m->good))
		return -ENOMEM;
	m->has_good = true;
	return 0;
}

/* Computes the answer that the library's calculator would give at now_us, from the records of c and
 * the state m that earlier queries left. */
static int library_memory_ask(struct memory *m, const struct library_calc *c,
			      const struct goodput_query *q, int64_t now_us,
			      struct goodput_part *ret, struct goodput_step_time **ret_deviations,
			      uint64_t *insane)
{
	double total_s = library_total_s(c, now_us);
	bool is_new = c->records != m->records, new_steps = c->step_records != m->steps;
	struct library_raw raw;
	int err;

	*ret = (struct goodput_part){.from_us = c->first_start_us, .to_us = now_us};
	m->records = c->records;
	m->steps = c->step_records;
	if (total_s != 0 && !is_new && m->has_good) {
		err = library_raw_copy(&m->good, &raw);
		raw.disruptions = m->disruptions;
	} else {
		err = library_raw(c, &raw);
		m->disruptions = raw.disruptions;
	}
	if (err)
		return err;
	library_part(&raw, total_s, q->elastic, ret, insane);
	if (!ret->error)
		err = library_keep_good(m, &raw, ret);
	if (!err)
		err = library_remember_steps(m, c, q, ret, new_steps, ret_deviations);
	if (!err && q->elastic && c->first_start != GOODPUT_UNKNOWN)
		err = library_efficiency(c, c->first_start,
					 c->end != GOODPUT_UNKNOWN ? c->end : library_ticks(now_us),
					 ret);
	library_raw_free(&raw);
	return err;
}

static int64_t library_limit_of(const struct engine *e, size_t i)
{
	int64_t at = e->q->at_us[i];

	return at > e->at_limit_us ? at : e->at_limit_us;
}

static int library_memory_feed_sequence(struct engine *e, const struct goodput_record *r)
{
	while (e->at_done < e->q->at_count && r->write_us > library_limit_of(e, e->at_done)) {
		uint64_t insane = 0;
		int err = library_memory_ask(&e->memory, e->sequence, e->q, e->q->at_us[e->at_done],
					     &e->at[e->at_done], NULL, &insane);

		if (err) {
			free(e->at[e->at_done].custom);
			return err;
		}
		e->at_limit_us = library_limit_of(e, e->at_done);
		e->at_done++;
	}
	return e->at_done < e->q->at_count ? library_calc_feed(e->sequence, r) : 0;
}

static int library_memory_feed_windows(struct engine *e, const struct goodput_record *r)
{
	/* The library also filters the records of a window by their time, or by write time if the
	 * log has none. */
	int64_t entry_us = r->written ? r->time_us : r->write_us;

	for (size_t i = 0; i < e->q->window_count && e->by_start[i]->span.from_us < r->write_us;
	     i++) {
		struct window *w = e->by_start[i];
		int err;

		if (r->write_us > w->span.to_us || entry_us <= w->span.from_us)
			continue;
		w->last = library_ticks(entry_us);
		if (!w->calc->records)
			w->first = w->last;
		err = library_calc_feed(w->calc, r);
		if (err)
			return err;
	}
	return 0;
}

static int library_feed(void *engine, const struct goodput_record *r)
{
	struct engine *e = engine;
	int err = 0;

	if (r->kind == GOODPUT_STEP &&
	    (r->number == GOODPUT_UNKNOWN || r->time_us == GOODPUT_UNKNOWN))
		return 0;
	if (e->q->now_us == GOODPUT_UNKNOWN || r->write_us <= e->q->now_us) {
		library_watch_feed(&e->watch, r);
		err = library_calc_feed(e->all, r);
	}
	if (!err && e->sequence)
		err = library_memory_feed_sequence(e, r);
	if (!err)
		err = library_memory_feed_windows(e, r);
	return err;
}

static int library_answer_window(const struct engine *e, const struct window *w,
				 struct goodput_part *ret)
{
	int64_t from = library_ticks(w->span.from_us), to = library_ticks(w->span.to_us);
	int64_t since = from > w->first ? from : w->first, until = to < w->last ? to : w->last;
	struct goodput_part span = {0};
	struct library_raw raw;
	uint64_t insane = 0;
	int err = library_raw(w->calc, &raw);

	if (err)
		return err;
	library_part(&raw, since < until ? library_seconds(until - since) : 0, e->q->elastic, ret,
		     &insane);
	if (!w->calc->records)
		ret->error = "No log entries found within the interval window";
	else if (since >= until)
		ret->error = "Start time is on or after end time, cannot compute total job time.";
	if (e->q->elastic)
		err = library_efficiency(w->calc, from, to, ret);
	if (!err && ret->has_slices && !ret->error)
		err = library_efficiency(e->all, since, until, &span);
	ret->span_stepping = span.stepping_efficiency;
	ret->span_available = span.available_efficiency;
	library_raw_free(&raw);
	return err;
}

static int library_answer_windows(const struct engine *e, struct goodput_answer *a)
{
	int err = 0;

	a->windows = calloc(e->q->window_count + 1, sizeof(*a->windows));
	if (!a->windows)
		return -ENOMEM;
	a->window_count = e->q->window_count;
	for (size_t i = 0; !err && i < a->window_count; i++) {
		err = library_answer_window(e, &e->windows[i], &a->windows[i]);
		a->windows[i].from_us = e->q->windows[i].from_us;
		a->windows[i].to_us = e->q->windows[i].to_us;
	}
	return err;
}

static int library_copy_part(const struct goodput_part *from, struct goodput_part *ret)
{
	struct goodput_custom *custom = calloc(from->custom_count + 1, sizeof(*custom));

	if (!custom)
		return -ENOMEM;
	*ret = *from;
	ret->custom = custom;
	if (from->custom_count)
		memcpy(custom, from->custom, from->custom_count * sizeof(*custom));
	return 0;
}

/* Adds the answers for the instants in query.at_us. Instants after the last record are computed
 * with a copy of the state, because more records may follow. */
static int library_answer_at(const struct engine *e, struct goodput_answer *a)
{
	struct memory m = e->memory;
	uint64_t insane = 0;
	int err = 0;

	a->at = calloc(e->q->at_count + 1, sizeof(*a->at));
	if (!a->at)
		return -ENOMEM;
	a->at_count = e->q->at_count;
	if (m.has_good && library_raw_copy(&e->memory.good, &m.good))
		return -ENOMEM;
	for (size_t i = 0; !err && i < e->at_done; i++)
		err = library_copy_part(&e->at[i], &a->at[i]);
	for (size_t i = e->at_done; !err && i < a->at_count; i++)
		err = library_memory_ask(&m, e->sequence, e->q, e->q->at_us[i], &a->at[i], NULL,
					 &insane);
	library_memory_free(&m);
	return err;
}

static int library_answer_steps(const struct engine *e, struct goodput_answer *a)
{
	const struct goodput_dict *times = &e->all->times;

	a->step_times = calloc(times->count + 1, sizeof(*a->step_times));
	if (!a->step_times)
		return -ENOMEM;
	a->step_time_count = times->count;
	for (size_t i = 0; i < times->count; i++)
		a->step_times[i] = (struct goodput_step_time){times->entries[i].key,
							      times->entries[i].real};
	return 0;
}

static int library_watch_answer(void *engine, struct goodput_answer *ret)
{
	const struct engine *e = engine;
	const struct goodput_query *q = e->q;
	struct goodput_answer a = {.job = e->watch.job, .ended = e->watch.ended};
	struct memory fresh = {0};
	uint64_t insane = 0;
	int err;

	a.now_us = q->now_us != GOODPUT_UNKNOWN ? q->now_us : e->watch.last_us;
	err = library_memory_ask(&fresh, e->all, q, a.now_us, &a.cumulative, &a.deviations,
				 &insane);
	library_memory_free(&fresh);
	a.deviation_count = a.cumulative.has_deviation ? e->all->times.count : 0;
	if (!err)
		err = library_answer_steps(e, &a);
	if (!err && q->exclude_count) {
		a.has_excluded = true;
		err = library_part_excluded(e->all, q, library_total_s(e->all, a.now_us),
					    &a.excluded, &insane);
		a.excluded.from_us = a.cumulative.from_us;
		a.excluded.to_us = a.now_us;
	}
	if (!err)
		err = library_answer_windows(e, &a);
	if (!err && q->at_count)
		err = library_answer_at(e, &a);
	library_watch_report(&e->watch, e->all, a.warnings);
	a.warnings[WARN_INSANE] += insane;
	if (err)
		goodput_answer_free(&a);
	else
		*ret = a;
	return err;
}

const struct goodput_engine goodput_library = {
	.create = library_create,
	.destroy = library_destroy,
	.feed = library_feed,
	.answer = library_watch_answer,
};
