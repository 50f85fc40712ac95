/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the plain text report at the end of a watch, from the last snapshot. */
#include <limits.h>

#include "userspace/base/plural.h"
#include "userspace/text/canvas.h"
#include "userspace/report/user_range.h"
#include "userspace/report/document.h"
#include "userspace/report/explain.h"
#include "userspace/report/report_loop.h"
#include "userspace/report/report_program.h"
#include "userspace/report/report_time.h"
#include "userspace/report/report.h"
#include "userspace/text/format.h"

/* limit of ranks that are listed; further ranks are summed up in one line */
#define REPORT_RANKS 64

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
		canvas_put(c, STYLE_PLAIN, " for %s", text_duration(took, s->mono_ns - first));
	if (s->real_ns)
		canvas_put(c, STYLE_PLAIN, " until %s", text_date(until, s->real_ns));
}

static void report_who(struct canvas *c, const struct rank_view *r)
{
	char rank[WORD_MAX], fate[96];

	canvas_line(c, 0);
	canvas_line(c, 0);
	if (r->rank >= 0)
		canvas_put(c, STYLE_BOLD, "%s, ", text_rank(rank, r->rank, r->world_size));
	canvas_put(c, STYLE_BOLD, "pid %u", r->pid);
	canvas_put(c, STYLE_PLAIN, "  %s", *r->command ? r->command : r->comm);
	report_field(c, "process");
	canvas_put(c, r->alive || !r->status ? STYLE_PLAIN : STYLE_RED, "%s",
		   text_fate(fate, sizeof(fate), r));
	if (*r->job)
		canvas_put(c, STYLE_PLAIN, ", job %s", r->job);
	if (r->rank < 0)
		canvas_put(c, STYLE_DIM, ", rank unknown");
}

static void report_hangs(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	const struct hang_view *h = &r->hang;
	char text[256], took[WORD_MAX];

	if (!h->count && !h->silent)
		return;
	report_field(c, "hangs");
	if (h->count)
		canvas_put(c, STYLE_RED, "%llu, %s", (unsigned long long)h->count,
			   text_duration(took, h->total_ns));
	canvas_put(c, STYLE_PLAIN, "%s%s %s: %s", h->count ? "; " : "",
		   h->silent ? "silent for"
		   : h->hung ? "hung for"
			     : "the last one",
		   text_duration(took, h->size_ns), text_hang(text, sizeof(text), s, r));
	if (!*h->evidence)
		return;
	report_field(c, "");
	canvas_put(c, STYLE_DIM, "%s", h->evidence);
}

/* Shows errors of the device and of communicators, and whether the other ranks wait for this
 * rank. */
static void report_health(struct canvas *c, const struct rank_view *r)
{
	const struct straggle_view *v = &r->straggle;
	const char *separator = "";
	char size[WORD_MAX];
	bool any = false;

	for (int i = 0; i < FAULT_COUNT; i++) {
		if (!r->faults[i])
			continue;
		if (!any)
			report_field(c, "errors");
		any = true;
		canvas_put(c, STYLE_RED, "%s%llu %s", separator, (unsigned long long)r->faults[i],
			   fault_name[i]);
		separator = ", ";
	}
	if (!v->count)
		return;
	report_field(c, "straggler");
	canvas_put(c, v->now ? STYLE_RED : STYLE_YELLOW,
		   "%s step %llu: the others wait %s for it in a step%s%s",
		   v->now ? "since" : "was one, since", (unsigned long long)v->onset_step,
		   text_duration(size, v->size_ns), *v->phase ? ", " : "", v->phase);
}

/* Shows the events of a rank. in_job: omit those that the section about its job shows. */
static void report_happened(struct canvas *c, const struct snapshot *s, const struct rank_view *r,
			    bool in_job)
{
	char text[WORD_MAX];

	report_field(c, "checkpoints");
	if (!r->checkpoints && !r->restores)
		canvas_put(c, STYLE_PLAIN, "none seen");
	if (r->checkpoints)
		canvas_put(c, STYLE_PLAIN, "%llu saved in %s", (unsigned long long)r->checkpoints,
			   text_duration(text, r->checkpoint_save_ns));
	if (r->restores)
		canvas_put(c, STYLE_PLAIN, "%s%llu restored", r->checkpoints ? ", " : "",
			   (unsigned long long)r->restores);
	if (r->secured && !in_job)
		canvas_put(c, STYLE_PLAIN, "; job secured up to step %llu (%s of goodput)",
			   (unsigned long long)r->secured_step, text_duration(text, r->secured_ns));
	report_hangs(c, s, r);
	report_health(c, r);
	report_field(c, "disruptions");
	if (r->ledger.disruptions)
		canvas_put(c, STYLE_RED, "%llu", (unsigned long long)r->ledger.disruptions);
	else
		canvas_put(c, STYLE_PLAIN, "none");
	for (uint32_t i = 0; i < r->nevents && i < SNAPSHOT_EVENTS; i++) {
		report_field(c, i ? "" : "last events");
		canvas_put(c, STYLE_DIM, "%s  ", text_time(text, s, r->events[i].mono_ns));
		canvas_put(c, STYLE_PLAIN, "%s", r->events[i].text);
	}
}

static void report_price(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	uint64_t observed = text_observed_ns(&r->ledger);
	double marker;
	char cost[WORD_MAX];

	canvas_put(c, STYLE_PLAIN, ", %s", text_duration(cost, r->overhead.sum.all_ns));
	if (!observed)
		return;
	marker = 100.0 * (double)r->overhead.sum.marker_ns / (double)observed;
	canvas_put(c, STYLE_PLAIN, " = %.3f %% of the time (the marker %.3f %%)",
		   100.0 * (double)r->overhead.sum.all_ns / (double)observed, marker);
	canvas_put(c, STYLE_DIM, "  estimated");
	if (!s->budget_ppm || marker <= (double)s->budget_ppm / 1e4)
		return;
	report_field(c, "");
	canvas_put(
		c, STYLE_YELLOW,
		"the marker alone costs more than the budget of %.4g %%: kept, as it finds the steps",
		(double)s->budget_ppm / 1e4);
}

static void report_overhead(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	char text[512];

	report_field(c, "overhead");
	canvas_put(c, STYLE_PLAIN, "%llu probe hit%s", (unsigned long long)r->hits,
		   plural(r->hits));
	if (r->overhead.sum.all_ns)
		report_price(c, s, r);
	else if (r->hits)
		canvas_put(c, STYLE_PLAIN, ", price unknown");
	if (!text_given_up(text, sizeof(text), s))
		return;
	report_field(c, "gave up");
	canvas_put(c, STYLE_YELLOW, "%s", text);
	canvas_put(c, STYLE_DIM, "  over the overhead budget of %.4g %%",
		   (double)s->budget_ppm / 1e4);
}

static void report_late(struct canvas *c, const struct rank_view *r)
{
	char text[128];

	if (!text_windows(text, sizeof(text), r))
		return;
	report_field(c, "goodput last");
	canvas_put(c, STYLE_PLAIN, "%s", text);
}

/* Shows a job that has a single rank. */
static void report_alone(struct canvas *c, struct buffer *out, const struct snapshot *s,
			 const struct job_view *j)
{
	struct report_document *d;

	if (!j || document_job_matters(s, j) ||
	    !(program_known(&s->program) || j->program.flops > 0))
		return;
	if (document_of_snapshot(&d, s, j)) {
		out->failed = true;
		return;
	}
	report_program(c, d);
	document_close(d);
}

static void report_job(struct canvas *c, struct buffer *out, const struct snapshot *s,
		       const struct job_view *j)
{
	struct report_document *d;

	if (document_of_snapshot(&d, s, j)) {
		out->failed = true;
		return;
	}
	canvas_line(c, 0);
	canvas_line(c, 0);
	document_text_put(c, out, d);
	document_close(d);
}

static void report_trainer(struct canvas *c, struct buffer *out, const struct snapshot *s,
			   const struct rank_view *r)
{
	const struct job_view *job = snapshot_job_of(s, r);
	double own_ns[BUCKET_COUNT];
	struct verdicts verdicts;
	struct report_cost cost;

	report_who(c, r);
	if (!job || !document_job_matters(s, job)) {
		verdict_of_trainer(&verdicts, s, r);
		explain_verdict(c, &verdicts);
	}
	for (uint32_t i = 0; i < r->nloops; i++)
		report_loop(c, r, &r->loops[i]);
	user_range_report_figures(c, r, REPORT_LABEL);
	report_alone(c, out, s, job);
	report_time(c, &r->ledger, &s->types, report_cost_of_rank(s, r, own_ns, &cost));
	report_late(c, r);
	report_happened(c, s, r, job && document_job_matters(s, job));
	report_overhead(c, s, r);
}

/* Shows a process that uses an accelerator, but does not seem to train. */
static void report_counted(struct canvas *c, const struct rank_view *r, const struct loop_view *l)
{
	char text[WORD_MAX];

	if (l->state.tier == TIER_NONE || l->state.unit == UNIT_STEP)
		return;
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "%u: %llu %ss of %s", r->pid, (unsigned long long)l->state.steps,
		   unit_name[l->state.unit], l->state.marker);
	if (l->time.count)
		canvas_put(c, STYLE_PLAIN, ", one each %s", text_duration(text, l->time.p50_ns));
	canvas_put(c, STYLE_DIM, "; not steps, so no goodput: their time is other");
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
	for (uint32_t i = 0; i < s->nranks; i++) {
		if (!s->ranks[i].trainer && s->ranks[i].nloops)
			report_counted(c, &s->ranks[i], &s->ranks[i].loops[0]);
	}
}

static void report_nothing(struct canvas *c, const struct snapshot *s)
{
	char room[TEXT_WHY_MAX];
	const char *why, *hint;

	text_why_nothing(s, room, &why, &hint);
	canvas_line(c, 0);
	canvas_line(c, 0);
	canvas_put(c, STYLE_YELLOW, "no training loop was found");
	report_field(c, "why");
	canvas_put(c, STYLE_PLAIN, "%s", why);
	report_field(c, "try");
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
	canvas_put(c, text_lost(s) ? STYLE_RED : STYLE_PLAIN, "%s",
		   text_losses(text, sizeof(text), s));
	if (s->lost[GP_LOSS_rate_limited])
		canvas_put(c, STYLE_DIM, "; %llu over a rate bound: counted, not sent",
			   (unsigned long long)s->lost[GP_LOSS_rate_limited]);
	if (s->lost[GP_LOSS_file_limited])
		canvas_put(c, STYLE_DIM,
			   "; %llu file%s over a rate bound: checkpoints may be missing",
			   (unsigned long long)s->lost[GP_LOSS_file_limited],
			   plural(s->lost[GP_LOSS_file_limited]));
	if (!s->ledger_violations)
		return;
	canvas_line(c, 0);
	canvas_put(c, STYLE_RED,
		   "the ledger did not close %llu time%s: please report this as a bug of gp-bpf",
		   (unsigned long long)s->ledger_violations, plural(s->ledger_violations));
}

void report_text(struct buffer *out, const struct snapshot *s, int cols, bool color)
{
	struct canvas c;
	uint32_t trainers = 0, jobs = 0;

	canvas_open(&c, cols ? cols : INT_MAX, color);
	canvas_wrap(&c, REPORT_LABEL);
	report_head(&c, s);
	for (uint32_t i = 0; i < s->njobs; i++) {
		if (document_job_matters(s, &s->jobs[i]) && ++jobs <= REPORT_RANKS)
			report_job(&c, out, s, &s->jobs[i]);
		canvas_flush(&c, out);
	}
	for (uint32_t i = 0; i < s->nranks; i++) {
		if (!s->ranks[i].trainer)
			continue;
		if (++trainers > REPORT_RANKS)
			break;
		report_trainer(&c, out, s, &s->ranks[i]);
		canvas_flush(&c, out);
	}
	if (!trainers)
		report_nothing(&c, s);
	if (trainers > REPORT_RANKS) {
		canvas_line(&c, 0);
		canvas_line(&c, 0);
		canvas_put(&c, STYLE_DIM, "more than %d ranks: the rest is in --json",
			   REPORT_RANKS);
	}
	report_bystanders(&c, s);
	report_tail(&c, s);
	canvas_finish(&c, out, INT_MAX);
}
