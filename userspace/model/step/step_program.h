/* SPDX-License-Identifier: Apache-2.0 */
/* step_program.h - the part of the step finder that finds which compiled program ends a step. The
 * rule is described at the top of step_program.c. 4 KiB as a rule, under 400 KiB during the search.
 */
#ifndef MODEL_STEP_PROGRAM_H
#define MODEL_STEP_PROGRAM_H

#include "userspace/model/step/step_private.h"

#define EXEC_PROGRAMS 256  /* programs known at once; a new one replaces the one idle longest */
#define EXEC_HELD     4096 /* runs held before the lock */
#define EXEC_LATER    4096 /* runs of other programs held after the lock */
#define EXEC_PENDING  512  /* steps that wait for their completion */
#define EXEC_SPANS    16   /* evaluations that were not read by step_finder_evaluation() yet */
#define EXEC_MICRO    64   /* most runs of a program within one cycle */
#define PROGRAM_TEXT  64   /* bytes of a name that are kept */

/* Purpose of a program, according to its name. */
enum program_class {
	PROGRAM_OTHER,	 /* unknown */
	PROGRAM_STEP,	 /* trains: train_step, update */
	PROGRAM_PART,	 /* part of a step: grad, accumulate */
	PROGRAM_EVAL,	 /* evaluates */
	PROGRAM_SERVE,	 /* predicts, samples, generates */
	PROGRAM_ASIDE,	 /* logs, saves or initializes: not part of a step */
	PROGRAM_INTERNAL /* made by the framework */
};
enum program_class program_classify(const char *name);
/* Like program_classify(), but uses the content (enum program_content) first if it is known. */
enum program_class program_judge(const char *name, uint32_t content);
/* Returns true when the name leaves no doubt that the program trains. */
bool program_says_train(const char *name);
/* Returns true when two names differ at most in a number at the end. */
bool program_akin(const char *a, const char *b);

struct exec_program {
	uint64_t ident, size, seen;
	uint64_t runs;
	uint32_t inputs, layer;
	enum program_class class;
	/* traced: runs with an input of known origin. fed: traced runs whose input was the output
	 * of a program. given: runs whose output was the input of another program. */
	uint32_t traced, fed, given;
	uint32_t content;  /* enum program_content */
	uint32_t moved;	   /* runs whose first input differs from that of the run before */
	uint64_t first_ns; /* start of its first run */
	/* Usual time from one run to the next of the same program, see exec_pace(); 0: unknown. */
	uint64_t pace_ns;
	uint32_t paced;
	bool readable;	  /* its content is read when it runs */
	bool unseen;	  /* the input of some run could not be seen */
	bool compiled;	  /* compiled again since its last run */
	bool cached;	  /* loaded from a cache of compiled programs */
	bool member;	  /* part of the cycle: runs once or more in a step */
	uint64_t at_step; /* number of steps at its last run, after the lock */
	uint64_t gap;
	uint32_t same; /* successive gaps with the same number of steps */
	char name[PROGRAM_TEXT];
};

struct exec_run {
	uint64_t begin_ns, end_ns, done_ns; /* done_ns: completion on the device; 0: not seen */
	uint64_t number;		    /* 0: its completion will not be reported */
	uint32_t program, tid, flags;
};

struct exec_block { /* runs that belong to no step */
	uint64_t begin_ns, end_ns, number;
	uint32_t runs, evals, program, tid;
	bool mixed,
		/* mixed: runs of several programs; trains: one of these trains, by its name */
		trains;
	bool open; /* the end of the last run is unknown */
};

struct exec_step { /* a step that waits for its completion */
	struct exec_run run;
	uint32_t micro;
	struct exec_block eval; /* the block before the step; runs 0: none */
};

struct exec_span {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	bool idle; /* nothing ran in this time, between an evaluation and the next step */
};

struct exec {
	struct exec_program *program; /* at most EXEC_PROGRAMS */
	uint32_t nprograms, programs_cap;
	struct exec_run
		/* before the lock: all runs; after the lock: runs of other programs since the last
		 * step */
		*held;
	uint32_t nheld, held_cap;
	struct exec_step *pending;
	uint32_t npending, pending_cap;
	struct exec_span span[EXEC_SPANS];
	uint32_t nspans;
	uint64_t seq;
	/* trains: the name of some program says that it trains */
	bool locked, trains;
	bool completes;			   /* the device's completions end the steps */
	bool deaf;			   /* completions are expected, but do not arrive */
	bool switched;			   /* another program was elected after the first one */
	bool replaced;			   /* the last run elected the other program */
	bool by_name, by_feed, by_content; /* why the elected program is known to train */
	/* by_content is set, and only a first input that changes supports it; that input may be
	 * data. */
	bool by_moves;
	/* Indexes of programs. micro: the one that runs several times in a cycle, or NO_PROGRAM. */
	uint32_t elected, micro;
	uint32_t nmicro; /* runs of micro in the step in progress */
	uint32_t usual;	 /* runs of micro in a cycle */
	uint32_t layer;
	uint64_t steps, dones;
	uint64_t elected_at;	    /* number of steps when it was elected */
	uint64_t blocks, blocks_at; /* blocks that may be evaluations, since that number of steps */
	uint64_t begun_ns;	    /* start of the last run */
	uint32_t begun;		    /* program of the last run */
	/* Start of the first step; end of the last step given out. */
	uint64_t first_ns, last_ns;
	struct exec_block block; /* runs since the last step */
};
#define NO_PROGRAM EXEC_PROGRAMS

struct exec_pick { /* result of the search for the program that ends steps */
	uint32_t program, micro, usual, count, members;
	bool member[EXEC_PROGRAMS];
	bool eval; /* only programs that evaluate or serve run */
};

/* step_program_elect.c */
void exec_free(struct exec *e);
enum step_unit exec_unit(const struct exec *e);
/* Chooses the program that ends steps. final: the process ended. Returns false when this cannot be
 * decided yet. */
bool exec_pick(const struct exec *e, bool final, struct exec_pick *ret);
/* Returns true when program u, which runs once per cycle, ends the step instead of a, which runs
 * several times. */
bool exec_ends(const struct exec_program *u, const struct exec_program *a);
/* Updates the usual time between runs of the program that starts now. */
void exec_pace(struct exec *e, uint32_t program, uint64_t begin_ns);
/* The picked program's name differs from the elected one's only by a number. Returns true when the
 * picked program replaces the elected one. */
bool exec_alike_replaces(const struct exec *e, const struct exec_pick *p);

/* step_program_step.c */
/* Assigns a run to a step or block, after the lock. */
void exec_place(struct step_finder *sf, struct exec *e, const struct exec_run *r);
/* Makes steps of the runs that were held until it was known that the program trains. Each step gets
 * as many runs as a step has at present. */
void exec_place_since(struct step_finder *sf, struct exec *e, const struct exec_run *r);
/* Gives out the steps that no longer wait for a completion; all: every step. */
void exec_flush(struct step_finder *sf, struct exec *e, bool all);
/* Returns true when the runs since the last step are an evaluation. */
bool exec_evaluates(const struct exec *e);
/* Reports a block of runs that belong to no step. end_ns: end of the step after the block; 0: none.
 * usual_ns: usual step time; 0: unknown. */
void exec_report_block(struct exec *e, const struct exec_block *b, uint64_t end_ns,
		       uint64_t usual_ns);
/* Returns a factor for the confidence, 0 to 1: how certain it is that the program trains. */
double exec_doubt(const struct exec *e);
void exec_describe(const struct step_finder *sf, struct step_state *st);

/* step_program.c */
/* Takes SIGNAL_EXECUTE, SIGNAL_COMPILE and SIGNAL_DONE. */
void exec_signal(struct step_finder *sf, const struct signal *s);
void exec_tick(struct step_finder *sf);
void exec_gap(struct step_finder *sf);
void exec_finish(struct step_finder *sf);

/* step_program_flow.c */
/* Returns the index of a program, NO_PROGRAM when unknown. */
uint32_t exec_program_find(const struct exec *e, uint64_t ident);
/* Returns true when the program usually gets its own output as input. */
bool exec_fed(const struct exec_program *p);
/* Counts the origin of the run's input. */
void exec_flow(struct exec *e, struct exec_program *p, const struct signal *s);
/* Returns true when the program's first input changes now and then. */
bool exec_moves(const struct exec_program *p);
/* Returns true when the program's content is being read and will be reported soon. */
bool exec_content_comes(const struct exec *e, const struct exec_program *p);
/* Returns true when it is unknown whether the pick trains, and records that may show it are
 * expected. */
bool exec_flow_comes(const struct exec *e, const struct exec_pick *p);

/* step_save_program.c */
void exec_archive(struct archive *a, struct exec **e);

#endif
