/* SPDX-License-Identifier: Apache-2.0 */
/* step_program_flow.c - the inputs of programs. A program whose first output is the first input of
 * its next run updates a state, so it trains. The probes that show inputs may be removed if they
 * cost much and no decision depends on them any more. */
#include "userspace/model/step/step_program.h"

/* A program updates a state if, of at least FED_RUNS runs with an input of known origin, 3 in
 * FED_SHARE or more got its own output. A program with fewer than FED_INPUTS arguments does not
 * take weights and a batch. */
#define FED_RUNS   7
#define FED_SHARE  4
#define FED_INPUTS 4
/* runs of a program after which the origin of its input is taken as known */
#define FLOW_RUNS   64
#define FLOW_LATELY 256 /* a program that is not among this many last runs no longer runs */
/* with this many held runs (of EXEC_HELD, EXEC_LATER) the decision no longer waits for inputs */
#define FLOW_HELD 3072

/* A program's content is read at its first run and known after this many ns. */
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

/* Returns true when records that show whether the pick trains are still expected. Probes that were
 * removed are attached again as soon as such records are needed. */
bool exec_flow_comes(const struct exec *e, const struct exec_pick *p)
{
	const struct exec_program *o = &e->program[p->program];

	if (exec_content_comes(e, o))
		return true;
	return o->unseen && o->class == PROGRAM_OTHER && o->traced < FED_RUNS &&
	       e->nheld < FLOW_HELD;
}

/* Returns true if inputs of programs are needed. Only programs that still run count; programs that
 * ran only at the start will show nothing more. */
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
