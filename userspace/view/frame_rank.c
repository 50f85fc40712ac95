/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/view/frame_rank.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/plural.h"
#include "userspace/report/user_range.h"
#include "userspace/report/verdict.h"
#include "userspace/text/spark.h"
#include "userspace/text/format.h"

#define LEGEND_WIDTH 39 /* columns of one bucket in the legend: glyph, label, time and share */

static const enum style state_style[] = {
	[STATE_IDLE] = STYLE_DIM,	 [STATE_STARTING] = STYLE_CYAN,
	[STATE_LEARNING] = STYLE_YELLOW, [STATE_LOCKED] = STYLE_GREEN,
	[STATE_SUSPECT] = STYLE_RED,	 [STATE_ENDED] = STYLE_PLAIN,
};

void frame_state(struct canvas *c, const struct step_state *st)
{
	canvas_put(c, state_style[st->state], "%s%s%s", step_state_name[st->state],
		   st->tier == TIER_NONE ? "" : " ", tier_name[st->tier]);
}

static void frame_marker(struct canvas *c, const struct step_state *st)
{
	canvas_line(c, IMPORTANCE_MAIN);
	canvas_at(c, 1);
	frame_state(c, st);
	if (st->tier != TIER_NONE) {
		canvas_put(c, STYLE_DIM, " by ");
		canvas_put(c, STYLE_BOLD, "%s", *st->marker ? st->marker : "an unnamed marker");
		canvas_put(c, STYLE_DIM, "  confidence %.2f", st->confidence);
	}
	if (st->undercounted)
		canvas_put(c, STYLE_YELLOW, "  step counts may be too low");
	else if (st->since_attach)
		canvas_put(c, STYLE_DIM, "  steps count from attach");
	if (*st->ratios) {
		canvas_line(c, IMPORTANCE_MORE);
		canvas_at(c, 1);
		canvas_put(c, STYLE_DIM, "each %s has ", unit_name[st->unit]);
		canvas_put(c, STYLE_PLAIN, "%s", st->ratios);
	}
	if (*st->reason) {
		canvas_line(c, IMPORTANCE_GOOD);
		canvas_at(c, 1);
		canvas_put(c, STYLE_YELLOW, "%s", st->reason);
	}
}

static void frame_figure(struct canvas *c, const char *name, const char *value)
{
	canvas_put(c, STYLE_DIM, "   %s ", name);
	canvas_put(c, STYLE_PLAIN, "%s", value);
}

static void frame_figures(struct canvas *c, const struct deviation_view *t)
{
	bool wide = c->cols >= 112;
	char text[WORD_MAX];

	canvas_line(c, IMPORTANCE_KEY);
	canvas_at(c, 1);
	canvas_put(c, STYLE_DIM, "p50 ");
	canvas_put(c, STYLE_PLAIN, "%s", text_duration(text, t->p50_ns));
	if (wide)
		frame_figure(c, "p95", text_duration(text, t->p95_ns));
	frame_figure(c, "p99", text_duration(text, t->p99_ns));
	frame_figure(c, "max", text_duration(text, t->max_ns));
	if (!t->ideal_ns)
		return;
	if (wide)
		frame_figure(c, "ideal", text_duration(text, t->ideal_ns));
	frame_figure(c, "deviation",
		     clock_duration(text, WORD_MAX, (uint64_t)(t->deviation_ns + 0.5)));
	snprintf(text, sizeof(text), "%.1f %%", 100 * t->jitter);
	frame_figure(c, "jitter", text);
}

static void frame_spark(struct canvas *c, const struct loop_view *l, int height)
{
	char text[WORD_MAX];
	struct spark sp;
	int width = c->cols - 12;

	spark_scale(&sp, l->recent_ns, (int)l->recent, width < 0 ? 0 : width);
	for (int row = 0; row < height; row++) {
		canvas_line(c, IMPORTANCE_KEY);
		if (!row)
			canvas_right(c, 9, STYLE_DIM, text_duration(text, sp.high_ns));
		else if (row == height - 1)
			canvas_right(c, 9, STYLE_DIM,
				     sp.low_ns ? text_duration(text, sp.low_ns) : "0");
		canvas_at(c, 10);
		canvas_put(c, STYLE_DIM, "%s", row == height - 1 ? "└" : "│");
		spark_row(c, &sp, row, height);
	}
}

static void frame_step(struct canvas *c, const struct rank_view *r, const struct loop_view *l,
		       int rows)
{
	char text[WORD_MAX], slow[96];

	canvas_line(c, IMPORTANCE_BLANK);
	canvas_line(c, IMPORTANCE_MAIN);
	canvas_at(c, 1);
	if (r->nloops > 1)
		canvas_put(c, STYLE_DIM, "loop %u of %u  ", l->state.loop + 1, r->nloops);
	canvas_put(c, STYLE_BOLD, "%s %llu", unit_name[l->state.unit],
		   (unsigned long long)l->last_number);
	canvas_put(c, STYLE_DIM, "  took ");
	canvas_put(c, l->recent && l->time.last_ns > 2 * l->time.p50_ns ? STYLE_RED : STYLE_BOLD,
		   "%s", text_duration(text, l->time.last_ns));
	if (l->state.updates && l->state.updates != l->state.steps)
		canvas_put(c, STYLE_DIM, "  %llu update%s", (unsigned long long)l->state.updates,
			   plural(l->state.updates));
	if (l->flagged[0])
		canvas_put(c, STYLE_YELLOW, "  %llu tainted by lost records",
			   (unsigned long long)l->flagged[0]);
	if (l->change.slow)
		canvas_put(c, l->slow_alarm ? STYLE_RED : STYLE_YELLOW, "  %s",
			   text_change(slow, sizeof(slow), l));
	frame_figures(c, &l->time);
	if (l->recent > 1)
		frame_spark(c, l, rows >= 30 ? 4 : rows >= 24 ? 3 : rows >= 18 ? 2 : 1);
}

static void frame_phases(struct canvas *c, const struct loop_view *l)
{
	uint64_t whole = (uint64_t)(l->time.mean_ns * (double)l->time.count);
	const char *separator = "";
	char text[WORD_MAX];

	if (!l->phases_known || !whole)
		return;
	canvas_line(c, IMPORTANCE_DETAIL);
	canvas_at(c, 1);
	canvas_put(c, STYLE_DIM, "in a step  ");
	for (int i = 0; i < PHASE_COUNT; i++)
		if (l->phases_known & (1u << i) && text_phase_shows(l->phase_ns[i], whole)) {
			canvas_put(c, STYLE_DIM, "%s%s ", separator, phase_name[i]);
			canvas_put(c, STYLE_PLAIN, "%s", text_percent(text, l->phase_ns[i], whole));
			separator = "  ";
		}
	if (!text_phase_shows(text_phase_rest_ns(l), whole))
		return;
	canvas_put(c, STYLE_DIM, "%selse ", separator);
	canvas_put(c, STYLE_PLAIN, "%s", text_percent(text, text_phase_rest_ns(l), whole));
}

static void frame_other_loops(struct canvas *c, const struct rank_view *r,
			      const struct loop_view *main)
{
	char text[WORD_MAX];

	for (uint32_t i = 0; i < r->nloops; i++) {
		const struct loop_view *l = &r->loops[i];

		if (l == main)
			continue;
		canvas_line(c, IMPORTANCE_MORE);
		canvas_at(c, 1);
		canvas_put(c, STYLE_DIM, "loop %u  ", l->state.loop + 1);
		frame_state(c, &l->state);
		canvas_put(c, STYLE_PLAIN, "  %s", l->state.marker);
		if (l->last_number)
			canvas_put(c, STYLE_PLAIN, "  step %llu",
				   (unsigned long long)l->last_number);
		if (l->time.count)
			frame_figure(c, "p50", text_duration(text, l->time.p50_ns));
	}
}

/* Writes text in one line of the canvas or, if it is longer, in two. */
static void frame_wrapped(struct canvas *c, enum style style, const char *text)
{
	int room = c->cols - 2, first = (int)strlen(text);

	if (first > room)
		for (first = room; first > 0 && text[first] != ' ';)
			first--;
	canvas_line(c, IMPORTANCE_GOOD);
	canvas_at(c, 1);
	if (first <= 0) {
		canvas_put(c, style, "%s", text);
		return;
	}
	canvas_put(c, style, "%.*s", first, text);
	if (!text[first])
		return;
	canvas_line(c, IMPORTANCE_DETAIL);
	canvas_at(c, 3);
	canvas_put(c, style, "%s", text + first + 1);
}

void frame_verdict(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	char line[VERDICT_LINE_MAX];
	struct verdicts v;

	if (!r->trainer)
		return;
	verdict_of_trainer(&v, s, r);
	if (v.of[0].kind == VERDICT_none)
		return;
	frame_wrapped(c, v.of[0].kind < VERDICT_steady ? STYLE_YELLOW : STYLE_GREEN,
		      verdict_line(line, sizeof(line), &v.of[0]));
}

void frame_loops(struct canvas *c, const struct rank_view *r, int rows)
{
	const struct loop_view *main = text_main_loop(r);

	if (!main)
		return;
	frame_marker(c, &main->state);
	if (main->time.count) {
		frame_step(c, r, main, rows);
		frame_phases(c, main);
		user_range_frame_ranges(c, main, IMPORTANCE_DETAIL);
	}
	user_range_frame_figures(c, r, IMPORTANCE_DETAIL);
	frame_other_loops(c, r, main);
}

static void frame_legend(struct canvas *c, const struct part *parts, int n, uint64_t observed)
{
	int across = (c->cols - 1) / LEGEND_WIDTH, width;
	char text[WORD_MAX], time[WORD_MAX];

	across = across < 1 ? 1 : across > 3 ? 3 : across;
	width = (c->cols - 1) / across;
	width = width > 50 ? 50 : width;
	for (int i = 0; i < n; i++) {
		int left = 1 + i % across * width;

		if (i % across == 0)
			canvas_line(c, i == 0		? IMPORTANCE_KEY
				       : i < 2 * across ? IMPORTANCE_GOOD
							: IMPORTANCE_DETAIL);
		canvas_at(c, left);
		canvas_put(c, part_style[parts[i].id].style, "%s", part_style[parts[i].id].glyph);
		canvas_put(c, STYLE_PLAIN, " %.*s", width - 21, parts[i].label);
		canvas_right(c, left + width - 10, STYLE_PLAIN,
			     clock_duration(time, WORD_MAX, parts[i].ns));
		if (parts[i].id != BUCKET_UNOBSERVED)
			canvas_right(c, left + width - 2, STYLE_DIM,
				     text_percent(text, parts[i].ns, observed));
	}
}

void frame_time(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	const struct ledger_view *l = &r->ledger;
	int cells[PARTS_MAX], width = c->cols - 2, n;
	uint64_t observed = text_observed_ns(l);
	struct part parts[PARTS_MAX], seen[PARTS_MAX];
	char text[WORD_MAX], recent[128];

	n = text_parts(parts, l, &s->types);
	/* Hide the running part of a step if it is short: it would only flicker. */
	for (int i = 0; i < n; i++)
		if (parts[i].id == PART_RUNNING && parts[i].ns < observed / 100)
			memmove(&parts[i], &parts[i + 1], (size_t)(--n - i) * sizeof(*parts));
	if (!n)
		return;
	/* The bar shows observed time only, so that it agrees with the percentages. */
	for (int i = 0; i < n; i++) {
		seen[i] = parts[i];
		if (seen[i].id == BUCKET_UNOBSERVED)
			seen[i].ns = 0;
	}
	text_apportion(seen, n, width, cells);
	canvas_line(c, IMPORTANCE_BLANK);
	canvas_line(c, IMPORTANCE_MAIN);
	canvas_at(c, 1);
	canvas_put(c, STYLE_BOLD, "goodput %s",
		   text_percent(text, l->ns[BUCKET_GOODPUT], observed));
	canvas_put(c, STYLE_DIM, " of %s observed", text_duration(text, observed));
	if (text_windows(recent, sizeof(recent), r))
		canvas_put(c, STYLE_DIM, "; %s", recent);
	canvas_line(c, IMPORTANCE_MAIN);
	canvas_at(c, 1);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < cells[i]; j++)
			canvas_put(c, part_style[parts[i].id].style, "%s",
				   part_style[parts[i].id].glyph);
	frame_legend(c, parts, n, observed);
}
