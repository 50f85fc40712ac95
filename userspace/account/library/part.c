/* SPDX-License-Identifier: Apache-2.0 */
/* part.c - makes the parts of an answer (struct goodput_part) with --semantics library from the
 * sums of segments and phases. */
#include "userspace/account/library/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/account/log/deviation_batch.h"

/* ---- additions of the elastic calculator ----------------------------------------------------- */

static void part_raw_put(struct library_raw *r, enum goodput_badput b, double s)
{
	r->badput_s[b] = s;
	r->has |= 1u << b;
}

/* Subtracts from a phase the time in which the job was reinitialised, which is counted
 * separately. */
static void part_raw_exclude(struct library_raw *raw, enum goodput_badput b,
			     const struct library_phase *p, const struct goodput_cover *reinit)
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

/* Adds the values that only the library's elastic calculator computes. Returns 0 or -ENOMEM. */
static int library_elastic(const struct library_calc *c, struct library_raw *raw)
{
	struct goodput_cover reinit;
	goodput_wide sum = 0;

	if (c->has_wait[0])
		part_raw_put(raw, BADPUT_SLICE_DOWN, library_seconds(c->waits[0]));
	if (c->has_wait[1])
		part_raw_put(raw, BADPUT_SCALE_UP, library_seconds(c->waits[1]));
	if (!c->reinit.count)
		return 0;
	for (size_t i = 0; i < c->reinit.count; i++)
		sum += c->reinit.spans[i].to - c->reinit.spans[i].from;
	part_raw_put(raw, BADPUT_REINIT, library_seconds(sum));
	if (!goodput_cover_make(&reinit, c->reinit.spans, c->reinit.count))
		return -ENOMEM;
	part_raw_exclude(raw, BADPUT_INIT, &c->init, &reinit);
	part_raw_exclude(raw, BADPUT_PREP, &c->prep, &reinit);
	goodput_cover_free(&reinit);
	return 0;
}

static int part_compare_slices(const void *a, const void *b)
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
	qsort(sorted, c->slice_count, sizeof(*sorted), part_compare_slices);
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

/* ---- sums over segments and phases ----------------------------------------------------------- */

static double part_raw_means_sum(const struct library_saves *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += s->means[i].sum_s / (double)s->means[i].count;
	return sum;
}

/* Returns the open segment. Its boundary is its highest step number. */
static struct library_segment part_open_segment(const struct library_calc *c)
{
	struct library_segment open = {c->steps.entries, c->steps.count, INT64_MIN};

	for (size_t i = 0; i < open.count; i++)
		if (open.steps[i].key > open.boundary)
			open.boundary = open.steps[i].key;
	return open;
}

static int part_raw_custom(const struct library_sums *s, struct library_raw *ret)
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

static int part_raw_sums(const struct library_sums *s, struct library_raw *ret)
{
	ret->productive_s = s->productive_s;
	if (s->any)
		part_raw_put(ret, BADPUT_WASTED, library_seconds(s->wasted));
	if (s->any_pair) {
		part_raw_put(ret, BADPUT_STARTUP, s->startup_s);
		part_raw_put(ret, BADPUT_CUSTOM, 0);
	}
	return part_raw_custom(s, ret);
}

static void part_raw_phases(const struct library_calc *c, struct library_raw *ret)
{
	part_raw_put(ret, BADPUT_INIT, library_seconds(c->init.sum));
	part_raw_put(ret, BADPUT_PREP, library_seconds(c->prep.sum));
	if (c->has_sync)
		part_raw_put(ret, BADPUT_LOAD_SYNC, library_seconds(c->load_sync));
	part_raw_put(ret, BADPUT_LOAD_ASYNC, library_seconds(c->load - c->load_sync));
	if (c->has_recovery)
		part_raw_put(ret, BADPUT_RECOVERY, library_seconds(c->recovery));
	part_raw_put(ret, BADPUT_SAVE, part_raw_means_sum(&c->saves));
	part_raw_put(ret, BADPUT_RESTORE, part_raw_means_sum(&c->restores));
	ret->nulls = c->nulls > 0;
}

static void part_raw_last(const struct library_calc *c, const struct library_segment *open,
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
	struct library_segment open = part_open_segment(c);
	struct library_sums s;
	int err;

	*ret = (struct library_raw){.disruptions = c->disruptions};
	err = library_sums_copy(&c->folded, &s);
	if (!err)
		err = library_segments(c, c->closed, c->closed_count, &s);
	if (!err && open.count)
		err = library_segments(c, &open, 1, &s);
	part_raw_phases(c, ret);
	if (!err)
		err = part_raw_sums(&s, ret);
	if (!err && open.count)
		part_raw_last(c, &open, &s, ret);
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

/* Computes the result for the time that is not excluded. In this case the library considers neither
 * checkpoints nor elastic waits. */
static int library_raw_excluding(const struct library_calc *c, struct library_raw *ret,
				 double *ret_excluded_s, struct goodput_dict *ret_times)
{
	const struct library_exclusion *x = c->exclusion;
	struct library_segment open = part_open_segment(c);
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
		err = part_raw_sums(&s, ret);
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
	part_raw_put(ret, BADPUT_INIT, library_seconds(x->init));
	part_raw_put(ret, BADPUT_PREP, library_seconds(x->prep));
	if (x->has_sync)
		part_raw_put(ret, BADPUT_LOAD_SYNC, library_seconds(x->load_sync));
	part_raw_put(ret, BADPUT_LOAD_ASYNC, library_seconds(x->load - x->load_sync));
	if (x->has_recovery)
		part_raw_put(ret, BADPUT_RECOVERY, library_seconds(x->recovery));
	*ret_excluded_s = library_seconds(excluded + s.excluded);
done:
	library_sums_free(&s);
	return err;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Texts of exceptions, as in the goodput library. */
#define VALUE_ERROR "ValueError"
#define NO_TOTAL                                                                                   \
	"Total job time is zero, Goodput cannot be calculated. Please fix the logging entries."
#define BAD_GOODPUT   "Productive training time is invalid. Please fix the logging entries."
#define TYPE_ERROR    "TypeError"
#define NULL_DURATION "float() argument must be a string or a real number, not 'NoneType'"

/* Kinds of badput whose percentage is written even if their time is 0. */
#define ALWAYS                                                                                     \
	((1u << BADPUT_INIT) | (1u << BADPUT_PREP) | (1u << BADPUT_STARTUP) |                      \
	 (1u << BADPUT_LOAD_SYNC) | (1u << BADPUT_LOAD_ASYNC) | (1u << BADPUT_SAVE) |              \
	 (1u << BADPUT_RESTORE) | (1u << BADPUT_WASTED) | (1u << BADPUT_RECOVERY) |                \
	 (1u << BADPUT_CUSTOM) | (1u << BADPUT_OTHER))
#define ALWAYS_ELASTIC ((1u << BADPUT_SLICE_DOWN) | (1u << BADPUT_SCALE_UP) | (1u << BADPUT_REINIT))
#define NOT_SUMMED     ((1u << BADPUT_LOAD_ASYNC) | (1u << BADPUT_OTHER) | (1u << BADPUT_CUSTOM))

double library_total_s(const struct library_calc *c, int64_t now_us)
{
	int64_t until = c->end != GOODPUT_UNKNOWN ? c->end : library_ticks(now_us);

	return c->first_start == GOODPUT_UNKNOWN
		       ? 0
		       : library_seconds((goodput_wide)until - c->first_start);
}

static double part_raw_percent(double s, double total_s)
{
	return s > 0 && s < total_s ? s / total_s * 100 : 0;
}

static void part_raw_bound(double *s, double total_s, uint64_t *insane)
{
	if (*s >= 0 && *s <= total_s)
		return;
	*insane += *s != 0;
	*s = 0;
}

void library_part(struct library_raw *raw, double total_s, bool elastic, struct goodput_part *ret,
		  uint64_t *insane)
{
	double sum_s = 0, custom_s = 0, other_s;

	ret->total_s = total_s;
	ret->productive_s = raw->productive_s;
	ret->max_productive_step = raw->max_productive_step;
	ret->last_recorded_step = raw->last_recorded_step;
	ret->disruptions = raw->disruptions;
	for (int b = 0; b < BADPUTS; b++)
		if (raw->has & 1u << b) {
			part_raw_bound(&raw->badput_s[b], total_s, insane);
			sum_s += NOT_SUMMED & 1u << b ? 0 : raw->badput_s[b];
		}
	for (size_t i = 0; i < raw->custom_count; i++) {
		part_raw_bound(&raw->custom[i].s, total_s, insane);
		raw->custom[i].pct = part_raw_percent(raw->custom[i].s, total_s);
		custom_s += raw->custom[i].s;
	}
	sum_s += custom_s;
	other_s = total_s - raw->productive_s - sum_s;
	raw->badput_s[BADPUT_OTHER] = other_s > 0 ? other_s : 0;
	raw->has |= 1u << BADPUT_OTHER;
	raw->badput_s[BADPUT_CUSTOM] = custom_s;
	ret->residual_s = total_s - raw->productive_s - sum_s - raw->badput_s[BADPUT_OTHER];
	ret->goodput_pct = total_s != 0 ? raw->productive_s / total_s * 100 : 0;
	ret->has_s = raw->has;
	ret->has_pct = ALWAYS | (elastic ? ALWAYS_ELASTIC : 0);
	for (int b = 0; b < BADPUTS; b++) {
		ret->badput_s[b] = raw->badput_s[b];
		ret->badput_pct[b] = part_raw_percent(raw->badput_s[b], total_s);
	}
	ret->custom = raw->custom;
	ret->custom_count = raw->custom_count;
	raw->custom = NULL;
	raw->custom_count = 0;
	if (!(ret->productive_s >= 0 && ret->productive_s <= total_s)) {
		ret->error_type = VALUE_ERROR;
		ret->error = BAD_GOODPUT;
		*insane += total_s != 0;
	}
	if (raw->nulls) {
		ret->error_type = TYPE_ERROR;
		ret->error = NULL_DURATION;
	}
	if (total_s == 0) {
		ret->error_type = VALUE_ERROR;
		ret->error = NO_TOTAL;
	}
}

int library_part_excluded(const struct library_calc *c, const struct goodput_query *q,
			  double total_s, struct goodput_part *ret, uint64_t *insane)
{
	struct goodput_dict times = {0};
	struct library_raw raw;
	double excluded_s = 0;
	int err = library_raw_excluding(c, &raw, &excluded_s, &times);

	if (!err) {
		total_s -= excluded_s;
		total_s = total_s > 0 ? total_s : 0;
		library_part(&raw, total_s, q->elastic, ret, insane);
		/* the library raises no exceptions for excluded time */
		ret->error = ret->error_type = NULL;
		ret->excluded_s = excluded_s;
		ret->adjusted_s = total_s;
		if (total_s == 0)
			ret->has_s = ret->has_pct = 0;
		err = library_deviation(&times, q, true, ret, NULL);
	}
	goodput_dict_free(&times);
	library_raw_free(&raw);
	return err;
}

int library_deviation(const struct goodput_dict *times, const struct goodput_query *q,
		      bool is_signed, struct goodput_part *part,
		      struct goodput_step_time **ret_deviations)
{
	size_t n = times->count;
	double *s = calloc(n + 1, sizeof(*s));
	struct goodput_step_time *times_out = ret_deviations ? calloc(n + 1, sizeof(*times_out))
							     : NULL;

	if (!s || (ret_deviations && !times_out)) {
		free(s);
		free(times_out);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		s[i] = times->entries[i].real;
	part->ideal_s = (double)q->ideal_us / 1e6;
	part->has_ideal = n &&
			  (q->ideal_us ||
			   deviation_batch_ideal(s, n, DEVIATION_LIBRARY_LEAST_S, &part->ideal_s));
	part->has_deviation = part->has_ideal;
	for (size_t i = 0; part->has_ideal && i < n; i++) {
		s[i] -= part->ideal_s;
		if (!is_signed && s[i] < 0)
			s[i] = -s[i];
		if (times_out)
			times_out[i] = (struct goodput_step_time){times->entries[i].key, s[i]};
	}
	if (part->has_ideal) {
		part->deviation_mean_s = deviation_batch_mean(s, n);
		part->deviation_cumulative_s = deviation_batch_metric(s, n, false);
		part->deviation_interval_s = deviation_batch_metric(s, n, true);
	} else {
		part->ideal_s = 0;
	}
	free(s);
	if (ret_deviations)
		*ret_deviations = times_out;
	return 0;
}
