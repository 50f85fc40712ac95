/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/explain.h"

#include <limits.h>
#include <stdio.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/export/json_part.h"
#include "userspace/report/report_loop.h"
#include "userspace/text/format.h"

#define COL_SHARE   11		 /* column in which the share of a finding ends */
#define COL_SUBJECT REPORT_LABEL /* column in which the text of a finding begins */

void explain_verdict(struct canvas *c, const struct verdicts *v)
{
	const struct verdict *first = &v->of[0];

	report_field(c, "verdict");
	canvas_put(c, first->kind < VERDICT_steady ? STYLE_YELLOW : STYLE_GREEN, "%s",
		   verdict_label[first->kind]);
	canvas_put(c, STYLE_PLAIN, ": %s", first->text);
	if (!*first->next)
		return;
	report_field(c, "try");
	canvas_put(c, STYLE_PLAIN, "%s", first->next);
}

static void explain_finding(struct canvas *c, const struct verdict *v, uint32_t number)
{
	char share[WORD_MAX];

	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "  %u", number);
	if (v->share > 0) {
		snprintf(share, sizeof(share), "%.0f %%", 100 * v->share);
		canvas_right(c, COL_SHARE, STYLE_BOLD, share);
	}
	canvas_at(c, COL_SUBJECT);
	canvas_put(c, STYLE_BOLD, "%s", verdict_label[v->kind]);
	canvas_put(c, STYLE_PLAIN, ": %s", v->text);
	if (*v->evidence) {
		canvas_line(c, 0);
		canvas_at(c, COL_SUBJECT);
		canvas_put(c, STYLE_DIM, "%s", v->evidence);
	}
	if (*v->next) {
		canvas_line(c, 0);
		canvas_at(c, COL_SUBJECT);
		canvas_put(c, STYLE_PLAIN, "try: %s", v->next);
	}
}

static void explain_findings(struct canvas *c, const struct verdicts *v)
{
	explain_verdict(c, v);
	if (*v->of[0].evidence) {
		report_field(c, "evidence");
		canvas_put(c, STYLE_PLAIN, "%s", v->of[0].evidence);
	}
	for (uint32_t i = 1; i < v->count; i++)
		explain_finding(c, &v->of[i], i + 1);
	if (v->unexplained >= 0.005) {
		report_field(c, "unexplained");
		canvas_put(c, STYLE_PLAIN, "%.0f %% of the time", 100 * v->unexplained);
	}
}

/* ---- examinations ---------------------------------------------------------------------------- */

#define EXAMINED_RANKS 4    /* limit of examined ranks that are shown for a job */
#define LISTED	       3    /* limit for each of the lists of slow waits, processes and devices */
#define RAN_MIN	       0.01 /* processes that ran for a smaller share of the time are not listed */

static void explain_slow_wait(struct canvas *c, const char *what, const char *name, uint64_t count,
			      uint64_t slow, uint64_t worst_ns)
{
	char worst[WORD_MAX];

	canvas_line(c, 0);
	canvas_at(c, COL_SUBJECT);
	canvas_put(c, STYLE_DIM, "%s%s%s: %llu of %llu took 10 ms or more, the longest %s", what,
		   *name ? " " : "", name, (unsigned long long)slow, (unsigned long long)count,
		   clock_duration(worst, sizeof(worst), worst_ns));
}

/* waits_at: line at which the thread waits most often, or NULL. */
static void explain_examination(struct canvas *c, const char *label, const struct examination *e,
				int rank, const struct lines_top *waits_at)
{
	char text[400], took[WORD_MAX];

	report_field(c, label);
	if (rank >= 0)
		canvas_put(c, STYLE_PLAIN, "rank %d ", rank);
	canvas_put(c, STYLE_PLAIN, "%s", examination_text(text, sizeof(text), e));
	if (waits_at && *waits_at->line) {
		canvas_line(c, 0);
		canvas_at(c, COL_SUBJECT);
		canvas_put(c, STYLE_DIM, "%.0f %% of the waits in the last minute: at %s",
			   100 * waits_at->share, waits_at->line);
	}
	for (uint32_t i = 0, n = 0; i < e->nwaits && n < LISTED; i++) {
		const struct examination_wait *w = &e->waits[i];

		if (!w->slow || !*w->name)
			continue;
		explain_slow_wait(c, "waits for", w->name, w->count, w->slow, w->worst_ns);
		n++;
	}
	for (uint32_t i = 0; i < e->ninstead && i < LISTED; i++) {
		const struct examination_instead *p = &e->instead[i];

		if (!p->pid || (double)p->ns < RAN_MIN * (double)(e->to_ns - e->from_ns))
			continue;
		canvas_line(c, 0);
		canvas_at(c, COL_SUBJECT);
		canvas_put(c, STYLE_DIM, "%s (pid %u%s%s) ran instead for %s", p->comm, p->pid,
			   *p->group ? ", control group " : "", p->group,
			   clock_duration(took, sizeof(took), p->ns));
	}
	for (uint32_t i = 0, n = 0; i < e->ndevices && n < LISTED; i++) {
		const struct examination_device *d = &e->devices[i];

		if (!d->slow)
			continue;
		explain_slow_wait(c, "requests of", d->name, d->count, d->slow, d->worst_ns);
		n++;
	}
}

/* Lists the lines at which the training thread was most. */
static void explain_lines(struct canvas *c, const struct rank_view *r)
{
	if (!*r->where[0].line)
		return;
	report_field(c, "Python");
	canvas_put(c, STYLE_PLAIN, "in the last minute ");
	for (int i = 0; i < LINES_TOP && *r->where[i].line; i++)
		canvas_put(c, STYLE_PLAIN, "%s%.0f %% at %s", i ? ", " : "",
			   100 * r->where[i].share, r->where[i].line);
}

/* Returns true if the rank was examined and is `first`, or another rank of the same job. */
static bool explain_examined(const struct rank_view *first, const struct rank_view *r)
{
	return r->examination && (r == first || (r->job_key && r->job_key == first->job_key));
}

static void explain_examinations(struct canvas *c, const struct snapshot *s,
				 const struct rank_view *first)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < s->nranks && shown < EXAMINED_RANKS; i++) {
		if (!explain_examined(first, &s->ranks[i]))
			continue;
		explain_examination(c, "thread", s->ranks[i].examination, s->ranks[i].rank,
				    &s->ranks[i].waits_at);
		explain_lines(c, &s->ranks[i]);
		if (s->ranks[i].worker_examination)
			explain_examination(c, "worker", s->ranks[i].worker_examination,
					    s->ranks[i].rank, NULL);
		shown++;
	}
}

static void explain_json_rank(struct buffer *out, const struct rank_view *r)
{
	json_open(out, NULL, '{');
	json_uint(out, "pid", r->pid);
	if (r->rank >= 0)
		json_uint(out, "rank", (uint64_t)r->rank);
	if (r->examination)
		json_part_examination(out, "examined", r->examination);
	json_open(out, "lines", '[');
	for (int k = 0; k < LINES_TOP && *r->where[k].line; k++) {
		json_open(out, NULL, '{');
		json_string(out, "line", r->where[k].line);
		json_real(out, "share", r->where[k].share);
		json_close(out, '}');
	}
	json_close(out, ']');
	if (*r->waits_at.line) {
		json_string(out, "waits_at", r->waits_at.line);
		json_real(out, "waits_at_share", r->waits_at.share);
	}
	if (r->worker_examination)
		json_part_examination(out, "worker_examined", r->worker_examination);
	json_close(out, '}');
}

static void explain_json_examinations(struct buffer *out, const struct snapshot *s,
				      const struct rank_view *first)
{
	json_open(out, "ranks", '[');
	for (uint32_t i = 0; i < s->nranks; i++) {
		if (explain_examined(first, &s->ranks[i]))
			explain_json_rank(out, &s->ranks[i]);
	}
	json_close(out, ']');
}

/* ---- what is explained ----------------------------------------------------------------------- */

struct explained { /* a job, or a trainer without a job */
	char name[280];
	const struct ledger_view *ledger;
	struct verdicts verdicts;
	const struct snapshot *snapshot; /* NULL: the job is from a store */
	/* first trainer (training process) of the job; NULL: the job is from a store */
	const struct rank_view *first;
};

typedef void explain_fn(void *ctx, const struct explained *e);

/* Returns true for the first trainer of its job, which stands for the whole job. */
static bool explain_is_first(const struct snapshot *s, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (s->ranks[k].trainer && s->ranks[i].job_key &&
		    s->ranks[k].job_key == s->ranks[i].job_key)
			return false;
	return s->ranks[i].trainer;
}

static void explain_each(const struct snapshot *s, explain_fn *fn, void *ctx)
{
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];
		const struct job_view *j = snapshot_job_of(s, r);
		struct explained e = {.snapshot = s, .first = r};

		if (!explain_is_first(s, i))
			continue;
		verdict_of_trainer(&e.verdicts, s, r);
		e.ledger = j ? &j->ledger : &r->ledger;
		if (j && *j->name)
			snprintf(e.name, sizeof(e.name), "job %s", j->name);
		else
			snprintf(e.name, sizeof(e.name), "pid %u  %s", r->pid, r->command);
		fn(ctx, &e);
	}
}

/* ---- as text --------------------------------------------------------------------------------- */

struct explain_page {
	struct canvas canvas;
	struct buffer *out;
	uint32_t count; /* number of jobs and trainers written so far */
};

static void explain_put(void *ctx, const struct explained *e)
{
	struct explain_page *p = ctx;
	char took[WORD_MAX], share[WORD_MAX];
	struct canvas *c = &p->canvas;

	if (p->count++)
		canvas_line(c, 0);
	canvas_line(c, 0);
	canvas_put(c, STYLE_BOLD, "%s", e->name);
	report_field(c, "observed");
	canvas_put(c, STYLE_PLAIN, "%s, goodput %s, %llu steps",
		   clock_duration(took, WORD_MAX, text_observed_ns(e->ledger)),
		   text_percent(share, e->ledger->ns[BUCKET_GOODPUT], text_observed_ns(e->ledger)),
		   (unsigned long long)e->ledger->steps);
	explain_findings(c, &e->verdicts);
	if (e->snapshot)
		explain_examinations(c, e->snapshot, e->first);
	canvas_flush(c, p->out);
}

static void explain_page_open(struct explain_page *p, struct buffer *out, int cols, bool color)
{
	*p = (struct explain_page){.out = out};
	canvas_open(&p->canvas, cols ? cols : INT_MAX, color);
	canvas_wrap(&p->canvas, REPORT_LABEL);
}

/* Returns true for a process that was looked at, but does not train as far as gp-bpf sees: gp-bpf
 * may have come too late, as in a hang. */
static bool explain_is_untrained(const struct rank_view *r)
{
	return !r->trainer && (r->examination || *r->where[0].line);
}

/* Writes where the main threads of such processes are. */
static void explain_untrained(struct canvas *c, const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];

		if (!explain_is_untrained(r))
			continue;
		canvas_line(c, 0);
		canvas_line(c, 0);
		canvas_put(c, STYLE_BOLD, "pid %u  %s", r->pid, r->command);
		if (r->examination)
			explain_examination(c, "main thread", r->examination, r->rank,
					    &r->waits_at);
		explain_lines(c, r);
	}
}

void explain_text(struct buffer *out, const struct snapshot *s, int cols, bool color)
{
	const char *why, *hint;
	char room[TEXT_WHY_MAX];
	struct explain_page p;

	explain_page_open(&p, out, cols, color);
	explain_each(s, explain_put, &p);
	if (!p.count) {
		text_why_nothing(s, room, &why, &hint);
		canvas_line(&p.canvas, 0);
		canvas_put(&p.canvas, STYLE_YELLOW, "no training loop was found: %s", why);
		canvas_line(&p.canvas, 0);
		canvas_put(&p.canvas, STYLE_PLAIN, "try: %s", hint);
		explain_untrained(&p.canvas, s);
	}
	canvas_finish(&p.canvas, out, INT_MAX);
}

static void explain_of_document(struct explained *ret, const struct report_document *d)
{
	*ret = (struct explained){.ledger = &d->ledger, .verdicts = d->verdicts};
	snprintf(ret->name, sizeof(ret->name), "job %s  %s", document_name(d), document_state(d));
}

void explain_document_text(struct buffer *out, const struct report_document *d, int cols,
			   bool color)
{
	struct explain_page p;
	struct explained e;

	explain_of_document(&e, d);
	explain_page_open(&p, out, cols, color);
	explain_put(&p, &e);
	canvas_finish(&p.canvas, out, INT_MAX);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void explain_json_one(void *ctx, const struct explained *e)
{
	uint64_t observed_ns = text_observed_ns(e->ledger);
	struct buffer *out = ctx;

	json_open(out, NULL, '{');
	json_string(out, "name", e->name);
	json_uint(out, "observed_ns", observed_ns);
	json_uint(out, "goodput_ns", e->ledger->ns[BUCKET_GOODPUT]);
	json_uint(out, "steps", e->ledger->steps);
	verdict_json(out, &e->verdicts);
	json_real(out, "unexplained", e->verdicts.unexplained);
	if (e->snapshot)
		explain_json_examinations(out, e->snapshot, e->first);
	json_close(out, '}');
}

static void explain_json_open(struct buffer *out)
{
	json_open(out, NULL, '{');
	json_string(out, "type", "explanation");
	json_uint(out, "schema", 1);
	json_string(out, "version", GP_VERSION);
	json_open(out, "jobs", '[');
}

static void explain_json_close(struct buffer *out)
{
	json_close(out, '}');
	buffer_add(out, "\n", 1);
}

void explain_json(struct buffer *out, const struct snapshot *s)
{
	explain_json_open(out);
	explain_each(s, explain_json_one, out);
	json_close(out, ']');
	json_open(out, "untrained", '[');
	for (uint32_t i = 0; i < s->nranks; i++)
		if (explain_is_untrained(&s->ranks[i]))
			explain_json_rank(out, &s->ranks[i]);
	json_close(out, ']');
	explain_json_close(out);
}

void explain_document_json(struct buffer *out, const struct report_document *d)
{
	struct explained e;

	explain_of_document(&e, d);
	explain_json_open(out);
	explain_json_one(out, &e);
	json_close(out, ']');
	explain_json_close(out);
}
