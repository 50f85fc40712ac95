/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - find training steps in one process's markers.
 *
 * The rules A, B2, Z2, E, I and F, and what each kind of training loop shows, are described at the
 * top of step.c and of the step_*.c that has the rule. Pure and deterministic. Input is struct
 * signal (marker.h turns records into them); output is a sequence of finished steps per loop,
 * numbered from 1, never rewritten. Nothing is given out before the lock; what was held is given
 * out then (back-filled).
 *
 * Memory: 11 KiB for one loop. What a search takes on top (23 KiB for each loop and kind of marker,
 * 120 KiB while it is not known whose loop a thread's marks are of) is given back when it is over.
 * Under 6 MiB whatever the process does, beside the steps that nobody took yet.
 */
#ifndef MODEL_STEP_H
#define MODEL_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/signal.h"

#define STEP_CONFIDENCE 0.7 /* below it no step time is given out (design §5) */
#define STEP_LOOPS	16  /* told apart in one process; further ones share the last */

enum step_tier { TIER_NONE, TIER_A, TIER_B, TIER_C };

/* What ends a step (design §10). */
enum step_boundary {
	BOUNDARY_NONE,
	BOUNDARY_UPDATE_EXIT,
	BOUNDARY_ZERO_GRAD,
	BOUNDARY_BACKWARD,
	BOUNDARY_REDUCER,
	BOUNDARY_UPDATE_OP,
	BOUNDARY_EXECUTE,
	BOUNDARY_SYNC,
	BOUNDARY_COMPLETION,
	BOUNDARY_PROBE, /* hits of the probe that the user named */
	BOUNDARY_COUNT
};
extern const char *const boundary_name[];

/* What is counted. Only steps are training: executions of a program of which nothing says that it
 * trains, and cycles of blocking waits, have a period and no goodput. */
enum step_unit { UNIT_STEP, UNIT_EXECUTION, UNIT_CYCLE, UNIT_COUNT };
extern const char *const unit_name[];

/* What a step's time is one of. */
enum step_series {
	SERIES_HOST, /* the host's, from marker to marker */
	SERIES_SYNC, /* the device's: its completion was seen, or the host waited for it */
	SERIES_RATE, /* when work was queued: only the mean of several is what they took */
	SERIES_COUNT
};
extern const char *const series_name[];

#define STEP_FLAGS(X)	     /* bit, name */                                                       \
	X(0, tainted)	     /* an event was lost while it ran */                                  \
	X(1, imputed)	     /* its end was not seen; deduced */                                   \
	X(2, skipped_update) /* the gradient scaler skipped the update */                          \
	X(3, recompiled)                                                                           \
	X(4, ambiguous) /* how many updates make a step cannot be told from outside */             \
	X(5, estimated) /* its start is where an evaluation ended, as well as can be told */       \
	X(6, hung)	/* it stood still meanwhile: that time is in it, and it is no sample */
enum step_flag {
#define X(bit, name) STEP_##name = 1u << (bit),
	STEP_FLAGS(X)
#undef X
};
/* Its time is no sample, in no statistics: what was lost may have been a boundary, an end or a
 * start may be a guess, and a hang is no step time. */
#define STEP_NO_SAMPLE (STEP_tainted | STEP_imputed | STEP_estimated | STEP_hung)

struct step {
	uint32_t loop;	 /* 0, 1...: training loops that run beside each other */
	uint64_t number; /* from 1 in each loop */
	uint64_t start_ns, end_ns;
	uint32_t micro_batches; /* outermost backwards */
	uint32_t updates;	/* optimizer updates, 1 as a rule */
	uint32_t flags;		/* enum step_flag */
	enum step_tier tier;
	enum step_boundary boundary;
	enum step_unit unit;
	enum step_series series;
	uint32_t tid; /* thread that ended it */
};

enum step_phase_state {
	STATE_IDLE,
	STATE_STARTING,
	STATE_LEARNING,
	STATE_LOCKED,
	STATE_SUSPECT,
	STATE_ENDED
};
extern const char *const step_state_name[];

struct step_state { /* one per rank, or per loop where there are several */
	enum step_phase_state state;
	enum step_tier tier;
	enum step_boundary boundary;
	enum step_unit unit;
	enum step_series series;
	uint32_t loop, loops;
	bool since_attach; /* numbers count from the first step seen, not from the process's first
			    */
	bool late; /* ... as probes came when the process may have been at it: some steps may be
		      missing */
	double confidence; /* 0..1; below 0.7 no step is given out */
	uint64_t steps;
	uint64_t updates; /* optimizer updates seen, beside the author's steps */
	uint32_t period;  /* updates per author's step when learnt (1 as a rule) */
	/* Programs that were compiled for a device, and that came from a cache of compiled ones
	 * instead. */
	uint64_t compiled, cached;
	char marker[48];  /* "Optimizer.step#AdamW", "jit_train_step" */
	char ratios[96];  /* "backward:4 fetch:4 zero_grad:1 reducer:1", per step */
	char reason[160]; /* why this state, for people; "" when there is nothing to say */
};

struct step_config {
	enum step_boundary force; /* BOUNDARY_NONE: elect */
	uint32_t multiply;	  /* that many marker hits make one step; 0, 1: as found */
	bool from_start;	  /* the process is watched since its first instruction */
	uint32_t probe; /* of BOUNDARY_PROBE: its hash; of BOUNDARY_NONE: of who hits it before all
			   else */
	char probe_id[48]; /* ... and its id, escaped */
};

struct step_finder;
struct step_finder *step_finder_new(const struct step_config *cfg);
void step_finder_free(struct step_finder *sf);
/* 0 or -ENOMEM (sf unchanged). Signals in order of time. */
int step_finder_feed(struct step_finder *sf, const struct signal *s);
/* 1: *ret is the next finished step; 0: none now. */
int step_finder_next(struct step_finder *sf, struct step *ret);
/* 1: an evaluation that lies between steps that step_finder_next() has yet to give; 0: none now. */
int step_finder_evaluation(struct step_finder *sf, uint32_t *ret_tid, uint64_t *ret_begin_ns,
			   uint64_t *ret_end_ns);
/* Something that only training does was seen, though there may be no step yet. */
bool step_finder_trains(const struct step_finder *sf);
/* What programs are fed with may still tell which of them trains. */
bool step_finder_wants_flow(const struct step_finder *sf);
/* State of one loop; returns false when it does not exist. *ret_changed: since the last call. */
bool step_finder_state(struct step_finder *sf, uint32_t loop, struct step_state *ret,
		       bool *ret_changed);

/* step_save.c */
void step_finder_archive(struct archive *a, struct step_finder **sf);
void step_config_archive(struct archive *a, struct step_config *cfg);
void step_state_archive(struct archive *a, struct step_state *st);

#endif
