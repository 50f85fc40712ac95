/* SPDX-License-Identifier: Apache-2.0 */
/* step_program.h - the part of the step finder that finds out which compiled program ends a step.
 * The rule is described in step_program.c. Memory: usually 4 KiB, during the search less than 400
 * KiB. */
#ifndef MODEL_STEP_PROGRAM_H
#define MODEL_STEP_PROGRAM_H

#include "userspace/model/step/step_private.h"

/* Maximum number of programs known at a time. A new one replaces the program that was idle
 * longest. */
#define EXEC_PROGRAMS 256
/* Maximum number of runs held until it is known which program ends steps. */
#define EXEC_HELD 4096
/* Maximum number of runs of other programs held after the program that ends steps is known. */
#define EXEC_LATER 4096
/* Maximum number of steps that wait for their completion on the device. */
#define EXEC_PENDING 512
/* Maximum number of evaluations held for step_finder_evaluation(); a further one replaces the
 * oldest. */
#define EXEC_SPANS   16
#define EXEC_MICRO   64 /* maximum number of runs of one program within a cycle */
#define PROGRAM_TEXT 64 /* size of a program's name with its NUL; longer names are cut */

/* Purpose of a program, according to its name or content. */
enum program_class {
	PROGRAM_OTHER,	 /* unknown */
	PROGRAM_STEP,	 /* trains: "train_step", "update" */
	PROGRAM_PART,	 /* part of a step: "grad", "accumulate" */
	PROGRAM_EVAL,	 /* evaluates */
	PROGRAM_SERVE,	 /* predicts, samples or generates */
	PROGRAM_ASIDE,	 /* logs, saves or initializes: not part of a step */
	PROGRAM_INTERNAL /* made by the framework */
};
enum program_class program_classify(const char *name);
/* Returns the same as program_classify(), unless the program's content (enum program_content) is
 * known and shows something else. */
enum program_class program_judge(const char *name, uint32_t content);
/* Returns true if the name alone shows that the program trains. */
bool program_says_train(const char *name);
/* Returns true when two names differ at most in a number at the end. */
bool program_akin(const char *a, const char *b);

/* A compiled program. */
struct exec_program {
	uint64_t ident, size, seen;
	uint64_t runs;
	uint32_t inputs, layer;
	enum program_class class;
	/* traced: number of runs for which the origin of an input was known. fed: number of those
	 * whose input was the output of a program. given: number of runs whose output was the input
	 * of a later run. */
	uint32_t traced, fed, given;
	uint32_t content; /* what the program's operations show: enum program_content */
	/* number of runs whose first input was another array than in the run before */
	uint32_t moved;
	uint64_t first_ns; /* start of the first run */
	/* Usual time from one run to the next run of the same program, see exec_pace(); 0: not
	 * known. */
	uint64_t pace_ns;
	uint32_t paced;
	bool readable;	  /* the program's content can be read when it runs */
	bool unseen;	  /* the input of at least one run could not be seen */
	bool compiled;	  /* was compiled again since the last run */
	bool cached;	  /* was loaded from a cache of compiled programs */
	bool member;	  /* is part of the cycle: runs at least once in each step */
	uint64_t at_step; /* number of steps of the process when the program ran last */
	uint64_t gap;
	/* how many times in a row `gap`, the number of steps between two runs, did not change */
	uint32_t same;
	char name[PROGRAM_TEXT];
};

/* A run (execution) of a program. */
struct exec_run {
	/* done_ns: time of completion on the device; 0: not seen */
	uint64_t begin_ns, end_ns, done_ns;
	/* number of the run, by which its completion is recognized; 0: none will be reported */
	uint64_t number;
	uint32_t program, tid, flags;
};

/* A block: runs between two steps that belong to neither. They may be an evaluation. */
struct exec_block {
	uint64_t begin_ns, end_ns, number;
	uint32_t runs, evals, program, tid;
	bool mixed,
		/* mixed: there are runs of several programs. trains: the name of at least one of
		 * them says that it trains. */
		trains;
	bool open; /* it is not known when the last run ended */
};

/* A step that waits for its completion on the device. */
struct exec_step {
	struct exec_run run;
	uint32_t micro;
	/* Runs between the previous step and this one; eval.runs is 0 if there are none. */
	struct exec_block eval;
};

/* An evaluation between two steps, or the idle time after one. step_finder_evaluation() returns
 * it. */
struct exec_span {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	/* true: idle time between an evaluation and the next step; false: an evaluation */
	bool idle;
};

/* Search for the program that ends steps, and state of its steps. */
struct exec {
	struct exec_program *program; /* at most EXEC_PROGRAMS */
	uint32_t nprograms, programs_cap;
	struct exec_run
		/* Before a program is elected: all runs. Afterwards: runs of other programs since
		 * the last step. */
		*held;
	uint32_t nheld, held_cap;
	struct exec_step *pending;
	uint32_t npending, pending_cap;
	struct exec_span span[EXEC_SPANS];
	uint32_t nspans;
	uint64_t seq;
	/* trains: name and content of at least one program show that it trains */
	bool locked, trains;
	bool completes; /* steps end when the device reports the completion of their run */
	bool deaf;	/* completions were expected, but the device reports none */
	bool switched;	/* since the lock, another program was found to end the steps */
	bool replaced;	/* set with `switched`, until the next step, which is flagged recompiled */
	/* why the cycle is believed to train: see exec_evidence() */
	bool by_name, by_feed, by_content;
	/* by_content is set only because the first input of a program changes. That input may be
	 * data. */
	bool by_moves;
	/* Indexes of programs. micro: the program that runs several times in a cycle, or
	 * NO_PROGRAM. */
	uint32_t elected, micro;
	uint32_t nmicro; /* number of runs of `micro` in the step in progress */
	uint32_t usual;	 /* usual number of runs of `micro` in a cycle */
	uint32_t layer;
	uint64_t steps, dones;
	uint64_t elected_at; /* number of steps when this program was found to end steps */
	/* number of blocks since step blocks_at that may be evaluations */
	uint64_t blocks, blocks_at;
	uint64_t begun_ns; /* start of the last run of any program */
	uint32_t begun;	   /* program of the last run */
	/* Start of the first step; end of the last step that was given out. */
	uint64_t first_ns, last_ns;
	/* runs of other programs since the last step, which may be an evaluation */
	struct exec_block block;
};
#define NO_PROGRAM EXEC_PROGRAMS

/* Result of exec_pick(): the program that ends steps, and the other programs of its cycle. */
struct exec_pick {
	uint32_t program, micro, usual, count, members;
	bool member[EXEC_PROGRAMS];
	bool eval; /* no program that trains was found; `program` evaluates or serves */
};

/* defined in step_program_elect.c */
void exec_free(struct exec *e);
enum step_unit exec_unit(const struct exec *e);
/* Searches the held runs for the program that ends steps. final: the process ended. Returns false
 * if this cannot be decided yet. */
bool exec_pick(const struct exec *e, bool final, struct exec_pick *ret);
/* Returns true if program u, which runs once in a cycle, ends the step, and not program a, which
 * runs several times. */
bool exec_ends(const struct exec_program *u, const struct exec_program *a);
/* Updates the usual time between runs of a program, at the start of a run. */
void exec_pace(struct exec *e, uint32_t program, uint64_t begin_ns);
/* For a picked and an elected program whose names differ only in a number: returns true if the
 * picked one replaces the elected one. */
bool exec_alike_replaces(const struct exec *e, const struct exec_pick *p);

/* step_program_step.c */
/* Assigns a run to a step or a block, once it is known which program ends steps. */
void exec_place(struct step_finder *sf, struct exec *e, const struct exec_run *r);
/* Makes steps of runs that were held until it was known that the program trains. Each of these
 * steps gets as many micro-batches as a step has now. */
void exec_place_since(struct step_finder *sf, struct exec *e, const struct exec_run *r);
/* Gives out the steps that need not wait for a completion any longer. all: gives out every step. */
void exec_flush(struct step_finder *sf, struct exec *e, bool all);
/* Returns true if the runs since the last step are an evaluation. */
bool exec_evaluates(const struct exec *e);
/* Reports a block of runs as an evaluation, and the idle time after it, for
 * step_finder_evaluation(). end_ns: end of the step after the block; 0: there is none. usual_ns:
 * usual step time; 0: unknown. */
void exec_report_block(struct exec *e, const struct exec_block *b, uint64_t end_ns,
		       uint64_t usual_ns);
/* Returns a factor from 0 to 1 for the confidence in the steps: how certain it is that the program
 * trains. */
double exec_doubt(const struct exec *e);
void exec_describe(const struct step_finder *sf, struct step_state *st);

/* step_program.c */
/* Processes SIGNAL_EXECUTE, SIGNAL_COMPILE and SIGNAL_DONE. */
void exec_signal(struct step_finder *sf, const struct signal *s);
void exec_tick(struct step_finder *sf);
void exec_gap(struct step_finder *sf);
void exec_finish(struct step_finder *sf);

/* step_program_flow.c */
/* Returns the index of the program, or NO_PROGRAM if it is unknown. */
uint32_t exec_program_find(const struct exec *e, uint64_t ident);
/* Returns true if the program usually gets its own output as input. */
bool exec_fed(const struct exec_program *p);
/* Counts where the first input of a run came from. */
void exec_flow(struct exec *e, struct exec_program *p, const struct signal *s);
/* Returns true if the program's first input was another array at least about once in EXEC_MICRO
 * runs. */
bool exec_moves(const struct exec_program *p);
/* Returns true if the program's content is being read, so that a record of it will arrive soon. */
bool exec_content_comes(const struct exec *e, const struct exec_program *p);
/* Returns true if it is not known yet whether the picked program trains, and records that may show
 * it are expected. */
bool exec_flow_comes(const struct exec *e, const struct exec_pick *p);

/* step_save_program.c */
void exec_archive(struct archive *a, struct exec **e);

#endif
