/* SPDX-License-Identifier: Apache-2.0 */
/* story_json.c - a job's report as JSON. */

#include "userspace/base/json_text.h"
#include "userspace/model/time/ledger.h"
#include "userspace/report/compare.h"
#include "userspace/report/report_program.h"
#include "userspace/report/story.h"
#include "userspace/text/format.h"

#define STORY_SCHEMA 1

static void story_json_int(struct buffer *out, const char *key, int64_t v)
{
	if (v == STORE_NONE)
		json_null(out, key);
	else
		json_int(out, key, v);
}

static void story_json_time(struct buffer *out, const char *key, int64_t v)
{
	json_time(out, key, v == STORE_NONE ? 0 : v);
}

static void story_json_rank(struct buffer *out, const char *key, int rank)
{
	story_json_int(out, key, rank < 0 ? STORE_NONE : rank);
}

static void story_json_times(struct buffer *out, const struct sketch *t, uint64_t ideal_ns)
{
	json_open(out, "step_time", '{');
	json_uint(out, "count", t->count);
	json_nonzero(out, "mean_ns", t->count ? t->sum_ns / t->count : 0);
	json_nonzero(out, "min_ns", t->min_ns);
	json_nonzero(out, "p50_ns", sketch_quantile(t, 0.5));
	json_nonzero(out, "p95_ns", sketch_quantile(t, 0.95));
	json_nonzero(out, "p99_ns", sketch_quantile(t, 0.99));
	json_nonzero(out, "max_ns", t->max_ns);
	json_nonzero(out, "ideal_ns", ideal_ns);
	json_close(out, '}');
}

static void story_json_ledger_json(struct buffer *out, const struct ledger_view *l,
				   const struct type_names *types)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;
	uint64_t observed_ns = text_observed_ns(l);

	json_uint(out, "elapsed_ns", ledger_elapsed(l));
	json_uint(out, "observed_ns", observed_ns);
	if (observed_ns)
		json_real(out, "goodput_ratio",
			  (double)l->ns[BUCKET_GOODPUT] / (double)observed_ns);
	else
		json_null(out, "goodput_ratio");
	json_open(out, "buckets", '{');
	for (uint32_t i = 0; (name = ledger_part(l, types, i, room, &ns)); i++)
		json_uint(out, name, ns);
	json_close(out, '}');
}

static void story_json_windows_json(struct buffer *out, const struct story *s)
{
	char name[16];

	json_open(out, "windows", '[');
	for (uint32_t i = 0; i < s->nwindows; i++) {
		const struct story_window *w = &s->windows[i];

		json_open(out, NULL, '{');
		json_string(out, "window", window_name(name, w->length_ns));
		json_time(out, "from", w->from_ns);
		json_bool(out, "whole", w->whole);
		story_json_ledger_json(out, &w->ledger, &w->types);
		json_uint(out, "excluded_ns", w->excluded_ns);
		json_uint(out, "steps", w->steps);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void story_json_status_json(struct buffer *out, const struct story *s, int64_t end_ns,
				   int64_t last_ns, int status)
{
	char fate[64];

	story_json_time(out, "end", end_ns);
	json_string(out, "fate", story_fate(fate, sizeof(fate), s, end_ns, last_ns, status));
}

static void story_json_runs_json(struct buffer *out, const struct story *s)
{
	json_open(out, "runs", '[');
	for (uint32_t i = 0; i < s->runs.count; i++) {
		const struct story_run *r = STORY_AT(s->runs, struct story_run, i);

		json_open(out, NULL, '{');
		json_uint(out, "attempt", r->run.attempt);
		json_known(out, "boot_id", r->run.boot_id);
		json_time(out, "start", r->run.start_ns);
		json_time(out, "last_seen", r->run.last_ns);
		story_json_status_json(out, s, r->run.end_ns, r->run.last_ns, r->run.status);
		json_uint(out, "ranks", r->run.ranks);
		json_uint(out, "steps", r->totals.steps);
		story_json_times(out, &r->totals.times, 0);
		json_int(out, "goodput_ns", r->totals.sums.ns[BUCKET_GOODPUT]);
		json_int(out, "elapsed_ns", sums_total(&r->totals.sums));
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void story_json_ranks_json(struct buffer *out, const struct story *s)
{
	json_open(out, "ranks", '[');
	for (uint32_t i = 0; i < s->ranks.count; i++) {
		const struct story_rank *r = STORY_AT(s->ranks, struct story_rank, i);

		json_open(out, NULL, '{');
		json_uint(out, "attempt", s->attempt);
		story_json_rank(out, "rank", r->rank.rank);
		story_json_rank(out, "world_size", r->rank.world_size);
		json_uint(out, "pid", r->rank.pid);
		json_string(out, "comm", r->rank.comm);
		json_known(out, "command", r->rank.command);
		json_known(out, "tier", r->rank.tier);
		json_known(out, "marker", r->rank.marker);
		json_time(out, "start", r->rank.start_ns);
		story_json_status_json(out, s, r->rank.end_ns, r->rank.last_ns, r->rank.status);
		json_uint(out, "steps", r->totals.steps);
		story_json_times(out, &r->totals.times, 0);
		json_int(out, "goodput_ns", r->totals.sums.ns[BUCKET_GOODPUT]);
		json_int(out, "elapsed_ns", sums_total(&r->totals.sums));
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void story_json_disruption_json(struct buffer *out, const struct store_disruption *d)
{
	json_open(out, NULL, '{');
	json_time(out, "time", d->at_ns);
	json_string(out, "cause", d->cause);
	json_bool(out, "graceful", d->graceful);
	story_json_rank(out, "rank", d->rank);
	json_nonzero(out, "pid", d->pid);
	story_json_int(out, "exit_code", d->exit_code < 0 ? STORE_NONE : d->exit_code);
	json_nonzero(out, "signal", (uint64_t)d->signal);
	json_nonzero(out, "sender", d->sender);
	json_known(out, "sender_comm", d->sender_comm);
	story_json_int(out, "step", d->step);
	story_json_time(out, "resumed", d->resumed_ns);
	story_json_int(out, "resumed_step", d->resumed_step);
	story_json_int(out, "wasted_ns", d->wasted_ns);
	story_json_int(out, "recovery_ns", d->recovery_ns);
	story_json_int(out, "down_ns", d->down_ns);
	story_json_int(out, "starts", d->starts);
	json_open(out, "recovery", '{');
	for (int i = 0; i < BUCKET_COUNT; i++)
		if (d->split.ns[i])
			json_int(out, bucket_name[i], d->split.ns[i]);
	json_close(out, '}');
	json_bool(out, "estimated", d->estimated);
	json_known(out, "how", d->how);
	json_close(out, '}');
}

static void story_json_checkpoint_json(struct buffer *out, const struct store_checkpoint *c)
{
	json_open(out, NULL, '{');
	json_string(out, "op", c->restore ? "restore" : "save");
	if (c->restore)
		json_null(out, "mode");
	else
		json_string(out, "mode", c->async ? "async" : "sync");
	json_bool(out, "closed", c->closed);
	json_time(out, "start", c->start_ns);
	json_int(out, "duration_ns", c->end_ns - c->start_ns);
	story_json_int(out, "step", c->step);
	story_json_int(out, "run_step", c->run_step);
	story_json_int(out, "bytes", c->bytes > 0 ? c->bytes : STORE_NONE);
	json_uint(out, "files", c->files);
	story_json_rank(out, "rank", c->rank);
	json_known(out, "file", c->file);
	if (c->restore) {
		story_json_int(out, "saved_step", c->saved_step);
		json_known(out, "match", c->known_by);
		json_real(out, "confidence", c->confidence);
	}
	json_bool(out, "estimated", c->estimated);
	json_close(out, '}');
}

static void story_json_health_json(struct buffer *out, const struct store_health *h)
{
	json_open(out, NULL, '{');
	json_string(out, "kind", h->kind);
	json_time(out, "time", h->at_ns);
	json_time(out, "onset", h->onset_ns);
	json_uint(out, "size_ns", h->size_ns);
	json_bool(out, "over", h->over);
	story_json_rank(out, "rank", h->rank);
	json_known(out, "why", h->why);
	json_known(out, "phase", h->phase);
	json_known(out, "evidence", h->evidence);
	json_close(out, '}');
}

static void story_json_events_json(struct buffer *out, const struct story *s)
{
	json_uint(out, "disruptions_count", s->ledger.disruptions);
	json_open(out, "disruptions", '[');
	for (uint32_t i = 0; i < s->disruptions.count; i++)
		story_json_disruption_json(out,
					   STORY_AT(s->disruptions, struct store_disruption, i));
	json_close(out, ']');
	json_uint(out, "saves", s->saves);
	json_uint(out, "saves_ns", s->saves_ns);
	json_uint(out, "restores", s->restores);
	story_json_int(out, "secured_step", s->secured_step);
	json_open(out, "checkpoints", '[');
	for (uint32_t i = 0; i < s->checkpoints.count; i++)
		story_json_checkpoint_json(out,
					   STORY_AT(s->checkpoints, struct store_checkpoint, i));
	json_close(out, ']');
	json_open(out, "health", '[');
	for (uint32_t i = 0; i < s->healths.count; i++)
		story_json_health_json(out, STORY_AT(s->healths, struct store_health, i));
	json_close(out, ']');
}

static void story_json_notes_json(struct buffer *out, const struct story *s)
{
	json_open(out, "marks", '[');
	for (uint32_t i = 0; i < s->marks.count; i++) {
		json_open(out, NULL, '{');
		json_time(out, "time", STORY_AT(s->marks, struct store_note, i)->at_ns);
		json_string(out, "text", STORY_AT(s->marks, struct store_note, i)->text);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_open(out, "exclusions", '[');
	for (uint32_t i = 0; i < s->exclusions.count; i++) {
		json_open(out, NULL, '{');
		json_time(out, "from", STORY_AT(s->exclusions, struct store_note, i)->at_ns);
		json_time(out, "to", STORY_AT(s->exclusions, struct store_note, i)->to_ns);
		json_string(out, "why", STORY_AT(s->exclusions, struct store_note, i)->text);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_open(out, "said", '[');
	for (uint32_t i = 0; i < s->ncaveats; i++)
		json_string(out, NULL, s->caveats[i]);
	json_close(out, ']');
}

static void story_json_watched_json(struct buffer *out, const struct story *s)
{
	int watched = s->now_ns ? store_watched(&s->job, s->now_ns) : -1;

	if (watched < 0)
		json_null(out, "watched");
	else
		json_bool(out, "watched", watched);
}

void story_json(struct buffer *out, const struct story *s)
{
	json_open(out, NULL, '{');
	json_string(out, "type", "job_report");
	json_uint(out, "schema", STORY_SCHEMA);
	json_string(out, "version", GP_VERSION);
	json_int(out, "id", s->job.id);
	json_string(out, "key", s->job.key);
	json_known(out, "name", s->job.name);
	json_known(out, "uid", s->job.uid);
	json_known(out, "state", s->job.state);
	story_json_watched_json(out, s);
	json_string(out, "source", s->job.logged ? "log" : "watch");
	json_time(out, "imported", s->job.imported_ns == STORE_NONE ? 0 : s->job.imported_ns);
	json_string(out, "history", job_history(s->job.carried));
	json_uint(out, "attempts", s->job.runs);
	json_uint(out, "disruptions_in_all", s->job.disruptions);
	json_uint(out, "steps_in_all", s->job.totals.steps);
	json_time(out, "from", s->from_ns);
	json_time(out, "to", s->to_ns);
	json_time(out, "since", s->span.from_ns);
	json_time(out, "until", s->span.to_ns);
	story_json_ledger_json(out, &s->ledger, &s->types);
	report_cost_json(out, &s->program, s->accelerator_ns);
	json_uint(out, "excluded_ns", s->totals.excluded_ns);
	json_uint(out, "steps", s->totals.steps);
	json_nonzero(out, "max_step", s->job.max_step);
	story_json_times(out, &s->totals.times, s->ideal_ns);
	story_json_windows_json(out, s);
	story_json_runs_json(out, s);
	story_json_ranks_json(out, s);
	story_json_events_json(out, s);
	story_json_notes_json(out, s);
	if (s->compared)
		compare_json(out, "compare", s->compared);
	else
		json_null(out, "compare");
	json_close(out, '}');
	buffer_add(out, "\n", 1);
}
