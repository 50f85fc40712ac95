/* SPDX-License-Identifier: Apache-2.0 */
/* step_program.c - finds steps in a process that runs compiled programs (JAX, TensorFlow,
 * torch_xla).
 *
 * Some programs belong to the framework (JAX: "jit__threefry_split", "jit_add"). Some run before
 * training, some evaluate, log or save. The others repeat: the sequence that each step runs is
 * called the cycle here. It consists of one program, or of several: the gradient and the update, or
 * the two programs of a GAN. Some may run several times in each cycle (micro-batches). One of the
 * programs that run once in a cycle ends the step: the last one whose name says that it trains,
 * else the one with the most code, else the one with the most arguments. The first run of that
 * program counts as step 1.
 *
 * A program stays elected when it is compiled again under its name. Another program replaces it if
 * that one runs repeatedly and the elected one does not; the step numbers continue. If a program
 * ran once, directly before the first step, and its name differs from the elected one only in a
 * number, it was the first step (torch_xla).
 *
 * The cycle is training if one of its programs computes a gradient (its operations show that) and a
 * state is updated. An updated state shows in two ways: the first output of a run is the first
 * input of the next run, or the first input is another array than before. If the operations cannot
 * be read, the name or the update of a state is enough. Otherwise executions are counted, which are
 * not called training. The work within a run is not seen: one run may be several steps, or part of
 * one.
 *
 * A step ends when its program is completed on the device, if that is reported; otherwise when the
 * call returned, or when it began if its return is not seen. */
#include "userspace/model/step/step_program.h"

/* If no completion was reported for this time (ns) after a run, the device is assumed to report
 * none. */
#define DEAF_NS 10000000000ull
/* After every TAKES_OVER runs of other programs without a run of the elected one, it is checked
 * whether one of these programs ends the steps now. If the number of inputs of that program or of
 * the elected one is unknown, that program must have run TAKES_UNKNOWN times. */
#define TAKES_OVER    8
#define TAKES_UNKNOWN 64
/* A program that runs once in every n steps (n > 1) becomes the one that ends steps, if n was the
 * same this many times in a row. */
#define SAME_GAPS 3

static void exec_forget_held(struct exec *e, uint32_t from)
{
	e->nheld -= from;
	memmove(e->held, e->held + from, e->nheld * sizeof(*e->held));
}

/* ---- programs -------------------------------------------------------------------------------- */

static bool program_kept(const struct exec *e, uint32_t i)
{
	return e->locked && (i == e->elected || i == e->micro || e->program[i].member);
}

static uint32_t program_reuse(struct exec *e)
{
	uint32_t idle = NO_PROGRAM, kept = 0;

	for (uint32_t i = 0; i < e->nprograms; i++) {
		if (!program_kept(e, i) &&
		    (idle == NO_PROGRAM || e->program[i].seen < e->program[idle].seen))
			idle = i;
	}
	for (uint32_t i = 0; idle != NO_PROGRAM && i < e->nheld; i++) {
		if (e->held[i].program != idle)
			e->held[kept++] = e->held[i];
	}
	e->nheld = idle == NO_PROGRAM ? e->nheld : kept;
	if (e->block.program == idle)
		e->block = (struct exec_block){0};
	return idle;
}

/* Notes in e->trains if the program's own name and content show that it trains. */
static void program_trains(struct exec *e, const struct exec_program *p)
{
	bool doubted = p->content == CONTENT_GRADIENT && !program_says_train(p->name) &&
		       !exec_moves(p);

	e->trains |= p->runs && p->class == PROGRAM_STEP && !doubted && !exec_content_comes(e, p);
}

static void program_named(struct exec *e, struct exec_program *p, const char *name)
{
	size_t len = strnlen(name, sizeof(p->name) - 1);

	if (!len || (!strncmp(p->name, name, len) && !p->name[len]))
		return;
	memcpy(p->name, name, len);
	p->name[len] = '\0';
	p->class = program_judge(p->name, p->content);
	program_trains(e, p);
}

static void program_content_is(struct exec *e, struct exec_program *p, uint32_t content)
{
	if (!content || p->content == content)
		return;
	p->content = content;
	p->class = program_judge(p->name, content);
	program_trains(e, p);
}

static uint32_t program_of(struct step_finder *sf, struct exec *e, uint64_t ident)
{
	uint32_t i = e->program ? exec_program_find(e, ident) : NO_PROGRAM;
	struct exec_program *program;

	if (i == NO_PROGRAM && (!e->program || e->nprograms < EXEC_PROGRAMS)) {
		program = grow_add(e->program, e->nprograms, e->programs_cap, EXEC_PROGRAMS);
		if (!program) {
			sf->error = -ENOMEM;
			return NO_PROGRAM;
		}
		*program = (struct exec_program){.ident = ident};
		i = e->nprograms - 1;
	} else if (i == NO_PROGRAM) {
		i = program_reuse(e);
		if (i == NO_PROGRAM)
			return i;
		e->program[i] = (struct exec_program){.ident = ident};
	}
	e->program[i].seen = ++e->seq;
	return i;
}

/* ---- the lock -------------------------------------------------------------------------------- */

/* Decides whether the programs of the cycle train. If the content is unknown, the name decides. A
 * program without a gradient does not train, unless its name leaves no doubt (its author wrote the
 * derivatives by hand). A program with a gradient trains if its output is its next input, or if its
 * first input changes. That input may be weights or data, which cannot be distinguished. */
static void exec_evidence(struct exec *e, const struct exec_pick *p)
{
	bool gradient = false, moves = false, hinted = false;

	e->by_name = e->by_feed = e->by_content = false;
	for (uint32_t i = 0; i < e->nprograms; i++) {
		const struct exec_program *q = &e->program[i];
		bool named = q->class == PROGRAM_STEP || q->class == PROGRAM_PART;
		bool sure = named && program_says_train(q->name);

		if (!p->member[i] && i != p->micro && i != p->program)
			continue;
		e->by_name |= named && (q->content == CONTENT_UNKNOWN || sure);
		e->by_feed |= q->class == PROGRAM_OTHER && q->content != CONTENT_NONE &&
			      exec_fed(q);
		if (q->content != CONTENT_GRADIENT || (!named && q->class != PROGRAM_OTHER))
			continue;
		gradient = true;
		moves |= sure || exec_fed(q) || exec_moves(q);
		hinted |= q->class == PROGRAM_STEP || exec_fed(q);
	}
	e->by_content = gradient && moves;
	e->by_moves = e->by_content && !hinted;
}

/* Returns true if the program was the first step: it ran once, directly before the other steps, and
 * its name differs from the elected program's only in a number. */
static bool exec_first_graph(const struct exec *e, uint32_t program)
{
	const struct exec_program *p = &e->program[program];

	return program != e->elected && p->runs == 1 &&
	       program_akin(p->name, e->program[e->elected].name) &&
	       strcmp(p->name, e->program[e->elected].name) != 0;
}

static void exec_elect(struct exec *e, const struct exec_pick *p)
{
	e->elected = p->program;
	e->elected_at = e->steps;
	e->blocks = 0;
	e->blocks_at = e->steps;
	e->micro = p->micro;
	e->usual = p->usual;
	for (uint32_t i = 0; i < e->nprograms; i++) {
		e->program[i].member = p->member[i];
		e->program[i].at_step = e->steps;
		e->program[i].gap = e->program[i].same = 0;
	}
	e->block = (struct exec_block){0};
	e->nmicro = 0;
}

/* Assigns all held runs to steps or blocks. Runs before the first run of the cycle belong to the
 * start of the process. */
static void exec_place_held(struct step_finder *sf, struct exec *e)
{
	uint32_t n = e->nheld, first = 0;
	struct exec_run *held = e->held;

	while (first < n && held[first].program != e->elected &&
	       !e->program[held[first].program].member && held[first].program != e->micro &&
	       !exec_first_graph(e, held[first].program))
		first++;
	e->held = NULL;
	e->nheld = e->held_cap = 0;
	if (!e->steps && first < n)
		e->first_ns = held[first].begin_ns;
	for (uint32_t i = first; i < n; i++) {
		bool graph = !e->steps && exec_first_graph(e, held[i].program);

		held[i].program = graph ? e->elected : held[i].program;
		exec_place(sf, e, &held[i]);
	}
	free(held);
}

static void exec_reset(struct step_finder *sf, struct exec *e)
{
	struct loop *lp = sf->loops[0];

	exec_flush(sf, e, true);
	lp->number = lp->nrecent = lp->nmany = 0;
	lp->tainted = 0;
	e->steps = e->last_ns = e->nspans = 0;
}

static void exec_lock(struct step_finder *sf, struct exec *e, const struct exec_pick *p)
{
	enum step_unit before = exec_unit(e);
	bool again = e->locked;

	exec_evidence(e, p);
	if (again && before != exec_unit(e))
		exec_reset(sf, e);
	else if (again)
		e->switched = e->replaced = true;
	e->locked = true;
	exec_elect(e, p);
	e->completes = e->dones && !e->deaf;
	if (sf->elected != FAMILY_EXECUTE)
		step_take(sf, FAMILY_EXECUTE);
	exec_place_held(sf, e);
	/* If the finder was locked before, not all runs since then are held: count blocks only from
	 * this step on. */
	if (again)
		e->blocks_at = e->steps;
}

/* ---- other programs, after the lock ---------------------------------------------------------- */

/* Returns true if the picked program replaces the elected one, because the elected one never
 * trained or no longer runs. */
static bool exec_other_replaces(const struct exec *e, const struct exec_pick *p)
{
	const struct exec_program *o = &e->program[p->program], *was = &e->program[e->elected];

	if (p->eval || p->program == e->elected)
		return false;
	if (program_akin(o->name, was->name))
		return exec_alike_replaces(e, p);
	if (o->class == PROGRAM_STEP)
		return true;
	if (exec_unit(e) == UNIT_STEP && was->class == PROGRAM_STEP)
		return false;
	if (o->inputs && was->inputs)
		return o->inputs == was->inputs || (exec_unit(e) != UNIT_STEP && exec_fed(o));
	return p->count >= TAKES_UNKNOWN;
}

/* Checks whether another program now ends the steps. final: the process ended. */
static void exec_later_check(struct step_finder *sf, struct exec *e, bool final)
{
	struct exec_pick p;

	if (e->nheld < TAKES_OVER || (e->nheld % TAKES_OVER && !final))
		return;
	if (exec_pick(e, false, &p) && (final || !exec_flow_comes(e, &p)) &&
	    exec_other_replaces(e, &p))
		exec_lock(sf, e, &p);
}

/* Checks whether r's program runs once in a fixed number of steps. If so, it ends the steps from
 * now on: each step counted so far was only a part of one. Returns true then. */
static bool exec_later_ends(struct step_finder *sf, struct exec *e, const struct exec_run *r)
{
	struct exec_program *p = &e->program[r->program];
	struct exec_pick pick = {.program = r->program, .micro = e->elected};
	bool anew = exec_unit(e) == UNIT_EXECUTION;

	if (p->gap < 2 || p->gap > EXEC_MICRO || p->same < SAME_GAPS - 1 ||
	    e->micro != NO_PROGRAM || !exec_ends(p, &e->program[e->elected]))
		return false;
	exec_flush(sf, e, true);
	pick.usual = (uint32_t)p->gap;
	exec_evidence(e, &pick);
	anew = anew && exec_unit(e) == UNIT_STEP;
	if (anew)
		exec_reset(sf, e);
	else
		e->nheld = 0;
	e->switched = true;
	exec_elect(e, &pick);
	if (anew)
		exec_place_since(sf, e, r);
	e->blocks_at = e->steps;
	return true;
}

/* Decides again whether the programs of the cycle train, after new information about one of
 * them. */
static void exec_evidence_again(struct step_finder *sf, struct exec *e)
{
	struct exec_pick p = {.program = e->elected, .micro = e->micro};
	enum step_unit before = exec_unit(e);

	for (uint32_t i = 0; i < e->nprograms; i++)
		p.member[i] = e->program[i].member;
	exec_evidence(e, &p);
	if (before != exec_unit(e))
		exec_reset(sf, e);
}

static void exec_held_add(struct step_finder *sf, struct exec *e, const struct exec_run *r)
{
	uint32_t most = e->locked ? EXEC_LATER : EXEC_HELD;
	struct exec_run *held;

	if (e->nheld >= most)
		exec_forget_held(e, e->nheld / 2);
	held = grow_add(e->held, e->nheld, e->held_cap, EXEC_HELD);
	if (held)
		*held = *r;
	else
		sf->error = -ENOMEM;
}

static void exec_run_locked(struct step_finder *sf, struct exec *e, const struct exec_run *r)
{
	exec_place(sf, e, r);
	if (r->program == e->elected) {
		if (exec_unit(e) == UNIT_EXECUTION &&
		    e->program[r->program].content == CONTENT_GRADIENT)
			exec_evidence_again(sf, e);
		if (exec_unit(e) == UNIT_STEP)
			e->nheld = 0;
		if (!e->nheld && e->held_cap)
			e->held = grow_free(e->held, &e->held_cap);
		return;
	}
	if (e->program[r->program].member || r->program == e->micro || exec_later_ends(sf, e, r))
		return;
	exec_held_add(sf, e, r);
	exec_later_check(sf, e, false);
}

/* Returns true if the program that ends steps should be searched for now. The search is expensive:
 * if more than 64 runs are held, it is made only at every 16th run. */
static bool exec_check_due(const struct exec *e)
{
	return e->nheld <= 64 || e->nheld % 16 == 0;
}

static void exec_run_learning(struct step_finder *sf, struct exec *e, const struct exec_run *r)
{
	struct exec_pick p;

	exec_held_add(sf, e, r);
	if (exec_check_due(e) && exec_pick(e, false, &p) && !exec_flow_comes(e, &p))
		exec_lock(sf, e, &p);
}

/* ---- signals --------------------------------------------------------------------------------- */

static struct exec *exec_of(struct step_finder *sf)
{
	if (sf->exec)
		return sf->exec;
	sf->exec = calloc(1, sizeof(*sf->exec));
	if (!sf->exec)
		sf->error = -ENOMEM;
	else
		sf->exec->elected = sf->exec->micro = NO_PROGRAM;
	return sf->exec;
}

/* Called when a layer closer to the device reports runs for the first time (see LAYER_TABLE): drops
 * the runs that a layer above reported, because they are the same runs. */
static void exec_layer(struct exec *e, uint32_t layer)
{
	uint32_t kept = 0;

	if (layer <= e->layer)
		return;
	for (uint32_t i = 0; i < e->nheld; i++) {
		if (e->program[e->held[i].program].layer >= layer)
			e->held[kept++] = e->held[i];
	}
	e->nheld = kept;
	e->layer = layer;
}

static void exec_run(struct step_finder *sf, const struct signal *s)
{
	struct exec *e = exec_of(sf);
	struct exec_run r = {
		.begin_ns = s->begin_ns, .end_ns = s->ts_ns, .number = s->number, .tid = s->tid};
	struct exec_program *p;

	if (!e)
		return;
	exec_layer(e, s->layer);
	r.program = program_of(sf, e, s->ident);
	if (r.program == NO_PROGRAM)
		return;
	p = &e->program[r.program];
	p->layer = s->layer;
	p->inputs = s->inputs ? s->inputs : p->inputs;
	p->size = s->size ? s->size : p->size;
	p->cached = s->cached;
	exec_pace(e, r.program, s->begin_ns);
	p->first_ns = p->runs ? p->first_ns : s->begin_ns;
	p->moved += s->changes;
	p->readable = s->readable;
	p->runs++;
	program_content_is(e, p, s->content);
	program_named(e, p, s->text);
	program_trains(e, p);
	exec_flow(e, p, s);
	if (p->class == PROGRAM_INTERNAL)
		return;
	if (e->locked)
		exec_run_locked(sf, e, &r);
	else
		exec_run_learning(sf, e, &r);
}

/* Handles a program that was compiled or whose name was read. It may have run before under another
 * identity; s->count is that identity. */
static void exec_compiled(struct step_finder *sf, const struct signal *s)
{
	struct exec *e = sf->exec;
	uint32_t i = e && s->ident ? exec_program_find(e, s->ident) : NO_PROGRAM;
	uint32_t was = e && s->count ? exec_program_find(e, s->count) : NO_PROGRAM;
	bool late = false;

	if (i == NO_PROGRAM)
		return;
	program_content_is(e, &e->program[i], s->content);
	program_named(e, &e->program[i], s->text);
	if (s->size > e->program[i].size)
		e->program[i].size = s->size;
	e->program[i].compiled |= e->program[i].runs && (s->count || s->ts_ns > s->begin_ns);
	for (uint32_t k = 0; was != NO_PROGRAM && was != i && k < e->nheld; k++) {
		if (e->held[k].program != was)
			continue;
		e->held[k].program = i;
		late |= e->locked && i == e->elected;
	}
	if (late) {
		e->block = (struct exec_block){0};
		exec_place_held(sf, e);
	}
	if (e->locked && (i == e->elected || i == e->micro || e->program[i].member))
		exec_evidence_again(sf, e);
}

static void exec_done(struct step_finder *sf, const struct signal *s)
{
	struct exec *e = sf->exec;
	uint64_t ns = s->begin_ns;

	if (!e || !s->number)
		return;
	e->dones++;
	e->deaf = false;
	e->completes |= e->locked;
	if (e->block.number == s->number)
		e->block.end_ns = ns;
	for (uint32_t i = e->npending; i; i--) {
		struct exec_step *p = &e->pending[i - 1];

		if (p->eval.runs && p->eval.number == s->number)
			p->eval.end_ns = ns;
		if (p->run.number != s->number)
			continue;
		p->run.done_ns = ns;
		p->run.flags |= s->tainted ? STEP_tainted : 0;
		exec_flush(sf, e, false);
		return;
	}
	for (uint32_t i = e->nheld; i; i--) {
		if (e->held[i - 1].number == s->number) {
			e->held[i - 1].done_ns = ns;
			return;
		}
	}
}

void exec_tick(struct step_finder *sf)
{
	struct exec *e = sf->exec;

	if (!e || !e->npending || e->dones || silence_ns(sf, e->pending[0].run.end_ns) < DEAF_NS)
		return;
	e->deaf = true;
	exec_flush(sf, e, false);
}

/* Handles a gap in the observation: steps that wait for a completion no longer wait, because the
 * record of it may be missing. */
void exec_gap(struct step_finder *sf)
{
	struct exec *e = sf->exec;

	if (!e)
		return;
	exec_flush(sf, e, true);
	for (uint32_t i = 0; i < e->nheld; i++)
		e->held[i].flags |= STEP_tainted;
	e->block = (struct exec_block){0};
	e->nmicro = 0;
}

void exec_finish(struct step_finder *sf)
{
	struct exec *e = sf->exec;
	struct exec_pick p;

	if (!e)
		return;
	if (!e->locked && (sf->elected == FAMILY_NONE || sf->elected == FAMILY_SYNC) &&
	    exec_pick(e, true, &p))
		exec_lock(sf, e, &p);
	else if (e->locked)
		exec_later_check(sf, e, true);
	exec_flush(sf, e, true);
	if (e->locked && exec_evaluates(e))
		exec_report_block(e, &e->block, 0, 0);
}

/* Counts compiled programs. Several layers of a runtime may report the same program, so only the
 * reports of the layer closest to the device count. */
static void programs_count(struct step_finder *sf, const struct signal *s)
{
	if (s->kind != SIGNAL_COMPILE || !s->made || s->layer < sf->programs.layer)
		return;
	if (s->layer > sf->programs.layer)
		sf->programs.compiled = sf->programs.cached = 0;
	sf->programs.layer = s->layer;
	sf->programs.compiled += !s->cached;
	sf->programs.cached += s->cached;
}

void exec_signal(struct step_finder *sf, const struct signal *s)
{
	programs_count(sf, s);
	if (sf->fixed || (sf->elected < FAMILY_EXECUTE))
		return;
	switch (s->kind) {
	case SIGNAL_EXECUTE:
		exec_run(sf, s);
		break;
	case SIGNAL_COMPILE:
		exec_compiled(sf, s);
		break;
	default:
		exec_done(sf, s);
		break;
	}
}
