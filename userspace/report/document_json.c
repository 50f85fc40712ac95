/* SPDX-License-Identifier: Apache-2.0 */
/* document_json.c - a job's report as JSON. */

#include <stdio.h>

#include "userspace/base/json_text.h"
#include "userspace/export/disruption.h"
#include "userspace/export/json_part.h"
#include "userspace/model/time/ledger.h"
#include "userspace/report/compare.h"
#include "userspace/report/report_program.h"
#include "userspace/report/document.h"
#include "userspace/text/format.h"

#define DOCUMENT_SCHEMA 1

static void document_json_time(struct buffer *out, const char *key, int64_t v)
{
	json_time(out, key, v == STORE_NONE ? 0 : v);
}

void document_key_json(struct buffer *out, const char *name, uint64_t key)
{
	char text[20];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)key);
	json_string(out, name, key ? text : NULL);
}

void document_windows_json(struct buffer *out, const struct document_window *windows, uint32_t n)
{
	char name[16];

	json_open(out, "windows", '[');
	for (uint32_t i = 0; i < n; i++) {
		const struct document_window *w = &windows[i];

		json_open(out, NULL, '{');
		json_string(out, "window", window_name(name, w->length_ns));
		json_time(out, "from", w->from_ns);
		json_nonzero(out, "from_ns", w->mono_ns);
		json_bool(out, "whole", w->whole);
		json_part_time(out, &w->ledger, &w->types);
		json_part_ratio(out, &w->ledger, true);
		/* The number of steps is unknown in a live run. */
		json_uint_if(out, "steps", !w->mono_ns, w->steps);
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* Writes the members of a job that are the same for documents from a snapshot and from a store. */
static void document_json_job(struct buffer *out, const struct report_document *s)
{
	json_known(out, "uid", s->job.uid);
	json_known(out, "state", s->job.state);
	json_string(out, "history", job_history(s->job.carried));
	json_time(out, "from", s->from_ns);
	json_time(out, "to", s->to_ns);
	json_part_time(out, &s->ledger, &s->types);
	json_part_ratio(out, &s->ledger, true);
	json_nonzero(out, "max_step", s->job.max_step);
	report_times_json(out, &s->times);
	document_windows_json(out, s->windows, s->nwindows);
	report_program_json(out, s);
	json_uint(out, "saves", s->saves);
	json_uint(out, "saves_ns", s->saves_ns);
	json_uint(out, "restores", s->restores);
	json_int_if(out, "secured_step", s->secured_step != STORE_NONE, s->secured_step);
}

static void document_json_disruptions(struct buffer *out, const char *key,
				      const struct document_list *l)
{
	json_open(out, key, '[');
	for (uint32_t i = 0; i < l->count; i++)
		disruption_json_object(out, DOCUMENT_AT(*l, struct disruption_row, i));
	json_close(out, ']');
}

static void document_json_status_json(struct buffer *out, const struct report_document *s,
				      int64_t end_ns, int64_t last_ns, int status)
{
	char fate[64];

	document_json_time(out, "end", end_ns);
	json_string(out, "fate", document_fate(fate, sizeof(fate), s, end_ns, last_ns, status));
}

static void document_json_steps(struct buffer *out, uint64_t steps, const struct report_times *t,
				const struct sums *sums)
{
	json_uint(out, "steps", steps);
	report_times_json(out, t);
	json_int(out, "goodput_ns", sums->ns[BUCKET_GOODPUT]);
	json_int(out, "elapsed_ns", sums_total(sums));
}

static void document_json_runs_json(struct buffer *out, const struct report_document *s)
{
	json_open(out, "runs", '[');
	for (uint32_t i = 0; i < s->runs.count; i++) {
		const struct document_run *r = DOCUMENT_AT(s->runs, struct document_run, i);

		json_open(out, NULL, '{');
		json_uint(out, "attempt", r->run.attempt);
		json_known(out, "boot_id", r->run.boot_id);
		json_time(out, "start", r->run.start_ns);
		json_time(out, "last_seen", r->run.last_ns);
		document_json_status_json(out, s, r->run.end_ns, r->run.last_ns, r->run.status);
		json_uint(out, "ranks", r->run.ranks);
		document_json_steps(out, r->steps, &r->times, &r->sums);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void document_json_ranks_json(struct buffer *out, const struct report_document *s)
{
	json_open(out, "ranks", '[');
	for (uint32_t i = 0; i < s->ranks.count; i++) {
		const struct document_rank *r = DOCUMENT_AT(s->ranks, struct document_rank, i);

		json_open(out, NULL, '{');
		json_uint(out, "attempt", s->attempt);
		json_int_if(out, "rank", r->rank.rank >= 0, r->rank.rank);
		json_int_if(out, "world_size", r->rank.world_size >= 0, r->rank.world_size);
		json_uint(out, "pid", r->rank.pid);
		json_string(out, "comm", r->rank.comm);
		json_known(out, "command", r->rank.command);
		json_known(out, "tier", r->rank.tier);
		json_known(out, "marker", r->rank.marker);
		json_time(out, "start", r->rank.start_ns);
		document_json_status_json(out, s, r->rank.end_ns, r->rank.last_ns, r->rank.status);
		document_json_steps(out, r->steps, &r->times, &r->sums);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void document_json_checkpoint_json(struct buffer *out, const struct store_checkpoint *c)
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
	json_int_if(out, "step", c->step != STORE_NONE, c->step);
	json_int_if(out, "run_step", c->run_step != STORE_NONE, c->run_step);
	json_int_if(out, "bytes", c->bytes > 0 ? c->bytes : STORE_NONE != STORE_NONE,
		    c->bytes > 0 ? c->bytes : STORE_NONE);
	json_uint(out, "files", c->files);
	json_int_if(out, "rank", c->rank >= 0, c->rank);
	json_known(out, "file", c->file);
	if (c->restore) {
		json_int_if(out, "saved_step", c->saved_step != STORE_NONE, c->saved_step);
		json_known(out, "match", c->known_by);
		json_real(out, "confidence", c->confidence);
	}
	json_bool(out, "estimated", c->estimated);
	json_close(out, '}');
}

static void document_json_health_json(struct buffer *out, const struct store_health *h)
{
	json_open(out, NULL, '{');
	json_string(out, "kind", h->kind);
	json_time(out, "time", h->at_ns);
	json_time(out, "onset", h->onset_ns);
	json_uint(out, "size_ns", h->size_ns);
	json_bool(out, "over", h->over);
	json_int_if(out, "rank", h->rank >= 0, h->rank);
	json_known(out, "why", h->why);
	json_known(out, "phase", h->phase);
	json_known(out, "evidence", h->evidence);
	if (h->causes.lost_ns)
		json_part_causes(out, &h->causes);
	json_close(out, '}');
}

static void document_json_events_json(struct buffer *out, const struct report_document *s)
{
	json_uint(out, "disruptions_count", s->ledger.disruptions);
	document_json_disruptions(out, "disruptions", &s->disruptions);
	json_open(out, "checkpoints", '[');
	for (uint32_t i = 0; i < s->checkpoints.count; i++)
		document_json_checkpoint_json(
			out, DOCUMENT_AT(s->checkpoints, struct store_checkpoint, i));
	json_close(out, ']');
	json_open(out, "health", '[');
	for (uint32_t i = 0; i < s->healths.count; i++)
		document_json_health_json(out, DOCUMENT_AT(s->healths, struct store_health, i));
	json_close(out, ']');
}

static void document_json_notes_json(struct buffer *out, const struct report_document *s)
{
	json_open(out, "marks", '[');
	for (uint32_t i = 0; i < s->marks.count; i++) {
		json_open(out, NULL, '{');
		json_time(out, "time", DOCUMENT_AT(s->marks, struct store_note, i)->at_ns);
		json_string(out, "text", DOCUMENT_AT(s->marks, struct store_note, i)->text);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_open(out, "exclusions", '[');
	for (uint32_t i = 0; i < s->exclusions.count; i++) {
		json_open(out, NULL, '{');
		json_time(out, "from", DOCUMENT_AT(s->exclusions, struct store_note, i)->at_ns);
		json_time(out, "to", DOCUMENT_AT(s->exclusions, struct store_note, i)->to_ns);
		json_string(out, "why", DOCUMENT_AT(s->exclusions, struct store_note, i)->text);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_open(out, "said", '[');
	for (uint32_t i = 0; i < s->ncaveats; i++)
		json_string(out, NULL, s->caveats[i]);
	json_close(out, ']');
}

static void document_json_watched_json(struct buffer *out, const struct report_document *s)
{
	int watched = s->now_ns ? store_watched(&s->job, s->now_ns) : -1;

	if (watched < 0)
		json_null(out, "watched");
	else
		json_bool(out, "watched", watched);
}

void document_json(struct buffer *out, const struct report_document *s)
{
	json_open(out, NULL, '{');
	json_string(out, "type", "job_report");
	json_uint(out, "schema", DOCUMENT_SCHEMA);
	json_string(out, "version", GP_VERSION);
	json_int(out, "id", s->job.id);
	json_string(out, "key", s->job.key);
	json_known(out, "name", s->job.name);
	document_json_watched_json(out, s);
	json_string(out, "source", s->job.logged ? "log" : "watch");
	json_time(out, "imported", s->job.imported_ns == STORE_NONE ? 0 : s->job.imported_ns);
	json_uint(out, "attempts", s->job.runs);
	json_uint(out, "disruptions_in_all", s->job.disruptions);
	json_uint(out, "steps_in_all", s->job.totals.steps);
	json_time(out, "since", s->span.from_ns);
	json_time(out, "until", s->span.to_ns);
	document_json_job(out, s);
	verdict_json(out, &s->verdicts);
	json_uint(out, "steps", s->steps);
	document_json_runs_json(out, s);
	document_json_ranks_json(out, s);
	document_json_events_json(out, s);
	document_json_notes_json(out, s);
	if (s->compared)
		compare_json(out, "compare", s->compared);
	else
		json_null(out, "compare");
	json_close(out, '}');
	buffer_add(out, "\n", 1);
}

/* ---- a snapshot's jobs ----------------------------------------------------------------------- */

static void document_json_live(struct buffer *out, const struct job_view *j,
			       const struct report_document *s)
{
	json_open(out, NULL, '{');
	json_known(out, "job", j->name);
	document_key_json(out, "key", j->key);
	document_json_job(out, s);
	verdict_json(out, &s->verdicts);
	json_part_counts(out, &j->ledger);
	json_uint(out, "runs", j->runs);
	json_uint(out, "carried_runs", j->carried_runs);
	json_uint(out, "ranks", s->job.ranks);
	json_uint(out, "starts", j->starts);
	json_uint(out, "futile_runs", j->futile_runs);
	disruption_scheduling_json(out, &j->scheduling);
	json_uint(out, "last_step", j->last_step);
	json_uint(out, "done_steps", j->done_steps);
	json_uint(out, "wasted_gross_ns", j->wasted_gross_ns);
	json_uint(out, "secured_ns", j->secured_ns);
	document_json_disruptions(out, "last_disruptions", &s->disruptions);
	json_close(out, '}');
}

void document_jobs_json(struct buffer *out, const struct snapshot *s)
{
	struct report_document *d;

	json_open(out, "jobs", '[');
	for (uint32_t i = 0; i < s->njobs; i++) {
		if (document_of_snapshot(&d, s, &s->jobs[i])) {
			out->failed = true;
			return;
		}
		document_json_live(out, &s->jobs[i], d);
		document_close(d);
	}
	json_close(out, ']');
}
