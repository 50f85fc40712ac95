/* SPDX-License-Identifier: Apache-2.0 */
/* Writes computed goodput in the JSON form of the goodput library's test vectors, so that tools can
 * compare gp-bpf's numbers with the library's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/epoch.h"
#include "userspace/base/json_text.h"
#include "userspace/report/account.h"

/* The map of step deviations has every step of a job of up to MAP_MAX steps. A longer job gets a
 * sample of about MAP_SAMPLES steps instead. */
#define MAP_MAX	    400
#define MAP_SAMPLES 100

static void json_step(struct buffer *out, const struct goodput_step_time *t)
{
	char key[24];

	snprintf(key, sizeof(key), "%lld", (long long)t->number);
	json_double(out, key, t->s);
}

static void json_steps(struct buffer *out, const char *key, const struct goodput_step_time *t,
		       size_t n)
{
	size_t each = n > MAP_MAX ? n / MAP_SAMPLES : 1;
	double sum = 0, min = NAN, max = NAN;

	for (size_t i = 0; i < n; i++) {
		sum += t[i].s;
		min = fmin(min, t[i].s);
		max = fmax(max, t[i].s);
	}
	json_open(out, key, '{');
	json_uint(out, "count", n);
	json_double(out, "sum", sum);
	json_double(out, "max", max);
	json_double(out, "min", min);
	json_open(out, n > MAP_MAX ? "sampled_by_step" : "by_step", '{');
	for (size_t i = 0; i < n; i += each)
		json_step(out, &t[i]);
	json_close(out, '}');
	if (n > MAP_MAX)
		json_int(out, "last_step", t[n - 1].number);
	json_close(out, '}');
}

static void json_custom(struct buffer *out, const struct goodput_part *p,
			const struct goodput_names *names, bool percent)
{
	json_open(out, badput_name(BADPUT_CUSTOM), '{');
	for (size_t i = 0; i < p->custom_count; i++)
		json_double(out, goodput_name(names, p->custom[i].name),
			    percent ? p->custom[i].pct : p->custom[i].s);
	json_close(out, '}');
}

static void json_badput(struct buffer *out, const struct goodput_part *p,
			const struct goodput_names *names, bool percent)
{
	const double *value = percent ? p->badput_pct : p->badput_s;
	uint32_t has = percent ? p->has_pct : p->has_s;

	json_open(out, percent ? "badput_pct" : "unproductive_time_s", '{');
	for (int i = 0; i < BADPUTS; i++) {
		/* Hangs and unobserved time are badputs of gp-bpf only, not of the goodput library:
		 * write them only if they are not 0. */
		bool ours = i == BADPUT_HANG || i == BADPUT_UNOBSERVED;

		if (!(has & 1u << i) || (ours && value[i] == 0))
			continue;
		if (i == BADPUT_CUSTOM)
			json_custom(out, p, names, percent);
		else
			json_double(out, badput_name(i), value[i]);
	}
	json_close(out, '}');
}

/* Formats an instant as the goodput library does. */
static const char *account_json_instant_text(char out[EPOCH_TEXT_MAX + 8], int64_t us)
{
	char text[EPOCH_TEXT_MAX];

	snprintf(out, EPOCH_TEXT_MAX + 8, "%s+00:00", epoch_text(text, us, us % 1000000 ? 6 : 0));
	return out;
}

/* Writes the error that the goodput library would raise for this log. */
static void json_error(struct buffer *out, const struct goodput_part *p)
{
	char message[256], from[EPOCH_TEXT_MAX + 8], to[EPOCH_TEXT_MAX + 8];
	size_t len = strlen(p->error);

	/* The library's error texts end with a full stop, except the one to which it appends the
	 * time window. */
	if (len && p->error[len - 1] != '.' && !strcmp(p->error_type, "ValueError"))
		snprintf(message, sizeof(message), "%s between %s and %s.", p->error,
			 account_json_instant_text(from, p->from_us),
			 account_json_instant_text(to, p->to_us));
	else
		snprintf(message, sizeof(message), "%s", p->error);
	json_open(out, "error", '{');
	json_string(out, "type", p->error_type);
	json_string(out, "message", message);
	json_close(out, '}');
}

/* Writes the part's error, if it has one. Returns true if p has an answer, which a part with an
 * error can have as well. */
static bool json_answered(struct buffer *out, const struct goodput_part *p)
{
	if (!p->error)
		return true;
	json_error(out, p);
	return p->has_pct || p->has_s;
}

static void json_time_of(struct buffer *out, const struct goodput_part *p,
			 const struct goodput_names *names)
{
	json_double(out, "productive_time_s", p->productive_s);
	json_badput(out, p, names, false);
}

static void json_deviation(struct buffer *out, const struct goodput_part *p)
{
	json_double(out, "step_deviation_mean_s", p->deviation_mean_s);
	json_open(out, "step_time_deviation_metric_s", '{');
	json_double(out, "cumulative", p->deviation_cumulative_s);
	json_double(out, "interval", p->deviation_interval_s);
	json_close(out, '}');
}

/* Writes the members that all cumulative answers share. a: the answer for the whole job, from which
 * the map of step deviations is written; NULL: write no map. */
static void json_cumulative(struct buffer *out, const struct goodput_part *p,
			    const struct goodput_names *names, const struct goodput_answer *a)
{
	if (!json_answered(out, p))
		return;
	json_double(out, "goodput_pct", p->goodput_pct);
	json_badput(out, p, names, true);
	json_double(out, "total_job_time_s", p->total_s);
	json_time_of(out, p, names);
	json_int(out, "max_productive_step", p->max_productive_step);
	json_int(out, "last_recorded_step", p->last_recorded_step);
	json_uint(out, "disruptions", p->disruptions);
	json_double(out, "closure_residual_s", p->residual_s);
	json_double(out, "ideal_step_time_s", p->has_ideal ? p->ideal_s : NAN);
	if (p->has_deviation) {
		if (a)
			json_steps(out, "step_deviation_s", a->deviations, a->deviation_count);
		json_deviation(out, p);
	}
	if (p->has_slices) {
		json_double(out, "stepping_slice_efficiency", p->stepping_efficiency);
		json_double(out, "available_slice_efficiency", p->available_efficiency);
	}
}

static void json_windows(struct buffer *out, const struct goodput_answer *a,
			 const struct goodput_names *names)
{
	json_open(out, "intervals", '[');
	for (size_t i = 0; i < a->window_count; i++) {
		const struct goodput_part *p = &a->windows[i];

		json_open(out, NULL, '{');
		json_seconds(out, "start", p->from_us);
		json_seconds(out, "end", p->to_us);
		if (json_answered(out, p) && (!p->error || p->total_s > 0)) {
			json_double(out, "goodput_pct", p->goodput_pct);
			json_badput(out, p, names, true);
			json_int(out, "max_productive_step", p->max_productive_step);
			json_double(out, "total_job_time_s", p->total_s);
			json_uint(out, "disruptions", p->disruptions);
		}
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void json_exclusions(struct buffer *out, const struct goodput_answer *a,
			    const struct goodput_query *q, const struct goodput_names *names)
{
	const struct goodput_part *p = &a->excluded;

	json_open(out, "exclusions", '{');
	json_open(out, "intervals", '[');
	for (size_t i = 0; i < q->exclude_count; i++) {
		json_open(out, NULL, '[');
		json_seconds(out, NULL, q->excludes[i].from_us);
		json_seconds(out, NULL, q->excludes[i].to_us);
		json_close(out, ']');
	}
	json_close(out, ']');
	if (json_answered(out, p)) {
		json_double(out, "goodput_pct", p->goodput_pct);
		json_badput(out, p, names, true);
		json_int(out, "max_productive_step", p->max_productive_step);
		json_double(out, "excluded_time_s", p->excluded_s);
		json_double(out, "adjusted_total_time_s", p->adjusted_s);
		json_time_of(out, p, names);
	}
	json_close(out, '}');
}

static void json_sequence(struct buffer *out, const struct goodput_answer *a,
			  const struct goodput_names *names)
{
	json_open(out, "sequence", '[');
	for (size_t i = 0; i < a->at_count; i++) {
		json_open(out, NULL, '{');
		json_seconds(out, "query_time", a->at[i].to_us);
		json_cumulative(out, &a->at[i], names, NULL);
		json_close(out, '}');
	}
	json_close(out, ']');
}

void account_json(struct buffer *out, const struct account_view *v)
{
	const struct goodput_answer *a = v->answer;

	json_open(out, NULL, '{');
	json_string(out, "job", goodput_name(v->names, a->job));
	json_open(out, "cumulative", '{');
	json_cumulative(out, &a->cumulative, v->names, a);
	json_close(out, '}');
	json_steps(out, "step_time_s", a->step_times, a->step_time_count);
	if (v->query->window_count)
		json_windows(out, a, v->names);
	if (a->has_excluded)
		json_exclusions(out, a, v->query, v->names);
	if (v->query->at_count)
		json_sequence(out, a, v->names);
	json_close(out, '}');
	buffer_add(out, "\n", 1);
}
