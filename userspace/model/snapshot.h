/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - everything the model knows at one instant, immutable, shared by reference count
 * (thread-safe). Exporters and views read nothing else but facts. */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/change.h"
#include "userspace/model/deviation.h"
#include "userspace/model/device_code.h"
#include "userspace/model/fact.h"
#include "userspace/model/job.h"
#include "userspace/model/ledger.h"
#include "userspace/model/monitor.h"
#include "userspace/model/overhead.h"
#include "userspace/model/step.h"
#include "userspace/model/window.h"

#define SNAPSHOT_RECENT 128 /* last step times of a loop: the sparkline */
#define SNAPSHOT_EVENTS 8   /* last notable events of a rank, for people */

struct loop_view {
	struct step_state state;
	struct deviation_view time;
	struct change_view change;
	struct times_view
		late[RECENT_CLOCKS]; /* steps of the last minute and the last ten, by the clock */
	uint64_t last_number, last_end_ns;
	uint64_t recent_ns[SNAPSHOT_RECENT]; /* oldest first */
	uint32_t recent;
	uint64_t phase_ns[PHASE_COUNT]; /* sums over all steps */
	uint32_t phases_known;
	bool device_known;	   /* these two are */
	uint64_t host_ns, wait_ns; /* sums likewise: struct fact_step */
	struct share_view ranges;  /* of the job's own, sums over all steps */
	uint64_t flagged[8];	   /* steps with each flag bit */
};

struct event_view {
	uint64_t mono_ns;
	char text[120]; /* "checkpoint saved in 41.0 ms: ckpt-500.pt (step 500)" */
};

struct hang_view {	   /* silence of a rank: the one that goes on, else the last hang */
	bool hung;	   /* a hang goes on */
	bool silent;	   /* longer than usual, a reason is known or looked for */
	uint64_t onset_ns; /* last sign of life; 0: there was never a hang and none is near */
	uint64_t size_ns;
	enum gp_why why;
	char phase[16]; /* "" when unknown */
	char evidence[240];
	uint64_t count, total_ns; /* of all hangs */
};

struct straggle_view { /* the others wait for this rank; or did last */
	bool now;
	uint64_t count;				/* how often it began */
	uint64_t onset_ns, onset_step, size_ns; /* size: of the others' wait in a step */
	char phase[16]; /* what it does meanwhile; "" when it cannot be told */
};

struct rank_view { /* one process that runs (or ran) a training loop, or that was named by the user
		    */
	uint32_t pid;
	uint64_t start_mono_ns; /* of its program where that was seen, else of the process */
	uint64_t observed_ns;	/* watched since: what is counted is counted from then on */
	int64_t since_real_ns;	/* that instant as job_view has its own; 0: unknown */
	int rank, world_size;	/* -1: unknown */
	char comm[GP_COMM_MAX];
	char job[64];
	char command[160];
	bool placed; /* this is known: */
	struct gp_place place;
	uint64_t job_key;      /* of its job_view; 0, or a job that is not there: none */
	uint32_t run;	       /* of that job, as this model counts them: 1, 2...; 0: of none */
	bool trainer;	       /* has ever shown a marker */
	uint32_t accelerators; /* 0: unknown */
	bool alive;
	int status; /* as wait(2) reports it; valid when not alive */
	struct ledger_view ledger;
	struct window_view windows[WINDOWS_MAX]; /* length 0: no more */
	struct loop_view *loops;
	uint32_t nloops; /* at least 1 for a trainer */
	struct hang_view hang;
	struct straggle_view straggle;
	uint64_t faults[FAULT_COUNT]; /* errors of its device and communicators, each that was
					 returned */
	uint64_t checkpoints, restores, checkpoint_save_ns;
	/* Progress of its job that a whole checkpoint covers. */
	bool secured;
	uint64_t secured_step, secured_ns;
	struct checkpoint_match
		resumed; /* what it went on from, of what was recognised; how none: nothing was */
	uint64_t hits;	 /* probe hits, counted ones included */
	struct overhead_view overhead; /* hits x price */
	uint64_t lost;		       /* records known lost while this rank ran */
	struct event_view events[SNAPSHOT_EVENTS];
	uint32_t nevents;
	uint64_t ranges_unsent; /* of the job's own, which are in no step's ranges */
	/* The job's own figures, by name; and how many of its events there were, were not whole,
	 * and how many values of Stats were not kept. */
	struct monitor_value *monitor;
	uint32_t nmonitor;
	uint64_t monitor_events, monitor_truncated, monitor_unkept;
};

struct attach_view {
	uint32_t probe;
	char id[48], runtime[16];
	uint16_t role, group;
	uint32_t flags;
	struct gp_attach at;
	uint64_t since_ns; /* it sits there; 0: it does not */
	uint64_t hits;
	uint64_t unsent; /* of them, what was to be sent and was counted: over a bound or the budget
			  */
	uint32_t given_up; /* how often the budget took it, counting included */
};

/* Of the history that is kept: the model does not know of it, who keeps it says it. */
#define STORE_CAUSES 8
struct store_view {
	bool kept; /* else nothing else is known */
	bool up;   /* the last attempt to write worked */
	uint64_t transactions;
	uint64_t bytes;	  /* of its files; 0: unknown */
	uint64_t waiting; /* minutes that are not written yet */
	int64_t last_ns;  /* of the last transaction, UTC; 0: none */
	struct {
		const char *cause; /* static text */
		uint64_t count;
	} failed[STORE_CAUSES];
	uint32_t nfailed;
	uint64_t lost_ranks, lost_notes, lost_facts;
};

/* Of a way out, likewise: who writes it says it. */
#define EXPORT_VIEWS  16
#define EXPORT_CAUSES 16
struct export_view {
	const char *name;		 /* static text; NULL: there is none */
	bool up;			 /* the last attempt worked */
	uint64_t sent;			 /* points, records, files: what it writes */
	uint64_t waiting, waiting_bytes; /* of these, what is kept to be sent later */
	int64_t last_ns;		 /* of the last success, UTC; 0: none */
	uint64_t superseded; /* intervals that passed while an earlier write still went on */
	struct {
		const char *cause; /* static text */
		uint64_t count;
	} dropped[EXPORT_CAUSES];
	uint32_t ndropped;
	char trouble[200]; /* what is wrong now, one line; "": nothing */
};

/* Of the service that looks after a node, likewise. */
#define NODE_DENIED 32
#define NODE_QUIET  64
struct node_view {
	bool on;       /* else nothing else is known */
	char name[80]; /* its own; "": unknown */
	bool ready;    /* those that ran already have been found, and their probes are attached */
	bool told; /* the kernel tells who maps a library; else all are looked at now and then */
	uint64_t found, denied;		   /* processes: watched for it; not, for a rule */
	uint64_t met, sweeps;		   /* records of the kernel; looks at all */
	uint64_t sweep_took_ns, sweep_saw; /* the last one; processes */
	uint32_t waiting;		   /* met, and to be looked at (again) */
	struct node_denied {
		uint32_t pid;
		char comm[GP_COMM_MAX], why[160];
	} denied_last[NODE_DENIED]; /* a ring, the next one at denied % NODE_DENIED */
	uint32_t ndenied;
	uint64_t watched; /* alive */
	struct node_pods {
		bool here, current; /* there is Kubernetes; what it says is complete and comes */
		uint32_t pods;
		uint64_t failures;
		char trouble[200]; /* what is wrong now; "": nothing */
	} pods;
	struct {
		uint32_t pid;
		char comm[GP_COMM_MAX];
	} quiet[NODE_QUIET]; /* the first of those that are no trainers */
	uint32_t nquiet;
};

struct snapshot {
	uint64_t number; /* 1, 2...: newer is larger */
	uint64_t mono_ns;
	int64_t real_ns; /* 0: unknown */
	struct gp_session session;
	uint64_t session_ns;	 /* when it began, on the monotonic clock */
	int64_t session_real_ns; /* that instant as job_view has its own; 0: unknown */
	int64_t opened_real_ns;	 /* what store and exports count began then; 0: unknown */
	bool ended;
	struct gp_end end;
	struct job_view *jobs; /* in order of appearance */
	uint32_t njobs;
	struct type_names types; /* of custom events in ledgers */
	struct rank_view *ranks; /* trainers first, by rank, then by their start */
	uint32_t nranks;
	struct attach_view *attach;
	uint32_t nattach;
	uint64_t lost[GP_LOSS_CAUSE_COUNT];
	uint64_t budget_ppm; /* of a rank's time; 0: no bound */
	struct program_config program;
	struct store_view store;
	struct export_view exports[EXPORT_VIEWS];
	struct node_view node;
	uint64_t events;
	uint64_t ledger_violations;
	uint64_t unfollowed; /* processes beyond MODEL_RANKS */
	uint64_t forgotten;  /* ended ones beyond what is kept */
	uint64_t dropped;    /* events that there was no memory for */
	int references;	     /* atomic; use the functions */
};

struct snapshot *snapshot_ref(struct snapshot *s);
void snapshot_unref(struct snapshot *s); /* NULL is fine */

#endif
