/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/report_job.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/base/plural.h"
#include "userspace/export/disruption.h"
#include "userspace/export/json_part.h"
#include "userspace/report/report_program.h"
#include "userspace/report/report_time.h"
#include "userspace/text/format.h"

#define LABEL	     15
#define COL_CAUSE    14
#define COL_STEP     52 /* right edges */
#define COL_DOWN     63
#define COL_RECOVERY 76
#define COL_WASTED   90

static uint32_t job_ranks(const struct snapshot *s, const struct job_view *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nranks; i++)
		n += s->ranks[i].job_key == j->key;
	return n;
}

bool report_job_matters(const struct snapshot *s, const struct job_view *j)
{
	return j->runs > 1 || j->ndisruptions || job_ranks(s, j) > 1;
}

const struct job_view *report_job_of(const struct snapshot *s, const struct rank_view *r)
{
	for (uint32_t i = 0; r->job_key && i < s->njobs; i++) {
		if (s->jobs[i].key == r->job_key)
			return &s->jobs[i];
	}
	return NULL;
}

bool report_job_is_shown(const struct snapshot *s, const struct rank_view *r)
{
	const struct job_view *j = report_job_of(s, r);

	return j && report_job_matters(s, j);
}

static void job_field(struct canvas *c, const char *name)
{
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  %s", name);
	canvas_at(c, LABEL);
}

static void report_job_disruption_row(struct canvas *c, const struct snapshot *s,
				      const struct job_disruption *f)
{
	const struct disruption *d = &f->d;
	struct disruption_row row;
	char text[WORD_MAX], cause[64], steps[48];

	disruption_of_job(&row, f, 0);

	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "    %s", text_time(text, s, d->at_ns));
	canvas_at(c, COL_CAUSE);
	canvas_put(c, STYLE_RED, "%s", disruption_cause_text(cause, sizeof(cause), &row));
	snprintf(steps, sizeof(steps), "%s", "none");
	if (d->step != DISRUPTION_NO_STEP)
		snprintf(steps, sizeof(steps), "%lld", (long long)d->step);
	if (f->over)
		snprintf(steps + strlen(steps), sizeof(steps) - strlen(steps), " → %lld",
			 (long long)d->resumed_step);
	canvas_right(c, canvas_scaled(c, COL_STEP, COL_WASTED), STYLE_PLAIN, steps);
	if (!f->over) {
		canvas_right(c, canvas_scaled(c, COL_RECOVERY, COL_WASTED), STYLE_YELLOW,
			     "not yet");
		return;
	}
	canvas_right(c, canvas_scaled(c, COL_DOWN, COL_WASTED), STYLE_PLAIN,
		     clock_duration(text, WORD_MAX, d->down_ns));
	canvas_right(c, canvas_scaled(c, COL_RECOVERY, COL_WASTED), STYLE_PLAIN,
		     clock_duration(text, WORD_MAX, d->recovery_ns));
	snprintf(steps, sizeof(steps), "%s%s", f->estimated ? "~" : "",
		 clock_duration(text, WORD_MAX, d->wasted_ns));
	canvas_right(c, canvas_scaled(c, COL_WASTED, COL_WASTED), STYLE_PLAIN, steps);
	if (d->starts > 1)
		canvas_put(c, STYLE_DIM, "  %u start%s", d->starts, plural(d->starts));
}

static void report_disruptions(struct canvas *c, const struct snapshot *s, const struct job_view *j)
{
	bool guessed = false;

	job_field(c, "disruptions");
	if (!j->ledger.disruptions) {
		canvas_put(c, STYLE_PLAIN, "none");
		return;
	}
	canvas_put(c, STYLE_RED, "%llu", (unsigned long long)j->ledger.disruptions);
	if (j->ledger.disruptions > j->ndisruptions)
		canvas_put(c, STYLE_DIM, "; the last %u", j->ndisruptions);
	canvas_right(c, canvas_scaled(c, COL_STEP, COL_WASTED), STYLE_DIM, "step → resumed at");
	canvas_right(c, canvas_scaled(c, COL_DOWN, COL_WASTED), STYLE_DIM, "down");
	canvas_right(c, canvas_scaled(c, COL_RECOVERY, COL_WASTED), STYLE_DIM, "to a step");
	canvas_right(c, canvas_scaled(c, COL_WASTED, COL_WASTED), STYLE_DIM, "wasted");
	for (uint32_t i = 0; i < j->ndisruptions; i++) {
		report_job_disruption_row(c, s, &j->disruptions[i]);
		guessed |= j->disruptions[i].estimated;
	}
	for (uint32_t i = 0; guessed && i < j->ndisruptions; i++) {
		if (!j->disruptions[i].estimated)
			continue;
		job_field(c, "");
		canvas_put(c, STYLE_DIM, "~ estimated: %s", j->disruptions[i].how);
		break;
	}
}

/* From the creation of the pod to the first process; not part of the times below. */
static void report_scheduling(struct canvas *c, const struct scheduling *s)
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
			job_field(c, "its pod");
		canvas_put(c, STYLE_DIM, "%s%s ", any ? ", " : "", what[i]);
		canvas_put(c, STYLE_PLAIN, "%s", clock_duration(text, sizeof(text), s->ns[i]));
		any = true;
	}
	if (any)
		canvas_put(c, STYLE_DIM, "; before the time below");
}

void report_job(struct canvas *c, const struct snapshot *s, const struct job_view *j)
{
	uint32_t ranks = job_ranks(s, j);
	char secured[WORD_MAX];
	struct report_cost cost;

	canvas_line(c, 0);
	canvas_line(c, 0);
	canvas_put(c, STYLE_BOLD, "job%s%s", *j->name ? " " : "", j->name);
	canvas_put(c, STYLE_PLAIN, "  %u run%s of %u process%s, %s", j->runs, plural(j->runs),
		   ranks, plural_es(ranks), job_state_name[j->state]);
	if (j->carried)
		canvas_put(c, STYLE_DIM, "; %u of the runs on other nodes, joined by their clocks",
			   j->carried_runs);
	report_scheduling(c, &j->scheduling);
	job_field(c, "steps");
	canvas_put(c, STYLE_BOLD, "%llu",
		   (unsigned long long)j->done_steps + (unsigned long long)j->last_step);
	canvas_put(c, STYLE_DIM, "  that count; made: %llu", (unsigned long long)j->ledger.steps);
	if (j->done_steps)
		canvas_put(c, STYLE_DIM, "; the last training is at %llu",
			   (unsigned long long)j->last_step);
	if (j->futile_runs >= JOB_FUTILE) {
		job_field(c, "");
		canvas_put(c, STYLE_RED,
			   "crash loop: %u failed runs in a row saved no further step",
			   j->futile_runs);
	}
	if (j->secured_step) {
		job_field(c, "secured");
		canvas_put(c, STYLE_PLAIN, "up to step %llu, %s of goodput",
			   (unsigned long long)j->secured_step,
			   text_duration(secured, j->secured_ns));
	}
	report_disruptions(c, s, j);
	report_program(c, s, j);
	report_time(c, &j->ledger, &s->types, report_cost_of_job(s, j, &cost));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void report_windows_json(struct buffer *out, const struct window_view *windows,
			 const struct type_names *types)
{
	char name[16];

	json_open(out, "windows", '[');
	for (int i = 0; i < WINDOWS_MAX && windows[i].length_ns; i++) {
		const struct window_view *w = &windows[i];
		struct ledger_view l;

		json_part_window_ledger(w, &l);
		json_open(out, NULL, '{');
		json_string(out, "window", window_name(name, w->length_ns));
		json_uint(out, "from_ns", w->from_ns);
		json_bool(out, "whole", w->whole);
		json_part_time(out, &l, types);
		json_part_ratio(out, &l, true);
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* As text, because some readers cannot parse 64-bit numbers. */
void report_key_json(struct buffer *out, const char *name, uint64_t key)
{
	char text[20];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)key);
	json_string(out, name, key ? text : NULL);
}

static void report_job_object(struct buffer *out, const struct snapshot *s,
			      const struct job_view *j)
{
	int64_t wall_ns = s->real_ns ? s->real_ns - (int64_t)s->mono_ns : 0;
	struct disruption_row row;

	json_open(out, NULL, '{');
	json_known(out, "job", j->name);
	report_key_json(out, "key", j->key);
	json_string(out, "state", job_state_name[j->state]);
	json_known(out, "uid", j->uid);
	json_string(out, "history", job_history(j->carried));
	json_uint(out, "runs", j->runs);
	json_uint(out, "carried_runs", j->carried_runs);
	json_uint(out, "ranks", job_ranks(s, j));
	json_uint(out, "starts", j->starts);
	json_uint(out, "futile_runs", j->futile_runs);
	disruption_scheduling_json(out, &j->scheduling);
	json_uint(out, "last_step", j->last_step);
	json_uint(out, "done_steps", j->done_steps);
	json_part_time(out, &j->ledger, &s->types);
	json_part_ratio(out, &j->ledger, true);
	json_part_counts(out, &j->ledger);
	report_windows_json(out, j->windows, &s->types);
	json_uint(out, "wasted_gross_ns", j->wasted_gross_ns);
	json_nonzero(out, "secured_step", j->secured_step);
	json_uint(out, "secured_ns", j->secured_ns);
	report_program_json(out, s, j);
	json_open(out, "last_disruptions", '[');
	for (uint32_t i = 0; i < j->ndisruptions; i++) {
		disruption_of_job(&row, &j->disruptions[i], wall_ns);
		disruption_json_object(out, &row);
	}
	json_close(out, ']');
	json_close(out, '}');
}

void report_jobs_json(struct buffer *out, const struct snapshot *s)
{
	json_open(out, "jobs", '[');
	for (uint32_t i = 0; i < s->njobs; i++)
		report_job_object(out, s, &s->jobs[i]);
	json_close(out, ']');
}
