/* SPDX-License-Identifier: Apache-2.0 */
/* step_program.h - which compiled program ends a step. Part of the step finder; the rule is at the
 * top of step_program.c. Under 400 KiB while it is looked for, as a rule 4 KiB. */
#ifndef MODEL_STEP_PROGRAM_H
#define MODEL_STEP_PROGRAM_H

#include "userspace/model/step_internal.h"

#define EXEC_PROGRAMS 256  /* known at once; the one idle longest gives way */
#define EXEC_HELD     4096 /* runs held before the lock */
#define EXEC_LATER    4096 /* runs of other programs held after it */
#define EXEC_PENDING  512  /* steps that wait for their completion */
#define EXEC_SPANS    16   /* evaluations that nobody took yet */
#define EXEC_MICRO    64   /* most runs of a program within one cycle */
#define PROGRAM_TEXT  64   /* of a name kept */

/* What a program's name says of it. */
enum program_class {
	PROGRAM_OTHER,	 /* nothing */
	PROGRAM_STEP,	 /* it trains: train_step, update */
	PROGRAM_PART,	 /* it is part of a step: grad, accumulate */
	PROGRAM_EVAL,	 /* it evaluates */
	PROGRAM_SERVE,	 /* it predicts, samples, generates */
	PROGRAM_ASIDE,	 /* it logs, saves, begins: no step's work */
	PROGRAM_INTERNAL /* the framework's own */
};
enum program_class program_classify(const char *name);
/* The same but for a number at the end. */
bool program_akin(const char *a, const char *b);

struct exec_program {
	uint64_t ident, size, seen;
	uint64_t runs;
	uint32_t inputs, layer;
	enum program_class class;
	uint32_t traced, fed, given; /* runs whose input's origin is known; is another output; whose
					output is another's input */
	uint64_t pace_ns; /* from one run to the next, both its own: exec_pace(); 0: none */
	uint32_t paced;
	bool unseen;	  /* of some run it could not be seen with what it was fed */
	bool compiled;	  /* again, since it ran last */
	bool cached;	  /* it came from a cache of compiled ones */
	bool member;	  /* of the cycle, once a step or more often */
	uint64_t at_step; /* steps when it ran last, after the lock */
	uint64_t gap;
	uint32_t same; /* so often in a row so many steps lay between two runs */
	char name[PROGRAM_TEXT];
};

struct exec_run {
	uint64_t begin_ns, end_ns, done_ns; /* done: 0: not seen */
	uint64_t number;		    /* 0: nobody tells its end */
	uint32_t program, tid, flags;
};

struct exec_block { /* runs that are no step's */
	uint64_t begin_ns, end_ns, number;
	uint32_t runs, evals, program, tid;
	bool mixed, trains; /* of several programs; one of them trains, by its name */
	bool open;	    /* when the last of them ended is not known */
};

struct exec_step { /* waits for its completion */
	struct exec_run run;
	uint32_t micro;
	struct exec_block eval; /* before it; runs 0: none */
};

struct exec_span {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
};

struct exec {
	struct exec_program *program; /* EXEC_PROGRAMS at most */
	uint32_t nprograms, programs_cap;
	struct exec_run *held; /* before the lock: all; after it: others since the last step */
	uint32_t nheld, held_cap;
	struct exec_step *pending;
	uint32_t npending, pending_cap;
	struct exec_span span[EXEC_SPANS];
	uint32_t nspans;
	uint64_t seq;
	bool locked, trains;	 /* trains: some program does, by its name */
	bool completes;		 /* ends of steps are completions */
	bool deaf;		 /* ... were promised and do not come */
	bool switched;		 /* another program took over */
	bool replaced;		 /* ... just now */
	bool by_name, by_feed;	 /* how it is known that it trains */
	uint32_t elected, micro; /* programs; micro: that runs often in a cycle, or NO_PROGRAM */
	uint32_t nmicro;	 /* of the step in progress */
	uint32_t usual;		 /* runs of it in a cycle */
	uint32_t layer;
	uint64_t steps, dones;
	uint64_t elected_at;	    /* steps before it was */
	uint64_t blocks, blocks_at; /* that may be evaluations, since so many steps */
	uint64_t begun_ns;	    /* the last run, of whatever */
	uint32_t begun;		    /* ... of this program */
	uint64_t first_ns,
		last_ns;	 /* where the first step began; end of the last that was given on */
	struct exec_block block; /* since the last step */
};
#define NO_PROGRAM EXEC_PROGRAMS

struct exec_pick { /* what the runs that are held show */
	uint32_t program, micro, usual, count, members;
	bool member[EXEC_PROGRAMS];
	bool eval; /* nothing but what evaluates or serves */
};

/* step_program_elect.c: false: not settled. final: the process ended. */
bool exec_pick(const struct exec *e, bool final, struct exec_pick *ret);
/* a ran several times in each of u's cycles: is u what ends the step? */
bool exec_ends(const struct exec_program *u, const struct exec_program *a);
void exec_pace(struct exec *e, uint32_t program, uint64_t begin_ns); /* it runs */
/* The pick is named like the program that counts, but for a number: does it take its place? */
bool exec_alike_replaces(const struct exec *e, const struct exec_pick *p);

/* step_program_step.c */
void exec_place(struct step_finder *sf, struct exec *e,
		const struct exec_run *r); /* after the lock */
/* What was held of it while nothing was known to train were steps, of as many parts each. */
void exec_place_since(struct step_finder *sf, struct exec *e, const struct exec_run *r);
/* Steps that wait for nothing any more are given on; all: whatever they wait for. */
void exec_flush(struct step_finder *sf, struct exec *e, bool all);
bool exec_evaluates(const struct exec *e); /* what ran since the last step */
/* end_ns: where the step that follows ends; 0: none does. */
void exec_tell_block(struct exec *e, const struct exec_block *b, uint64_t end_ns);
enum step_unit exec_unit(const struct exec *e);
void exec_describe(const struct step_finder *sf, struct step_state *st);

void exec_signal(struct step_finder *sf, const struct signal *s); /* execute, compile, done */

/* step_program.c */
void exec_free(struct exec *e);
void exec_run(struct step_finder *sf, const struct signal *s);
void exec_compiled(struct step_finder *sf, const struct signal *s);
void exec_done(struct step_finder *sf, const struct signal *s);
void exec_tick(struct step_finder *sf);
void exec_gap(struct step_finder *sf);
void exec_finish(struct step_finder *sf);
uint32_t exec_program_find(const struct exec *e, uint64_t ident); /* NO_PROGRAM: it is not known */

/* step_program_flow.c */
bool exec_fed(const struct exec_program *p); /* with its own output, as a rule */
void exec_flow(struct exec *e, struct exec_program *p, const struct signal *s); /* it runs */
/* Whether the pick trains is not known, and may be soon. */
bool exec_flow_comes(const struct exec *e, const struct exec_pick *p);

/* step_save_program.c */
void exec_archive(struct archive *a, struct exec **e);

#endif
