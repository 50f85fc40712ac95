/* SPDX-License-Identifier: Apache-2.0 */
/* fact.h - facts: the results of the model, which become JSON lines. A fact that was sent is never
 * changed. A disruption is sent twice: when it begins, and with its cost when it is over. Times are
 * in ns, CLOCK_MONOTONIC; real_ns is the same instant in UTC. */
#ifndef MODEL_FACT_H
#define MODEL_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/job/job.h"
#include "userspace/model/job/checkpoint.h"
#include "userspace/model/time/examination.h"
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
	bool closed; /* the end of the save or restore was seen */
	bool async;  /* a thread that does not train wrote it, so no step waited for it */
	uint64_t start_ns, end_ns;
	/* For a save: last step that the checkpoint contains. For a restore: last step before the
	 * restore began. 0: none. */
	uint64_t step;
	bool estimated;	   /* step is deduced */
	uint64_t run_step; /* `step`, counted from the start of this run; 0: none */
	uint64_t bytes;	   /* 0: unknown */
	uint32_t files;	   /* number of files */
	const char *file;  /* path as the process gave it, escaped, or "" */
	/* For a restore: the checkpoint that was recognised, or NULL. For a save: NULL. */
	const struct checkpoint_match *match;
};

struct fact_range {
	const char *name;
	enum bucket bucket;
	uint64_t start_ns, end_ns;
	uint32_t type; /* if bucket is BUCKET_CUSTOM: number of the custom event's type */
	bool async;    /* the range is on a thread that does not train, so its time is not booked */
};

/* Size in bytes of the evidence text of a health event. */
#define FACT_EVIDENCE_MAX 640

/* A health event: hang, straggler, slowdown or device fault. It is sent when it is certain, and
 * again when it has ended. */
struct fact_health {
	/* "hang", "straggler", "fail_slow" (steps became slower), "recovered" (such a slowdown
	 * ended), or the name of a fault from fault_name. A fault has no duration. */
	const char *kind;
	uint64_t onset_ns;
	uint64_t size_ns; /* hang: its duration so far; slowdown: increase of the step time */
	/* the event has ended */
	bool over;
	const char *why;      /* reason: one of GP_WHYS, for a slowdown one of TIME_CAUSES */
	const char *phase;    /* last activity, such as "data" or "forward", or "" */
	const char *evidence; /* for people; escaped */
	/* Of a slowdown, the line of Python of its main cause (time_causes_line()): "train.py:31 in
	 * step()". Of a hang that is not over, the Python stack of the thread that trained last,
	 * innermost call first: "wait (threading.py:622) < fetch (data.py:31)". NULL or "":
	 * unknown. */
	const char *line;
	/* The fields up to `causes` are set for a slowdown only; otherwise ratio is 0. */
	uint32_t loop;
	double ratio;	 /* step time after the onset, divided by the step time before */
	uint32_t period; /* only every period-th step is long; 0: all are, or unknown */
	uint64_t onset_step;
	uint64_t end_ns, end_step;	  /* 0: the slowdown continues */
	const struct time_causes *causes; /* NULL, or lost_ns is 0: causes were not searched */
	/* Examination of the training thread during the slowdown or hang; NULL: there was none. */
	const struct examination *examination;
	/* The fields from here to `origin` are set for a fault only; otherwise name is NULL. */
	const char *name; /* such as "CUDA_ERROR_ILLEGAL_ADDRESS" */
	int64_t code;
	const char *origin; /* id of the probe that reported the fault, or "kernel log" */
	/* Fault: last step that was reported (one more may have ended), or 0. Straggler: the step
	 * since which the rank is the straggler. */
	uint64_t step;
};

/* Start, end and startup of the process that a fact is about. */
struct fact_life {
	/* start of the first process of the run; 0: the process is in no run */
	uint64_t run_start_ns;
	bool alive;
	int status; /* status as from wait(2); -1: the end was not seen; only valid if not alive */
	/* Time in which the first process group or communicator was made, and time of the first
	 * wait for a batch; 0: not seen. */
	uint64_t group_from_ns, group_to_ns, loader_from_ns, loader_to_ns;
	/* How long scheduling the first run of the job took; NULL: unknown. */
	const struct scheduling *scheduling;
};

struct fact {
	enum fact_type type;
	uint64_t number; /* counts all facts of the model from 1; the same in every replay */
	/* The receiver sets this if the previous gp-bpf, which this one continues, has probably
	 * sent the fact already. */
	bool repeated;
	uint64_t mono_ns;
	/* the same instant in UTC; 0: unknown, because no clock record has arrived yet */
	int64_t real_ns;
	uint32_t pid; /* process that the fact is about; 0: none */
	/* start of the process, as in its rank_view; 0: not set */
	uint64_t start_ns;
	/* number of the run, as in the process's rank_view; 0: none */
	uint32_t run;
	int rank;		      /* -1: unknown */
	int world_size;		      /* -1: unknown */
	const char *job;	      /* "": unknown */
	const struct gp_place *place; /* where the process runs; NULL: unknown */
	/* Names of the types of custom events. Not NULL if the fact is about a process. */
	const struct type_names *types;
	/* Set if the fact is about a process, otherwise NULL. */
	const struct fact_life *life;
	/* FACT_LEDGER only: the unit that the loop counts. */
	enum step_unit unit;
	/* Set instead of `ledger` if a FACT_LEDGER is about a window of time. */
	const struct window_view *window;
	union {
		const struct gp_session *start;
		const struct step_state *state; /* FACT_RANK */
		const struct fact_step *step;
		const struct fact_checkpoint *checkpoint;
		const struct fact_range *range;
		/* Sent when the disruption begins, and again when it is over. */
		const struct job_disruption *disruption;
		const struct ledger_view *ledger;
		const struct fact_health *health;
		const struct gp_loss *loss;
		const struct gp_end *end;
		const struct monitor_event *monitor;
		/* A probe that was detached or attached again because of its cost. */
		const struct attach_view *probe;
	};
};

/* Function that receives facts. *f is valid only during the call. */
typedef void fact_fn(void *ctx, const struct fact *f);

#endif
