/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - the step finder: finds the training steps of one process in its signals (signal.h).
 *
 * The output is a sequence of finished steps for each training loop, numbered from 1 and never
 * rewritten. A loop is locked once it is known what makes one of its steps. Until then its steps
 * are held; at the lock they are given out. step.c lists the kinds of markers; the rules A, B2, Z2,
 * E, I and F are described at the top of step.c and of the step_*.c file that implements them.
 *
 * Pure and deterministic. Times in ns, CLOCK_MONOTONIC. Memory: 11 KiB for one loop. A search takes
 * more (23 KiB for each loop and kind of marker, 120 KiB while it is unknown to which loop a thread
 * belongs) and frees it at its end. Under 6 MiB whatever the process does, besides steps not taken
 * yet. */
#ifndef MODEL_STEP_H
#define MODEL_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/signal/signal.h"

#define STEP_CONFIDENCE 0.7 /* below this confidence metrics have no times of steps */
/* most loops distinguished in one process; further ones share the last */
#define STEP_LOOPS 16

/* How far the markers that found the steps can be trusted; A is best (family_tier()). */
enum step_tier { TIER_NONE, TIER_A, TIER_B, TIER_COUNT };
extern const char *const tier_name[TIER_COUNT]; /* "A"; "" for none */

/* The event that ends a step. The order matters: the user can choose (--marker) those before
 * BOUNDARY_MARKER_END. Saved states hold the numbers: a change needs a new FORMAT in model_save.c.
 */
enum step_boundary {
	BOUNDARY_NONE,
	BOUNDARY_UPDATE_EXIT,
	BOUNDARY_ZERO_GRAD,
	BOUNDARY_BACKWARD,
	BOUNDARY_REDUCER,
	BOUNDARY_UPDATE_OP,
	BOUNDARY_EXECUTE,
	BOUNDARY_SYNC,
	BOUNDARY_MARKER_END, /* not a boundary: ends the part that the user can choose */
	BOUNDARY_COMPLETION = BOUNDARY_MARKER_END,
	BOUNDARY_PROBE, /* hit of the probe named by the user */
	BOUNDARY_COUNT
};
extern const char *const boundary_name[];

/* The unit that is counted. Only steps are training. Executions (of a program not known to train)
 * and cycles (of blocking waits) have a period, but no goodput. */
enum step_unit { UNIT_STEP, UNIT_EXECUTION, UNIT_CYCLE, UNIT_COUNT };
extern const char *const unit_name[];

/* Meaning of the time of a step. */
enum step_series {
	SERIES_HOST, /* host time from marker to marker */
	SERIES_SYNC, /* device time: its completion was seen, or the host waited for it */
	SERIES_RATE, /* when work was queued: only the mean of several steps is meaningful */
	SERIES_COUNT
};
extern const char *const series_name[];

#define STEP_FLAGS(X)	     /* bit, name */                                                       \
	X(0, tainted)	     /* an event was lost during it */                                     \
	X(1, imputed)	     /* its end was not seen, but deduced */                               \
	X(2, skipped_update) /* the gradient scaler skipped the update */                          \
	X(3, recompiled)                                                                           \
	X(4, ambiguous)	   /* how many updates make a step cannot be known from outside */         \
	X(5, estimated)	   /* start, or the part that was an asynchronous save, is estimated */    \
	X(6, hung)	   /* it includes a hang, so it is not used as a sample */                 \
	X(7, undercounted) /* steps before it may be lost: its number may be too low */
enum step_flag {
#define X(bit, name) STEP_##name = 1u << (bit),
	STEP_FLAGS(X)
#undef X
};
/* Steps with one of these flags are excluded from statistics: a boundary may be lost, an end or a
 * start may be a guess, and a hang is not step time. */
#define STEP_NO_SAMPLE (STEP_tainted | STEP_imputed | STEP_estimated | STEP_hung)

struct step {
	uint32_t loop;	 /* training loop: 0, 1... for loops that run in parallel */
	uint64_t number; /* from 1 in each loop */
	uint64_t start_ns, end_ns;
	uint32_t micro_batches; /* outermost backward passes */
	uint32_t updates;	/* optimizer updates, usually 1 */
	uint32_t flags;		/* enum step_flag */
	enum step_tier tier;
	enum step_boundary boundary;
	enum step_unit unit;
	enum step_series series;
	uint32_t tid; /* thread that ended it */
	/* Identity of the optimizer: class, first parameter where seen, and how many optimizers
	 * were made where one loop uses each of them for long. */
	uint64_t optimizer;
};

/* STATE_ENDED must be the last: loops over all states end there. */
enum step_phase_state {
	STATE_IDLE,
	STATE_STARTING,
	STATE_LEARNING,
	STATE_LOCKED,
	STATE_SUSPECT,
	STATE_ENDED
};
extern const char *const step_state_name[];

struct step_state { /* state of a rank, or of one of its loops if it has several */
	enum step_phase_state state;
	enum step_tier tier;
	enum step_boundary boundary;
	enum step_unit unit;
	enum step_series series;
	uint32_t loop, loops;
	/* Numbers count from the first step seen instead of the first step of the process. */
	bool since_attach;
	bool undercounted; /* lost records may have been ends of steps */
	/* Probes were attached when the process may have been stepping already: steps may be
	 * missing. */
	bool late;
	double confidence; /* of the steps, 0 to 1; see STEP_CONFIDENCE */
	uint64_t steps;
	uint64_t updates; /* optimizer updates seen */
	uint32_t period;  /* updates per step where that was learnt, usually 1 */
	/* Programs compiled for a device, and programs loaded from a cache instead. */
	uint64_t compiled, cached;
	char marker[48];  /* "Optimizer.step#AdamW", "jit_train_step" */
	char ratios[96];  /* markers per step: "backward:4 fetch:4 zero_grad:1 reducer:1" */
	char reason[160]; /* reason of this state, for people; "": none */
};

struct step_config {
	enum step_boundary force; /* marker chosen by the user; BOUNDARY_NONE: choose one */
	uint32_t multiply;	  /* number of marker hits in one step; 0, 1: as found */
	bool from_start;	  /* the process was watched from its first instruction */
	/* Hash of the probe named by the user. With BOUNDARY_NONE it ends the steps of processes
	 * that hit it before anything else ends steps. */
	uint32_t probe;
	char probe_id[48]; /* id of that probe, escaped */
};

struct step_finder;
/* Returns NULL when there is no memory. Free with step_finder_free(). */
struct step_finder *step_finder_new(const struct step_config *cfg);
void step_finder_free(struct step_finder *sf);
/* Takes the next signal, in order of time. Returns 0, or -ENOMEM: sf is unchanged. */
int step_finder_feed(struct step_finder *sf, const struct signal *s);
/* Returns 1 and the next finished step, or 0 when there is none now. */
int step_finder_next(struct step_finder *sf, struct step *ret);
/* Returns 1 and an evaluation, or the idle time after one (*ret_idle), that lies between steps
 * which step_finder_next() has not returned yet; 0 when there is none now. */
int step_finder_evaluation(struct step_finder *sf, uint32_t *ret_tid, uint64_t *ret_begin_ns,
			   uint64_t *ret_end_ns, bool *ret_idle);
/* Returns true when something was seen that only training does; steps may not be found yet. */
bool step_finder_trains(const struct step_finder *sf);
/* Returns true while records of the inputs of programs may still show which program trains. */
bool step_finder_wants_flow(const struct step_finder *sf);
/* Returns true when several optimizers make the steps: only operators distinguish these. */
bool step_finder_wants_operators(const struct step_finder *sf);
/* Returns the state of one loop in *ret; false when there is no such loop. *ret_changed: the state
 * changed since the last call. */
bool step_finder_state(struct step_finder *sf, uint32_t loop, struct step_state *ret,
		       bool *ret_changed);

/* step_save.c */
void step_finder_archive(struct archive *a, struct step_finder **sf);
void step_config_archive(struct archive *a, struct step_config *cfg);
void step_state_archive(struct archive *a, struct step_state *st);

#endif
