/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_loop.c - spans of training loops and their steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/export/otlp/otlp_text.h"
#include "userspace/export/otlp/otlp_tree_private.h"

#define NS_PER_S  1e9
#define USUAL_OF  8   /* the usual step time (a median) is computed after every 8 steps */
#define SLOW_PART 1.5 /* a step that takes this multiple of the usual time is slow */

uint64_t otlp_loop_id(const struct otlp_process *p, uint32_t loop)
{
	return otlp_id_of(p, "training_loop", loop, 0);
}

/* ---- the usual step time --------------------------------------------------------------------- */

static int otlp_loop_by_length(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Adds a step's time; updates the limit for slow steps once in USUAL_OF steps. */
static void otlp_loop_usual_add(struct otlp_loop *l, const struct step *s)
{
	uint64_t sorted[OTLP_RECENT];
	size_t n, middle;

	if (s->flags & STEP_NO_SAMPLE)
		return;
	l->recent_ns[l->nrecent++ % OTLP_RECENT] = s->end_ns - s->start_ns;
	if (l->nrecent % USUAL_OF)
		return;
	n = l->nrecent < OTLP_RECENT ? (size_t)l->nrecent : OTLP_RECENT;
	memcpy(sorted, l->recent_ns, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), otlp_loop_by_length);
	middle = n / 2;
	l->slow_ns = (uint64_t)((double)sorted[middle] * SLOW_PART);
}

/* ---- finished steps -------------------------------------------------------------------------- */

static void otlp_loop_done_add(struct otlp_loop *l, const struct step *s)
{
	l->sum_ns += s->end_ns - s->start_ns;
	l->done[l->steps % OTLP_DONE] = (struct otlp_done){s->number, s->end_ns, l->sum_ns};
}

static const struct otlp_done *otlp_loop_done_of(const struct otlp_process *p, uint64_t number,
						 uint64_t ns)
{
	const struct otlp_loop *l = p->loop[0];

	for (uint64_t i = l ? l->steps : 0, left = OTLP_DONE; i && left; i--, left--) {
		const struct otlp_done *d = &l->done[(i - 1) % OTLP_DONE];

		if (d->end_ns <= ns && (!number || d->number == number))
			return d;
	}
	return NULL;
}

const struct otlp_done *otlp_done_step(const struct otlp_process *p, uint64_t number)
{
	return number ? otlp_loop_done_of(p, number, UINT64_MAX) : NULL;
}

const struct otlp_done *otlp_done_by(const struct otlp_process *p, uint64_t ns)
{
	return otlp_loop_done_of(p, 0, ns);
}

/* ---- training_metrics_update ----------------------------------------------------------------- */

static void otlp_loop_part_join(struct otlp_part *to, const struct otlp_part *more)
{
	to->last_step = more->last_step;
	to->last_end_ns = more->last_end_ns;
	to->count += more->count;
	to->total_ns += more->total_ns;
	to->least_ns = more->least_ns < to->least_ns ? more->least_ns : to->least_ns;
	to->most_ns = more->most_ns > to->most_ns ? more->most_ns : to->most_ns;
	to->forward_ns += more->forward_ns;
	to->backward_ns += more->backward_ns;
	to->data_ns += more->data_ns;
	to->known &= more->known;
}

/* Adds a step to the loop's parts, which are groups of consecutive steps. Parts are merged when
 * there are too many, so that a loop of any length has at most OTLP_EVENTS parts. */
static void otlp_loop_part_add(struct otlp_loop *l, const struct fact_step *fs)
{
	const struct step *s = &fs->step;
	uint64_t ns = s->end_ns - s->start_ns;
	struct otlp_part one = {
		.first_step = s->number,
		.last_step = s->number,
		.count = 1,
		.total_ns = ns,
		.least_ns = ns,
		.most_ns = ns,
		.first_end_ns = s->end_ns,
		.last_end_ns = s->end_ns,
		.forward_ns = fs->phase_ns[PHASE_FORWARD],
		.backward_ns = fs->phase_ns[PHASE_BACKWARD],
		.data_ns = fs->phase_ns[PHASE_DATA],
		.known = fs->phases_known,
	};

	if (l->nparts && l->part[l->nparts - 1].count < l->each) {
		otlp_loop_part_join(&l->part[l->nparts - 1], &one);
		return;
	}
	if (l->nparts == OTLP_EVENTS) {
		for (uint32_t i = 0; i < OTLP_EVENTS / 2; i++) {
			l->part[i] = l->part[2 * i];
			otlp_loop_part_join(&l->part[i], &l->part[2 * i + 1]);
		}
		l->nparts /= 2;
		l->each *= 2;
	}
	l->part[l->nparts++] = one;
}

static void otlp_loop_part_average(struct buffer *b, const struct otlp_part *u, enum phase phase,
				   const char *key, uint64_t ns)
{
	if (u->known & 1u << phase)
		otlp_real(b, key, (double)ns / NS_PER_S / (double)u->count);
}

static void otlp_loop_part_event(struct buffer *b, const struct otlp_tree *t,
				 const struct otlp_process *p, const struct otlp_loop *l,
				 const struct otlp_part *u)
{
	double total_s = (double)u->total_ns / NS_PER_S, count = (double)u->count;
	const struct program_config *c = &t->config;

	otlp_event_begin(b, &p->owner, "training_metrics_update", u->last_end_ns);
	otlp_int(b, "train_iterations_start", (int64_t)l->first_step - 1);
	otlp_int(b, "current_iteration", (int64_t)u->last_step);
	otlp_int(b, "num_iterations", (int64_t)u->count);
	otlp_int(b, "interval", (int64_t)l->each);
	otlp_real(b, "avg_iteration_time_sec", total_s / count);
	otlp_real(b, "min_iteration_time_sec", (double)u->least_ns / NS_PER_S);
	otlp_real(b, "max_iteration_time_sec", (double)u->most_ns / NS_PER_S);
	otlp_real(b, "total_iteration_time_sec", total_s);
	otlp_loop_part_average(b, u, PHASE_FORWARD, "avg_forward_time_sec", u->forward_ns);
	otlp_loop_part_average(b, u, PHASE_BACKWARD, "avg_backward_time_sec", u->backward_ns);
	otlp_loop_part_average(b, u, PHASE_DATA, "avg_dataloader_time_sec", u->data_ns);
	if (c->samples > 0) {
		otlp_real(b, "train_samples_start", c->samples * (double)(l->first_step - 1));
		otlp_real(b, "num_train_samples", c->samples * count);
		otlp_real(b, "avg_batch_size", c->samples);
	}
	if (c->tokens > 0) {
		otlp_real(b, "train_tokens", c->tokens * count);
		if (total_s > 0)
			otlp_real(b, "avg_tokens_per_second", c->tokens * count / total_s);
	}
	if (c->flops > 0) {
		otlp_real(b, "total_flops", c->flops * count);
		otlp_real(b, "completed_floating_point_operations_overall",
			  c->flops * (double)u->last_step);
		if (total_s > 0)
			otlp_real(b, "avg_tflops", c->flops * count / total_s / 1e12);
	}
	otlp_real(b, "first_logged_train_iterations_finish_timestamp_sec",
		  (double)((int64_t)l->part[0].first_end_ns + p->owner.offset_ns) / NS_PER_S);
	otlp_real(b, "last_logged_train_iterations_finish_timestamp_sec",
		  (double)((int64_t)u->last_end_ns + p->owner.offset_ns) / NS_PER_S);
	otlp_event_end(b);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const char *const flag_name[] = {
#define X(bit, name) [bit] = #name,
	STEP_FLAGS(X)
#undef X
};

static const char *const piece_name[PHASE_COUNT] = {
	[PHASE_DATA] = "data_loading",	     [PHASE_FORWARD] = "model_forward",
	[PHASE_ZERO_GRAD] = "zero_grad",     [PHASE_BACKWARD] = "model_backward",
	[PHASE_UPDATE] = "optimizer_update",
};

static void otlp_loop_step_attributes(struct buffer *b, const struct fact_step *fs,
				      const struct otlp_loop *l, bool slow)
{
	const struct step *s = &fs->step;
	char key[GP_NAME_MAX + 24];

	otlp_int(b, "current_iteration", (int64_t)s->number);
	if (fs->run_step != s->number)
		otlp_int(b, "gpbpf.run_step", (int64_t)fs->run_step);
	if (s->loop)
		otlp_int(b, "gpbpf.loop", s->loop);
	if (s->micro_batches > 1)
		otlp_int(b, "gpbpf.micro_batches", s->micro_batches);
	otlp_bits(b, "gpbpf.flags", s->flags, flag_name, sizeof(flag_name) / sizeof(flag_name[0]));
	if (slow)
		otlp_bool(b, "gpbpf.slow", true);
	if (l->left)
		otlp_int(b, "gpbpf.left_out_before", (int64_t)l->left);
	for (int i = 0; i < PHASE_COUNT; i++) {
		if (!(fs->phases_known & 1u << i))
			continue;
		snprintf(key, sizeof(key), "gpbpf.phase.%s_ns", phase_name[i]);
		otlp_int(b, key, (int64_t)fs->phase_ns[i]);
	}
	if (fs->device_known)
		otlp_int(b, "gpbpf.phase.host_ns", (int64_t)fs->host_ns);
	for (uint32_t i = 0; fs->ranges && i < fs->ranges->nparts; i++) {
		snprintf(key, sizeof(key), "gpbpf.range.%s_ns", fs->ranges->part[i].name);
		otlp_int(b, key, (int64_t)fs->ranges->part[i].ns);
	}
}

static void otlp_loop_step_span(struct otlp_tree *t, struct otlp_process *p,
				const struct otlp_loop *l, const struct fact_step *fs, bool slow)
{
	const struct step *s = &fs->step;
	struct otlp_span span = {
		.name = "training_single_iteration",
		.id = otlp_id_of(p, "training_single_iteration", s->loop, s->end_ns),
		.parent = otlp_loop_id(p, s->loop),
		.from_ns = s->start_ns,
		.to_ns = s->end_ns,
	};

	buffer_clear(&t->text);
	otlp_span_begin(&t->text, &p->owner, &span);
	otlp_loop_step_attributes(&t->text, fs, l, slow);
	otlp_span_events(&t->text, &p->owner, &span);
	otlp_span_end(&t->text, &p->owner, &span, 0, NULL);
	otlp_put(t, p);
	for (uint32_t i = 0; i < fs->npieces; i++) {
		const struct step_piece *e = &fs->piece[i];

		if (fs->phases_known & 1u << e->phase && piece_name[e->phase])
			otlp_plain(t, p, piece_name[e->phase], span.id, e->from_ns, e->to_ns);
	}
}

static struct otlp_loop *otlp_loop_of(const struct otlp_tree *t, struct otlp_process *p,
				      const struct fact_step *fs)
{
	const struct step *s = &fs->step;
	uint32_t i = s->loop < STEP_LOOPS ? s->loop : STEP_LOOPS - 1;
	struct otlp_loop *l = p->loop[i] ? p->loop[i] : calloc(1, sizeof(*l));

	if (!l || p->loop[i])
		return l;
	p->loop[i] = l;
	l->first_ns = s->start_ns;
	l->first_step = s->number;
	l->each = t->sample;
	l->whole = fs->run_step <= 1;
	return l;
}

void otlp_loop_step(struct otlp_tree *t, struct otlp_process *p, const struct fact_step *fs)
{
	const struct step *s = &fs->step;
	struct otlp_loop *l = otlp_loop_of(t, p, fs);
	bool slow;

	if (!l) {
		t->view.unplaced++;
		return;
	}
	l->first_ns = s->start_ns < l->first_ns ? s->start_ns : l->first_ns;
	l->last_ns = s->end_ns > l->last_ns ? s->end_ns : l->last_ns;
	l->last_step = s->number;
	otlp_loop_done_add(l, s);
	slow = l->slow_ns && s->end_ns - s->start_ns > l->slow_ns;
	if (!l->steps++ || slow || s->flags & ~(uint32_t)STEP_ambiguous ||
	    l->left + 1 >= t->sample) {
		otlp_loop_step_span(t, p, l, fs, slow);
		l->left = 0;
	} else {
		l->left++;
		t->view.steps++;
	}
	otlp_loop_usual_add(l, s);
	otlp_loop_part_add(l, fs);
	if (!s->loop)
		otlp_held_settle(t, p, false);
}

void otlp_held_settle(struct otlp_tree *t, struct otlp_process *p, bool all)
{
	const struct otlp_loop *l = p->loop[0];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->nheld; i++) {
		struct otlp_held h = p->held[i];
		bool within = l && h.from_ns >= l->first_ns && h.to_ns <= l->last_ns;

		if (!within && !all && l && h.to_ns > l->last_ns) {
			p->held[kept++] = h;
			continue;
		}
		if (within)
			otlp_span_adopt(h.text, h.parent_at, otlp_loop_id(p, 0));
		otlp_queue_put(t->queue, h.text, h.len);
		free(h.text);
	}
	p->nheld = kept;
}

void otlp_loop_end(struct otlp_tree *t, struct otlp_process *p, uint32_t loop, bool unfinished)
{
	const struct otlp_loop *l = p->loop[loop];
	struct otlp_span span = {
		.name = "training_loop",
		.id = otlp_loop_id(p, loop),
		.parent = p->root,
		.from_ns = l->first_ns,
		.to_ns = l->last_ns,
	};
	struct buffer *b = &t->text;

	buffer_clear(b);
	otlp_span_begin(b, &p->owner, &span);
	otlp_int(b, "train_iterations_start", (int64_t)l->first_step - 1);
	if (t->config.samples > 0)
		otlp_real(b, "train_samples_start",
			  t->config.samples * (double)(l->first_step - 1));
	if (t->config.flops > 0)
		otlp_real(b, "completed_floating_point_operations_overall",
			  t->config.flops * (double)(l->first_step - 1));
	otlp_int(b, "gpbpf.steps", (int64_t)l->steps);
	otlp_int(b, "gpbpf.last_step", (int64_t)l->last_step);
	if (loop)
		otlp_int(b, "gpbpf.loop", loop);
	if (unfinished)
		otlp_bool(b, "gpbpf.unfinished", true);
	otlp_span_events(b, &p->owner, &span);
	for (uint32_t i = 0; i < l->nparts; i++)
		otlp_loop_part_event(b, t, p, l, &l->part[i]);
	if (l->saves.text.len) {
		buffer_add(b, ",", 1);
		buffer_add(b, l->saves.text.data, l->saves.text.len);
	}
	otlp_span_end(b, &p->owner, &span, l->saves.dropped, NULL);
	otlp_put(t, p);
}
