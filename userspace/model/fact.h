/* SPDX-License-Identifier: Apache-2.0 */
/* fact.h - what the model says, once and for good: the stream behind JSON lines. Fields are those
 * of design §10; times are CLOCK_MONOTONIC ns, durations ns, real_ns is wall time of the same
 * instant. */
#ifndef MODEL_FACT_H
#define MODEL_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/job.h"
#include "userspace/model/checkpoint.h"
#include "userspace/model/ledger.h"
#include "userspace/model/monitor.h"
#include "userspace/model/range_share.h"
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
	FACT_MONITOR,
};
#define FACT_TYPES (FACT_MONITOR + 1)

/* Phases of a step, in the order they are shown: host time of the thread that steps. None holds
 * time of another: what is blocked, and compiling, is taken off the pass or update that it lies in.
 */
enum phase {
	PHASE_DATA,	/* blocked in the loader */
	PHASE_FORWARD,	/* from the batch (or the start) to the first backward */
	PHASE_BACKWARD, /* from the first backward to the update */
	PHASE_UPDATE,	/* inside the optimizer's step ranges */
	PHASE_ZERO_GRAD,
	PHASE_SYNC,	  /* blocked on the device */
	PHASE_COLLECTIVE, /* blocked in calls of collectives; waiting for one that was queued is
			     sync */
	PHASE_TRANSFER,	  /* blocked in copies */
	PHASE_COMPILE,
	PHASE_COUNT,
};
extern const char *const phase_name[PHASE_COUNT];

#define STEP_PIECES 16
struct step_piece {
	enum phase phase;
	uint64_t from_ns, to_ns;
};

struct fact_step {
	struct step step;		/* numbered over the runs of its job */
	uint64_t run_step;		/* within the run */
	uint64_t phase_ns[PHASE_COUNT]; /* 0 and bit unset: not known */
	uint32_t phases_known;		/* bit per phase */
	bool device_known; /* how it waits for its device was seen: these two are known */
	uint64_t host_ns; /* neither blocked in the loader, on the device, in collectives or copies,
			     nor compiling */
	/* Where data, forward, backward, update and zero_grad lie, those that came first, of those
	 * that are known: what blocks is within, so they may be longer than the sums. Of a forward
	 * pass that was interrupted the last part. */
	struct step_piece piece[STEP_PIECES];
	uint32_t npieces;
	/* Where it blocked (sync, collective, transfer, compile), the longest ones: in order, and
	 * none lies across another. */
	struct step_piece blocked[STEP_PIECES];
	uint32_t nblocked;
	const struct share_view
		*ranges;  /* what ranges of the job's own took of it; NULL: not known */
	uint64_t wait_ns; /* blocked where other ranks may be waited for: sync, collectives, copies
			     to the host */
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
	/* "hang"; "straggler"; "fail_slow", and "recovered" when that is over; at one instant, and
	   over at once: fault_name */
	const char *kind;
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
	/* Of a fault only; name NULL else. */
	const char *name; /* "CUDA_ERROR_ILLEGAL_ADDRESS" */
	int64_t code;
	const char *origin; /* probe that told of it, or "kernel log" */
	uint64_t step;	    /* the last one told, one more may be done; 0: none. Of a straggler too:
			       since when it      is one */
};

/* Of the process that a fact is about, beside what happened. */
struct fact_life {
	uint64_t run_start_ns; /* of its run: the start of its first process; 0: it is of none */
	bool alive;
	int status; /* as wait(2) reports it, -1: unseen; valid when not alive */
	/* The process group or communicator that it made first, and its first wait for a batch; 0:
	 * not seen.
	 */
	uint64_t group_from_ns, group_to_ns, loader_from_ns, loader_to_ns;
	const struct scheduling *scheduling; /* of its job's first run; NULL: not known */
};

struct fact {
	enum fact_type type;
	uint64_t number; /* 1, 2, 3... of all facts that a model tells: the same in every replay */
	bool told; /* set by who passes it on: a predecessor has most likely told it already */
	uint64_t mono_ns;
	int64_t real_ns;		  /* 0: no clock anchor seen yet */
	uint32_t pid;			  /* 0: about no process */
	uint64_t start_ns;		  /* ... as the start of its rank_view; 0: not told */
	uint32_t run;			  /* of its job, as in its rank_view; 0: of none */
	int rank;			  /* -1: unknown */
	int world_size;			  /* -1: unknown */
	const char *job;		  /* "" when unknown */
	const struct gp_place *place;	  /* where the process runs; NULL: unknown */
	const struct type_names *types;	  /* of custom events; about a process: never NULL */
	const struct fact_life *life;	  /* NULL: about no process */
	const struct window_view *window; /* FACT_LEDGER of a window: instead of `ledger` */
	union {
		const struct gp_session *start;
		const struct step_state *state; /* FACT_RANK */
		const struct fact_step *step;
		const struct fact_checkpoint *checkpoint;
		const struct fact_range *range;
		const struct job_fall
			*disruption; /* told when it begins, and again when it is over */
		const struct ledger_view *ledger;
		const struct fact_health *health;
		const struct gp_loss *loss;
		const struct gp_end *end;
		const struct monitor_event *monitor;
		const struct attach_view *probe; /* the budget took it or gave it back */
	};
};

typedef void fact_fn(void *ctx, const struct fact *f); /* f is valid during the call only */

#endif
