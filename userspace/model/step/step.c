/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - turns signals into steps. This file assigns signals to threads, and selects the signals
 * that are marks: hits of a marker that may end a step.
 *
 * Families of markers. Each can find steps alone; step_elect.c chooses one of them. The letters are
 * the names of the rules:
 *   ranges     A: an optimizer's step range that is not inside another one, grouped by rule B2
 *   zero_grad  Z2: zero_grad with a backward pass since the previous one (for compiled optimizers,
 *              which show no range)
 *   update_op  operators that only optimizers use, grouped like ranges; a step ends where the
 *              first one begins
 *   reducer    the end of a synchronised backward pass of DDP
 *   param_op   operators that optimizers use, as well as other code
 *   anon       ranges without names (torch 1.13), by their order between backward passes,
 *              step_anon.c
 *   backward   E: outermost backward passes; micro-batches and steps look alike
 *   execute    compiled programs: the one that ends a step, step_program.c. If the user chose this
 *              marker, each run is a step.
 *   sync       blocking waits for the device: if nothing else is seen, cycles of waits, which are
 *              not steps. If the user chose this marker, each wait ends a step.
 *   probe      hits of the probe that the user chose */
#include "userspace/model/step/step_private.h"
#include "userspace/model/step/step_program.h"

/* A group of marks, or a step in progress, ends when nothing was added to it for this time (ns). */
#define JOIN_NS 1000000000ull
/* The queue of finished steps is freed when it is empty, if it has room for more steps than
 * this. */
#define OUT_KEPT 16

static enum family step_boundary_family(enum step_boundary b)
{
	for (int f = 0; f < FAMILY_COUNT; f++) {
		if (f != FAMILY_ANON && family_row[f].boundary == b)
			return (enum family)f;
	}
	return FAMILY_NONE;
}

struct step_finder *step_finder_new(const struct step_config *cfg)
{
	struct step_finder *sf = calloc(1, sizeof(*sf));

	if (!sf)
		return NULL;
	sf->config = *cfg;
	sf->elected = step_boundary_family(cfg->force);
	sf->fixed = sf->elected != FAMILY_NONE;
	/* Assumed until the order is observed: torch's examples call zero_grad before the backward
	 * pass. */
	sf->zero_grad_first = true;
	sf->loops[0] = calloc(1, sizeof(*sf->loops[0]));
	if (sf->loops[0])
		return sf;
	step_finder_free(sf);
	return NULL;
}

void step_finder_free(struct step_finder *sf)
{
	if (!sf)
		return;
	for (int f = 0; f < FAMILY_COUNT; f++)
		tracker_free(sf->trackers[f]);
	for (uint32_t i = 0; i < STEP_THREADS; i++)
		anon_free(sf->anon[i]);
	for (uint32_t i = 0; i < STEP_LOOPS; i++)
		free(sf->loops[i]);
	exec_free(sf->exec);
	free(sf->cycle);
	free(sf->threads);
	free(sf->out);
	free(sf);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Call at a backward pass or a batch fetch of thread `by`. Closes the open groups of all threads
 * for whose marks the work of `by` counts (thread_listens()). */
static void step_threads_separate(struct step_finder *sf, const struct step_thread *by)
{
	for (int f = 0; f < FAMILY_COUNT; f++) {
		struct tracker *t = family_row[f].grouped ? sf->trackers[f] : NULL;
		const struct step_thread *to;

		for (uint32_t i = 0; t && i < t->ncandidates; i++) {
			struct candidate *l = t->candidates[i];

			if ((l->open || l->loose) && (to = step_thread_find(sf, l->group.tid)) &&
			    thread_listens(sf, (enum family)f, by, to))
				candidate_close(sf, l, true);
		}
	}
}

/* ---- signals --------------------------------------------------------------------------------- */

static void step_thread_class(struct step_thread *t, const struct signal *s)
{
	if (s->text)
		strncpy(t->class, s->text, sizeof(t->class) - 1);
}

static void step_feed_mark(struct step_finder *sf, enum family f, struct step_thread *t,
			   const struct signal *s)
{
	struct mark m = mark_make(sf, f, t, s);

	tracker_mark(sf, f, &m);
}

static void step_feed_update_begin(struct step_finder *sf, struct step_thread *t,
				   const struct signal *s)
{
	if (s->depth)
		return;
	if (!t->update_open)
		sf->updates_open++;
	t->update_open = true;
	t->update_ident = 0;
	sf->updates_begun++;
}

static void step_feed_update(struct step_finder *sf, struct step_thread *t, const struct signal *s)
{
	struct signal with = *s;

	if (s->depth)
		return;
	if (t->update_open)
		sf->updates_open--;
	t->update_open = false;
	if (!with.ident)
		with.ident = t->update_ident;
	t->amp_update = true;
	step_thread_class(t, s);
	sf->step_class[s->name / 32 % 32] |= 1u << s->name % 32;
	step_feed_mark(sf, FAMILY_RANGES, t, &with);
}

/* Rule Z2: a step ends where zero_grad begins. If the loop calls zero_grad last, this is the end of
 * the iteration. If the loop calls zero_grad first, it is the start of the next iteration. */
static void step_feed_zero_grad(struct step_finder *sf, struct step_thread *t,
				const struct signal *s)
{
	uint64_t backwards = 0;

	sf->zero_grad = true;
	step_thread_class(t, s);
	sf->zero_grad_class[s->name / 32 % 32] |= 1u << s->name % 32;
	for (uint32_t i = 0; i < sf->nthreads; i++) {
		if (thread_listens(sf, FAMILY_ZERO_GRAD, &sf->threads[i], t))
			backwards += sf->threads[i].hits.backward;
	}
	if (!sf->zero_grad_known) {
		sf->zero_grad_known = true;
		if (t->fetch_seq)
			sf->zero_grad_first = t->fetch_seq > t->backward_seq;
		else if (sf->config.from_start)
			sf->zero_grad_first = !backwards;
	}
	if (backwards != t->zero_grad_backwards || (!t->zero_grad_seen && backwards))
		step_feed_mark(sf, FAMILY_ZERO_GRAD, t, s);
	t->zero_grad_seen = true;
	t->zero_grad_name = s->name;
	t->zero_grad_backwards = backwards;
	t->hits.zero_grad++;
}

/* Returns true if backward passes of thread t count as marks. Only one thread counts (rule E of
 * step.h): on a GPU the device thread runs nested passes of re-entrant checkpointing, which look
 * like outer ones. If the counted thread is silent for 10 seconds, t replaces it. */
static bool step_backward_elects(struct step_finder *sf, const struct step_thread *t)
{
	uint32_t i = (uint32_t)(t - sf->threads) + 1;

	if (!sf->backward_thread)
		sf->backward_thread = i;
	if (sf->backward_thread == i)
		return true;
	if (silence_ns(sf, sf->threads[sf->backward_thread - 1].backward_ns) < 10 * JOIN_NS)
		return false;
	sf->backward_thread = i;
	return true;
}

static void step_feed_backward(struct step_finder *sf, struct step_thread *t,
			       const struct signal *s)
{
	struct mark m;

	if (!s->outer)
		return;
	if (!sf->backward)
		sf->first_backward_seq = sf->seq;
	sf->backward = t->backward = true;
	sf->strays += sf->stray && !sf->operated && sf->elected == FAMILY_UPDATE_OP;
	sf->stray = sf->operated = false;
	step_threads_separate(sf, t);
	t->hits.backward++;
	t->backward_seq = sf->seq;
	t->amp_backward = true;
	for (int f = 0; f < FAMILY_COUNT; f++) {
		if (!t->span_ns[f])
			t->span_ns[f] = s->ts_ns;
	}
	if (step_backward_elects(sf, t))
		step_feed_mark(sf, FAMILY_BACKWARD, t, s);
	if (sf->anonymous) {
		m = mark_make(sf, FAMILY_ANON, t, s);
		anon_backward(sf, &m);
	}
	t->backward_ns = s->ts_ns;
}

static void step_feed_fetch(struct step_finder *sf, struct step_thread *t, const struct signal *s)
{
	(void)s;
	sf->fetched = true;
	if (t->backward || !sf->backward)
		step_threads_separate(sf, t);
	t->hits.fetch++;
	t->fetch_seq = sf->seq;
}

/* Returns the family by which updates are seen: step ranges, or operators if only operators were
 * seen. */
static enum family step_update_family(const struct step_finder *sf)
{
	static const enum family operators[] = {FAMILY_UPDATE_OP, FAMILY_PARAM_OP};

	for (size_t i = 0; !sf->updates_begun && i < sizeof(operators) / sizeof(*operators); i++) {
		if (sf->trackers[operators[i]])
			return operators[i];
	}
	return FAMILY_RANGES;
}

static void step_mark_skipped(struct step_finder *sf, enum family f, struct step_thread *t,
			      const struct signal *s)
{
	struct mark m = mark_make(sf, f, t, s);

	m.skipped = true;
	tracker_mark(sf, f, &m);
}

/* Handles a decision of the gradient scaler. The scaler decides once per attempted step, after the
 * optimizer. If the thread made a backward pass and no update since the previous decision, the
 * gradients overflowed and the update was skipped. If updates were only seen by operators that
 * other code uses, too (FAMILY_PARAM_OP), these may not be updates: step ranges, which may be seen
 * later, get a skipped update for each decision. */
static void step_feed_amp(struct step_finder *sf, struct step_thread *t, const struct signal *s)
{
	enum family f = step_update_family(sf);

	sf->amps++;
	if (!t->amp_update && t->amp_backward) {
		sf->skips++;
		step_mark_skipped(sf, f, t, s);
	}
	if (f == FAMILY_PARAM_OP && sf->elected == FAMILY_NONE && t->amp_backward)
		step_mark_skipped(sf, FAMILY_RANGES, t, s);
	t->amp_update = t->amp_backward = false;
}

static void step_feed_op(struct step_finder *sf, struct step_thread *t, const struct signal *s)
{
	enum family f = s->kind == SIGNAL_UPDATE_OP ? FAMILY_UPDATE_OP : FAMILY_PARAM_OP;

	if (t->update_open && !t->update_ident)
		t->update_ident = s->ident;
	if (s->kind == SIGNAL_LIST_OP)
		return;
	sf->stray |= s->kind == SIGNAL_PARAM_OP;
	sf->operated |= s->kind == SIGNAL_UPDATE_OP;
	sf->operated_backwards = sf->trackers[FAMILY_BACKWARD]
					 ? sf->trackers[FAMILY_BACKWARD]->marks
					 : 0;
	anon_operator(sf, (uint32_t)(t - sf->threads), s->ident);
	step_feed_mark(sf, f, t, s);
	/* An operator of another family does not prove an update: averages of parameters use such
	 * operators, too. */
	t->amp_update |= f == step_update_family(sf);
}

static void step_candidates_each(struct step_finder *sf,
				 void (*fn)(struct step_finder *, struct candidate *))
{
	for (int f = 0; f < FAMILY_COUNT; f++) {
		for (uint32_t i = 0; sf->trackers[f] && i < sf->trackers[f]->ncandidates; i++)
			fn(sf, sf->trackers[f]->candidates[i]);
	}
}

static void step_candidate_taint(struct step_finder *sf, struct candidate *l)
{
	(void)sf;
	l->taint = true;
	if (l->open)
		l->group.flags |= STEP_tainted;
	if (l->sum_groups)
		l->sum.flags |= STEP_tainted;
}

/* Handles a gap in the records: closes the open group, and flags the step in progress as
 * tainted. */
static void step_candidate_gap(struct step_finder *sf, struct candidate *l)
{
	candidate_close(sf, l, false);
	step_candidate_taint(sf, l);
	l->unwatched = true;
}

static void step_candidate_tick(struct step_finder *sf, struct candidate *l)
{
	if (l->open && sf->now_ns - l->group.end_ns >= JOIN_NS && sf->now_ns > l->group.end_ns)
		candidate_close(sf, l, false);
	if (l->sum_groups && sf->now_ns > l->sum.end_ns && sf->now_ns - l->sum.end_ns >= JOIN_NS)
		candidate_still(sf, l);
}

/* At the end of the process: a loop that calls zero_grad first makes no call after its last step.
 * Ends that step here. */
static void step_zero_grad_finish(struct step_finder *sf)
{
	for (uint32_t i = 0; sf->zero_grad_first && i < sf->nthreads; i++) {
		struct step_thread *t = &sf->threads[i];
		struct signal s = {
			.tid = t->tid, .ts_ns = t->backward_ns, .begin_ns = t->backward_ns};
		struct mark m;

		s.name = t->zero_grad_name;
		if (!t->zero_grad_seen || t->hits.backward == t->zero_grad_backwards)
			continue;
		m = mark_make(sf, FAMILY_ZERO_GRAD, t, &s);
		m.flags |= STEP_imputed;
		tracker_mark(sf, FAMILY_ZERO_GRAD, &m);
	}
}

static void step_feed_exit(struct step_finder *sf)
{
	exec_finish(sf);
	cycle_finish(sf);
	if (sf->elected != FAMILY_RANGES)
		step_zero_grad_finish(sf);
	anon_finish(sf);
	for (int f = 0; f < FAMILY_COUNT; f++) {
		if (sf->trackers[f])
			tracker_settle(sf, sf->trackers[f]);
	}
	step_elect(sf, true);
	step_candidates_each(sf, candidate_finish);
	sf->ended = true;
}

static void step_thread_first(struct step_finder *sf, struct step_thread *t, uint64_t ts_ns)
{
	if (!t->first_ns)
		t->first_ns = ts_ns;
	if (!sf->first_ns)
		sf->first_ns = ts_ns;
}

static void step_feed_reducer(struct step_finder *sf, struct step_thread *t, const struct signal *s)
{
	t->hits.reducer++;
	anon_reducer(sf, (uint32_t)(t - sf->threads));
	step_feed_mark(sf, FAMILY_REDUCER, t, s);
}

static void step_feed_anon_range(struct step_finder *sf, struct step_thread *t,
				 const struct signal *s)
{
	anon_open(sf, (uint32_t)(t - sf->threads), s->ts_ns);
}

static void step_feed_chosen(struct step_finder *sf, struct step_thread *t, const struct signal *s)
{
	step_feed_mark(sf, sf->elected, t, s);
}

/* Functions for signals that concern only the steps of their own thread. */
static void (*const step_feeds[SIGNAL_COUNT])(struct step_finder *, struct step_thread *,
					      const struct signal *) = {
	[SIGNAL_UPDATE_BEGIN] = step_feed_update_begin,
	[SIGNAL_UPDATE] = step_feed_update,
	[SIGNAL_ZERO_GRAD_BEGIN] = step_feed_zero_grad,
	[SIGNAL_FETCH_BEGIN] = step_feed_fetch,
	[SIGNAL_BACKWARD] = step_feed_backward,
	[SIGNAL_REDUCER] = step_feed_reducer,
	[SIGNAL_UPDATE_OP] = step_feed_op,
	[SIGNAL_LIST_OP] = step_feed_op,
	[SIGNAL_PARAM_OP] = step_feed_op,
	[SIGNAL_AMP] = step_feed_amp,
	[SIGNAL_ANON_RANGE] = step_feed_anon_range,
	[SIGNAL_EXECUTE] = step_feed_chosen,
	[SIGNAL_SYNC] = step_feed_chosen,
	[SIGNAL_PROBE] = step_feed_chosen,
};

static bool step_signal_matters(const struct step_finder *sf, const struct signal *s)
{
	switch (s->kind) {
	case SIGNAL_LIST_OP:
		return sf->updates_open > 0;
	case SIGNAL_EXECUTE:
		return sf->fixed && sf->elected == FAMILY_EXECUTE;
	case SIGNAL_SYNC:
		return sf->fixed && sf->elected == FAMILY_SYNC && !s->tainted;
	case SIGNAL_PROBE:
		return sf->elected == FAMILY_PROBE;
	default:
		return step_feeds[s->kind];
	}
}

static void step_feed_thread(struct step_finder *sf, const struct signal *s)
{
	struct step_thread *t = step_thread_of(sf, s->tid);

	if (!t)
		return;
	step_thread_first(sf, t, s->begin_ns);
	step_feeds[s->kind](sf, t, s);
}

static void step_feed_other(struct step_finder *sf, const struct signal *s)
{
	switch (s->kind) {
	case SIGNAL_EXECUTE:
	case SIGNAL_COMPILE:
	case SIGNAL_DONE:
		exec_signal(sf, s);
		break;
	case SIGNAL_SYNC:
		if (!s->tainted)
			cycle_wait(sf, s);
		break;
	case SIGNAL_TICK:
		exec_tick(sf);
		step_candidates_each(sf, step_candidate_tick);
		break;
	case SIGNAL_OPTIMIZER:
		if (sf->backward && !sf->optimizers++)
			sf->optimizer_after = sf->loops[0] ? sf->loops[0]->number : 0;
		break;
	case SIGNAL_LOSS:
		sf->losses += s->count;
		step_candidates_each(sf, step_candidate_taint);
		break;
	case SIGNAL_GAP:
		exec_gap(sf);
		sf->losses++;
		sf->watched_ns = sf->now_ns;
		step_candidates_each(sf, step_candidate_gap);
		break;
	case SIGNAL_EXIT:
		step_feed_exit(sf);
		break;
	default:
		break;
	}
}

int step_finder_feed(struct step_finder *sf, const struct signal *s)
{
	if (sf->ended)
		return 0;
	sf->error = 0;
	step_elect_probe(sf, s);
	sf->seq++;
	if (s->ts_ns > sf->now_ns)
		sf->now_ns = s->ts_ns;
	if (step_signal_matters(sf, s)) {
		step_feed_thread(sf, s);
		step_elect(sf, false);
	} else {
		step_feed_other(sf, s);
	}
	return sf->error;
}

int step_finder_next(struct step_finder *sf, struct step *ret)
{
	if (sf->out_head == sf->nout) {
		sf->out_head = sf->nout = 0;
		if (sf->out_cap > OUT_KEPT)
			sf->out = grow_free(sf->out, &sf->out_cap);
		return 0;
	}
	*ret = sf->out[sf->out_head++];
	return 1;
}

bool step_finder_wants_operators(const struct step_finder *sf)
{
	const struct tracker *t = sf->elected < FAMILY_COUNT ? sf->trackers[sf->elected] : NULL;

	for (uint32_t i = 0; t && i < t->ncandidates; i++) {
		const struct unit *u = &t->candidates[i]->unit;

		if (t->candidates[i]->mode != CANDIDATE_LEARNING &&
		    (u->lead || u->size > 1 || u->ambiguous))
			return true;
	}
	return false;
}
