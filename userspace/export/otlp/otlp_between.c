/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_between.c - spans and events between steps: checkpoints, and named ranges of the job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/export/otlp/otlp_text.h"
#include "userspace/export/otlp/otlp_tree_private.h"

#define NS_PER_S 1e9

/* Returns true if a held span has the same name and overlaps in time. A checkpoint may be known by
 * its file and by a named range, but is sent once: the span of the file replaces that of the
 * range. */
static bool otlp_between_held_already(struct otlp_process *p, const struct otlp_held *h)
{
	for (uint32_t i = 0; i < p->nheld; i++) {
		struct otlp_held *o = &p->held[i];

		if (o->range == h->range || strcmp(o->name, h->name) != 0 ||
		    o->from_ns >= h->to_ns || h->from_ns >= o->to_ns)
			continue;
		if (h->range)
			return true;
		free(o->text);
		*o = *h;
		return true;
	}
	return false;
}

/* Keeps the span in t->text back until it is known whether the span lies in the first training
 * loop. */
static void otlp_between_hold(struct otlp_tree *t, struct otlp_process *p, struct otlp_held *h)
{
	if (t->repeated || !p->dated || t->text.failed) {
		otlp_put(t, p);
		return;
	}
	if (p->nheld == OTLP_HELD)
		otlp_held_settle(t, p, true);
	h->len = t->text.len;
	h->text = malloc(h->len);
	if (!h->text) {
		t->view.unplaced++;
		return;
	}
	memcpy(h->text, t->text.data, h->len);
	if (!otlp_between_held_already(p, h))
		p->held[p->nheld++] = *h;
	else if (h->range)
		free(h->text);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static double otlp_between_wall_s(const struct otlp_process *p, uint64_t ns)
{
	return (double)((int64_t)ns + p->owner.offset_ns) / NS_PER_S;
}

/* Adds attributes about the steps whose progress the checkpoint saves. */
static void otlp_between_productive(struct buffer *b, const struct otlp_tree *t,
				    const struct otlp_process *p, const struct fact_checkpoint *c)
{
	const struct otlp_done *d = otlp_done_step(p, c->step);
	const struct otlp_loop *l = p->loop[0];

	if (l)
		otlp_real(b, "training_start_timestamp_sec", otlp_between_wall_s(p, l->first_ns));
	if (!c->step)
		return;
	otlp_int(b, "productive_train_iterations", (int64_t)c->step);
	if (l && l->whole && d)
		otlp_real(b, "productive_train_iterations_sec", (double)d->sum_ns / NS_PER_S);
	if (t->config.samples > 0)
		otlp_real(b, "productive_train_samples", t->config.samples * (double)c->step);
	if (t->config.flops > 0)
		otlp_real(b, "productive_train_tflops", t->config.flops * (double)c->step / 1e12);
}

static void otlp_between_saved_event(struct buffer *b, const struct otlp_tree *t,
				     const struct otlp_process *p, const struct fact_checkpoint *c)
{
	const char *slash = strrchr(c->file, '/');
	char folder[512];

	otlp_event_begin(b, &p->owner, "save_checkpoint_success", c->end_ns);
	otlp_text(b, "checkpoint_strategy", c->async ? "async" : "sync");
	if (c->step)
		otlp_int(b, "current_iteration", (int64_t)c->step);
	if (c->bytes)
		otlp_int(b, "checkpoint_size", (int64_t)c->bytes);
	snprintf(folder, sizeof(folder), "%.*s",
		 slash && slash > c->file ? (int)(slash - c->file) : 0, c->file);
	otlp_text(b, "checkpoint_directory", folder);
	otlp_int(b, "save_checkpoint_success_count", (int64_t)p->saves);
	otlp_real(b, "first_successful_save_checkpoint_timestamp_sec",
		  otlp_between_wall_s(p, p->first_save_ns));
	otlp_real(b, "latest_successful_save_checkpoint_timestamp_sec",
		  otlp_between_wall_s(p, p->last_save_ns));
	otlp_between_productive(b, t, p, c);
	otlp_event_end(b);
}

/* Adds an event with the number and times of all checkpoint saves so far that blocked training. */
static void otlp_between_sync_event(struct buffer *b, struct otlp_process *p,
				    const struct fact_checkpoint *c)
{
	uint64_t ns = c->end_ns > c->start_ns ? c->end_ns - c->start_ns : 0;

	p->sync_least_ns = p->syncs++ && p->sync_least_ns < ns ? p->sync_least_ns : ns;
	p->sync_most_ns = p->sync_most_ns > ns ? p->sync_most_ns : ns;
	p->sync_ns += ns;
	otlp_event_begin(b, &p->owner, "sync_checkpoint_metrics_update", c->end_ns);
	otlp_real(b, "save_checkpoint_sync_time_max_sec", (double)p->sync_most_ns / NS_PER_S);
	otlp_real(b, "save_checkpoint_sync_time_min_sec", (double)p->sync_least_ns / NS_PER_S);
	otlp_real(b, "save_checkpoint_sync_time_total_sec", (double)p->sync_ns / NS_PER_S);
	otlp_event_end(b);
}

void otlp_checkpoint(struct otlp_tree *t, struct otlp_process *p, const struct fact_checkpoint *c)
{
	struct otlp_held h = {
		.name = c->restore ? "checkpoint_load"
			: c->async ? "checkpoint_save_finalization"
				   : "checkpoint_save_sync",
		.from_ns = c->start_ns,
		.to_ns = c->end_ns > c->start_ns ? c->end_ns : c->start_ns,
	};
	struct otlp_span s = {.name = h.name,
			      .id = otlp_id_of(p, h.name, h.from_ns, h.to_ns),
			      .parent = p->root,
			      .from_ns = h.from_ns,
			      .to_ns = h.to_ns};
	bool saved = !c->restore && c->closed;

	p->attempts += !c->restore;
	if (saved) {
		p->first_save_ns = p->saves++ ? p->first_save_ns : c->end_ns;
		p->last_save_ns = c->end_ns;
	}
	buffer_clear(&t->text);
	h.parent_at = otlp_span_begin(&t->text, &p->owner, &s);
	if (!c->restore)
		otlp_text(&t->text, "checkpoint_strategy", c->async ? "async" : "sync");
	if (c->step)
		otlp_int(&t->text, "current_iteration", (int64_t)c->step);
	if (!c->restore)
		otlp_int(&t->text, "save_checkpoint_attempt_count", (int64_t)p->attempts);
	if (c->restore && c->match && c->match->step)
		otlp_int(&t->text, "gpbpf.saved_step", (int64_t)c->match->step);
	otlp_text(&t->text, "gpbpf.file", c->file);
	otlp_int(&t->text, "gpbpf.files", c->files);
	if (!c->closed)
		otlp_bool(&t->text, "gpbpf.end_seen", false);
	otlp_span_events(&t->text, &p->owner, &s);
	if (saved && !c->async) {
		otlp_between_saved_event(&t->text, t, p, c);
		otlp_between_sync_event(&t->text, p, c);
	}
	otlp_span_end(&t->text, &p->owner, &s, 0, NULL);
	otlp_between_hold(t, p, &h);
	if (saved && c->async && p->loop[0] && otlp_event_room(&p->loop[0]->saves))
		otlp_between_saved_event(&p->loop[0]->saves.text, t, p, c);
}

/* ---- named ranges of the job ----------------------------------------------------------------- */

static const char *const range_names[OTLP_NAMES] = {
	"model_initialization",
	"optimizer_initialization",
	"testing_loop",
	"TESTING_SINGLE_ITERATION",
	"validation_loop",
	"validation_single_iteration",
	"data_loading",
	"model_forward",
	"zero_grad",
	"model_backward",
	"optimizer_update",
	"checkpoint_load",
	"checkpoint_save_sync",
	"checkpoint_save_async",
	"data_loader_initialization",
	"distributed_code_initialization",
};

/* Returns the span name of a range: the range's own name if nv-one-logger-training-telemetry has
 * that name, or else that library's name for the range's bucket; NULL: none. */
static const char *otlp_between_range_name(const struct fact_range *r, uint32_t *ret_slot)
{
	const char *name = r->bucket == BUCKET_EVAL		    ? "validation_loop"
			   : r->bucket == BUCKET_DATA_LOADING	    ? "data_loading"
			   : r->bucket == BUCKET_CHECKPOINT_SAVE    ? "checkpoint_save_sync"
			   : r->bucket == BUCKET_CHECKPOINT_RESTORE ? "checkpoint_load"
								    : NULL;

	for (uint32_t i = 0; i < OTLP_NAMES; i++)
		if (r->name && !strcmp(r->name, range_names[i]))
			name = range_names[i];
	if (name && r->async && !strcmp(name, "checkpoint_save_sync"))
		name = "checkpoint_save_finalization";
	*ret_slot = OTLP_NAMES;
	for (uint32_t i = 0; name && i < OTLP_NAMES; i++)
		if (!strcmp(name, range_names[i]))
			*ret_slot = i;
	return name;
}

static bool otlp_between_in_each_step(const char *name)
{
	static const char *const often[] = {"data_loading",
					    "model_forward",
					    "zero_grad",
					    "model_backward",
					    "optimizer_update",
					    "validation_single_iteration",
					    "TESTING_SINGLE_ITERATION"};

	for (size_t i = 0; i < sizeof(often) / sizeof(often[0]); i++)
		if (!strcmp(name, often[i]))
			return true;
	return false;
}

/* Adds the event of an evaluation, with the number of training steps since the previous evaluation
 * (its own iterations are unknown). Overlapping ranges count as one evaluation. */
static void otlp_between_evaluation_event(struct buffer *b, struct otlp_process *p,
					  const char *name, const struct fact_range *r)
{
	bool testing = !strcmp(name, "testing_loop");
	struct otlp_evaluations *k = testing ? &p->testing : &p->validation;
	const struct otlp_done *d = otlp_done_by(p, r->start_ns);
	const struct otlp_loop *l = p->loop[0];

	if (!l || !d || (!testing && strcmp(name, "validation_loop") != 0))
		return;
	if (r->start_ns >= k->until_ns)
		k->base = k->until_ns ? k->step : l->first_step - 1;
	k->step = d->number;
	k->until_ns = r->end_ns > k->until_ns ? r->end_ns : k->until_ns;
	otlp_event_begin(b, &p->owner,
			 testing ? "testing_metrics_update" : "validation_metrics_update",
			 r->end_ns);
	otlp_int(b, "current_iteration", (int64_t)d->number);
	otlp_int(b, "interval", (int64_t)(d->number - k->base));
	otlp_event_end(b);
}

void otlp_range(struct otlp_tree *t, struct otlp_process *p, const struct fact_range *r)
{
	uint32_t slot;
	const char *name = otlp_between_range_name(r, &slot);
	struct otlp_held h = {.name = name, .from_ns = r->start_ns, .to_ns = r->end_ns};
	struct otlp_span s = {
		.name = name, .parent = p->root, .from_ns = r->start_ns, .to_ns = r->end_ns};

	if (!name || r->end_ns < r->start_ns || (r->async && r->bucket != BUCKET_CHECKPOINT_SAVE))
		return;
	if (slot < OTLP_NAMES && otlp_between_in_each_step(name) &&
	    p->range_left[slot]++ % t->sample)
		return;
	s.id = otlp_id_of(p, name, s.from_ns, s.to_ns);
	h.range = strcmp(r->name ? r->name : "", "evaluation") != 0;
	buffer_clear(&t->text);
	h.parent_at = otlp_span_begin(&t->text, &p->owner, &s);
	otlp_text(&t->text, "gpbpf.range", h.range ? r->name : NULL);
	otlp_span_events(&t->text, &p->owner, &s);
	otlp_between_evaluation_event(&t->text, p, name, r);
	otlp_span_end(&t->text, &p->owner, &s, 0, NULL);
	otlp_between_hold(t, p, &h);
}
