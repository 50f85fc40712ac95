/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/report_loop.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/plural.h"
#include "userspace/report/user_range.h"
#include "userspace/text/spark.h"
#include "userspace/text/format.h"

void report_field(struct canvas *c, const char *name)
{
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  %s", name);
	canvas_at(c, REPORT_LABEL);
}

int report_cols(const struct canvas *c)
{
	return c->cols < REPORT_COLS ? c->cols : REPORT_COLS;
}

static void report_found(struct canvas *c, const struct step_state *st)
{
	report_field(c, "found by");
	if (st->tier == TIER_NONE) {
		canvas_put(c, STYLE_YELLOW, "no marker yet: %s",
			   *st->reason ? st->reason : step_state_name[st->state]);
		return;
	}
	canvas_put(c, STYLE_BOLD, "%s", *st->marker ? st->marker : "unnamed marker");
	canvas_put(c, STYLE_PLAIN, "  tier %s, boundary %s, confidence %.2f", tier_name[st->tier],
		   boundary_name[st->boundary], st->confidence);
	if (st->series == SERIES_RATE) {
		report_field(c, "times");
		canvas_put(c, STYLE_PLAIN,
			   "say when work was queued: their mean is what a step takes");
	}
	if (*st->ratios) {
		report_field(c, "per step");
		canvas_put(c, STYLE_PLAIN, "%s", st->ratios);
	}
	report_field(c, "numbers");
	canvas_put(c, st->undercounted ? STYLE_YELLOW : STYLE_PLAIN, "%s",
		   st->undercounted ? "may be too low: records were lost, steps may be missing"
		   : st->late	    ? "count from the first step seen (earlier ones may be missing)"
		   : st->since_attach ? "count from the first step seen (attached to a running job)"
				      : "count from the process's first step");
	if (st->state != STATE_LOCKED && st->state != STATE_ENDED) {
		report_field(c, "state");
		canvas_put(c, STYLE_YELLOW, "%s", step_state_name[st->state]);
	}
	if (st->tier == TIER_A && !strstr(st->ratios, "fetch:")) {
		report_field(c, "note");
		canvas_put(
			c, STYLE_PLAIN,
			"no loader was seen: loading, evaluation and rollouts are part of steps");
	}
	if (*st->reason) {
		report_field(c, "note");
		canvas_put(c, STYLE_PLAIN, "%s", st->reason);
	}
}

static void report_steps(struct canvas *c, const struct loop_view *l)
{
	static const char *const flag[] = {
#define X(bit, name) [bit] = #name,
		STEP_FLAGS(X)
#undef X
	};
	const char *separator = "  (";

	report_field(c, "steps");
	canvas_put(c, STYLE_BOLD, "%llu", (unsigned long long)l->state.steps);
	if (l->last_number && l->last_number != l->state.steps)
		canvas_put(c, STYLE_PLAIN, ", the last one is number %llu",
			   (unsigned long long)l->last_number);
	if (l->state.updates && l->state.updates != l->state.steps)
		canvas_put(c, STYLE_PLAIN, ", %llu optimizer update%s",
			   (unsigned long long)l->state.updates, plural(l->state.updates));
	for (size_t i = 0; i < sizeof(flag) / sizeof(flag[0]); i++) {
		if (!l->flagged[i])
			continue;
		canvas_put(c, STYLE_DIM, "%s%llu %.*s", separator,
			   (unsigned long long)l->flagged[i], (int)strcspn(flag[i], "_"), flag[i]);
		separator = ", ";
	}
	if (*separator == ',')
		canvas_put(c, STYLE_DIM, ")");
}

void report_figure(struct canvas *c, int slot, const char *name, const char *value)
{
	int slots = (report_cols(c) - REPORT_LABEL) / 21, col;

	slots = slots < 1 ? 1 : slots;
	if (slot && slot % slots == 0)
		canvas_line(c, 0);
	col = REPORT_LABEL + slot % slots * 21;
	canvas_at(c, col);
	canvas_put(c, STYLE_DIM, "%s", name);
	canvas_right(c, col + 19, STYLE_PLAIN, value);
}

static const char *report_step_deviation(char out[WORD_MAX], const struct report_times *t)
{
	return t->ideal_ns ? clock_duration(out, WORD_MAX, (uint64_t)(t->deviation_ns + 0.5))
			   : "unknown";
}

void report_step_times(struct canvas *c, const struct report_times *t)
{
	char text[WORD_MAX];

	if (!t->count)
		return;
	report_field(c, "step time");
	report_figure(c, 0, "median", text_duration(text, t->p50_ns));
	report_figure(c, 1, "p95", text_duration(text, t->p95_ns));
	report_figure(c, 2, "p99", text_duration(text, t->p99_ns));
	report_figure(c, 3, "max", text_duration(text, t->max_ns));
	report_figure(c, 4, "ideal", text_duration(text, t->ideal_ns));
	if (t->spread) {
		report_figure(c, 5, "deviation", report_step_deviation(text, t));
		snprintf(text, sizeof(text), "%.1f %%", 100 * t->jitter);
		report_figure(c, 6, "jitter", t->ideal_ns ? text : "unknown");
	} else {
		report_figure(c, 5, "mean", text_duration(text, t->mean_ns));
	}
	report_figure(c, 7, "min", text_duration(text, t->min_ns));
}

static void report_change(struct canvas *c, const struct loop_view *l)
{
	const struct change_view *v = &l->change;
	char text[96], took[WORD_MAX];

	if (!v->count)
		return;
	report_field(c, "slowdowns");
	if (l->slow_alarms)
		canvas_put(c, STYLE_PLAIN, "%llu", (unsigned long long)l->slow_alarms);
	else
		canvas_put(c, STYLE_PLAIN, "none that lasts");
	if (v->slow || l->slow_alarm)
		canvas_put(c, v->slow ? STYLE_RED : STYLE_PLAIN, "; the last: %s",
			   text_change(text, sizeof(text), l));
	if (l->bursts)
		canvas_put(c, STYLE_DIM, "; and %llu short one%s, %s in all",
			   (unsigned long long)l->bursts, plural(l->bursts),
			   text_duration(took, l->bursts_ns));
}

static void report_recent(struct canvas *c, const struct loop_view *l)
{
	char low[WORD_MAX], high[WORD_MAX], name[WORD_MAX];
	struct spark sp;

	if (l->recent < 2)
		return;
	spark_scale(&sp, l->recent_ns, (int)l->recent, report_cols(c) - REPORT_LABEL - 24);
	snprintf(name, sizeof(name), "last %d", sp.n);
	for (int row = 0; row < 2; row++) {
		report_field(c, row ? name : "");
		spark_row(c, &sp, row, 2);
		canvas_put(c, STYLE_DIM, "  %s",
			   row ? sp.low_ns ? clock_duration(low, WORD_MAX, sp.low_ns) : "0"
			       : clock_duration(high, WORD_MAX, sp.high_ns));
		if (!row)
			canvas_put(c, STYLE_DIM, " (▲ above)");
	}
}

static void report_phase(struct canvas *c, const struct loop_view *l, const char *name, uint64_t ns,
			 const char **separator)
{
	uint64_t whole = (uint64_t)(l->time.mean_ns * (double)l->time.count);
	char part[WORD_MAX], mean[WORD_MAX];

	if (!text_phase_shows(ns, whole))
		return;
	if (c->col > report_cols(c) - 30) {
		report_field(c, "");
		*separator = "";
	}
	canvas_put(c, STYLE_PLAIN, "%s%s %s", *separator, name,
		   clock_duration(mean, WORD_MAX, ns / l->time.count));
	canvas_put(c, STYLE_DIM, " (%s)", text_percent(part, ns, whole));
	*separator = ", ";
}

static void report_phases(struct canvas *c, const struct loop_view *l)
{
	const char *separator = "";

	if (!l->phases_known || !l->time.count)
		return;
	report_field(c, "in a step");
	for (int i = 0; i < PHASE_COUNT; i++)
		if (l->phases_known & (1u << i))
			report_phase(c, l, phase_name[i], l->phase_ns[i], &separator);
	report_phase(c, l, "else", text_phase_rest_ns(l), &separator);
}

void report_loop(struct canvas *c, const struct rank_view *r, const struct loop_view *l)
{
	struct report_times times;

	if (r->nloops > 1) {
		canvas_line(c, 0);
		canvas_put(c, STYLE_BOLD, "  loop %u of %u", l->state.loop + 1, r->nloops);
	}
	report_found(c, &l->state);
	if (!l->state.steps)
		return;
	report_steps(c, l);
	report_times_of_view(&times, &l->time);
	report_step_times(c, &times);
	report_change(c, l);
	report_recent(c, l);
	report_phases(c, l);
	user_range_report_ranges(c, r, l, REPORT_LABEL, report_cols(c));
}
