/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/file/json_line.h"

#include <math.h>
#include <stdio.h>

#include "userspace/base/json_text.h"
#include "userspace/export/disruption.h"
#include "userspace/export/json_part.h"
#include "userspace/ingest/event.h"

static const char *const fact_name[] = {
	[FACT_START] = "start",	  [FACT_RANK] = "rank",
	[FACT_STEP] = "step",	  [FACT_CHECKPOINT] = "checkpoint",
	[FACT_RANGE] = "range",	  [FACT_DISRUPTION] = "disruption",
	[FACT_LEDGER] = "ledger", [FACT_HEALTH] = "health",
	[FACT_LOSS] = "loss",	  [FACT_END] = "end",
	[FACT_PROBE] = "probe",	  [FACT_MONITOR] = "monitor",
};

static const char *const end_name[] = {
	[GP_END_TARGETS_GONE] = "targets_gone",
	[GP_END_USER] = "user",
	[GP_END_TIME] = "time",
	[GP_END_ERROR] = "error",
};

static const char *const job_from_name[GP_JOB_FROM_COUNT] = {
#define X(id, name) [id] = #name,
	GP_JOB_FROM(X)
#undef X
};

static void line_start(struct buffer *out, const struct gp_session *s)
{
	json_uint(out, "schema", JSON_SCHEMA_VERSION);
	json_string(out, "version", s->version);
	json_string(out, "kernel", s->kernel);
	json_string(out, "command", s->command);
}

/* Writes the workload location; all fields are null if it is unknown. */
static void line_place(struct buffer *out, const struct gp_place *p)
{
	static const struct gp_place none = {.attempt = -1};

	p = p ? p : &none;
	json_known(out, "namespace", p->namespace);
	json_known(out, "pod", p->pod);
	json_known(out, "container", *p->container_name ? p->container_name : p->container_id);
	json_known(out, "node", p->node);
	json_int_if(out, "attempt", p->attempt >= 0, p->attempt);
	json_known(out, "job_uid", p->job_uid);
	json_string(out, "job_from", p->job_from ? job_from_name[p->job_from] : NULL);
}

static void line_rank(struct buffer *out, const struct fact *f)
{
	const struct step_state *st = f->state;

	json_part_loop(out, st);
	json_uint(out, "loops", st->loops);
	if (st->compiled || st->cached) {
		json_open(out, "programs", '{');
		json_uint(out, "compiled", st->compiled);
		json_uint(out, "cached", st->cached);
		json_close(out, '}');
	}
	json_int_if(out, "world_size", f->world_size >= 0, f->world_size);
	line_place(out, f->place);
	disruption_scheduling_json(out, f->life ? f->life->scheduling : NULL);
}

static void line_flags(struct buffer *out, uint32_t flags)
{
	json_open(out, "flags", '[');
#define X(bit, name)                                                                               \
	if (flags & (1u << (bit)))                                                                 \
		json_string(out, NULL, #name);
	STEP_FLAGS(X)
#undef X
	json_close(out, ']');
}

static void line_ranges(struct buffer *out, const struct share_view *v)
{
	if (!v || !v->nparts)
		return;
	json_open(out, "ranges", '{');
	for (uint32_t i = 0; i < v->nparts; i++)
		json_uint(out, v->part[i].name, v->part[i].ns);
	json_close(out, '}');
}

static void line_step(struct buffer *out, const struct fact_step *fs)
{
	const struct step *s = &fs->step;

	json_uint(out, "loop", s->loop);
	json_uint(out, "step", s->number);
	json_uint(out, "run_step", fs->run_step);
	json_uint(out, "start_ns", s->start_ns);
	json_uint(out, "end_ns", s->end_ns);
	json_uint(out, "duration_ns", s->end_ns - s->start_ns);
	json_known(out, "tier", tier_name[s->tier]);
	json_string(out, "boundary", s->boundary ? boundary_name[s->boundary] : NULL);
	json_string(out, "series", series_name[s->series]);
	json_uint(out, "micro_batches", s->micro_batches);
	json_uint(out, "updates", s->updates);
	line_flags(out, s->flags);
	json_part_phases(out, fs->phases_known, fs->phase_ns, fs->device_known, fs->host_ns);
	line_ranges(out, fs->ranges);
}

static void line_checkpoint(struct buffer *out, const struct fact_checkpoint *c)
{
	json_string(out, "op", c->restore ? "restore" : "save");
	if (c->restore)
		json_null(out, "mode");
	else
		json_string(out, "mode", c->async ? "async" : "sync");
	json_uint(out, "start_ns", c->start_ns);
	if (c->closed) {
		json_uint(out, "end_ns", c->end_ns);
		json_uint(out, "duration_ns", c->end_ns - c->start_ns);
	} else {
		json_null(out, "end_ns");
		json_null(out, "duration_ns");
	}
	json_nonzero(out, "bytes", c->bytes);
	json_uint(out, "files", c->files);
	json_nonzero(out, "step", c->step);
	json_nonzero(out, "run_step", c->run_step);
	json_known(out, "file", c->file);
	json_bool(out, "estimated", c->match ? checkpoint_estimated(c->match) : c->estimated);
	if (!c->restore)
		return;
	if (!c->match) {
		json_null(out, "saved_step");
		json_null(out, "match");
		json_null(out, "confidence");
		return;
	}
	json_nonzero(out, "saved_step", c->match->step);
	json_string(out, "match", checkpoint_how_name[c->match->how]);
	json_real(out, "confidence", c->match->confidence);
}

static void line_range(struct buffer *out, const struct fact_range *r,
		       const struct type_names *types)
{
	char bucket[LEDGER_NAME_MAX];

	snprintf(bucket, sizeof(bucket), "%s%s%s", bucket_name[r->bucket], r->type ? "." : "",
		 r->type ? types->name[r->type] : "");
	json_string(out, "name", r->name ? r->name : "");
	json_string(out, "bucket", bucket);
	json_bool(out, "async", r->async);
	json_uint(out, "start_ns", r->start_ns);
	json_uint(out, "end_ns", r->end_ns);
	json_uint(out, "duration_ns", r->end_ns - r->start_ns);
}

static void line_disruption(struct buffer *out, const struct fact *f)
{
	struct disruption_row row;

	disruption_of_job(&row, f->disruption, f->real_ns ? f->real_ns - (int64_t)f->mono_ns : 0);
	disruption_json(out, &row);
}

static void line_window(struct buffer *out, const struct window_view *w,
			const struct type_names *types)
{
	static const char *const cumulative[] = {
		"productive_gross_ns", "steps", "max_productive_step", "late_ns", "merged",
		"disruptions"};
	struct ledger_view l;
	char name[16];

	json_part_window_ledger(w, &l);
	json_part_time(out, &l, types);
	for (size_t i = 0; i < sizeof(cumulative) / sizeof(cumulative[0]); i++)
		json_null(out, cumulative[i]);
	json_string(out, "window", window_name(name, w->length_ns));
	json_uint(out, "from_ns", w->from_ns);
	json_bool(out, "final", false);
}

static void line_ledger(struct buffer *out, const struct fact *f)
{
	const struct ledger_view *l = f->ledger;

	json_part_time(out, l, f->types);
	json_string(out, "unit", unit_name[f->unit]);
	json_part_counts(out, l);
	json_string(out, "window", "cumulative");
	json_bool(out, "final", l->ended);
}

static void line_health(struct buffer *out, const struct fact_health *h)
{
	json_string(out, "kind", h->kind);
	json_uint(out, "onset_ns", h->onset_ns);
	json_uint(out, "size", h->size_ns);
	json_bool(out, "over", h->over);
	json_string(out, "why", h->why);
	json_known(out, "phase", h->phase);
	json_known(out, "evidence", h->evidence);
	if (h->line && *h->line)
		json_string(out, "line", h->line);
	if (h->name) {
		json_string(out, "name", h->name);
		json_int(out, "code", h->code);
		json_string(out, "origin", h->origin);
	}
	if (h->name || h->step)
		json_nonzero(out, "step", h->step);
	if (h->examination)
		json_part_examination(out, "examined", h->examination);
	if (h->ratio <= 0)
		return;
	json_uint(out, "loop", h->loop);
	json_real(out, "ratio", h->ratio);
	json_nonzero(out, "period", h->period);
	json_uint(out, "onset_step", h->onset_step);
	json_nonzero(out, "end_ns", h->end_ns);
	json_nonzero(out, "end_step", h->end_step);
	if (h->causes && h->causes->lost_ns)
		json_part_causes(out, h->causes);
}

static void line_loss(struct buffer *out, const struct gp_loss *l)
{
	json_string(out, "source",
		    l->cause < GP_LOSS_CAUSE_COUNT ? event_loss_name(l->cause) : "unknown");
	json_uint(out, "count", l->count);
}

static void line_probe(struct buffer *out, const struct attach_view *a)
{
	json_string(out, "probe", a->id);
	json_string(out, "library", a->at.library);
	json_string(out, "group", event_group_name(a->group));
	json_string(out, "state", event_attach_state_name(a->at.state));
}

static void line_entry(struct buffer *out, const struct monitor_entry *e)
{
	switch (e->type) {
	case GP_MONITOR_TEXT:
		json_string(out, e->key, e->text);
		break;
	case GP_MONITOR_DOUBLE:
		json_double(out, e->key, monitor_double(e->value));
		break;
	case GP_MONITOR_INT:
		json_int(out, e->key, (int64_t)e->value);
		break;
	default:
		json_bool(out, e->key, e->value != 0);
		break;
	}
}

/* Lists the names of values that are NaN or infinite, which JSON numbers cannot express: users want
 * to see that a loss became NaN. */
static void line_not_finite(struct buffer *out, const struct monitor_event *ev)
{
	bool any = false;

	for (uint32_t i = 0; i < ev->nentries; i++) {
		const struct monitor_entry *e = &ev->entry[i];
		double value = monitor_double(e->value);

		if (e->type != GP_MONITOR_DOUBLE || isfinite(value))
			continue;
		if (!any)
			json_open(out, "not_finite", '{');
		any = true;
		json_string(out, e->key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
	}
	if (any)
		json_close(out, '}');
}

static void line_monitor(struct buffer *out, const struct monitor_event *ev)
{
	json_string(out, "name", ev->name);
	json_time(out, "wall_time", ev->wall_ns);
	json_open(out, "data", '{');
	for (uint32_t i = 0; i < ev->nentries; i++)
		line_entry(out, &ev->entry[i]);
	json_close(out, '}');
	line_not_finite(out, ev);
	json_bool(out, "truncated", ev->truncated);
}

static void line_end(struct buffer *out, const struct gp_end *e, const struct snapshot *last)
{
	uint64_t hits = 0, cost_ns = 0;

	json_string(out, "reason",
		    e->reason < sizeof(end_name) / sizeof(end_name[0]) ? end_name[e->reason]
								       : NULL);
	json_int_if(out, "status", e->status != -1, e->status);
	if (!last) {
		json_null(out, "losses");
		json_null(out, "overhead");
		return;
	}
	json_part_losses(out, last);
	for (uint32_t i = 0; i < last->nranks; i++) {
		hits += last->ranks[i].hits;
		cost_ns += last->ranks[i].overhead.sum.all_ns;
	}
	json_open(out, "overhead", '{');
	json_uint(out, "hits", hits);
	json_uint(out, "cost_ns", cost_ns);
	json_bool(out, "estimated", true);
	json_close(out, '}');
	json_uint(out, "events", last->events);
}

static void line_head(struct buffer *out, const struct fact *f)
{
	bool about_process = f->pid || f->type == FACT_RANK || f->type == FACT_DISRUPTION;

	json_open(out, NULL, '{');
	json_string(out, "type", fact_name[f->type]);
	json_uint(out, "seq", f->number);
	json_time(out, "time", f->real_ns);
	json_uint(out, "mono_ns", f->mono_ns);
	if (f->job && *f->job)
		json_string(out, "job", f->job);
	else if (about_process)
		json_null(out, "job");
	if (!about_process)
		return;
	json_int_if(out, "rank", f->pid && f->rank >= 0, f->rank);
	if (f->pid)
		json_uint(out, "pid", f->pid);
	else
		json_null(out, "pid"); /* the pid is unknown for a process of another node */
}

void json_line(struct buffer *out, const struct fact *f, const struct snapshot *last)
{
	if ((size_t)f->type >= sizeof(fact_name) / sizeof(fact_name[0]) || !fact_name[f->type])
		return;
	line_head(out, f);
	switch (f->type) {
	case FACT_START:
		line_start(out, f->start);
		break;
	case FACT_RANK:
		line_rank(out, f);
		break;
	case FACT_STEP:
		line_step(out, f->step);
		break;
	case FACT_CHECKPOINT:
		line_checkpoint(out, f->checkpoint);
		break;
	case FACT_RANGE:
		line_range(out, f->range, f->types);
		break;
	case FACT_DISRUPTION:
		line_disruption(out, f);
		break;
	case FACT_LEDGER:
		if (f->window)
			line_window(out, f->window, f->types);
		else
			line_ledger(out, f);
		break;
	case FACT_LOSS:
		line_loss(out, f->loss);
		break;
	case FACT_END:
		line_end(out, f->end, last);
		break;
	case FACT_PROBE:
		line_probe(out, f->probe);
		break;
	case FACT_HEALTH:
		line_health(out, f->health);
		break;
	case FACT_MONITOR:
		line_monitor(out, f->monitor);
		break;
	}
	json_close(out, '}');
	buffer_add(out, "\n", 1);
}
