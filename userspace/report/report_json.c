/* SPDX-License-Identifier: Apache-2.0 */
/* report_json.c - the report as one JSON object, with the same names as in the JSON lines. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "userspace/base/json_text.h"
#include "userspace/export/json_part.h"
#include "userspace/model/time/hang.h"
#include "userspace/report/user_range.h"
#include "userspace/report/document.h"
#include "userspace/report/report_node.h"
#include "userspace/report/report.h"
#include "userspace/text/format.h"

#define RECENT_TOLD 64 /* limit of the latest step times that are written for a loop */

/* Writes statistics of step times as a member `key`; null if there are no steps. */
static void json_times(struct buffer *out, const char *key, const struct times_view *t)
{
	if (!t->count) {
		json_null(out, key);
		return;
	}
	json_open(out, key, '{');
	json_uint(out, "count", t->count);
	json_uint(out, "mean_ns", (uint64_t)(t->mean_ns + 0.5));
	json_uint(out, "p50_ns", t->p50_ns);
	json_uint(out, "p95_ns", t->p95_ns);
	json_uint(out, "p99_ns", t->p99_ns);
	json_close(out, '}');
}

static void json_time_windows(struct buffer *out, const struct loop_view *l)
{
	char name[24];

	json_open(out, "step_time_windows", '{');
	for (int i = 0; i < DEVIATION_COUNTS; i++) {
		snprintf(name, sizeof(name), "%u steps", deviation_counts[i]);
		json_times(out, name, &l->time.last[i]);
	}
	for (int i = 0; i < RECENT_CLOCKS; i++)
		json_times(out, window_name(name, recent_clock_ns[i]), &l->recent_times[i]);
	json_close(out, '}');
}

static void json_change(struct buffer *out, const struct loop_view *l)
{
	const struct change_view *c = &l->change;

	json_open(out, "slow", '{');
	json_uint(out, "count", l->slow_alarms);
	json_bool(out, "slow", c->slow);
	json_bool(out, "lasting", c->count && l->slow_alarm);
	json_nonzero(out, "bursts", l->bursts);
	json_nonzero(out, "bursts_ns", l->bursts_ns);
	json_nonzero(out, "usual_ns", c->usual_ns);
	json_uint_if(out, "onset_step", c->count, c->onset_step);
	json_uint_if(out, "onset_ns", c->count, c->onset_ns);
	json_real(out, "ratio",
		  c->count && c->before_ns ? (double)c->after_ns / (double)c->before_ns : NAN);
	json_known(out, "phase", change_part_name(c->count ? c->blame : -1));
	json_nonzero(out, "period", c->period);
	json_nonzero(out, "end_step", c->end_step);
	json_nonzero(out, "end_ns", c->end_ns);
	json_close(out, '}');
}

/* Writes the latest step times of a loop, oldest first. */
static void json_recent(struct buffer *out, const struct loop_view *l)
{
	uint32_t first = l->recent > RECENT_TOLD ? l->recent - RECENT_TOLD : 0;

	json_open(out, "recent_ns", '[');
	for (uint32_t i = first; i < l->recent; i++)
		json_uint(out, NULL, l->recent_ns[i]);
	json_close(out, ']');
}

static void json_loop(struct buffer *out, const struct loop_view *l)
{
	static const char *const flag[] = {
#define X(bit, name) [bit] = #name,
		STEP_FLAGS(X)
#undef X
	};

	struct report_times times;

	json_open(out, NULL, '{');
	json_part_loop(out, &l->state);
	json_nonzero(out, "last_step", l->last_number);
	json_nonzero(out, "last_end_ns", l->last_end_ns);
	json_open(out, "flags", '{');
	for (size_t i = 0; i < sizeof(flag) / sizeof(flag[0]); i++)
		if (l->flagged[i])
			json_uint(out, flag[i], l->flagged[i]);
	json_close(out, '}');
	report_times_of_view(&times, &l->time);
	if (times.count)
		report_times_json(out, &times);
	else
		json_null(out, "step_time");
	json_recent(out, l);
	json_time_windows(out, l);
	json_change(out, l);
	json_part_phases(out, l->phases_known, l->phase_ns, l->device_known, l->host_ns);
	json_uint_if(out, "wait_ns", l->device_known, l->wait_ns);
	user_range_json_ranges(out, l);
	json_close(out, '}');
}

static void json_fate(struct buffer *out, const struct rank_view *r)
{
	bool signaled = !r->alive && WIFSIGNALED(r->status);

	json_bool(out, "alive", r->alive);
	json_uint_if(out, "exit_code", !r->alive && !signaled && r->status != -1,
		     (uint64_t)WEXITSTATUS(r->status));
	json_uint_if(out, "signal", signaled, (uint64_t)WTERMSIG(r->status));
}

static void json_hangs(struct buffer *out, const struct hang_view *h)
{
	bool any = h->count || h->silent;

	json_open(out, "hangs", '{');
	json_uint(out, "count", h->count);
	json_uint(out, "total_ns", h->total_ns);
	json_bool(out, "hung", h->hung);
	json_bool(out, "silent", h->silent);
	json_uint_if(out, "onset_ns", any, h->onset_ns);
	json_uint_if(out, "size", any, h->size_ns);
	json_string(out, "why", any ? hang_why_name[h->why] : NULL);
	json_known(out, "phase", h->phase);
	json_known(out, "evidence", h->evidence);
	json_close(out, '}');
}

static void json_health(struct buffer *out, const struct rank_view *r)
{
	const struct straggle_view *v = &r->straggle;

	json_open(out, "errors", '{');
	for (int i = 0; i < FAULT_COUNT; i++)
		if (r->faults[i])
			json_uint(out, fault_name[i], r->faults[i]);
	json_close(out, '}');
	json_open(out, "straggler", '{');
	json_bool(out, "now", v->now);
	json_uint(out, "count", v->count);
	json_uint_if(out, "onset_step", v->count, v->onset_step);
	json_uint_if(out, "size", v->count, v->size_ns);
	json_known(out, "phase", v->phase);
	json_close(out, '}');
}

/* Describes the rank's accelerator in the last second. */
static void json_accelerator(struct buffer *out, const struct device_view *d)
{
	if (!d->known) {
		json_null(out, "accelerator");
		return;
	}
	json_open(out, "accelerator", '{');
	json_known(out, "name", d->name);
	json_uint(out, "at_ns", d->at_ns);
	json_nonzero(out, "clock_mhz", d->clock_mhz);
	json_nonzero(out, "clock_max_mhz", d->clock_max_mhz);
	json_open(out, "reasons", '[');
	for (int i = 0; i < GP_DEVICE_REASON_COUNT; i++) {
		if (d->reasons & 1u << i)
			json_string(out, NULL, device_reason_name[i]);
	}
	json_close(out, ']');
	json_nonzero(out, "power_mw", d->power_mw);
	json_nonzero(out, "celsius", d->celsius);
	json_uint_if(out, "busy_percent", d->busy_known, d->busy);
	json_nonzero(out, "memory_total", d->memory_total);
	json_uint_if(out, "memory_used", d->memory_total, d->memory_used);
	json_uint_if(out, "uncorrected_errors", d->errors_known, d->errors);
	json_uint_if(out, "new_uncorrected_errors", d->errors_known, d->new_errors);
	json_close(out, '}');
}

/* Describes the checkpoint that the rank restored. The job's disruptions show how much work was
 * lost. */
static void json_resumed(struct buffer *out, const struct checkpoint_match *m)
{
	if (!m->how) {
		json_null(out, "resumed_from");
		return;
	}
	json_open(out, "resumed_from", '{');
	json_uint_if(out, "step", m->step || m->stepped, m->step);
	json_string(out, "match", checkpoint_how_name[m->how]);
	json_real(out, "confidence", m->confidence);
	json_close(out, '}');
}

static void json_command(struct buffer *out, const char *text, bool masked)
{
	char shown[sizeof(((struct rank_view *)NULL)->command) + 8];

	if (masked)
		text_program(shown, sizeof(shown), text);
	json_known(out, "command", masked ? shown : text);
}

static void json_causes(struct buffer *out, const uint64_t ns[TIME_CAUSE_COUNT], uint64_t all_ns)
{
	struct time_causes causes = {.lost_ns = all_ns};

	memcpy(causes.ns, ns, sizeof(causes.ns));
	json_part_causes(out, &causes);
}

/* Writes what explains single long steps and the time in buckets of badput. */
static void json_explained(struct buffer *out, const struct rank_view *r)
{
	if (r->long_steps.count) {
		json_open(out, "long_steps", '{');
		json_uint(out, "count", r->long_steps.count);
		json_uint(out, "lost_ns", r->long_steps.lost_ns);
		json_causes(out, r->long_steps.ns, r->long_steps.lost_ns);
		json_close(out, '}');
	}
	json_open(out, "badput_causes", '[');
	for (int i = 0; i < RANK_BADPUT && r->badput[i].examined_ns; i++) {
		const struct badput_view *b = &r->badput[i];

		json_open(out, NULL, '{');
		json_string(out, "bucket", bucket_name[b->bucket]);
		json_uint(out, "examined_ns", b->examined_ns);
		json_causes(out, b->ns, b->examined_ns);
		json_known(out, "line", b->most.line);
		if (*b->most.line)
			json_real(out, "line_share", b->most.share);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void json_rank(struct buffer *out, const struct snapshot *s, const struct rank_view *r,
		      bool masked)
{
	struct document_window windows[WINDOWS_MAX];
	struct verdict_facts facts;
	struct verdicts verdicts;
	int64_t offset = s->real_ns ? (int64_t)((uint64_t)s->real_ns - s->mono_ns) : 0;

	json_open(out, NULL, '{');
	json_known(out, "job", r->job);
	document_key_json(out, "job_key", r->job_key);
	json_known(out, "node", r->placed ? r->place.node : NULL);
	json_known(out, "pod", r->placed ? r->place.pod : NULL);
	json_int_if(out, "rank", r->rank >= 0, r->rank);
	json_int_if(out, "world_size", r->world_size >= 0, r->world_size);
	json_uint(out, "pid", r->pid);
	json_string(out, "comm", r->comm);
	json_command(out, r->command, masked);
	json_bool(out, "trainer", r->trainer);
	json_fate(out, r);
	json_open(out, "loops", '[');
	for (uint32_t i = 0; i < r->nloops; i++)
		json_loop(out, &r->loops[i]);
	json_close(out, ']');
	if (r->trainer) {
		verdict_facts_of_rank(&facts, s, r);
		verdict_find(&verdicts, &facts);
		verdict_json(out, &verdicts);
	}
	json_part_time(out, &r->ledger, &s->types);
	json_part_ratio(out, &r->ledger, r->trainer);
	json_part_counts(out, &r->ledger);
	document_windows_json(out, windows,
			      document_windows_of(windows, r->windows, &s->types, offset));
	json_uint(out, "checkpoints", r->checkpoints);
	json_uint(out, "restores", r->restores);
	json_uint(out, "checkpoint_save_ns", r->checkpoint_save_ns);
	json_uint_if(out, "secured_step", r->secured, r->secured_step);
	json_uint_if(out, "secured_ns", r->secured, r->secured_ns);
	json_resumed(out, &r->resumed);
	json_hangs(out, &r->hang);
	json_explained(out, r);
	user_range_json_figures(out, r);
	json_health(out, r);
	json_nonzero(out, "accelerators", r->accelerators);
	json_accelerator(out, &r->device);
	json_uint(out, "hits", r->hits);
	json_uint_if(out, "overhead_ns", r->overhead.sum.all_ns || !r->hits,
		     r->overhead.sum.all_ns);
	json_uint_if(out, "overhead_marker_ns", r->overhead.sum.all_ns || !r->hits,
		     r->overhead.sum.marker_ns);
	json_uint(out, "lost", r->lost);
	json_open(out, "last_events", '[');
	for (uint32_t i = 0; i < r->nevents && i < SNAPSHOT_EVENTS; i++) {
		json_open(out, NULL, '{');
		json_time(out, "time", offset ? offset + (int64_t)r->events[i].mono_ns : 0);
		json_uint(out, "mono_ns", r->events[i].mono_ns);
		json_string(out, "text", r->events[i].text);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_close(out, '}');
}

/* Writes the command line that started gp-bpf; for `run` and `record` this includes CMD. */
static void json_session(struct buffer *out, const char *text, bool masked)
{
	const char *command = masked ? strstr(text, " -- ") : NULL;
	char shown[sizeof(((struct gp_session *)NULL)->command) + 8];
	size_t len = strlen(text);

	if (command) {
		len = (size_t)(command + 4 - text);
		memcpy(shown, text, len);
		text_program(shown + len, sizeof(shown) - len, text + len);
	} else {
		if (masked && (!strncmp(text, "run ", 4) || !strncmp(text, "record ", 7)))
			len = strcspn(text, " ");
		snprintf(shown, sizeof(shown), "%.*s%s", (int)len, text, text[len] ? " ..." : "");
	}
	json_string(out, "command", shown);
}

static void report_json_of(struct buffer *out, const struct snapshot *s, bool masked)
{
	char room[TEXT_WHY_MAX];
	const char *why = NULL, *hint = NULL;
	bool trainer = false;

	for (uint32_t i = 0; i < s->nranks; i++)
		trainer |= s->ranks[i].trainer;
	if (!trainer)
		text_why_nothing(s, room, &why, &hint);
	json_open(out, NULL, '{');
	json_string(out, "type", "report");
	json_time(out, "time", s->real_ns);
	json_uint(out, "mono_ns", s->mono_ns);
	json_uint(out, "schema", 1);
	json_string(out, "version", s->session.version);
	json_string(out, "kernel", s->session.kernel);
	json_session(out, s->session.command, masked);
	if (masked)
		json_bool(out, "arguments_masked", true);
	json_open(out, "ranks", '[');
	for (uint32_t i = 0; i < s->nranks; i++)
		json_rank(out, s, &s->ranks[i], masked);
	json_close(out, ']');
	document_jobs_json(out, s);
	report_node_json(out, s);
	json_string(out, "nothing_found", why);
	json_uint(out, "events", s->events);
	json_part_losses(out, s);
	json_uint(out, "ledger_violations", s->ledger_violations);
	json_close(out, '}');
	buffer_add(out, "\n", 1);
}

void report_json(struct buffer *out, const struct snapshot *s)
{
	report_json_of(out, s, false);
}

void report_json_masked(struct buffer *out, const struct snapshot *s)
{
	report_json_of(out, s, true);
}
