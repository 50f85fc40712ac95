/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_tree.c - spans and attributes of processes, from their start to their end. */
#include "userspace/export/otlp/otlp_tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "userspace/base/hash.h"
#include "userspace/export/otlp/otlp_text.h"
#include "userspace/export/otlp/otlp_tree_private.h"
#include "userspace/model/time/hang.h"

struct otlp_tree *otlp_tree_new(struct otlp_queue *q, uint32_t sample, const char *host)
{
	struct otlp_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->processes = table_new();
	if (!t->processes) {
		free(t);
		return NULL;
	}
	t->queue = q;
	t->sample = sample ? sample : 1;
	t->host = host;
	return t;
}

static void otlp_tree_process_free(void *value)
{
	struct otlp_process *p = value;

	for (uint32_t i = 0; i < p->nheld; i++)
		free(p->held[i].text);
	for (int i = 0; i < STEP_LOOPS; i++) {
		if (p->loop[i])
			buffer_free(&p->loop[i]->saves.text);
		free(p->loop[i]);
	}
	buffer_free(&p->events.text);
	free(p);
}

void otlp_tree_free(struct otlp_tree *t)
{
	if (!t)
		return;
	table_free(t->processes, otlp_tree_process_free);
	buffer_free(&t->text);
	free(t);
}

void otlp_tree_config(struct otlp_tree *t, const struct program_config *c)
{
	t->config = *c;
}

void otlp_tree_view(const struct otlp_tree *t, struct otlp_tree_view *ret)
{
	*ret = t->view;
}

/* ---- identifiers ----------------------------------------------------------------------------- */

/* Sets the trace: one for each run, identified by its job's name and the start of its first
 * process. A process without a job or run has a trace of its own. */
static void otlp_tree_trace_of(struct otlp_process *p, const struct fact *f)
{
	uint64_t run_ns = f->life ? f->life->run_start_ns : 0, hash = HASH_START;

	hash = hash_bytes(hash, p->owner.job, strlen(p->owner.job));
	hash = hash_word(hash, run_ns);
	if (!run_ns || !*p->owner.job)
		hash = hash_word(hash_word(hash, f->pid), f->start_ns);
	p->owner.trace[0] = otlp_mix(hash);
	p->owner.trace[1] = otlp_mix(hash_word(hash, f->run));
}

static uint64_t tree_key_of(const struct fact *f)
{
	return otlp_mix(hash_word(hash_word(HASH_START, f->pid), f->start_ns));
}

/* Takes the wall clock's offset from the first record of the process, and keeps it: a later change
 * of the clock does not move spans against each other. */
static void otlp_tree_date(struct otlp_process *p, const struct fact *f)
{
	if (p->dated || !f->real_ns)
		return;
	p->dated = true;
	p->owner.offset_ns = f->real_ns - (int64_t)f->mono_ns;
}

static struct otlp_process *otlp_tree_process_of(struct otlp_tree *t, const struct fact *f,
						 bool make)
{
	uint64_t key = tree_key_of(f);
	struct otlp_process *p = table_get(t->processes, key);

	if (!p && make && table_count(t->processes) < OTLP_PROCESSES)
		p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (!p->key) {
		p->key = key;
		p->start_ns = p->from_ns = f->start_ns ? f->start_ns : f->mono_ns;
		p->owner.pid = f->pid;
		snprintf(p->owner.job, sizeof(p->owner.job), "%s", f->job ? f->job : "");
		otlp_tree_trace_of(p, f);
		p->root = otlp_id_of(p, "application", 0, 0);
		if (table_put(t->processes, key, p)) {
			free(p);
			return NULL;
		}
	}
	otlp_tree_date(p, f);
	p->owner.rank = f->rank;
	p->world_size = f->world_size;
	return p;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void otlp_tree_extend(struct otlp_process *p, uint64_t from_ns, uint64_t to_ns)
{
	p->from_ns = from_ns < p->from_ns ? from_ns : p->from_ns;
	p->to_ns = to_ns > p->to_ns ? to_ns : p->to_ns;
}

/* ---- events of a rank ------------------------------------------------------------------------ */

static void otlp_tree_error_event(struct otlp_process *p, uint64_t at_ns, const char *message)
{
	if (!otlp_event_room(&p->events))
		return;
	otlp_event_begin(&p->events.text, &p->owner, "error", at_ns);
	otlp_text(&p->events.text, "error_message", message);
	otlp_event_end(&p->events.text);
}

/* Adds an event with the causes of a slowdown that was reported, or that has ended. */
static void otlp_tree_slowdown_event(struct otlp_process *p, const struct fact_health *h)
{
	struct buffer *b = &p->events.text;
	char key[64];

	if (!otlp_event_room(&p->events))
		return;
	otlp_event_begin(b, &p->owner, h->over ? "gpbpf.slowdown_end" : "gpbpf.slowdown",
			 h->over ? h->end_ns : h->onset_ns);
	otlp_text(b, "gpbpf.why", h->why);
	otlp_text(b, "gpbpf.evidence", h->evidence);
	otlp_text(b, "gpbpf.line", h->line);
	otlp_real(b, "gpbpf.ratio", h->ratio);
	for (int i = 0; h->causes && h->causes->lost_ns && i < TIME_CAUSE_COUNT; i++) {
		snprintf(key, sizeof(key), "gpbpf.cause.%s", time_cause_name[i]);
		if (h->causes->ns[i])
			otlp_real(b, key, time_cause_share(h->causes, (enum time_cause)i));
	}
	otlp_event_end(b);
}

static void otlp_tree_health(struct otlp_process *p, const struct fact *f)
{
	const struct fact_health *h = f->health;
	char text[360];

	if (h->name)
		snprintf(text, sizeof(text), "%s: %s (%lld), reported by %s", h->kind, h->name,
			 (long long)h->code, h->origin ? h->origin : "");
	else if (h->ratio > 0) {
		otlp_tree_slowdown_event(p, h);
		return;
	} else if (!strcmp(h->kind, "hang") && !h->over)
		snprintf(text, sizeof(text), "hang: %s%s%s", h->why,
			 h->evidence && *h->evidence ? ": " : "", h->evidence ? h->evidence : "");
	else
		return;
	otlp_tree_error_event(p, h->onset_ns ? h->onset_ns : f->mono_ns, text);
}

static void otlp_tree_disruption(struct otlp_process *p, const struct fact *f)
{
	const struct job_cause *why = &f->disruption->why;
	char text[160];

	if (f->disruption->over || why->pid != p->owner.pid)
		return;
	snprintf(text, sizeof(text), "disruption %llu: %s%s%s",
		 (unsigned long long)f->disruption->number, disruption_cause_name[why->cause],
		 *why->fault ? ": " : "", why->fault);
	otlp_tree_error_event(p, f->disruption->d.at_ns, text);
}

/* ---- the end of a rank ----------------------------------------------------------------------- */

static bool otlp_tree_failed(const struct otlp_process *p, char text[64])
{
	if (p->alive || p->status == -1)
		return false;
	if (WIFSIGNALED(p->status) && WTERMSIG(p->status) != SIGINT)
		snprintf(text, 64, "ended by signal %d", WTERMSIG(p->status));
	else if (WIFEXITED(p->status) && WEXITSTATUS(p->status))
		snprintf(text, 64, "exited with status %d", WEXITSTATUS(p->status));
	else
		return false;
	return true;
}

static void otlp_tree_config_events(struct buffer *b, const struct otlp_tree *t,
				    const struct otlp_process *p)
{
	const struct program_config *c = &t->config;

	otlp_event_begin(b, &p->owner, "one_logger_initialization", p->from_ns);
	if (p->world_size >= 0)
		otlp_int(b, "world_size", p->world_size);
	if (p->owner.rank >= 0)
		otlp_int(b, "rank", p->owner.rank);
	otlp_text(b, "node_name", t->host);
	otlp_text(b, "session_tag", c->session_tag);
	otlp_event_end(b);
	if (!*c->perf_tag && c->samples <= 0 && c->flops <= 0)
		return;
	otlp_event_begin(b, &p->owner, "update_training_telemetry_config", p->from_ns);
	otlp_text(b, "perf_tag", c->perf_tag);
	if (c->samples > 0)
		otlp_real(b, "global_batch_size", c->samples);
	if (c->samples > 0 && c->flops > 0)
		otlp_real(b, "flops_per_sample", c->flops / c->samples);
	otlp_event_end(b);
}

static void otlp_tree_application(struct otlp_tree *t, struct otlp_process *p, bool unfinished)
{
	struct otlp_span s = {.name = "application", .id = p->root, .from_ns = p->from_ns};
	struct buffer *b = &t->text;
	bool bad;
	char text[64];

	s.to_ns = p->to_ns > p->ended_ns ? p->to_ns : p->ended_ns;
	bad = !unfinished && otlp_tree_failed(p, text);
	buffer_clear(b);
	otlp_span_begin(b, &p->owner, &s);
	if (p->world_size >= 0)
		otlp_int(b, "world_size", p->world_size);
	otlp_text(b, "node_name", t->host);
	if (unfinished)
		otlp_bool(b, "gpbpf.unfinished", true);
	else if (!p->alive && p->status != -1 && WIFSIGNALED(p->status))
		otlp_int(b, "gpbpf.signal", WTERMSIG(p->status));
	else if (!p->alive && p->status != -1)
		otlp_int(b, "gpbpf.exit_code", WEXITSTATUS(p->status));
	otlp_span_events(b, &p->owner, &s);
	otlp_tree_config_events(b, t, p);
	if (p->events.text.len) {
		buffer_add(b, ",", 1);
		buffer_add(b, p->events.text.data, p->events.text.len);
	}
	otlp_span_end(b, &p->owner, &s, p->events.dropped, bad ? text : NULL);
	otlp_put(t, p);
}

static void otlp_tree_process_end(struct otlp_tree *t, struct otlp_process *p, bool unfinished)
{
	otlp_held_settle(t, p, true);
	for (uint32_t i = 0; i < STEP_LOOPS; i++)
		if (p->loop[i])
			otlp_loop_end(t, p, i, unfinished);
	otlp_tree_application(t, p, unfinished);
	table_take(t->processes, p->key);
	otlp_tree_process_free(p);
}

/* Sends the root spans of processes that ended before before_ns, and forgets these processes. */
static void otlp_tree_processes_end(struct otlp_tree *t, uint64_t before_ns)
{
	struct otlp_process *p;
	size_t at = 0;

	if (!t->nended)
		return;
	while ((p = table_next(t->processes, &at, NULL))) {
		if (!p->ended_ns || p->ended_ns >= before_ns)
			continue;
		t->nended--;
		otlp_tree_process_end(t, p, false);
	}
}

static void otlp_tree_ends_all(struct otlp_tree *t, uint64_t now_ns)
{
	struct otlp_process *p;
	size_t at = 0;

	while ((p = table_next(t->processes, &at, NULL))) {
		p->ended_ns = now_ns;
		otlp_tree_process_end(t, p, p->alive);
	}
	t->nended = 0;
}

void otlp_tree_tick(struct otlp_tree *t, uint64_t now_ns)
{
	t->repeated = false;
	otlp_tree_processes_end(t, now_ns);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void otlp_tree_begun(struct otlp_tree *t, struct otlp_process *p, const struct fact_life *l)
{
	if (!p->group_sent && l->group_to_ns) {
		p->group_sent = true;
		otlp_tree_extend(p, l->group_from_ns, l->group_to_ns);
		otlp_plain(t, p, "distributed_code_initialization", p->root, l->group_from_ns,
			   l->group_to_ns);
	}
	if (!p->loader_sent && l->loader_to_ns) {
		p->loader_sent = true;
		otlp_tree_extend(p, l->loader_from_ns, l->loader_to_ns);
		otlp_plain(t, p, "data_loader_initialization", p->root, l->loader_from_ns,
			   l->loader_to_ns);
	}
}

static void otlp_tree_process_fact(struct otlp_tree *t, struct otlp_process *p,
				   const struct fact *f)
{
	switch (f->type) {
	case FACT_STEP:
		otlp_tree_extend(p, f->step->step.start_ns, f->step->step.end_ns);
		otlp_loop_step(t, p, f->step);
		break;
	case FACT_CHECKPOINT:
		otlp_tree_extend(p, f->checkpoint->start_ns, f->checkpoint->end_ns);
		otlp_checkpoint(t, p, f->checkpoint);
		break;
	case FACT_RANGE:
		if (f->range->bucket == BUCKET_UNOBSERVED)
			break;
		otlp_tree_extend(p, f->range->start_ns, f->range->end_ns);
		otlp_range(t, p, f->range);
		break;
	case FACT_HEALTH:
		otlp_tree_health(p, f);
		break;
	case FACT_DISRUPTION:
		otlp_tree_disruption(p, f);
		break;
	case FACT_LEDGER:
		if (f->window || !f->ledger->ended || p->ended_ns)
			break;
		p->ended_ns = f->mono_ns;
		t->nended++;
		break;
	default:
		break;
	}
}

void otlp_tree_fact(struct otlp_tree *t, const struct fact *f)
{
	bool ours = f->type == FACT_STEP ? f->step->step.unit == UNIT_STEP
					 : f->type == FACT_CHECKPOINT || f->type == FACT_RANGE ||
						   (f->type == FACT_LEDGER && !f->window &&
						    f->unit == UNIT_STEP);
	struct otlp_process *p;

	t->repeated = f->repeated;
	otlp_tree_processes_end(t, f->mono_ns);
	if (f->type == FACT_END) {
		otlp_tree_ends_all(t, f->mono_ns);
		return;
	}
	p = f->pid ? otlp_tree_process_of(t, f, ours) : NULL;
	if (!p) {
		t->view.unplaced += f->pid && ours;
		return;
	}
	if (f->life) {
		p->alive = f->life->alive;
		p->status = f->life->status;
		otlp_tree_begun(t, p, f->life);
	}
	otlp_tree_process_fact(t, p, f);
}
