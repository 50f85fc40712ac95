/* SPDX-License-Identifier: Apache-2.0 */
/* step_program_step.c - makes steps of the runs of the elected program: sets start and end of each
 * step, waits for its completion on the device, and describes for users how steps are found. */
#include "userspace/base/order.h"
#include "userspace/base/number.h"
#include "userspace/model/step/step_program.h"

/* Runs between two steps count as an evaluation, even if no name says so, if there are at least
 * BLOCK_RUNS of one program, or BLOCK_MIXED of several programs. */
#define BLOCK_RUNS  3
#define BLOCK_MIXED 16
/* Runs between steps are only an evaluation if they occur at most once in this many steps. More
 * frequent runs are part of the loop. */
#define BLOCK_RARE 4
/* If this many steps wait for a completion and none was ever reported, the device does not report
 * completions. */
#define DEAF_STEPS 32
/* A step's completion is taken to be lost after completions of this many later steps. */
#define LOST_DONES 2
/* A program is part of the cycle if it ran in each step, this many steps in a row after the first
 * two. */
#define SAME_GAPS 3
/* Factor of the confidence in the steps if only a program's name shows that it trains, or if the
 * program computes a gradient and only a changing first input (weights or data) shows an update. */
#define WEAK 0.8
/* Factor of the confidence if a program computes a gradient, and no use of the gradient is seen. */
#define CONTENT_ALONE 0.9

/* ---- giving out steps ------------------------------------------------------------------------ */

double exec_doubt(const struct exec *e)
{
	if (exec_unit(e) == UNIT_EXECUTION || e->by_feed)
		return 1;
	if (!e->by_content || (e->by_moves && !e->by_name))
		return WEAK;
	return e->by_name ? 1 : CONTENT_ALONE;
}

static void exec_step_span_add(struct exec *e, const struct exec_block *b, uint64_t from_ns,
			       uint64_t to_ns, bool idle)
{
	if (to_ns <= from_ns)
		return;
	if (e->nspans == EXEC_SPANS)
		memmove(e->span, e->span + 1, --e->nspans * sizeof(*e->span));
	e->span[e->nspans++] = (struct exec_span){from_ns, to_ns, b->tid, idle};
}

/* Returns the end of a block of runs. The last run is assumed to last as long as the others,
 * because its end is not known. */
static uint64_t exec_step_block_end(const struct exec_block *b, uint64_t end_ns)
{
	uint64_t run_ns = b->runs > 1 ? (b->end_ns - b->begin_ns) / (b->runs - 1) : 0;

	return run_ns && b->end_ns + run_ns < end_ns ? b->end_ns + run_ns : end_ns;
}

void exec_report_block(struct exec *e, const struct exec_block *b, uint64_t end_ns,
		       uint64_t usual_ns)
{
	uint64_t from_ns = b->begin_ns, to_ns = b->end_ns;

	if (!b->runs || exec_unit(e) != UNIT_STEP || !e->last_ns)
		return;
	if (from_ns < e->last_ns || e->completes)
		from_ns = e->last_ns;
	if (end_ns && (b->open || to_ns > end_ns))
		to_ns = exec_step_block_end(b, end_ns);
	exec_step_span_add(e, b, from_ns, to_ns, false);
	if (end_ns && b->open && usual_ns && to_ns + 2 * usual_ns < end_ns)
		exec_step_span_add(e, b, to_ns, end_ns - usual_ns, true);
}

static uint64_t exec_step_loop_usual_ns(const struct loop *lp)
{
	uint32_t n = smaller_of(lp->nrecent, STEP_RECENT);
	uint64_t ns[STEP_RECENT];

	memcpy(ns, lp->recent_ns, n * sizeof(*ns));
	return n ? order_median(ns, n) : 0;
}

static void step_give(struct step_finder *sf, struct exec *e, const struct exec_step *s)
{
	struct step_thread *t = step_thread_of(sf, s->run.tid);
	struct mark m = {
		.begin_ns = s->run.begin_ns,
		.end_ns = s->run.done_ns ? s->run.done_ns : s->run.end_ns,
		.seq = sf->seq,
		.hits = {.backward = s->micro},
		.tid = s->run.tid,
		.flags = s->run.flags,
		.apart = true,
	};
	struct loop *lp = sf->loops[0];

	if (!t)
		return;
	m.thread = (uint32_t)(t - sf->threads);
	if (!lp->nrecent && !e->last_ns) {
		lp->used = true;
		lp->start_ns = e->first_ns;
	}
	if (m.end_ns <= e->last_ns) /* the device reported two completions in the wrong order */
		m.end_ns = e->last_ns + 1;
	exec_report_block(e, &s->eval, m.end_ns, exec_step_loop_usual_ns(lp));
	e->last_ns = m.end_ns;
	tracker_mark(sf, FAMILY_EXECUTE, &m);
}

static bool step_waits(const struct exec *e, uint32_t i)
{
	const struct exec_run *r = &e->pending[i].run;
	uint32_t later = 0;

	if (!r->number || r->done_ns || e->deaf)
		return false;
	for (uint32_t k = i + 1; k < e->npending; k++)
		later += e->pending[k].run.done_ns != 0;
	return later < LOST_DONES;
}

void exec_flush(struct step_finder *sf, struct exec *e, bool all)
{
	uint32_t n = 0;

	while (n < e->npending && (all || !step_waits(e, n))) {
		struct exec_step *s = &e->pending[n++];

		if (s->run.number && !s->run.done_ns && e->completes)
			s->run.flags |= STEP_tainted | STEP_imputed;
		step_give(sf, e, s);
	}
	e->npending -= n;
	if (n)
		memmove(e->pending, e->pending + n, e->npending * sizeof(*e->pending));
	if (!e->npending && e->pending_cap > 16)
		e->pending = grow_free(e->pending, &e->pending_cap);
}

static void exec_pending_add(struct step_finder *sf, struct exec *e, const struct exec_step *s)
{
	struct exec_step *pending;

	if (!e->dones && e->npending >= DEAF_STEPS)
		e->deaf = true;
	if (e->npending == EXEC_PENDING)
		exec_flush(sf, e, true);
	pending = grow_add(e->pending, e->npending, e->pending_cap, EXEC_PENDING);
	if (!pending) {
		sf->error = -ENOMEM;
		return;
	}
	*pending = *s;
	exec_flush(sf, e, false);
}

/* ---- runs, once they can be assigned --------------------------------------------------------- */

/* Returns true if the block is long enough for an evaluation, and no program in it trains. */
static bool exec_step_block_counts(const struct exec_block *b)
{
	return b->runs >= (b->mixed ? BLOCK_MIXED : BLOCK_RUNS) && !b->trains;
}

bool exec_evaluates(const struct exec *e)
{
	const struct exec_block *b = &e->block;

	return b->evals || (exec_step_block_counts(b) &&
			    (e->blocks + 1) * BLOCK_RARE <= e->steps - e->blocks_at);
}

/* Returns true if the program's name shows that it trains. A name that differs from the elected
 * program's name only in a number proves nothing: Keras uses such names for validation. */
static bool exec_step_block_trains(const struct exec *e, const struct exec_program *p)
{
	return p->class == PROGRAM_STEP && !program_akin(p->name, e->program[e->elected].name);
}

static void exec_step_block_add(struct exec *e, const struct exec_run *r)
{
	const struct exec_program *p = &e->program[r->program];
	struct exec_block *b = &e->block;

	if (p->class == PROGRAM_INTERNAL || p->class == PROGRAM_ASIDE || p->member)
		return;
	if (!b->runs)
		*b = (struct exec_block){
			.begin_ns = r->begin_ns, .program = r->program, .tid = r->tid};
	b->mixed |= b->program != r->program;
	b->trains |= exec_step_block_trains(e, p);
	b->runs++;
	b->evals += p->class == PROGRAM_EVAL;
	b->number = r->number;
	b->end_ns = r->done_ns ? r->done_ns : r->end_ns;
	b->open = b->end_ns == r->begin_ns;
}

static void exec_step_place_step(struct step_finder *sf, struct exec *e, const struct exec_run *r)
{
	struct exec_program *p = &e->program[r->program];
	struct exec_step s = {.run = *r, .micro = e->nmicro ? e->nmicro : 1};

	if (exec_evaluates(e))
		s.eval = e->block;
	e->blocks += exec_step_block_counts(&e->block);
	e->block = (struct exec_block){0};
	if ((p->compiled && e->steps) || e->replaced)
		s.run.flags |= STEP_recompiled;
	p->compiled = e->replaced = false;
	e->nmicro = 0;
	e->steps++;
	exec_pending_add(sf, e, &s);
}

void exec_place(struct step_finder *sf, struct exec *e, const struct exec_run *r)
{
	struct exec_program *p = &e->program[r->program];
	uint64_t gap = e->steps - p->at_step;

	if (r->program == e->elected) {
		exec_step_place_step(sf, e, r);
		return;
	}
	if (gap) {
		p->same = gap == p->gap ? p->same + 1 : 0;
		p->gap = gap;
	}
	p->at_step = e->steps;
	e->nmicro += r->program == e->micro;
	/* A program that ran in each of the last steps is part of the cycle. */
	p->member |= gap == 1 && p->same >= SAME_GAPS && p->class != PROGRAM_EVAL;
	if (r->program != e->micro)
		exec_step_block_add(e, r);
}

void exec_place_since(struct step_finder *sf, struct exec *e, const struct exec_run *r)
{
	struct exec_run *held = e->held;
	uint32_t n = e->nheld;

	e->held = NULL;
	e->nheld = e->held_cap = 0;
	for (uint32_t i = 0; i <= n; i++) {
		const struct exec_run *run = i < n ? &held[i] : r;

		if (run->program != r->program)
			continue;
		if (!e->steps)
			e->first_ns = run->begin_ns;
		e->nmicro = e->usual;
		exec_place(sf, e, run);
	}
	free(held);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void exec_step_describe_cycle(const struct exec *e, struct step_state *st)
{
	size_t len = 0, cap = sizeof(st->ratios);

	*st->ratios = '\0';
	for (uint32_t i = 0; i < e->nprograms && len + 1 < cap; i++) {
		const struct exec_program *p = &e->program[i];
		bool micro = i == e->micro;

		if (i != e->elected && !micro && !p->member)
			continue;
		len += (size_t)snprintf(st->ratios + len, cap - len, "%s%.40s:%u", len ? " " : "",
					*p->name ? p->name : "program", micro ? e->usual : 1);
	}
}

static const char *exec_why(const struct exec *e, const struct exec_program *p)
{
	if (e->by_content)
		return e->by_name || e->by_feed ? ""
		       : e->by_moves
			       ? "; it computes a gradient; its first input changes: weights or data"
			       : "; it computes a gradient";
	if (e->by_feed)
		return e->by_name ? "" : "; it is fed with its own output";
	return p->content == CONTENT_NONE
		       ? "; only its name says that it trains: it computes no gradient"
		       : "; only its name says that it trains";
}

void exec_describe(const struct step_finder *sf, struct step_state *st)
{
	const struct exec *e = sf->exec;
	uint32_t each = larger_of(sf->config.multiply, 1);
	const struct exec_program *p = &e->program[e->elected];
	const char *name = *p->name    ? p->name
			   : p->cached ? "a program from a cache without its name"
				       : "a program without a name";
	int n = 0;

	snprintf(st->marker, sizeof(st->marker), "%.47s", *p->name ? p->name : "execution");
	exec_step_describe_cycle(e, st);
	if (st->state == STATE_SUSPECT)
		return;
	if (exec_unit(e) == UNIT_EXECUTION)
		n = snprintf(st->reason, sizeof(st->reason), "executions of %.60s: %s: no steps",
			     name,
			     p->content == CONTENT_NONE ? "it computes no gradient"
			     : p->content == CONTENT_GRADIENT
				     ? "it computes a gradient that never changes its first input"
				     : "nothing shows that it trains");
	else
		n = snprintf(st->reason, sizeof(st->reason),
			     "executions of %.60s: %u per step%s%s%s", name, each,
			     strstr(name, "_step_on_")
				     ? "; Keras uses this name for evaluation, too"
				     : "",
			     exec_why(e, p), e->switched ? "; another program counted before" : "");
	if (!e->completes && n > 0 && (size_t)n < sizeof(st->reason))
		snprintf(st->reason + n, sizeof(st->reason) - (size_t)n,
			 "; times are of the calls");
}

/* ---- queries by the step finder -------------------------------------------------------------- */

int step_finder_evaluation(struct step_finder *sf, uint32_t *ret_tid, uint64_t *ret_begin_ns,
			   uint64_t *ret_end_ns, bool *ret_idle)
{
	struct exec *e = sf->exec;

	if (!e || !e->nspans)
		return 0;
	*ret_tid = e->span[0].tid;
	*ret_begin_ns = e->span[0].begin_ns;
	*ret_end_ns = e->span[0].end_ns;
	*ret_idle = e->span[0].idle;
	memmove(e->span, e->span + 1, --e->nspans * sizeof(*e->span));
	return 1;
}

bool step_finder_trains(const struct step_finder *sf)
{
	return sf->exec && sf->exec->trains;
}
