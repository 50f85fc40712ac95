/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - the step finder: finds the training steps of one process in its signals (signal.h).
 *
 * The output is a sequence of finished steps for each training loop, numbered from 1 and never
 * rewritten. A loop is locked once it is known what makes one of its steps. Until then its steps
 * are held; at the lock they are given out. step.c lists the kinds of markers and names the rules
 * (A, B2, Z2, E, I, F); each rule is explained in the step_*.c file that implements it.
 *
 * The results depend on the signals only. Times are in ns, CLOCK_MONOTONIC. Memory: 11 KiB for one
 * loop. A search takes 23 KiB more for each loop and kind of marker, and 120 KiB while it is not
 * known to which loop a thread belongs; this memory is freed when the search ends. The maximum is 6
 * MiB, without the steps that step_finder_next() has not returned yet. */
#ifndef MODEL_STEP_H
#define MODEL_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/signal/signal.h"

/* Metrics show no step times of a loop whose confidence (0 to 1) is below this. */
#define STEP_CONFIDENCE 0.7
/* Number of training loops that are distinguished in one process. Steps of further loops are
 * counted in the last of these. */
#define STEP_LOOPS 16

/* How far the markers that found the steps can be trusted: tier A is best. family_row[] says which
 * tier each kind of marker has. */
enum step_tier { TIER_NONE, TIER_A, TIER_B, TIER_COUNT };
extern const char *const tier_name[TIER_COUNT]; /* "A"; "" for none */

/* The event that ends a step. The order matters: the user can choose (--marker) only values before
 * BOUNDARY_MARKER_END. Saved states contain these numbers, so a change needs a new FORMAT in
 * model_save.c. */
enum step_boundary {
	BOUNDARY_NONE,
	BOUNDARY_UPDATE_EXIT,
	BOUNDARY_ZERO_GRAD,
	BOUNDARY_BACKWARD,
	BOUNDARY_REDUCER,
	BOUNDARY_UPDATE_OP,
	BOUNDARY_EXECUTE,
	BOUNDARY_SYNC,
	BOUNDARY_MARKER_END, /* not a boundary: values from here on cannot be chosen by the user */
	BOUNDARY_COMPLETION = BOUNDARY_MARKER_END,
	BOUNDARY_PROBE, /* a hit of the probe that the user named */
	BOUNDARY_COUNT
};
extern const char *const boundary_name[];

/* The unit that is counted. Only steps are training. Executions (of a program not known to train)
 * and cycles (of blocking waits) have a period, but no goodput. */
enum step_unit { UNIT_STEP, UNIT_EXECUTION, UNIT_CYCLE, UNIT_COUNT };
extern const char *const unit_name[];

/* How the time of a step was measured. */
enum step_series {
	SERIES_HOST, /* host time from marker to marker */
	/* device time: the step's completion was seen, or the host waited for the device */
	SERIES_SYNC,
	/* Time in which the host queued work for the device. Only the mean over several steps is
	 * meaningful. */
	SERIES_RATE,
	SERIES_COUNT
};
extern const char *const series_name[];

#define STEP_FLAGS(X)	     /* bit, name */                                                       \
	X(0, tainted)	     /* a record was lost during the step */                               \
	X(1, imputed)	     /* the end of the step was deduced, not seen */                       \
	X(2, skipped_update) /* the gradient scaler skipped the update */                          \
	X(3, recompiled)                                                                           \
	X(4, ambiguous)	   /* how many updates make a step cannot be known from outside */         \
	X(5, estimated)	   /* the step's start, or a part of its time, is estimated */             \
	X(6, hung)	   /* the step includes a hang */                                          \
	X(7, undercounted) /* earlier steps may be lost: the number may be too low */
enum step_flag {
#define X(bit, name) STEP_##name = 1u << (bit),
	STEP_FLAGS(X)
#undef X
};
/* Steps with one of these flags are excluded from statistics of step times: their start or end may
 * be wrong, or they include a hang. */
#define STEP_NO_SAMPLE (STEP_tainted | STEP_imputed | STEP_estimated | STEP_hung)

struct step {
	uint32_t loop;	 /* index of the training loop, from 0; loops can run in parallel */
	uint64_t number; /* number of the step, from 1 in each loop */
	uint64_t start_ns, end_ns;
	uint32_t micro_batches; /* number of outermost backward passes */
	uint32_t updates;	/* number of optimizer updates, usually 1 */
	uint32_t flags;		/* enum step_flag */
	enum step_tier tier;
	enum step_boundary boundary;
	enum step_unit unit;
	enum step_series series;
	uint32_t tid; /* thread that ended the step */
	/* Hash that identifies the optimizer: its class, its first parameter if seen, and, if the
	 * process trains one model after another, how many optimizers were made before. */
	uint64_t optimizer;
};

/* Present activity of a training loop. STATE_ENDED must stay last: code iterates up to it. */
enum step_phase_state {
	STATE_IDLE,
	STATE_STARTING,
	STATE_LEARNING,
	STATE_LOCKED,
	STATE_SUSPECT,
	STATE_ENDED
};
extern const char *const step_state_name[];

/* State of a rank, or of one training loop if the rank has several; see step_finder_state(). */
struct step_state {
	enum step_phase_state state;
	enum step_tier tier;
	enum step_boundary boundary;
	enum step_unit unit;
	enum step_series series;
	uint32_t loop, loops;
	/* True if numbers count from the first step that was seen, not from the first step of the
	 * process. */
	bool since_attach;
	bool undercounted; /* records were lost that may have been ends of steps */
	/* Probes were attached when the process may have been training already: the first steps may
	 * be missing. */
	bool late;
	double confidence; /* confidence in the steps, from 0 to 1; see STEP_CONFIDENCE */
	uint64_t steps;
	uint64_t updates; /* number of optimizer updates seen */
	uint32_t period;  /* updates per step if known, usually 1 */
	/* Numbers of programs that were compiled for a device, and of programs loaded from a
	 * cache. */
	uint64_t compiled, cached;
	char marker[48]; /* what ends a step, such as "Optimizer.step#AdamW" */
	/* Markers per step, such as "backward:4 fetch:4 zero_grad:1 reducer:1". */
	char ratios[96];
	char reason[160]; /* why the loop is in this state, as text for users, or "" */
};

struct step_config {
	/* Marker that the user chose, or BOUNDARY_NONE: the step finder chooses one. */
	enum step_boundary force;
	/* Number of marker hits that make one step. 0 or 1: each step that is found counts. */
	uint32_t multiply;
	bool from_start; /* the process was watched from its first instruction */
	/* Hash of the probe that the user named. If `force` is BOUNDARY_NONE, this probe ends the
	 * steps of a process that hits it before any other marker ends steps. */
	uint32_t probe;
	char probe_id[48]; /* id of the probe that the user named, escaped */
};

struct step_finder;
/* Returns NULL when there is no memory. Free with step_finder_free(). */
struct step_finder *step_finder_new(const struct step_config *cfg);
void step_finder_free(struct step_finder *sf);
/* Processes the next signal. Signals must come in order of time. Returns 0, or -ENOMEM: sf is then
 * unchanged. */
int step_finder_feed(struct step_finder *sf, const struct signal *s);
/* Returns 1 and the next finished step in *ret, or 0 if no further step is finished yet. */
int step_finder_next(struct step_finder *sf, struct step *ret);
/* Returns 1 and a period between two steps: an evaluation, or with *ret_idle the idle time after an
 * evaluation. Returns 0 if no further period was found. */
int step_finder_evaluation(struct step_finder *sf, uint32_t *ret_tid, uint64_t *ret_begin_ns,
			   uint64_t *ret_end_ns, bool *ret_idle);
/* Returns true if the name and content of a compiled program of the process show that it trains.
 * Its steps may not be found yet. */
bool step_finder_trains(const struct step_finder *sf);
/* Returns true while records of the inputs of compiled programs are still needed to find out which
 * program trains. */
bool step_finder_wants_flow(const struct step_finder *sf);
/* Returns true if several optimizers make the steps, which can only be distinguished by records of
 * operators. */
bool step_finder_wants_operators(const struct step_finder *sf);
/* Writes the state of one loop to *ret. Returns false if there is no such loop. Sets *ret_changed
 * if the state changed since the last call. */
bool step_finder_state(struct step_finder *sf, uint32_t loop, struct step_state *ret,
		       bool *ret_changed);

/* step_save.c */
void step_finder_archive(struct archive *a, struct step_finder **sf);
void step_config_archive(struct archive *a, struct step_config *cfg);
void step_state_archive(struct archive *a, struct step_state *st);

#endif
