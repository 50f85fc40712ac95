/* SPDX-License-Identifier: Apache-2.0 */
/* trace_fact.c - draws all facts except steps (trace_step.c). */
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/export/disruption.h"
#include "userspace/export/json_part.h"
#include "userspace/export/trace/trace_private.h"
#include "userspace/ingest/event.h"
#include "userspace/model/snapshot.h"

static void fact_finish(struct trace *t, struct buffer *b, const struct fact *f,
			const struct trace_what *w)
{
	t->left_others += !trace_finish(t, b, f, w);
}

/* ---- other events of a rank ------------------------------------------------------------------ */

static void trace_fact_draw_checkpoint(struct trace *t, const struct fact *f)
{
	const struct fact_checkpoint *c = f->checkpoint;
	struct trace_what at = {
		.kind = TRACK_CHECKPOINTS,
		.cat = "checkpoint",
		.name = c->restore ? "restore"
			: c->async ? "save, async"
				   : "save",
		.from_ns = c->start_ns,
		.to_ns = c->end_ns,
		.async = c->async,
	};
	struct buffer *b = c->closed ? trace_span(t, f, &at) : trace_instant(t, f, &at);

	if (!b)
		return;
	if (!c->closed)
		json_bool(b, "end_seen", false);
	json_nonzero(b, "bytes", c->bytes);
	json_uint(b, "files", c->files);
	json_nonzero(b, "step", c->step);
	if (c->estimated)
		json_bool(b, "estimated", true);
	json_known(b, "file", c->file);
	if (c->match) {
		json_nonzero(b, "saved_step", c->match->step);
		json_string(b, "match", checkpoint_how_name[c->match->how]);
	}
	fact_finish(t, b, f, &at);
}

static void trace_fact_draw_range(struct trace *t, const struct fact *f)
{
	const struct fact_range *r = f->range;
	struct trace_what at = {
		.kind = r->bucket == BUCKET_EVAL ? TRACK_EVALUATIONS : TRACK_RANGES,
		.cat = bucket_name[r->bucket],
		.name = r->name ? r->name : "",
		.from_ns = r->start_ns,
		.to_ns = r->end_ns,
		.async = r->async,
	};
	struct buffer *b = trace_span(t, f, &at);

	if (!b)
		return;
	if (r->type)
		json_string(b, "type", f->types->name[r->type]);
	json_bool(b, "async", r->async);
	fact_finish(t, b, f, &at);
}

static void trace_fact_draw_health(struct trace *t, const struct fact *f)
{
	const struct fact_health *h = f->health;
	bool lasted = h->over && !h->name;
	struct trace_what at = {
		.kind = TRACK_HEALTH,
		.cat = "health",
		.name = h->kind,
		.from_ns = h->onset_ns,
		.to_ns = h->end_ns ? h->end_ns : f->mono_ns,
		.weight = TRACE_RARE,
	};
	struct buffer *b;

	if (lasted && !strcmp(h->kind, "hang"))
		at.to_ns = h->onset_ns + h->size_ns;
	b = lasted ? trace_span(t, f, &at) : trace_instant(t, f, &at);
	if (!b)
		return;
	json_bool(b, "over", h->over);
	json_uint(b, "size_ns", h->size_ns);
	json_string(b, "why", h->why);
	json_known(b, "phase", h->phase);
	json_known(b, "evidence", h->evidence);
	if (h->causes && h->causes->lost_ns)
		json_part_causes(b, h->causes);
	if (h->name) {
		json_string(b, "name", h->name);
		json_int(b, "code", h->code);
		json_string(b, "origin", h->origin);
	}
	if (h->ratio > 0)
		json_real(b, "ratio", h->ratio);
	fact_finish(t, b, f, &at);
}

/* Draws an instant at the start of a disruption, and at its end a span that lasts until the first
 * step that made progress. */
static void trace_fact_draw_disruption(struct trace *t, const struct fact *f)
{
	const struct job_disruption *disruption = f->disruption;
	const struct disruption *d = &disruption->d;
	struct trace_what at = {
		.kind = TRACK_DISRUPTIONS,
		.cat = "disruption",
		.name = disruption_cause_name[disruption->why.cause],
		.from_ns = d->at_ns,
		.to_ns = d->at_ns + d->recovery_ns,
		.job = true,
		.weight = TRACE_RARE,
	};
	struct disruption_row row;
	struct buffer *b = disruption->over ? trace_span(t, f, &at) : trace_instant(t, f, &at);

	if (!b)
		return;
	disruption_of_job(&row, disruption, f->real_ns ? f->real_ns - (int64_t)f->mono_ns : 0);
	json_int_if(b, "rank", f->rank >= 0, f->rank);
	json_uint(b, "process", f->pid);
	disruption_json(b, &row);
	fact_finish(t, b, f, &at);
}

/* Draws a counter: goodput as a share of the rank's observed time so far, as in other outputs. */
static void trace_fact_draw_ledger(struct trace *t, const struct fact *f)
{
	const struct ledger_view *l = f->ledger;
	struct trace_track *track = l && !f->window && f->unit == UNIT_STEP
					    ? trace_place(t, f, false, f->mono_ns)
					    : NULL;
	uint64_t observed_ns = track ? ledger_elapsed(l) - l->ns[BUCKET_UNOBSERVED] : 0;
	struct buffer *b;

	if (!observed_ns)
		return;
	if (!trace_named(t, track, 0)) {
		t->left_others++;
		return;
	}
	b = trace_begin(t);
	trace_event(b, "C", NULL, "goodput", track, 0, f->mono_ns);
	json_open(b, "args", '{');
	json_real(b, "ratio", (double)l->ns[BUCKET_GOODPUT] / (double)observed_ns);
	trace_done(b);
	t->left_others += !trace_end(t, TRACE_DETAIL);
}

static void trace_fact_draw_monitor(struct trace *t, const struct fact *f)
{
	const struct monitor_event *ev = f->monitor;
	struct trace_what at = {
		.kind = TRACK_OTHERS, .cat = "monitor", .name = ev->name, .from_ns = f->mono_ns};
	struct buffer *b = trace_instant(t, f, &at);

	if (!b)
		return;
	json_open(b, "data", '{');
	for (uint32_t i = 0; i < ev->nentries; i++) {
		const struct monitor_entry *e = &ev->entry[i];

		if (e->type == GP_MONITOR_TEXT)
			json_string(b, e->key, e->text);
		else if (e->type == GP_MONITOR_DOUBLE)
			json_double(b, e->key, monitor_double(e->value));
		else if (e->type == GP_MONITOR_INT)
			json_int(b, e->key, (int64_t)e->value);
		else
			json_bool(b, e->key, e->value != 0);
	}
	json_close(b, '}');
	fact_finish(t, b, f, &at);
}

/* ---- gp-bpf itself --------------------------------------------------------------------------- */

static void trace_fact_draw_loss(struct trace *t, const struct fact *f)
{
	static const char *const cause_name[GP_LOSS_CAUSE_COUNT] = {
#define X(id, name, attributes) [id] = #name,
		GP_LOSS_CAUSES(X)
#undef X
	};
	struct trace_what at = {.kind = TRACK_OTHERS,
				.cat = "gp-bpf",
				.name = "records lost",
				.from_ns = f->mono_ns};
	struct buffer *b = trace_instant(t, f, &at);

	if (!b)
		return;
	json_string(b, "cause",
		    f->loss->cause < GP_LOSS_CAUSE_COUNT ? cause_name[f->loss->cause] : "unknown");
	json_uint(b, "count", f->loss->count);
	fact_finish(t, b, f, &at);
}

static void trace_fact_draw_probe(struct trace *t, const struct fact *f)
{
	struct trace_what at = {
		.kind = TRACK_OTHERS, .cat = "gp-bpf", .name = f->probe->id, .from_ns = f->mono_ns};
	struct buffer *b = trace_instant(t, f, &at);

	if (!b)
		return;
	json_string(b, "library", f->probe->at.library);
	json_string(b, "state", event_attach_state_name(f->probe->at.state));
	fact_finish(t, b, f, &at);
}

static void trace_fact_draw_start(struct trace *t, const struct fact *f)
{
	struct trace_what at = {.kind = TRACK_OTHERS,
				.cat = "gp-bpf",
				.name = "watch begins",
				.from_ns = f->mono_ns,
				.weight = TRACE_RARE};
	struct buffer *b = trace_instant(t, f, &at);

	if (!b)
		return;
	json_string(b, "version", f->start->version);
	json_string(b, "kernel", f->start->kernel);
	json_string(b, "command", f->start->command);
	json_string(b, "clock", "CLOCK_MONOTONIC");
	fact_finish(t, b, f, &at);
}

/* Writes the wall time at which the trace's ts is 0; once, when the wall clock is known. */
static void trace_fact_draw_clock(struct trace *t, const struct fact *f)
{
	const struct fact own = {.mono_ns = f->mono_ns};
	struct trace_what at = {.kind = TRACK_OTHERS,
				.cat = "gp-bpf",
				.name = "clock",
				.from_ns = f->mono_ns,
				.weight = TRACE_RARE};
	struct buffer *b = trace_instant(t, &own, &at);

	if (!b)
		return;
	t->clocked = true;
	json_time(b, "time_of_ts_0", f->real_ns - (int64_t)f->mono_ns);
	json_time(b, "time", f->real_ns);
	trace_done(b);
	t->left_others += !trace_end(t, at.weight);
}

void trace_fact(struct trace *t, const struct fact *f)
{
	if (!t->clocked && f->real_ns)
		trace_fact_draw_clock(t, f);
	switch (f->type) {
	case FACT_START:
		trace_fact_draw_start(t, f);
		break;
	case FACT_RANK:
		trace_state(t, f);
		break;
	case FACT_STEP:
		trace_step(t, f);
		break;
	case FACT_CHECKPOINT:
		trace_fact_draw_checkpoint(t, f);
		break;
	case FACT_RANGE:
		trace_fact_draw_range(t, f);
		break;
	case FACT_DISRUPTION:
		trace_fact_draw_disruption(t, f);
		break;
	case FACT_LEDGER:
		trace_fact_draw_ledger(t, f);
		break;
	case FACT_HEALTH:
		trace_fact_draw_health(t, f);
		break;
	case FACT_LOSS:
		trace_fact_draw_loss(t, f);
		break;
	case FACT_PROBE:
		trace_fact_draw_probe(t, f);
		break;
	case FACT_MONITOR:
		trace_fact_draw_monitor(t, f);
		break;
	case FACT_END:
		t->reason = (int)f->end->reason;
		break;
	}
}
