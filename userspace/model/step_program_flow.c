/* SPDX-License-Identifier: Apache-2.0 */
/* step_program_flow.c - what programs are fed with: one whose first output is its next run's first
 * input updates a state, and so it trains. What tells of it may be given up where it costs much,
 * once nothing hangs on it. */
#include "userspace/model/step_program.h"

#define FED_RUNS    7	 /* before the flow of states is believed, most of those: */
#define FED_SHARE   4	 /* 3 in 4 */
#define FED_INPUTS  4	 /* fewer arguments are no weights with a batch */
#define FLOW_RUNS   64	 /* what a program is fed with is known by then ... */
#define FLOW_LATELY 256	 /* ... and it is one that still runs: so many runs are looked back */
#define FLOW_HELD   3072 /* runs for which that is waited for, of EXEC_HELD and EXEC_LATER */

bool exec_fed(const struct exec_program *p)
{
	return p->traced >= FED_RUNS &&
	       (uint64_t)p->fed * FED_SHARE >= (uint64_t)p->traced * (FED_SHARE - 1) &&
	       p->inputs >= FED_INPUTS;
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

/* What tells that a program trains is listened to again as soon as somebody asks for it. */
bool exec_flow_comes(const struct exec *e, const struct exec_pick *p)
{
	const struct exec_program *o = &e->program[p->program];

	return o->unseen && o->class == PROGRAM_OTHER && o->traced < FED_RUNS &&
	       e->nheld < FLOW_HELD;
}

/* Of programs that still run, as of those that did at the start nothing more comes. */
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
