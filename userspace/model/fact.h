/* SPDX-License-Identifier: Apache-2.0 */
/* fact.h - what the model says, once and for good: the stream behind JSON lines. Fields are those of
 * design §10; times are CLOCK_MONOTONIC ns, durations ns, real_ns is wall time of the same instant. */
#ifndef MODEL_FACT_H
#define MODEL_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/job.h"
#include "userspace/model/checkpoint.h"
#include "userspace/model/ledger.h"
#include "userspace/model/step.h"
#include "userspace/model/window.h"

enum fact_type {
	FACT_START,
	FACT_RANK,
	FACT_STEP,
	FACT_CHECKPOINT,
	FACT_RANGE,
	FACT_DISRUPTION,
	FACT_LEDGER,
	FACT_HEALTH,
	FACT_LOSS,
	FACT_END,
	FACT_PROBE,
};

/* Phases of a step, in the order they are shown. */
enum phase {
	PHASE_DATA,	/* blocked in the loader */
	PHASE_FORWARD,	/* from the batch (or the start) to the first backward; host time */
	PHASE_BACKWARD, /* from the first backward to the update */
	PHASE_UPDATE,	/* inside the optimizer's step ranges */
	PHASE_ZERO_GRAD,
	PHASE_SYNC, /* blocked on the device */
	PHASE_COUNT,
};
extern const char *const phase_name[PHASE_COUNT];

struct fact_step {
	struct step step;		/* numbered over the runs of its job */
	uint64_t run_step;		/* within the run */
	uint64_t phase_ns[PHASE_COUNT]; /* 0 and bit unset: not known */
	uint32_t phases_known;		/* bit per phase */
};

struct fact_checkpoint {
	bool restore;
	bool closed; /* its end was seen */
	bool async;  /* written by a thread that does not train: no step waited for it */
	uint64_t start_ns, end_ns;
	uint64_t step;	   /* last step done when it began; 0: none */
	uint64_t run_step; /* the same within the run; 0: none */
	uint64_t bytes;	   /* 0: unknown */
	uint32_t files;	   /* writers merged into one checkpoint */
	const char *file;  /* as the process named it, escaped; "" when it has no name */
	/* Of a restore, when what was read was recognised; else NULL. */
	const struct checkpoint_match *match;
};

struct fact_range {
	const char *name;
	enum bucket bucket;
	uint64_t start_ns, end_ns;
	uint32_t type; /* of BUCKET_CUSTOM: its number */
	bool async;    /* on a thread that does not train: it counts nowhere */
};

/* Told when it is certain, and again when it is over. */
struct fact_health {
	const char *kind; /* "hang"; "fail_slow", and "recovered" when that is over */
	uint64_t onset_ns;
	uint64_t size_ns; /* of a hang: so far; of a fail-slow: what a step takes more */
	bool over;
	const char *why;      /* one of GP_WHYS */
	const char *phase;    /* "data", "forward"... of what ran last; "" when it cannot be told */
	const char *evidence; /* for people; escaped */
	/* Of a fail-slow only; ratio 0 else. */
	uint32_t loop;
	double ratio; /* of the step times after and before */
	uint64_t onset_step;
	uint64_t end_ns, end_step; /* 0: it lasts */
};

struct fact {
	enum fact_type type;
	uint64_t number; /* 1, 2, 3... of all facts that a model tells: the same in every replay */
	bool told;	 /* set by who passes it on: a predecessor has most likely told it already */
	uint64_t mono_ns;
	int64_t real_ns;		  /* 0: no clock anchor seen yet */
	uint32_t pid;			  /* 0: about no process */
	uint64_t start_ns;		  /* ... as the start of its rank_view; 0: not told */
	int rank;			  /* -1: unknown */
	int world_size;			  /* -1: unknown */
	const char *job;		  /* "" when unknown */
	const struct type_names *types;	  /* of custom events; about a process: never NULL */
	const struct window_view *window; /* FACT_LEDGER of a window: instead of `ledger` */
	union {
		const struct gp_session *start;
		const struct step_state *state; /* FACT_RANK */
		const struct fact_step *step;
		const struct fact_checkpoint *checkpoint;
		const struct fact_range *range;
		const struct job_fall *disruption; /* told when it begins, and again when it is over */
		const struct ledger_view *ledger;
		const struct fact_health *health;
		const struct gp_loss *loss;
		const struct gp_end *end;
		const struct attach_view *probe; /* the budget took it or gave it back */
	};
};

typedef void fact_fn(void *ctx, const struct fact *f); /* f is valid during the call only */

#endif
