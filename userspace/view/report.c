/* SPDX-License-Identifier: Apache-2.0 */
/* The report at the end: plain text, from the last snapshot. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/view/canvas.h"
#include "userspace/view/report_job.h"
#include "userspace/view/report_program.h"
#include "userspace/view/report_time.h"
#include "userspace/view/spark.h"
#include "userspace/view/view.h"
#include "userspace/view/words.h"

#define REPORT_COLS  100
#define REPORT_LABEL 15 /* column where a fact begins */
#define REPORT_RANKS 64 /* more are summed up in one line */

static void field(struct canvas *c, const char *name)
{
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  %s", name);
	canvas_at(c, REPORT_LABEL);
}

static void report_head(struct canvas *c, const struct snapshot *s)
{
	char until[WORD_MAX + 8], took[WORD_MAX];
	uint64_t first = s->mono_ns;

	canvas_line(c, 0);
	canvas_put(c, STYLE_BOLD, "gp-bpf %s", s->session.version);
	canvas_put(c, STYLE_DIM, "  %s", s->session.kernel);
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "%s", s->session.command);
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct ledger_view *l = &s->ranks[i].ledger;

		if (l->start_ns + l->ns[BUCKET_UNOBSERVED] < first)
			first = l->start_ns + l->ns[BUCKET_UNOBSERVED];
	}
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "observed");
	if (first < s->mono_ns)
		canvas_put(c, STYLE_PLAIN, " for %s", view_duration(took, s->mono_ns - first));
	if (s->real_ns)
		canvas_put(c, STYLE_PLAIN, " until %s", view_date(until, s->real_ns));
}

static void report_who(struct canvas *c, const struct rank_view *r)
{
	char rank[WORD_MAX], fate[96];

	canvas_line(c, 0);
	canvas_line(c, 0);
	if (r->rank >= 0)
		canvas_put(c, STYLE_BOLD, "%s, ", view_rank(rank, r->rank, r->world_size));
	canvas_put(c, STYLE_BOLD, "pid %u", r->pid);
	canvas_put(c, STYLE_PLAIN, "  %s", *r->command ? r->command : r->comm);
	field(c, "process");
	canvas_put(c, r->alive || !r->status ? STYLE_PLAIN : STYLE_RED, "%s",
		   view_fate(fate, sizeof(fate), r));
	if (*r->job)
		canvas_put(c, STYLE_PLAIN, ", job %s", r->job);
	if (r->rank < 0)
		canvas_put(c, STYLE_DIM, ", rank unknown");
}

static void report_found(struct canvas *c, const struct step_state *st)
{
	field(c, "found by");
	if (st->tier == TIER_NONE) {
		canvas_put(c, STYLE_YELLOW, "no marker yet: %s",
			   *st->reason ? st->reason : step_state_name[st->state]);
		return;
	}
	canvas_put(c, STYLE_BOLD, "%s", *st->marker ? st->marker : "unnamed marker");
	canvas_put(c, STYLE_PLAIN, "  tier %s, boundary %s, confidence %.2f", tier_letter[st->tier],
		   boundary_name[st->boundary], st->confidence);
	if (*st->ratios) {
		field(c, "per step");
		canvas_put(c, STYLE_PLAIN, "%s", st->ratios);
	}
	field(c, "numbers");
	canvas_put(c, STYLE_PLAIN, "%s",
		   st->since_attach ? "count from the first step seen (attached to a running job)"
				    : "count from the process's first step");
	if (st->state != STATE_LOCKED && st->state != STATE_ENDED) {
		field(c, "state");
		canvas_put(c, STYLE_YELLOW, "%s", step_state_name[st->state]);
	}
	if (*st->reason) {
		field(c, "note");
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

	field(c, "steps");
	canvas_put(c, STYLE_BOLD, "%llu", (unsigned long long)l->state.steps);
	if (l->last_number && l->last_number != l->state.steps)
		canvas_put(c, STYLE_PLAIN, ", the last one is number %llu",
			   (unsigned long long)l->last_number);
	if (l->state.updates && l->state.updates != l->state.steps)
		canvas_put(c, STYLE_PLAIN, ", %llu optimizer updates", (unsigned long long)l->state.updates);
	for (size_t i = 0; i < sizeof(flag) / sizeof(flag[0]); i++) {
		if (!l->flagged[i])
			continue;
		canvas_put(c, STYLE_DIM, "%s%llu %.*s", separator, (unsigned long long)l->flagged[i],
			   (int)strcspn(flag[i], "_"), flag[i]);
		separator = ", ";
	}
	if (*separator == ',')
		canvas_put(c, STYLE_DIM, ")");
}

static void figure(struct canvas *c, int slot, const char *name, const char *value)
{
	int col = REPORT_LABEL + slot * 21;

	canvas_at(c, col);
	canvas_put(c, STYLE_DIM, "%s", name);
	canvas_right(c, col + 19, STYLE_PLAIN, value);
}

static void report_step_time(struct canvas *c, const struct loop_view *l)
{
	const struct deviation_view *t = &l->time;
	char text[WORD_MAX];

	if (!t->count)
		return;
	field(c, "step time");
	figure(c, 0, "median", view_duration(text, t->p50_ns));
	figure(c, 1, "p95", view_duration(text, t->p95_ns));
	figure(c, 2, "p99", view_duration(text, t->p99_ns));
	figure(c, 3, "max", view_duration(text, t->max_ns));
	canvas_line(c, 0);
	figure(c, 0, "ideal", view_duration(text, t->ideal_ns));
	if (t->ideal_ns) {
		figure(c, 1, "deviation", clock_duration(text, WORD_MAX, (uint64_t)(t->deviation_ns + 0.5)));
		snprintf(text, sizeof(text), "%.1f %%", 100 * t->jitter);
		figure(c, 2, "jitter", text);
	} else {
		figure(c, 1, "deviation", "unknown");
		figure(c, 2, "jitter", "unknown");
	}
	figure(c, 3, "min", view_duration(text, t->min_ns));
}

static void report_change(struct canvas *c, const struct loop_view *l)
{
	const struct change_view *v = &l->change;
	char text[96];

	if (!v->count)
		return;
	field(c, "slowdowns");
	canvas_put(c, v->slow ? STYLE_RED : STYLE_PLAIN, "%llu; the last: %s", (unsigned long long)v->count,
		   view_change(text, sizeof(text), v));
}

static void report_recent(struct canvas *c, const struct loop_view *l)
{
	char low[WORD_MAX], high[WORD_MAX], name[WORD_MAX];
	struct spark sp;

	if (l->recent < 2)
		return;
	spark_scale(&sp, l->recent_ns, (int)l->recent, REPORT_COLS - REPORT_LABEL - 24);
	snprintf(name, sizeof(name), "last %d", sp.n);
	for (int row = 0; row < 2; row++) {
		field(c, row ? name : "");
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

	if (c->col > REPORT_COLS - 30) {
		field(c, "");
		*separator = "";
	}
	canvas_put(c, STYLE_PLAIN, "%s%s %s", *separator, name,
		   clock_duration(mean, WORD_MAX, ns / l->time.count));
	canvas_put(c, STYLE_DIM, " (%s)", view_percent(part, ns, whole));
	*separator = ", ";
}

static void report_phases(struct canvas *c, const struct loop_view *l)
{
	const char *separator = "";

	if (!l->phases_known || !l->time.count)
		return;
	field(c, "in a step");
	for (int i = 0; i < PHASE_COUNT; i++)
		if (l->phases_known & (1u << i))
			report_phase(c, l, phase_name[i], l->phase_ns[i], &separator);
	report_phase(c, l, "else", view_phase_rest_ns(l), &separator);
}

static void report_loop(struct canvas *c, const struct rank_view *r, const struct loop_view *l)
{
	if (r->nloops > 1) {
		canvas_line(c, 0);
		canvas_put(c, STYLE_BOLD, "  loop %u of %u", l->state.loop + 1, r->nloops);
	}
	report_found(c, &l->state);
	if (!l->state.steps)
		return;
	report_steps(c, l);
	report_step_time(c, l);
	report_change(c, l);
	report_recent(c, l);
	report_phases(c, l);
}

static void report_hangs(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	const struct hang_view *h = &r->hang;
	char text[256], took[WORD_MAX];

	if (!h->count && !h->silent)
		return;
	field(c, "hangs");
	if (h->count)
		canvas_put(c, STYLE_RED, "%llu, %s", (unsigned long long)h->count,
			   view_duration(took, h->total_ns));
	canvas_put(c, STYLE_PLAIN, "%s%s %s: %s", h->count ? "; " : "",
		   h->silent ? "silent for"
		   : h->hung ? "hung for"
			     : "the last one",
		   view_duration(took, h->size_ns), view_hang(text, sizeof(text), s, r));
	if (!*h->evidence)
		return;
	field(c, "");
	canvas_put(c, STYLE_DIM, "%s", h->evidence);
}

/* in_job: told with its job. */
static void report_happened(struct canvas *c, const struct snapshot *s, const struct rank_view *r,
			    bool in_job)
{
	char text[WORD_MAX];

	field(c, "checkpoints");
	if (!r->checkpoints && !r->restores)
		canvas_put(c, STYLE_PLAIN, "none seen");
	if (r->checkpoints)
		canvas_put(c, STYLE_PLAIN, "%llu saved in %s", (unsigned long long)r->checkpoints,
			   view_duration(text, r->checkpoint_save_ns));
	if (r->restores)
		canvas_put(c, STYLE_PLAIN, "%s%llu restored", r->checkpoints ? ", " : "",
			   (unsigned long long)r->restores);
	if (r->secured && !in_job)
		canvas_put(c, STYLE_PLAIN, "; job secured up to step %llu (%s of goodput)",
			   (unsigned long long)r->secured_step, view_duration(text, r->secured_ns));
	report_hangs(c, s, r);
	field(c, "disruptions");
	if (r->ledger.disruptions)
		canvas_put(c, STYLE_RED, "%llu", (unsigned long long)r->ledger.disruptions);
	else
		canvas_put(c, STYLE_PLAIN, "none");
	for (uint32_t i = 0; i < r->nevents && i < SNAPSHOT_EVENTS; i++) {
		field(c, i ? "" : "last events");
		canvas_put(c, STYLE_DIM, "%s  ", view_time(text, s, r->events[i].mono_ns));
		canvas_put(c, STYLE_PLAIN, "%s", r->events[i].text);
	}
}

static void report_price(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	uint64_t observed = view_observed_ns(&r->ledger);
	double marker;
	char cost[WORD_MAX];

	canvas_put(c, STYLE_PLAIN, ", %s", view_duration(cost, r->overhead.sum.all_ns));
	if (!observed)
		return;
	marker = 100.0 * (double)r->overhead.sum.marker_ns / (double)observed;
	canvas_put(c, STYLE_PLAIN, " = %.3f %% of the time (the marker %.3f %%)",
		   100.0 * (double)r->overhead.sum.all_ns / (double)observed, marker);
	canvas_put(c, STYLE_DIM, "  estimated");
	if (!s->budget_ppm || marker <= (double)s->budget_ppm / 1e4)
		return;
	field(c, "");
	canvas_put(c, STYLE_YELLOW,
		   "the marker alone costs more than the budget of %.4g %%: kept, as it finds the steps",
		   (double)s->budget_ppm / 1e4);
}

static void report_overhead(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	char text[512];

	field(c, "overhead");
	canvas_put(c, STYLE_PLAIN, "%llu probe hits", (unsigned long long)r->hits);
	if (r->overhead.sum.all_ns)
		report_price(c, s, r);
	else if (r->hits)
		canvas_put(c, STYLE_PLAIN, ", price unknown");
	if (!view_given_up(text, sizeof(text), s))
		return;
	field(c, "gave up");
	canvas_put(c, STYLE_YELLOW, "%s", text);
	canvas_put(c, STYLE_DIM, "  over the overhead budget of %.4g %%", (double)s->budget_ppm / 1e4);
}

static void report_late(struct canvas *c, const struct rank_view *r)
{
	char text[128];

	if (!view_windows(text, sizeof(text), r))
		return;
	field(c, "goodput last");
	canvas_put(c, STYLE_PLAIN, "%s", text);
}

/* Of a job that is this rank alone. */
static void report_alone(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	for (uint32_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].key == r->job_key && !report_job_matters(s, &s->jobs[i]))
			report_program(c, s, &s->jobs[i]);
}

static void report_trainer(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	double own_ns[BUCKET_COUNT];
	struct report_worth worth;

	report_who(c, r);
	for (uint32_t i = 0; i < r->nloops; i++)
		report_loop(c, r, &r->loops[i]);
	report_alone(c, s, r);
	report_time(c, &r->ledger, &s->types, report_worth_of_rank(s, r, own_ns, &worth));
	report_late(c, r);
	report_happened(c, s, r, report_job_tells(s, r));
	report_overhead(c, s, r);
}

static void report_bystanders(struct canvas *c, const struct snapshot *s)
{
	const char *separator = " ";
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nranks; i++)
		n += !s->ranks[i].trainer;
	if (!n)
		return;
	canvas_line(c, 0);
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, n == 1 ? "no training in" : "no training in %u processes:", n);
	for (uint32_t i = 0; i < s->nranks; i++) {
		if (s->ranks[i].trainer)
			continue;
		canvas_put(c, STYLE_DIM, "%s%u %s", separator, s->ranks[i].pid, s->ranks[i].comm);
		separator = ", ";
	}
}

static void report_nothing(struct canvas *c, const struct snapshot *s)
{
	const char *why, *hint;

	view_why_nothing(s, &why, &hint);
	canvas_line(c, 0);
	canvas_line(c, 0);
	canvas_put(c, STYLE_YELLOW, "no training loop was found");
	field(c, "why");
	canvas_put(c, STYLE_PLAIN, "%s", why);
	field(c, "try");
	canvas_put(c, STYLE_PLAIN, "%s", hint);
}

static void report_tail(struct canvas *c, const struct snapshot *s)
{
	char text[256];

	canvas_line(c, 0);
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "records");
	canvas_at(c, REPORT_LABEL);
	canvas_put(c, STYLE_PLAIN, "%llu, lost: ", (unsigned long long)s->events);
	canvas_put(c, view_lost(s) ? STYLE_RED : STYLE_PLAIN, "%s", view_losses(text, sizeof(text), s));
	if (s->lost[GP_LOSS_rate_limited])
		canvas_put(c, STYLE_DIM, "; %llu over a rate bound: counted, not sent",
			   (unsigned long long)s->lost[GP_LOSS_rate_limited]);
	if (s->lost[GP_LOSS_file_limited])
		canvas_put(c, STYLE_DIM, "; %llu times too many files at once to tell checkpoints from data",
			   (unsigned long long)s->lost[GP_LOSS_file_limited]);
	if (!s->ledger_violations)
		return;
	canvas_line(c, 0);
	canvas_put(c, STYLE_RED, "the ledger did not close %llu times: please report this as a bug of gp-bpf",
		   (unsigned long long)s->ledger_violations);
}

void report_text(struct buffer *out, const struct snapshot *s, bool color)
{
	struct canvas c;
	uint32_t trainers = 0, jobs = 0;

	canvas_open(&c, REPORT_COLS, color);
	report_head(&c, s);
	for (uint32_t i = 0; i < s->njobs; i++) {
		if (report_job_matters(s, &s->jobs[i]) && ++jobs <= REPORT_RANKS)
			report_job(&c, s, &s->jobs[i]);
		canvas_flush(&c, out);
	}
	for (uint32_t i = 0; i < s->nranks; i++) {
		if (!s->ranks[i].trainer)
			continue;
		if (++trainers > REPORT_RANKS)
			break;
		report_trainer(&c, s, &s->ranks[i]);
		canvas_flush(&c, out);
	}
	if (!trainers)
		report_nothing(&c, s);
	if (trainers > REPORT_RANKS) {
		canvas_line(&c, 0);
		canvas_line(&c, 0);
		canvas_put(&c, STYLE_DIM, "more than %d ranks: the rest is in --json", REPORT_RANKS);
	}
	report_bystanders(&c, s);
	report_tail(&c, s);
	canvas_finish(&c, out, INT_MAX);
}
