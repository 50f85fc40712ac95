/* SPDX-License-Identifier: Apache-2.0 */
/* document_text.c - a job's report as text. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/epoch.h"
#include "userspace/base/plural.h"
#include "userspace/text/canvas.h"
#include "userspace/report/compare.h"
#include "userspace/report/document_row.h"
#include "userspace/report/explain.h"
#include "userspace/report/report_loop.h"
#include "userspace/report/report_program.h"
#include "userspace/report/report_time.h"
#include "userspace/text/format.h"

#define LISTED	 16 /* limit of rows of each list; the JSON report has all rows */
#define COL_WHEN 4
#define COL_WHAT 25
#define COL_LAST 100

static const int document_text_edge[DOCUMENT_CELLS] = {69, 79, 90, COL_LAST};

static unsigned long long document_text_in_all(const struct document_list *l)
{
	return l->count + l->earlier;
}

/* Shows how long scheduling took, from the creation of the pod to the first process. This time is
 * not part of the table below. */
static void document_text_scheduling(struct canvas *c, const struct scheduling *s)
{
	static const char *const what[SCHEDULE_COUNT] = {
		[SCHEDULE_create] = "made in",
		[SCHEDULE_schedule] = "a node in",
		[SCHEDULE_image] = "images in",
		[SCHEDULE_start] = "started in",
	};
	char text[WORD_MAX];
	bool any = false;

	for (int i = 0; s->known && i < SCHEDULE_COUNT; i++) {
		if (!s->ns[i])
			continue;
		if (!any)
			report_field(c, "its pod");
		canvas_put(c, STYLE_DIM, "%s%s ", any ? ", " : "", what[i]);
		canvas_put(c, STYLE_PLAIN, "%s", clock_duration(text, sizeof(text), s->ns[i]));
		any = true;
	}
	if (any)
		canvas_put(c, STYLE_DIM, "; before the time below");
}

static void document_text_steps(struct canvas *c, const struct report_document *s)
{
	report_field(c, "steps");
	canvas_put(c, STYLE_BOLD, "%llu", (unsigned long long)s->steps);
	canvas_put(c, STYLE_DIM, "  made");
	if (s->job.max_step)
		canvas_put(c, STYLE_DIM, "; the highest number is %llu",
			   (unsigned long long)s->job.max_step);
	if (!s->live)
		return;
	canvas_put(c, STYLE_DIM, "; %llu count", (unsigned long long)s->counted_steps);
	if (s->counted_steps != s->last_step)
		canvas_put(c, STYLE_DIM, "; the last training is at %llu",
			   (unsigned long long)s->last_step);
	if (s->futile_runs < JOB_FUTILE)
		return;
	report_field(c, "");
	canvas_put(c, STYLE_RED, "crash loop: %u failed runs in a row saved no further step",
		   s->futile_runs);
}

static void document_text_head(struct canvas *c, const struct report_document *s)
{
	char from[EPOCH_TEXT_MAX], to[EPOCH_TEXT_MAX], took[WORD_MAX];

	canvas_put(c, STYLE_BOLD, "job %s", document_name(s));
	canvas_put(c, STYLE_PLAIN, "  %s", document_state(s));
	if (s->job.logged)
		canvas_put(c, STYLE_YELLOW, "  from its log, not watched");
	canvas_line(c, 0);
	if (s->to_ns)
		canvas_put(c, STYLE_PLAIN, "  %s to %s UTC", epoch_text(from, s->from_ns / 1000, 0),
			   epoch_text(to, s->to_ns / 1000, 0));
	else
		canvas_put(c, STYLE_PLAIN, "  at an unknown time");
	if (!document_left_out(s))
		canvas_put(c, STYLE_PLAIN, ", elapsed %s",
			   clock_duration(took, WORD_MAX, ledger_elapsed(&s->ledger)));
	else
		canvas_put(c, STYLE_YELLOW, ", all left out: %s",
			   clock_duration(took, WORD_MAX, s->totals.excluded_ns));
	if (s->totals.excluded_ns && !document_left_out(s))
		canvas_put(c, STYLE_YELLOW, ", less %s left out",
			   clock_duration(took, WORD_MAX, s->totals.excluded_ns));
	explain_verdict(c, &s->verdicts);
	report_field(c, "goodput");
	canvas_put(c, STYLE_BOLD, "%s",
		   text_percent(took, s->ledger.ns[BUCKET_GOODPUT], text_observed_ns(&s->ledger)));
	canvas_put(c, STYLE_DIM, "  of what was observed");
	document_text_scheduling(c, &s->scheduling);
	document_text_steps(c, s);
}

static void document_text_windows(struct canvas *c, const struct report_document *s)
{
	char text[128];

	if (!document_lately(text, sizeof(text), s))
		return;
	report_field(c, "goodput last");
	canvas_put(c, STYLE_PLAIN, "%s", text);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void document_text_cell(struct canvas *c, const struct document_cell *v, int edge)
{
	char text[64];

	if (v->count)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)v->value);
	else
		snprintf(text, sizeof(text), "%s%s", v->estimated ? "~" : "", v->text);
	if (*text)
		canvas_right(c, canvas_scaled(c, edge, COL_LAST), STYLE_PLAIN, text);
}

static void document_text_row(struct canvas *c, const struct document_table *t,
			      const struct document_row *r)
{
	char when[EPOCH_TEXT_MAX];

	canvas_line(c, 0);
	canvas_at(c, COL_WHEN);
	canvas_put(c, STYLE_PLAIN, "%s",
		   !t->when   ? r->name
		   : r->at_ns ? epoch_text(when, r->at_ns / 1000, 0)
			      : "time unknown");
	canvas_at(c, COL_WHAT);
	if (t->number && *t->number != '#')
		canvas_put(c, STYLE_PLAIN, "%s %llu, ", t->number, (unsigned long long)r->number);
	if (t->when && *r->name)
		canvas_put(c, STYLE_PLAIN, "%s ", r->name);
	canvas_put(c, t->bad ? STYLE_RED : STYLE_PLAIN, "%s", r->what);
	if (r->tells_more)
		canvas_put(c, STYLE_PLAIN, ": %s", r->more);
	for (int k = 0; k < DOCUMENT_CELLS; k++)
		document_text_cell(c, &r->cell[k], document_text_edge[k]);
}

/* Shows the last LISTED rows of a list; of a list of ranks, the first LISTED rows. */
static void document_text_rows(struct canvas *c, const struct report_document *s,
			       const struct document_list *l, const struct document_table *t)
{
	uint32_t n = 0, skip;
	struct document_row r;

	for (uint32_t i = 0; i < l->count; i++) {
		document_row(&r, t, s, i);
		n += !r.hidden && !r.page_only;
	}
	skip = t->when && n > LISTED ? n - LISTED : 0;
	if (skip || (t->when && l->earlier))
		canvas_put(c, STYLE_DIM, "; the last %u", n - skip);
	for (int k = 0; l->count && t->cell[0] && k < DOCUMENT_CELLS; k++)
		canvas_right(c, canvas_scaled(c, document_text_edge[k], COL_LAST), STYLE_DIM,
			     t->cell[k]);
	for (uint32_t i = 0, shown = 0; i < l->count && shown < 2 * LISTED; i++) {
		document_row(&r, t, s, i);
		if (r.hidden || r.page_only || (skip && skip--))
			continue;
		document_text_row(c, t, &r);
		shown++;
	}
}

static void document_text_list(struct canvas *c, const struct report_document *s,
			       const struct document_list *l, const struct document_table *t,
			       const char *name)
{
	uint32_t minor = t == &document_trouble_table ? s->minor : 0;

	if (!l->count)
		return;
	report_field(c, name);
	canvas_put(c, STYLE_PLAIN, "%llu", document_text_in_all(l) - 2 * minor);
	if (minor)
		canvas_put(c, STYLE_DIM, "; and %u slowdown%s that cost under 0.1 %% of the time%s",
			   minor, plural(minor), minor == 1 ? "" : " each");
	document_text_rows(c, s, l, t);
}

static void document_text_runs(struct canvas *c, const struct report_document *s)
{
	report_field(c, "runs");
	canvas_put(c, STYLE_PLAIN, "%llu", (unsigned long long)document_runs(s));
	if (s->live)
		canvas_put(c, STYLE_PLAIN, ", %u process%s", s->job.ranks, plural_es(s->job.ranks));
	if (s->elsewhere)
		canvas_put(c, STYLE_DIM, "  %u of them on other nodes", s->elsewhere);
	document_text_rows(c, s, &s->runs, &document_runs_table);
}

static void document_text_disruptions(struct canvas *c, const struct report_document *s)
{
	report_field(c, "disruptions");
	if (s->ledger.disruptions)
		canvas_put(c, STYLE_RED, "%llu", (unsigned long long)s->ledger.disruptions);
	else
		canvas_put(c, STYLE_PLAIN, "none");
	document_text_rows(c, s, &s->disruptions, &document_disruptions_table);
}

static void document_text_checkpoints(struct canvas *c, const struct report_document *s)
{
	char text[WORD_MAX];

	report_field(c, "checkpoints");
	if (!s->saves && !s->restores)
		canvas_put(c, STYLE_PLAIN, "none seen");
	if (s->saves)
		canvas_put(c, STYLE_PLAIN, "%llu saved", (unsigned long long)s->saves);
	if (s->saves_async)
		canvas_put(c, STYLE_PLAIN, " (%llu beside training)",
			   (unsigned long long)s->saves_async);
	if (s->saves_ns)
		canvas_put(c, STYLE_PLAIN, " in %s", clock_duration(text, WORD_MAX, s->saves_ns));
	if (s->restores)
		canvas_put(c, STYLE_PLAIN, "%s%llu restored", s->saves ? ", " : "",
			   (unsigned long long)s->restores);
	if (s->secured_step > 0)
		canvas_put(c, STYLE_PLAIN, "; the last one is of step %lld",
			   (long long)s->secured_step);
	if (s->secured_ns)
		canvas_put(c, STYLE_PLAIN, ", %s of goodput",
			   clock_duration(text, WORD_MAX, s->secured_ns));
	document_text_rows(c, s, &s->checkpoints, &document_checkpoints_table);
}

static void document_text_ranks(struct canvas *c, const struct report_document *s)
{
	if (s->ranks.count < 2)
		return;
	report_field(c, "ranks");
	canvas_put(c, STYLE_PLAIN, "%llu in run %u", document_text_in_all(&s->ranks), s->attempt);
	document_text_rows(c, s, &s->ranks, &document_ranks_table);
}

/* Prints a text without breaking words at line ends. */
static void document_text_put_words(struct canvas *c, const char *text)
{
	int room = report_cols(c) - COL_WHEN;

	while (*text) {
		size_t len = strlen(text), take = len;

		if (canvas_width(text) > room) {
			take = (size_t)room < len ? (size_t)room : len;
			while (take && text[take] != ' ')
				take--;
			take = take ? take : (size_t)room < len ? (size_t)room : len;
		}
		canvas_line(c, 0);
		canvas_at(c, COL_WHEN);
		canvas_put(c, STYLE_PLAIN, "%.*s", (int)take, text);
		text += take;
		text += strspn(text, " ");
	}
}

static void document_text_time(struct canvas *c, const struct report_document *s)
{
	struct report_cost cost;
	const struct report_cost *w = report_cost_of(s, &cost);

	report_program(c, s);
	report_time(c, &s->ledger, &s->types, w);
	if (w || s->live || !report_cost_asked(&s->program))
		return;
	report_field(c, "cost");
	canvas_put(c, STYLE_YELLOW,
		   "unknown: the store has no number of accelerators; set it with --accelerators");
}

void document_text_put(struct canvas *c, struct buffer *out, const struct report_document *s)
{
	document_text_head(c, s);
	document_text_time(c, s);
	document_text_windows(c, s);
	report_step_times(c, &s->times);
	document_text_runs(c, s);
	document_text_disruptions(c, s);
	document_text_checkpoints(c, s);
	document_text_list(c, s, &s->healths, &document_trouble_table, "trouble");
	document_text_ranks(c, s);
	document_text_list(c, s, &s->marks, &document_marks_table, "marks");
	document_text_list(c, s, &s->exclusions, &document_exclusions_table, "left out");
	canvas_flush(c, out);
	if (s->compared)
		compare_text(out, s->compared);
	if (s->ncaveats) {
		canvas_line(c, 0);
		canvas_put(c, STYLE_DIM, "  what to know about these numbers");
	}
	for (uint32_t i = 0; i < s->ncaveats; i++)
		document_text_put_words(c, s->caveats[i]);
	canvas_flush(c, out);
}

void document_text(struct buffer *out, const struct report_document *s, int cols, bool color)
{
	struct canvas c;

	canvas_open(&c, cols ? cols : INT_MAX, color);
	canvas_wrap(&c, REPORT_LABEL);
	canvas_line(&c, 0);
	document_text_put(&c, out, s);
	canvas_finish(&c, out, INT_MAX);
}
