/* SPDX-License-Identifier: Apache-2.0 */
/* step_program_elect.c - chooses ("elects") the compiled program that ends a step, by the rules at
 * the top of step_program.c. */
#include "userspace/model/step/step_program.h"
#include "userspace/base/number.h"

/* Number of runs after which a program can be elected: RUNS_SINGLE if it is the only program in its
 * cycle; RUNS_PART if, in addition, its name says that it is a part of a step, so that others may
 * follow; RUNS_CYCLE if another program runs several times in the cycle; RUNS_WAIT if a program
 * that ran less often may prove to end the step. A program with fewer than RUNS_LEAST runs is not
 * part of a cycle. After RUNS_PAIR runs of a program, the election considers which programs use its
 * outputs. */
#define RUNS_SINGLE 8
#define RUNS_PART   65
#define RUNS_CYCLE  3
#define RUNS_PAIR   4
#define RUNS_LEAST  3
#define RUNS_WAIT   33
/* A program whose name differs from the elected one's only in a number needs RUNS_ALIKE runs to
 * replace it. Times between runs are compared after RUNS_PACE runs of each. */
#define RUNS_ALIKE 64
#define RUNS_PACE  16
/* After RUNS_PACE runs, the usual time between runs moves by 1/PACE_MOVES of itself towards each
 * new time. */
#define PACE_MOVES 32
/* Number of last intervals between two runs of a program that are compared with each other. */
#define GAPS_LAST 8

/* Statistics of the held runs, by program. */
struct survey {
	uint32_t n[EXEC_PROGRAMS];
	uint32_t first[EXEC_PROGRAMS];
	/* Sum of the times from a run of this program to the next run of any program. */
	uint64_t time_ns[EXEC_PROGRAMS];
};

static void exec_elect_survey_make(const struct exec *e, struct survey *sv)
{
	memset(sv, 0, sizeof(*sv));
	for (uint32_t i = 0; i < e->nheld; i++) {
		const struct exec_run *r = &e->held[i];
		uint64_t next_ns = i + 1 < e->nheld ? e->held[i + 1].begin_ns : r->end_ns;

		if (!sv->n[r->program]++)
			sv->first[r->program] = i;
		sv->time_ns[r->program] += more_than(next_ns, r->begin_ns);
	}
}

/* Returns how often program a runs between two successive runs of program u, or 0 if that number
 * was not the same in the last GAPS_LAST intervals (one exception is allowed). *ret_gaps: number of
 * all intervals. */
static uint32_t exec_elect_runs_between(const struct exec *e, uint32_t u, uint32_t a,
					uint32_t *ret_gaps)
{
	uint32_t gap[GAPS_LAST], gaps = 0, n = 0, best = 0, most = 0;
	bool open = false;

	for (uint32_t i = 0; i < e->nheld; i++) {
		if (e->held[i].program == u) {
			if (open)
				gap[gaps++ % GAPS_LAST] = n;
			open = true;
			n = 0;
		}
		n += e->held[i].program == a;
	}
	*ret_gaps = gaps;
	gaps = gaps < GAPS_LAST ? gaps : GAPS_LAST;
	for (uint32_t i = 0; i < gaps; i++) {
		uint32_t same = 0;

		for (uint32_t k = 0; k < gaps; k++)
			same += gap[k] == gap[i];
		if (same > most) {
			most = same;
			best = gap[i];
		}
	}
	return gaps && most + (gaps >= 4) >= gaps ? best : 0;
}

bool exec_ends(const struct exec_program *u, const struct exec_program *a)
{
	if (u->class != PROGRAM_STEP && u->class != PROGRAM_OTHER)
		return false;
	if (a->class == PROGRAM_PART)
		return true;
	if ((u->class == PROGRAM_STEP) != (a->class == PROGRAM_STEP))
		return u->class == PROGRAM_STEP;
	/* If program a is part of a step, its output goes to the program that ends the step.
	 * Outputs of an evaluation or of logging do not. */
	if (a->traced >= RUNS_PAIR && u->class == PROGRAM_OTHER)
		return u->given * 2 >= u->runs;
	/* The program that updates gets the parameters, their gradients and the optimizer's state
	 * as inputs, so it has many inputs. */
	return u->inputs && a->inputs && (uint64_t)u->inputs * 2 >= a->inputs;
}

static bool exec_elect_class_elects(enum program_class class, bool eval)
{
	if (eval)
		return class == PROGRAM_EVAL || class == PROGRAM_SERVE;
	return class == PROGRAM_STEP || class == PROGRAM_PART || class == PROGRAM_OTHER;
}

static uint32_t exec_elect_pick_base(const struct exec *e, const struct survey *sv, bool eval,
				     uint32_t least)
{
	uint32_t best = NO_PROGRAM;

	for (uint32_t i = 0; i < e->nprograms; i++) {
		const struct exec_program *p = &e->program[i], *b;

		if (sv->n[i] < least || !exec_elect_class_elects(p->class, eval))
			continue;
		b = best == NO_PROGRAM ? NULL : &e->program[best];
		if (!b || (p->class == PROGRAM_STEP) > (b->class == PROGRAM_STEP) ||
		    ((p->class == PROGRAM_STEP) == (b->class == PROGRAM_STEP) &&
		     sv->time_ns[i] > sv->time_ns[best]))
			best = i;
	}
	return best;
}

/* Finds a program that runs several times for each run of the picked program, or once for several
 * of its runs. The program with fewer runs ends the step, and becomes or stays the picked one; the
 * other one becomes p->micro. */
static void exec_elect_pick_micro(const struct exec *e, const struct survey *sv,
				  struct exec_pick *p)
{
	for (uint32_t i = 0; i < e->nprograms; i++) {
		const struct exec_program *other = &e->program[i], *base = &e->program[p->program];
		bool above = sv->n[i] < sv->n[p->program];
		uint32_t gaps, k;

		if (i == p->program || sv->n[i] < RUNS_CYCLE ||
		    !exec_elect_class_elects(other->class, false))
			continue;
		k = above ? exec_elect_runs_between(e, i, p->program, &gaps)
			  : exec_elect_runs_between(e, p->program, i, &gaps);
		if (k < 2 || k > EXEC_MICRO || gaps + 1 < RUNS_CYCLE)
			continue;
		if (above && exec_ends(other, base)) {
			p->micro = p->program;
			p->program = i;
			p->usual = k;
		} else if (!above && p->micro == NO_PROGRAM && exec_ends(base, other)) {
			p->micro = i;
			p->usual = k;
		}
	}
}

/* Returns true if `program` ends the step rather than `than`. If both train (a GAN), the one that
 * runs later in a cycle ends it. The held runs begin with a whole cycle, so compare the first
 * runs. */
static bool exec_elect_member_better(const struct exec *e, const struct survey *sv,
				     uint32_t program, uint32_t than)
{
	const struct exec_program *p = &e->program[program], *q = &e->program[than];

	if ((p->class == PROGRAM_STEP) != (q->class == PROGRAM_STEP))
		return p->class == PROGRAM_STEP;
	if (p->class == PROGRAM_STEP ||
	    (p->content == CONTENT_GRADIENT && q->content == CONTENT_GRADIENT))
		return sv->first[program] > sv->first[than];
	if (p->size && q->size && p->size != q->size)
		return p->size > q->size;
	return p->inputs > q->inputs;
}

/* Finds the programs that run in each cycle, and picks the one that ends the step among those that
 * run once. */
static void exec_elect_pick_members(const struct exec *e, const struct survey *sv,
				    struct exec_pick *p)
{
	uint32_t base = p->program, gaps;

	for (uint32_t i = 0; i < e->nprograms; i++) {
		const struct exec_program *q = &e->program[i];
		uint32_t k;

		if (i == base || sv->n[i] < RUNS_LEAST || q->class == PROGRAM_EVAL)
			continue;
		k = exec_elect_runs_between(e, base, i, &gaps);
		if (!k || gaps + 1 < RUNS_LEAST)
			continue;
		p->member[i] = true;
		p->members++;
		if (k == 1 && exec_elect_class_elects(q->class, p->eval) &&
		    exec_elect_member_better(e, sv, i, p->program))
			p->program = i;
	}
	p->member[p->program] = p->member[base] = true;
}

/* Returns true if the decision must wait, because another program ran between the picked program's
 * runs and may prove to end a longer cycle. */
static bool exec_elect_pick_waits(const struct exec *e, const struct survey *sv,
				  const struct exec_pick *p)
{
	bool begun = false;

	if (sv->n[p->program] >= RUNS_WAIT)
		return false;
	for (uint32_t i = 0; i < e->nheld; i++) {
		uint32_t other = e->held[i].program;

		begun |= other == p->program;
		if (begun && !p->member[other] && sv->n[other] < RUNS_CYCLE &&
		    exec_ends(&e->program[other], &e->program[p->program]))
			return true;
	}
	return false;
}

static bool exec_elect_pick_ready(const struct exec *e, const struct survey *sv,
				  const struct exec_pick *p, bool final)
{
	uint32_t n = sv->n[p->program];

	if (final)
		return n >= 2;
	if (p->micro != NO_PROGRAM)
		return n >= RUNS_CYCLE;
	if (e->program[p->program].class == PROGRAM_PART)
		return n >= RUNS_PART;
	return n >= RUNS_SINGLE && !exec_elect_pick_waits(e, sv, p);
}

bool exec_pick(const struct exec *e, bool final, struct exec_pick *ret)
{
	struct survey sv;
	uint32_t least = final ? 1 : RUNS_LEAST;

	*ret = (struct exec_pick){.micro = NO_PROGRAM, .usual = 1};
	exec_elect_survey_make(e, &sv);
	ret->program = exec_elect_pick_base(e, &sv, false, least);
	if (ret->program == NO_PROGRAM) {
		ret->eval = true;
		ret->program = exec_elect_pick_base(e, &sv, true, least);
	}
	if (ret->program == NO_PROGRAM)
		return false;
	if (!ret->eval)
		exec_elect_pick_micro(e, &sv, ret);
	exec_elect_pick_members(e, &sv, ret);
	ret->count = sv.n[ret->program];
	return exec_elect_pick_ready(e, &sv, ret, final);
}

void exec_pace(struct exec *e, uint32_t i, uint64_t begin_ns)
{
	struct exec_program *p = &e->program[i];

	if (e->begun == i && p->runs && begin_ns > e->begun_ns) {
		uint64_t ns = begin_ns - e->begun_ns;

		/* Use the shortest of the first few intervals, because a busy machine lengthens
		 * some of them. Later, approach the median, because the interval after a delayed
		 * run is too short. */
		if (p->paced < RUNS_PACE)
			p->pace_ns = p->pace_ns && p->pace_ns < ns ? p->pace_ns : ns;
		else if (ns > p->pace_ns)
			p->pace_ns += p->pace_ns / PACE_MOVES + 1;
		else if (ns < p->pace_ns)
			p->pace_ns -= p->pace_ns / PACE_MOVES;
		p->paced += p->paced < UINT32_MAX;
	}
	e->begun = i;
	e->begun_ns = begin_ns;
}

/* Returns true if the picked program replaces the elected one. Keras gives its programs for
 * training and evaluation names that differ only in a number. The picked program is one for
 * training if its runs take much longer, if a third program of this name (for evaluation) runs
 * between its runs, or if it has run for as long as the elected one did. */
bool exec_alike_replaces(const struct exec *e, const struct exec_pick *p)
{
	const struct exec_program *o = &e->program[p->program], *was = &e->program[e->elected];
	bool paced = o->paced >= RUNS_PACE && was->paced >= RUNS_PACE;
	const char *name = o->name;
	bool ran = false, left = false;

	/* A training step takes longer than an evaluation, because it includes the backward
	 * pass. */
	if (paced && o->pace_ns * 3 <= was->pace_ns * 2)
		return false;
	if (paced && was->pace_ns * 2 <= o->pace_ns)
		return true;
	for (uint32_t i = 0; i < e->nheld; i++) {
		bool own = e->held[i].program == p->program;

		if (own && left)
			return true;
		left |= ran && !own && program_akin(e->program[e->held[i].program].name, name);
		ran |= own;
	}
	if (p->count < RUNS_ALIKE)
		return false;
	return p->count >= e->steps - e->elected_at || p->count >= EXEC_LATER / 2;
}

enum step_unit exec_unit(const struct exec *e)
{
	return e->by_name || e->by_feed || e->by_content ? UNIT_STEP : UNIT_EXECUTION;
}

void exec_free(struct exec *e)
{
	if (!e)
		return;
	free(e->program);
	free(e->held);
	free(e->pending);
	free(e);
}
