/* SPDX-License-Identifier: Apache-2.0 */
/* trace_step.c - draws steps and, on separate lanes, the first phases and the longest blocked times
 * of each. The step's arguments have the sums of all phases, and the job's own ranges. */
#include <stdio.h>
#include <string.h>

#include "userspace/base/json_text.h"
#include "userspace/export/file/json_line.h"
#include "userspace/export/trace/trace_private.h"

static void step_args(struct buffer *b, const struct fact_step *fs)
{
	static const char *const phase_key[PHASE_COUNT] = {
		"data_ns", "forward_ns",    "backward_ns", "update_ns", "zero_grad_ns",
		"sync_ns", "collective_ns", "transfer_ns", "compile_ns"};
	const struct step *s = &fs->step;

	json_uint(b, "step", s->number);
	if (fs->run_step != s->number)
		json_uint(b, "run_step", fs->run_step);
	if (s->micro_batches > 1)
		json_uint(b, "micro_batches", s->micro_batches);
	if (s->updates != 1)
		json_uint(b, "updates", s->updates);
#define X(bit, name)                                                                               \
	if (s->flags & (1u << (bit)))                                                              \
		json_bool(b, #name, true);
	STEP_FLAGS(X)
#undef X
	for (int i = 0; i < PHASE_COUNT; i++)
		if (fs->phases_known & (1u << i))
			json_uint(b, phase_key[i], fs->phase_ns[i]);
	if (fs->device_known)
		json_uint(b, "host_ns", fs->host_ns);
	if (!fs->ranges || !fs->ranges->nparts)
		return;
	json_open(b, "ranges_ns", '{');
	for (uint32_t i = 0; i < fs->ranges->nparts; i++)
		json_uint(b, fs->ranges->part[i].name, fs->ranges->part[i].ns);
	json_close(b, '}');
}

static void step_counter(struct buffer *b, const struct trace_track *track, uint32_t loop,
			 const struct trace_what *w)
{
	char name[32];

	if (loop)
		snprintf(name, sizeof(name), "step time, loop %u", loop);
	trace_event(b, "C", NULL, loop ? name : "step time", track, 0, w->from_ns);
	json_open(b, "args", '{');
	trace_us(b, "us", w->to_ns - w->from_ns);
	trace_done(b);
}

#define ADD(b, text) buffer_add(b, text, sizeof(text) - 1)

/* Like trace_event(), but without args, and faster, because most of a trace is such events. The
 * line must already contain an event. */
static void trace_step_piece_event(struct buffer *b, const struct trace_track *track, uint32_t lane,
				   const char *name, uint64_t from_ns, uint64_t to_ns)
{
	if (lane < TRACK_BLOCKED)
		ADD(b, ",{\"ph\":\"X\",\"cat\":\"phase\",\"name\":\"");
	else
		ADD(b, ",{\"ph\":\"X\",\"cat\":\"blocked\",\"name\":\"");
	buffer_add(b, name, strlen(name));
	ADD(b, "\",\"pid\":");
	buffer_uint(b, track->number);
	ADD(b, ",\"tid\":");
	buffer_uint(b, lane);
	ADD(b, ",\"ts\":");
	trace_us_value(b, from_ns);
	ADD(b, ",\"dur\":");
	trace_us_value(b, to_ns - from_ns);
	ADD(b, "}");
}

/* Writes pieces of a step (phases or blocked times) as events on the given lane. */
static void step_pieces(struct buffer *b, const struct fact_step *fs, const struct trace_what *w,
			uint32_t lane, const struct step_piece *piece, uint32_t n)
{
	uint64_t until_ns = w->from_ns;

	for (uint32_t i = 0; i < n; i++) {
		const struct step_piece *p = &piece[i];
		uint64_t from_ns = p->from_ns > until_ns ? p->from_ns : until_ns;

		if (!(fs->phases_known & 1u << p->phase) || p->to_ns <= from_ns ||
		    p->to_ns > w->to_ns)
			continue;
		trace_step_piece_event(b, w->track, lane, phase_name[p->phase], from_ns, p->to_ns);
		until_ns = p->to_ns;
	}
}

/* Writes the names of the lanes of a step's pieces. Returns false if a name could not be written.
 * A step without a lane gets no pieces, because they could overlap others. */
static bool trace_step_pieces_named(struct trace *t, const struct fact_step *fs,
				    const struct trace_what *w, uint32_t loop)
{
	return !w->lane || ((!fs->npieces || trace_named(t, w->track, TRACK_PHASES + loop)) &&
			    (!fs->nblocked || trace_named(t, w->track, TRACK_BLOCKED + loop)));
}

/* Returns true if the step is drawn: each t->every-th, and each with a flag except `ambiguous`.
 * left: number of steps not drawn since the last one drawn. */
static bool trace_step_wanted(const struct trace *t, const struct step *s, uint64_t left)
{
	return t->every && (s->flags & ~(uint32_t)STEP_ambiguous || left + 1 >= t->every);
}

void trace_step(struct trace *t, const struct fact *f)
{
	const struct step *s = &f->step->step;
	uint32_t loop = s->loop < STEP_LOOPS ? s->loop : STEP_LOOPS - 1;
	struct trace_what w = {.cat = "step",
			       .name = "step",
			       .span = true,
			       .from_ns = s->start_ns,
			       .to_ns = s->end_ns > s->start_ns ? s->end_ns : s->start_ns};
	struct buffer *b;
	uint64_t *left;

	w.track = trace_place(t, f, false, s->start_ns);
	if (!w.track)
		return;
	left = &w.track->left_out[loop];
	if (!trace_step_wanted(t, s, *left))
		goto leave;
	/* Loops beyond STEP_LOOPS share a lane, which may be occupied: then w.lane is 0. */
	w.lane = trace_lane(w.track, TRACK_STEPS, loop, w.from_ns, w.to_ns);
	if (!trace_named(t, w.track, w.lane) || !trace_step_pieces_named(t, f->step, &w, loop))
		goto leave;
	b = trace_begin(t);
	step_counter(b, w.track, s->loop, &w);
	if (w.lane) {
		step_pieces(b, f->step, &w, TRACK_PHASES + loop, f->step->piece, f->step->npieces);
		step_pieces(b, f->step, &w, TRACK_BLOCKED + loop, f->step->blocked,
			    f->step->nblocked);
	}
	trace_span_on(b, f, &w);
	step_args(b, f->step);
	if (*left)
		json_uint(b, "left_out_before", *left);
	if (!trace_finish(t, b, f, &w))
		goto leave;
	*left = 0;
	t->steps++;
	return;
leave:
	++*left;
	t->left_steps++;
}

void trace_state(struct trace *t, const struct fact *f)
{
	const struct step_state *st = f->state;
	struct trace_what at = {.kind = TRACK_OTHERS,
				.cat = "state",
				.name = step_state_name[st->state],
				.from_ns = f->mono_ns,
				.weight = TRACE_RARE};
	struct buffer *b = trace_instant(t, f, &at);

	if (!b)
		return;
	json_uint(b, "process", f->pid);
	json_known(b, "tier", tier_name[st->tier]);
	json_known(b, "marker", st->marker);
	json_string(b, "boundary", st->boundary ? boundary_name[st->boundary] : NULL);
	json_string(b, "series", st->tier ? series_name[st->series] : NULL);
	json_real(b, "confidence", st->confidence);
	json_known(b, "reason", st->reason);
	json_uint(b, "loop", st->loop);
	json_uint(b, "steps", st->steps);
	t->left_others += !trace_finish(t, b, f, &at);
}
