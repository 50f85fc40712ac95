/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/library.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/account/deviation_batch.h"

/* What the library raises. */
#define VALUE_ERROR "ValueError"
#define NO_TOTAL                                                                                   \
	"Total job time is zero, Goodput cannot be calculated. Please fix the logging entries."
#define BAD_GOODPUT   "Productive training time is invalid. Please fix the logging entries."
#define TYPE_ERROR    "TypeError"
#define NULL_DURATION "float() argument must be a string or a real number, not 'NoneType'"

/* Told as percent whether or not there is anything of it. */
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

static double percent(double s, double total_s)
{
	return s > 0 && s < total_s ? s / total_s * 100 : 0;
}

static void sane(double *s, double total_s, uint64_t *insane)
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
			sane(&raw->badput_s[b], total_s, insane);
			sum_s += NOT_SUMMED & 1u << b ? 0 : raw->badput_s[b];
		}
	for (size_t i = 0; i < raw->custom_count; i++) {
		sane(&raw->custom[i].s, total_s, insane);
		raw->custom[i].pct = percent(raw->custom[i].s, total_s);
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
		ret->badput_pct[b] = percent(raw->badput_s[b], total_s);
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
		ret->error = ret->error_type = NULL; /* nothing is checked here */
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
	struct goodput_step_time *told = ret_deviations ? calloc(n + 1, sizeof(*told)) : NULL;

	if (!s || (ret_deviations && !told)) {
		free(s);
		free(told);
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
		if (told)
			told[i] = (struct goodput_step_time){times->entries[i].key, s[i]};
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
		*ret_deviations = told;
	return 0;
}
