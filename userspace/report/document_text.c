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
#include "userspace/report/report_loop.h"
#include "userspace/report/report_program.h"
#include "userspace/report/report_time.h"
#include "userspace/report/document.h"
#include "userspace/text/format.h"

#define LISTED	 16 /* rows of a list; the JSON object has all */
#define COL_WHEN 4
#define COL_WHAT 25
#define COL_STEP 69 /* right edges */
#define COL_DOWN 79
#define COL_COST 90
#define COL_LAST 100

static unsigned long long document_text_in_all(const struct document_list *l)
{
	return l->count + l->earlier;
}

static void document_text_when(struct canvas *c, int64_t ns)
{
	char text[EPOCH_TEXT_MAX];

	canvas_line(c, 0);
	canvas_at(c, COL_WHEN);
	canvas_put(c, STYLE_PLAIN, "%s", ns ? epoch_text(text, ns / 1000, 0) : "time unknown");
	canvas_at(c, COL_WHAT);
}

/* The index of the first row to show; prints how many were skipped. */
static uint32_t document_text_first_shown(struct canvas *c, const struct document_list *l)
{
	if (l->count > LISTED || l->earlier)
		canvas_put(c, STYLE_DIM, "; the last %u", l->count < LISTED ? l->count : LISTED);
	return l->count > LISTED ? l->count - LISTED : 0;
}

/* From the creation of the pod to the first process; not part of the times below. */
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
		canvas_put(c, STYLE_YELLOW, ", all of it left out: %s",
			   clock_duration(took, WORD_MAX, s->totals.excluded_ns));
	if (s->totals.excluded_ns && !document_left_out(s))
		canvas_put(c, STYLE_YELLOW, ", less %s left out",
			   clock_duration(took, WORD_MAX, s->totals.excluded_ns));
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

static void document_text_runs(struct canvas *c, const struct report_document *s)
{
	char text[WORD_MAX], fate[64];

	report_field(c, "runs");
	canvas_put(c, STYLE_PLAIN, "%llu", (unsigned long long)document_runs(s));
	if (s->live)
		canvas_put(c, STYLE_PLAIN, ", %u process%s", s->job.ranks, plural_es(s->job.ranks));
	if (s->elsewhere)
		canvas_put(c, STYLE_DIM, "  %u of them on other nodes", s->elsewhere);
	for (uint32_t i = document_text_first_shown(c, &s->runs); i < s->runs.count; i++) {
		const struct document_run *r = DOCUMENT_AT(s->runs, struct document_run, i);
		uint64_t ns = r->run.last_ns > r->run.start_ns
				      ? (uint64_t)(r->run.last_ns - r->run.start_ns)
				      : 0;

		document_text_when(c, r->run.start_ns);
		canvas_put(c, STYLE_PLAIN, "run %u, ", r->run.attempt);
		if (r->run.ranks > 1)
			canvas_put(c, STYLE_PLAIN, "%u rank%s, ", r->run.ranks,
				   plural(r->run.ranks));
		canvas_put(c, STYLE_PLAIN, "%s",
			   document_fate(fate, sizeof(fate), s, r->run.end_ns, r->run.last_ns,
					 r->run.status));
		snprintf(fate, sizeof(fate), "%llu step%s", (unsigned long long)r->steps,
			 plural(r->steps));
		canvas_right(c, canvas_scaled(c, COL_DOWN, COL_LAST), STYLE_PLAIN, fate);
		canvas_right(c, canvas_scaled(c, COL_COST, COL_LAST), STYLE_PLAIN,
			     clock_duration(text, WORD_MAX, ns));
	}
}

static const char *document_text_cost(char text[WORD_MAX], int64_t ns)
{
	return clock_duration(text, WORD_MAX, ns > 0 ? (uint64_t)ns : 0);
}

static void document_text_disruption(struct canvas *c, const struct disruption_row *d)
{
	char text[WORD_MAX], cause[96];

	document_text_when(c, d->at_ns);
	canvas_put(c, STYLE_RED, "%s", disruption_cause_text(cause, sizeof(cause), d));
	if (d->starts != DISRUPTION_UNKNOWN && d->starts > 1)
		canvas_put(c, STYLE_DIM, ", %lld starts", (long long)d->starts);
	cause[0] = '\0';
	if (d->step != DISRUPTION_UNKNOWN)
		snprintf(cause, sizeof(cause), "%lld", (long long)d->step);
	if (d->over && d->resumed_step != DISRUPTION_UNKNOWN)
		snprintf(cause + strlen(cause), sizeof(cause) - strlen(cause), " → %lld",
			 (long long)d->resumed_step);
	canvas_right(c, canvas_scaled(c, COL_STEP, COL_LAST), STYLE_PLAIN, *cause ? cause : "none");
	if (!d->over) {
		canvas_right(c, canvas_scaled(c, COL_COST, COL_LAST), STYLE_YELLOW,
			     "no step since");
		return;
	}
	canvas_right(c, canvas_scaled(c, COL_DOWN, COL_LAST), STYLE_PLAIN,
		     document_text_cost(text, d->down_ns));
	canvas_right(c, canvas_scaled(c, COL_COST, COL_LAST), STYLE_PLAIN,
		     document_text_cost(text, d->recovery_ns));
	snprintf(cause, sizeof(cause), "%s%s", d->estimated ? "~" : "",
		 document_text_cost(text, d->wasted_ns));
	canvas_right(c, canvas_scaled(c, COL_LAST, COL_LAST), STYLE_PLAIN, cause);
}

static void document_text_disruptions(struct canvas *c, const struct report_document *s)
{
	report_field(c, "disruptions");
	if (!s->ledger.disruptions) {
		canvas_put(c, STYLE_PLAIN, "none");
		return;
	}
	canvas_put(c, STYLE_RED, "%llu", (unsigned long long)s->ledger.disruptions);
	if (s->disruptions.count > LISTED || s->disruptions.earlier)
		document_text_first_shown(c, &s->disruptions);
	canvas_right(c, canvas_scaled(c, COL_STEP, COL_LAST), STYLE_DIM, "step → resumed at");
	canvas_right(c, canvas_scaled(c, COL_DOWN, COL_LAST), STYLE_DIM, "down");
	canvas_right(c, canvas_scaled(c, COL_COST, COL_LAST), STYLE_DIM, "to a step");
	canvas_right(c, canvas_scaled(c, COL_LAST, COL_LAST), STYLE_DIM, "wasted");
	for (uint32_t i = s->disruptions.count > LISTED ? s->disruptions.count - LISTED : 0;
	     i < s->disruptions.count; i++)
		document_text_disruption(c, DOCUMENT_AT(s->disruptions, struct disruption_row, i));
}

/* The restores and the last save; the sums cover the others. */
static void document_text_checkpoint_rows(struct canvas *c, const struct report_document *s)
{
	char text[WORD_MAX], words[96];
	uint32_t shown = 0, last = s->checkpoints.count;

	while (last && DOCUMENT_AT(s->checkpoints, struct store_checkpoint, last - 1)->restore)
		last--;
	for (uint32_t i = 0; i < s->checkpoints.count && shown < LISTED; i++) {
		const struct store_checkpoint *k = DOCUMENT_AT(s->checkpoints,
							       struct store_checkpoint, i);
		const char *slash = strrchr(k->file, '/'),
			   *name = slash && slash[1] ? slash + 1 : k->file;

		if (!k->restore && i + 1 != last)
			continue;
		shown++;
		document_text_when(c, k->start_ns);
		canvas_put(c, STYLE_PLAIN, "%s %s", *name ? name : "no name",
			   document_checkpoint(words, sizeof(words), k));
		if (k->bytes > 0)
			canvas_right(c, canvas_scaled(c, COL_LAST, COL_LAST), STYLE_PLAIN,
				     document_bytes(text, sizeof(text), k->bytes));
	}
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
	document_text_checkpoint_rows(c, s);
}

static void document_text_health_row(struct canvas *c, const struct store_health *h)
{
	char words[96], size[96];

	document_text_when(c, h->at_ns);
	canvas_put(c, STYLE_RED, "%s", document_trouble(words, sizeof(words), h));
	if (h->rank >= 0)
		canvas_put(c, STYLE_PLAIN, " of rank %d", h->rank);
	if (*document_size(size, sizeof(size), h))
		canvas_put(c, STYLE_PLAIN, ", %s%s", size, h->over ? "" : ", not over");
	else
		canvas_put(c, STYLE_PLAIN, ": %s", h->evidence);
}

static void document_text_health(struct canvas *c, const struct report_document *s)
{
	uint32_t shown = s->healths.count - 2 * s->minor,
		 skip = shown > LISTED ? shown - LISTED : 0;

	if (!s->healths.count)
		return;
	report_field(c, "trouble");
	canvas_put(c, STYLE_PLAIN, "%llu", document_text_in_all(&s->healths) - 2 * s->minor);
	if (skip || s->healths.earlier)
		canvas_put(c, STYLE_DIM, "; the last %u", shown - skip);
	if (s->minor)
		canvas_put(c, STYLE_DIM, "; and %u slowdown%s that cost under 0.1 %% of the time%s",
			   s->minor, plural(s->minor), s->minor == 1 ? "" : " each");
	for (uint32_t i = 0; i < s->healths.count; i++) {
		const struct store_health *h = DOCUMENT_AT(s->healths, struct store_health, i);

		if (h->minor || (skip && skip--))
			continue;
		document_text_health_row(c, h);
	}
}

static void document_text_notes(struct canvas *c, const struct report_document *s)
{
	char text[EPOCH_TEXT_MAX];

	if (s->marks.count) {
		report_field(c, "marks");
		canvas_put(c, STYLE_PLAIN, "%llu", document_text_in_all(&s->marks));
		for (uint32_t i = document_text_first_shown(c, &s->marks); i < s->marks.count;
		     i++) {
			const struct store_note *n = DOCUMENT_AT(s->marks, struct store_note, i);

			document_text_when(c, n->at_ns);
			canvas_put(c, STYLE_PLAIN, "%s", n->text);
		}
	}
	if (!s->exclusions.count)
		return;
	report_field(c, "left out");
	canvas_put(c, STYLE_PLAIN, "%llu", document_text_in_all(&s->exclusions));
	for (uint32_t i = document_text_first_shown(c, &s->exclusions); i < s->exclusions.count;
	     i++) {
		const struct store_note *n = DOCUMENT_AT(s->exclusions, struct store_note, i);

		document_text_when(c, n->at_ns);
		canvas_put(c, STYLE_PLAIN, "to %s  %s", epoch_text(text, n->to_ns / 1000, 0),
			   n->text);
	}
}

static void document_text_ranks(struct canvas *c, const struct report_document *s)
{
	char text[WORD_MAX], name[WORD_MAX];

	if (s->ranks.count < 2)
		return;
	report_field(c, "ranks");
	canvas_put(c, STYLE_PLAIN, "%llu in run %u", document_text_in_all(&s->ranks), s->attempt);
	canvas_right(c, canvas_scaled(c, COL_DOWN, COL_LAST), STYLE_DIM, "step time");
	canvas_right(c, canvas_scaled(c, COL_COST, COL_LAST), STYLE_DIM, "p99");
	canvas_right(c, canvas_scaled(c, COL_LAST, COL_LAST), STYLE_DIM, "goodput");
	for (uint32_t i = 0; i < s->ranks.count && i < 2 * LISTED; i++) {
		const struct document_rank *r = DOCUMENT_AT(s->ranks, struct document_rank, i);
		const struct sums *sums = &r->sums;
		int64_t good = sums->ns[BUCKET_GOODPUT];

		canvas_line(c, 0);
		canvas_at(c, COL_WHEN);
		canvas_put(c, STYLE_PLAIN, "%s",
			   r->rank.rank < 0 ? "rank unknown" : text_rank(name, r->rank.rank, 0));
		canvas_at(c, COL_WHAT);
		canvas_put(c, STYLE_PLAIN, "pid %u", r->rank.pid);
		snprintf(name, sizeof(name), "%llu step%s", (unsigned long long)r->steps,
			 plural(r->steps));
		canvas_right(c, canvas_scaled(c, COL_STEP, COL_LAST), STYLE_PLAIN, name);
		canvas_right(c, canvas_scaled(c, COL_DOWN, COL_LAST), STYLE_PLAIN,
			     text_duration(text, r->times.p50_ns));
		canvas_right(c, canvas_scaled(c, COL_COST, COL_LAST), STYLE_PLAIN,
			     text_duration(text, r->times.p99_ns));
		canvas_right(c, canvas_scaled(c, COL_LAST, COL_LAST), STYLE_PLAIN,
			     text_percent(text, good > 0 ? (uint64_t)good : 0,
					  document_observed_ns(sums)));
	}
}

/* Prints words without breaking them. */
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
		   "unknown: the store has no number of accelerators; --accelerators says");
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
	document_text_health(c, s);
	document_text_ranks(c, s);
	document_text_notes(c, s);
	canvas_flush(c, out);
	if (s->compared)
		compare_text(out, s->compared);
	if (s->ncaveats) {
		canvas_line(c, 0);
		canvas_put(c, STYLE_DIM, "  what to know of these numbers");
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
