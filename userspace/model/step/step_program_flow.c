/* SPDX-License-Identifier: Apache-2.0 */
/* step_program_flow.c - where the inputs of compiled programs come from. If the first output of a
 * program is the first input of its next run, the program updates a state, so it trains. Probes
 * that show inputs may be detached if they are expensive and no decision depends on them any
 * more. */
#include "userspace/model/step/step_program.h"

/* A program updates a state if the origin of its input was known in at least FED_RUNS runs, and in
 * all but 1 in FED_SHARE of them the input was the output of a program. If it has fewer than
 * FED_INPUTS arguments, it must also compute a gradient: these are too few for weights and a
 * batch. */
#define FED_RUNS   7
#define FED_SHARE  4
#define FED_INPUTS 4
/* After this many runs of a program it is known whether it updates a state. */
#define FLOW_RUNS 64
/* A program counts as no longer in use if it is not among the last FLOW_LATELY runs. */
#define FLOW_LATELY 256
/* When this many runs are held (at most EXEC_HELD or EXEC_LATER), the program that ends steps is
 * chosen without waiting for further records of inputs. */
#define FLOW_HELD 3072

/* Time (ns) that user space needs at most to read a program's content after its first run. */
#define CONTENT_NS 300000000ull

bool exec_moves(const struct exec_program *p)
{
	return (uint64_t)p->moved * EXEC_MICRO + EXEC_MICRO >= p->runs && p->moved;
}

bool exec_content_comes(const struct exec *e, const struct exec_program *p)
{
	return p->readable && !p->content && e->nheld < FLOW_HELD &&
	       e->begun_ns - p->first_ns < CONTENT_NS;
}

bool exec_fed(const struct exec_program *p)
{
	return p->traced >= FED_RUNS &&
	       (uint64_t)p->fed * FED_SHARE >= (uint64_t)p->traced * (FED_SHARE - 1) &&
	       (p->inputs >= FED_INPUTS || p->content == CONTENT_GRADIENT);
}

void exec_flow(struct exec *e, struct exec_program *p, const struct signal *s)
{
	uint32_t from = s->from ? exec_program_find(e, s->from) : NO_PROGRAM;

	p->unseen |= s->unseen;
	p->traced += s->traced;
	p->fed += s->traced && from != NO_PROGRAM && e->program[from].class != PROGRAM_INTERNAL;
	if (from != NO_PROGRAM)
		e->program[from].given++;
}

/* Returns true if records that show whether the picked program trains are still expected. Detached
 * probes are attached again when such records are needed. */
bool exec_flow_comes(const struct exec *e, const struct exec_pick *p)
{
	const struct exec_program *o = &e->program[p->program];

	if (exec_content_comes(e, o))
		return true;
	return o->unseen && o->class == PROGRAM_OTHER && o->traced < FED_RUNS &&
	       e->nheld < FLOW_HELD;
}

/* Returns true if records of inputs are needed, for a program that still runs. A program that ran
 * only at the start shows nothing new. */
static bool exec_wants_flow(const struct exec *e)
{
	if (!e->locked)
		return true;
	for (uint32_t i = 0; e->program[e->elected].class != PROGRAM_STEP && i < e->nprograms;
	     i++) {
		const struct exec_program *p = &e->program[i];

		if (p->class == PROGRAM_OTHER && p->traced < FLOW_RUNS &&
		    e->seq - p->seen < FLOW_LATELY)
			return true;
	}
	return false;
}

bool step_finder_wants_flow(const struct step_finder *sf)
{
	return sf->exec && !sf->fixed && sf->elected >= FAMILY_EXECUTE && exec_wants_flow(sf->exec);
}

uint32_t exec_program_find(const struct exec *e, uint64_t ident)
{
	for (uint32_t i = 0; i < e->nprograms; i++) {
		if (e->program[i].ident == ident)
			return i;
	}
	return NO_PROGRAM;
}
