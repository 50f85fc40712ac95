/* SPDX-License-Identifier: Apache-2.0 */
/* word_program.h - words of compiled programs: what makes them, runs them, and ends them. */
#ifndef TESTS_CASES_WORD_PROGRAM_H
#define TESTS_CASES_WORD_PROGRAM_H

#include "tests/cases/device.h"

static inline uint64_t move_option(const struct move *m, const char *name, uint64_t otherwise)
{
	uint64_t ns;

	for (int i = 2; i + 1 < m->argc; i++) {
		if (!strcmp(m->argv[i], name))
			return script_duration(m->argv[i + 1], &ns)
				       ? ns
				       : strtoull(m->argv[i + 1], NULL, 0);
	}
	return otherwise;
}

static inline bool move_has(const struct move *m, const char *name)
{
	for (int i = 2; i < m->argc; i++) {
		if (!strcmp(m->argv[i], name))
			return true;
	}
	return false;
}

/* gradient: the program computes one; plain: it does not; neither: its operations have no names. */
static inline uint32_t move_content(const struct move *m)
{
	if (move_has(m, "gradient"))
		return GP_PROGRAM_READ | GP_PROGRAM_GRADIENT;
	return move_has(m, "plain") ? GP_PROGRAM_READ : 0;
}

/* compiled NAME ID BYTES D [named D] [gradient | plain], or cached: through a plugin's table; "-"
 * has no name; its name is read so much later than it began. */
static inline void word_compiled(struct script *s, const struct move *m)
{
	uint64_t id = move_number(m, 2, 1), bytes = move_number(m, 3, 0), ns = move_ns(m, 4, 0);
	bool cached = !strcmp(m->argv[0], "cached");
	struct gp_hit *h = script_add(s, GP_KIND_hit, m->at_ns, script_pid(s),
				      cached ? P_CACHED_BEGIN : P_TABLE_BEGIN);
	struct gp_call *c = script_add(s, GP_KIND_call, m->at_ns + ns, script_pid(s),
				       cached ? P_CACHED : P_TABLE_COMPILE);
	struct gp_program *p;

	h->arg[0] = 0xc0de00 + id;
	h->arg[1] = c->arg[1] = bytes;
	c->arg[0] = id;
	c->dur_ns = ns;
	if (m->argc < 2 || !strcmp(m->argv[1], "-"))
		return;
	p = script_add(s, GP_KIND_program, m->at_ns + move_option(m, "named", ns / 2),
		       script_pid(s), -1);
	p->code = 0xc0de00 + id;
	p->bytes = bytes;
	p->flags = move_content(m);
	snprintf(p->name, sizeof(p->name), "%s", m->argv[1]);
}

/* run ID [D] [inputs N] [done D] [lost] [state] [fresh]: one run through a table, whose call takes
 * D; done so long after the call began, or never told (lost); fed with what the run before gave
 * (state), or with nothing that is known to come from one (fresh). */
static inline void word_run(struct script *s, const struct move *m)
{
	uint64_t ns = move_ns(m, 2, 0), done_ns = move_option(m, "done", 0);
	struct gp_call *c = script_add(s, GP_KIND_call, m->at_ns + ns, script_pid(s),
				       P_TABLE_EXECUTE);
	struct gp_call *asks;
	struct gp_hit *h;

	c->dur_ns = ns;
	c->arg[0] = move_number(m, 1, 1);
	c->arg[1] = move_option(m, "inputs", 0);
	c->arg[2] = 1;
	if (move_has(m, "state") || move_has(m, "fresh")) {
		c->arg[4] = move_has(m, "state");
		c->arg[5] = SCRIPT_OUTPUT; /* which: when their order is known */
	}
	if (!done_ns && !move_has(m, "lost"))
		return;
	c->arg[3] = 0xe0000 + 64 * ++s->events;
	asks = script_add(s, GP_KIND_call, m->at_ns + ns + 1, script_pid(s), P_READY);
	asks->dur_ns = 1;
	asks->arg[0] = c->arg[3];
	asks->arg[1] = 0x70000 + s->events;
	if (move_has(m, "lost"))
		return;
	h = script_add(s, GP_KIND_hit, m->at_ns + (done_ns > ns + 2 ? done_ns : ns + 2),
		       script_pid(s), P_DONE);
	h->arg[1] = asks->arg[1];
}

static inline bool word_program(struct script *s, const struct move *m)
{
	const char *w = m->argv[0];

	if (!strcmp(w, "compiled") || !strcmp(w, "cached")) {
		word_compiled(s, m);
	} else if (!strcmp(w, "run")) {
		word_run(s, m);
	} else if (!strcmp(w, "destroyed")) { /* ID */
		script_hit(s, m->at_ns, P_TABLE_END, move_number(m, 1, 1));
	} else if (!strcmp(w, "jitted")) { /* NAME ID D: by the client of a framework */
		struct gp_named *n = script_add(s, GP_KIND_named, m->at_ns, script_pid(s),
						P_JIT_BEGIN);

		snprintf(n->name, sizeof(n->name), "%s", m->argc > 1 ? m->argv[1] : "");
		script_hit(s, m->at_ns + move_ns(m, 3, 0), P_JIT_END, move_number(m, 2, 1));
	} else if (!strcmp(w, "jit")) { /* ID [inputs N] [moves]: its first input is another one
					   each time */
		struct gp_hit *h = script_add(s, GP_KIND_hit, m->at_ns, script_pid(s), P_JIT);

		h->arg[0] = move_number(m, 1, 1);
		h->arg[1] = move_option(m, "inputs", 0);
		h->sp = move_has(m, "moves") ? 0x1000 + 64 * ++s->events : 0x1000;
	} else if (!strcmp(w, "content")) { /* NAME ID [gradient | plain]: of a program of a
					       framework's client */
		struct gp_program *p = script_add(s, GP_KIND_program, m->at_ns, script_pid(s),
						  P_JIT);

		p->code = move_number(m, 2, 1);
		p->flags = GP_PROGRAM_LOADED | move_content(m);
		snprintf(p->name, sizeof(p->name), "%s", m->argc > 1 ? m->argv[1] : "");
	} else if (!strcmp(w, "function")) { /* NAME */
		struct gp_named *n = script_add(s, GP_KIND_named, m->at_ns, script_pid(s),
						P_FUNCTION);

		snprintf(n->name, sizeof(n->name), "%s", m->argc > 1 ? m->argv[1] : "");
	} else if (!strcmp(w, "graph")) { /* ID */
		script_hit(s, m->at_ns, P_GRAPH, move_number(m, 1, 1));
	} else {
		return false;
	}
	return true;
}

#endif
