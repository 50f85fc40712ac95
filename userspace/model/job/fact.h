/* SPDX-License-Identifier: Apache-2.0 */
/* fact.h - facts: the results of the model, which become JSON lines. A fact that was sent never
 * changes. (A disruption is sent when it begins, and again with its cost when it is over.) Times in
 * CLOCK_MONOTONIC ns, durations in ns; real_ns is the wall time (UTC) of the same instant. */
#ifndef MODEL_FACT_H
#define MODEL_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/job/job.h"
#include "userspace/model/job/checkpoint.h"
#include "userspace/model/time/time_cause.h"
#include "userspace/model/time/ledger.h"
#include "userspace/model/signal/monitor.h"
#include "userspace/model/step/step.h"
#include "userspace/model/time/step_time.h"
#include "userspace/model/time/window.h"

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

struct fact_checkpoint {
	bool restore;
	bool closed; /* the end of the checkpoint was seen */
	bool async;  /* written by a thread that does not train: no step waited for it */
	uint64_t start_ns, end_ns;
	/* Last step in the checkpoint; for a restore, last step done when it began; 0: none. */
	uint64_t step;
	bool estimated;	   /* step is deduced */
	uint64_t run_step; /* `step` counted within the run; 0: none */
	uint64_t bytes;	   /* 0: unknown */
	uint32_t files;	   /* number of files */
	const char *file;  /* path as the process gave it, escaped; "": none */
	/* For a restore: the recognised save; otherwise NULL. */
	const struct checkpoint_match *match;
};

struct fact_range {
	const char *name;
	enum bucket bucket;
	uint64_t start_ns, end_ns;
	uint32_t type; /* number of the type, for BUCKET_CUSTOM */
	bool async;    /* on a thread that does not train: not counted */
};

#define FACT_EVIDENCE_MAX 400 /* bytes of the evidence of a health event */

/* A health event, reported when it is certain and again when it has ended. */
struct fact_health {
	/* "hang"; "straggler"; "fail_slow", and "recovered" when the slowdown has ended; for a
	 * fault, which has no duration, fault_name. */
	const char *kind;
	uint64_t onset_ns;
	uint64_t size_ns; /* hang: time so far; fail-slow: growth of a step */
	/* the event has ended */
	bool over;
	const char *why;      /* one of GP_WHYS; of a fail-slow, one of TIME_CAUSES */
	const char *phase;    /* last activity: "data", "forward"...; "": unknown */
	const char *evidence; /* for people; escaped */
	/* Fail-slow only; otherwise ratio is 0. */
	uint32_t loop;
	double ratio;	 /* step time after the onset divided by that before */
	uint32_t period; /* every period-th step is long; 0: no, or unknown */
	uint64_t onset_step;
	uint64_t end_ns, end_step;	  /* 0: it lasts */
	const struct time_causes *causes; /* NULL, or lost_ns 0: not examined */
	/* Faults only; otherwise name is NULL. */
	const char *name; /* "CUDA_ERROR_ILLEGAL_ADDRESS" */
	int64_t code;
	const char *origin; /* probe that reported it, or "kernel log" */
	/* Fault: last step reported (one more may be done); 0: none. Straggler: the step since
	 * which the rank is one. */
	uint64_t step;
};

/* The process that a fact is about. */
struct fact_life {
	uint64_t run_start_ns; /* start of the first process of the run; 0: in no run */
	bool alive;
	int status; /* as from wait(2), -1: the end was not seen; valid when not alive */
	/* Making of the first process group or communicator, and first wait for a batch; 0: not
	 * seen. */
	uint64_t group_from_ns, group_to_ns, loader_from_ns, loader_to_ns;
	const struct scheduling *scheduling; /* of the first run of the job; NULL: unknown */
};

struct fact {
	enum fact_type type;
	uint64_t number; /* number among all facts of the model, from 1; equal in every replay */
	/* Set by the code that forwards the fact: a predecessor of this gp-bpf has most likely
	 * reported it. */
	bool repeated;
	uint64_t mono_ns;
	int64_t real_ns; /* 0: no clock anchor yet */
	uint32_t pid;	 /* 0: the fact is not about a process */
	/* start of the process, as in its rank_view; 0: not given */
	uint64_t start_ns;
	/* run of the process's job, as in its rank_view; 0: none */
	uint32_t run;
	int rank;		      /* -1: unknown */
	int world_size;		      /* -1: unknown */
	const char *job;	      /* "": unknown */
	const struct gp_place *place; /* where the process runs; NULL: unknown */
	/* Types of custom events; never NULL in a fact about a process. */
	const struct type_names *types;
	const struct fact_life *life; /* NULL: the fact is not about a process */
	enum step_unit unit;	      /* FACT_LEDGER: unit that the loop counts */
	/* set in a FACT_LEDGER of a window, instead of `ledger` */
	const struct window_view *window;
	union {
		const struct gp_session *start;
		const struct step_state *state; /* FACT_RANK */
		const struct fact_step *step;
		const struct fact_checkpoint *checkpoint;
		const struct fact_range *range;
		/* Reported when the disruption begins, and again when it is over. */
		const struct job_disruption *disruption;
		const struct ledger_view *ledger;
		const struct fact_health *health;
		const struct gp_loss *loss;
		const struct gp_end *end;
		const struct monitor_event *monitor;
		const struct attach_view *probe; /* the budget took the probe or gave it back */
	};
};

/* Receives one fact; *f is valid during the call only. */
typedef void fact_fn(void *ctx, const struct fact *f);

#endif
