/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - the complete state of the model at one instant. Immutable; shared by reference
 * count, which is thread-safe. Exporters and views read only snapshots and facts. Times in ns,
 * CLOCK_MONOTONIC unless marked UTC. */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/job/job.h"
#include "userspace/model/rank/rank.h"
#include "userspace/model/signal/model_probe.h"
#include "userspace/model/time/program.h"

/* State of the stored history. Set by the store, not by the model. */
#define STORE_CAUSES 8
struct store_view {
	bool kept; /* a history is stored; else the other fields are invalid */
	bool up;   /* the last write succeeded */
	uint64_t transactions;
	uint64_t bytes;	  /* size of the store's files; 0: unknown */
	uint64_t waiting; /* minutes not written yet */
	int64_t last_ns;  /* last transaction, UTC; 0: none */
	struct {
		const char *cause; /* static text */
		uint64_t count;
	} failed[STORE_CAUSES];
	uint32_t nfailed;
	uint64_t lost_ranks, lost_notes, lost_facts;
};

/* State of one exporter. Set by the exporter, not by the model. */
#define EXPORT_VIEWS  16
#define EXPORT_CAUSES 16
struct export_view {
	const char *name; /* static text; NULL: no exporter */
	bool up;	  /* the last attempt succeeded */
	uint64_t sent;	  /* points, records or files sent, depending on the exporter */
	/* Points, records or files that wait to be sent, and their bytes. */
	uint64_t waiting, waiting_bytes;
	int64_t last_ns; /* last success, UTC; 0: none */
	/* Intervals that passed while an earlier write was still in progress. */
	uint64_t superseded;
	struct {
		const char *cause; /* static text */
		uint64_t count;
	} dropped[EXPORT_CAUSES];
	uint32_t ndropped;
	char trouble[200]; /* current problem, one line; "": none */
};

/* State of the service that watches a node. Set by the service, not by the model. */
#define NODE_DENIED 32
#define NODE_QUIET  64
struct node_view {
	bool on;       /* the service runs; else the other fields are invalid */
	char name[80]; /* name of the node; "": unknown */
	/* Processes that ran before the service have been found, and their probes are attached. */
	bool ready;
	/* The kernel reports processes that map a library; otherwise all processes are scanned at
	 * intervals. */
	bool kernel_reports;
	/* Processes that the service found and watches, and processes excluded by a rule. */
	uint64_t found, denied;
	uint64_t met, sweeps;		   /* reports of the kernel; scans of all processes */
	uint64_t sweep_took_ns, sweep_saw; /* last scan: duration, number of processes */
	uint32_t waiting;		   /* reported processes that still have to be scanned */
	struct node_denied {
		uint32_t pid;
		char comm[GP_COMM_MAX], why[160];
	} denied_last[NODE_DENIED]; /* a ring, the next entry at denied % NODE_DENIED */
	uint32_t ndenied;
	uint32_t gvisor;  /* gVisor sandboxes: processes in these cannot be seen */
	uint64_t watched; /* processes watched now */
	struct node_pods {
		/* here: Kubernetes is available; current: its data is complete and up to date. */
		bool here, current;
		uint32_t pods;
		uint64_t failures;
		char trouble[200]; /* current problem; "": none */
	} pods;
	struct {
		uint32_t pid;
		char comm[GP_COMM_MAX];
	} quiet[NODE_QUIET]; /* the first watched processes that are not trainers */
	uint32_t nquiet;
};

struct snapshot {
	uint64_t number; /* 1, 2...: a later snapshot has a larger one */
	uint64_t mono_ns;
	int64_t real_ns; /* 0: unknown */
	struct gp_session session;
	uint64_t session_ns;	 /* start of the session */
	int64_t session_real_ns; /* session_ns in UTC, see struct job_view; 0: unknown */
	int64_t opened_real_ns;	 /* start of counting of store and exporters, UTC; 0: unknown */
	bool ended;
	struct gp_end end;
	struct job_view *jobs; /* in order of first appearance */
	uint32_t njobs;
	struct type_names types; /* types of custom events in ledgers */
	struct rank_view *ranks; /* trainers first, by rank, then by start */
	uint32_t nranks;
	struct attach_view *attach;
	uint32_t nattach;
	uint64_t lost[GP_LOSS_CAUSE_COUNT];
	uint64_t budget_ppm; /* share of a rank's time, in ppm, that probes may cost; 0: no limit */
	struct program_config program;
	struct store_view store;
	struct export_view exports[EXPORT_VIEWS];
	struct node_view node;
	uint64_t events;
	uint64_t ledger_violations;
	uint64_t unfollowed; /* processes beyond MODEL_RANKS */
	uint64_t forgotten;  /* ended processes that are no longer listed */
	uint64_t dropped;    /* events dropped for lack of memory */
	int references;	     /* atomic; use the functions below */
};

/* Adds a reference; returns s. */
struct snapshot *snapshot_ref(struct snapshot *s);
/* Removes a reference; frees s with the last one. NULL is allowed. */
void snapshot_unref(struct snapshot *s);

#endif
