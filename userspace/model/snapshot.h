/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - the complete state of the model at one instant. A snapshot never changes, and is
 * shared by a thread-safe reference count. Exporters and views read only snapshots and facts. Times
 * in ns, CLOCK_MONOTONIC unless marked UTC. */
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

/* State of the history in SQLite. The store sets it, not the model. */
#define STORE_CAUSES 8
struct store_view {
	bool kept; /* a history is stored; if not, the other fields are not set */
	bool up;   /* the last write succeeded */
	uint64_t transactions;
	uint64_t bytes;	  /* size of the store's files; 0: unknown */
	uint64_t waiting; /* number of minutes that are not written yet */
	int64_t last_ns;  /* time of the last transaction, UTC; 0: there was none */
	struct {
		const char *cause; /* static text */
		uint64_t count;
	} failed[STORE_CAUSES];
	uint32_t nfailed;
	uint64_t lost_ranks, lost_notes, lost_facts;
};

/* State of an exporter. The exporter sets it, not the model. */
#define EXPORT_VIEWS  16
#define EXPORT_CAUSES 16
struct export_view {
	const char *name; /* static text; NULL: there is no exporter in this entry */
	bool up;	  /* the last attempt succeeded */
	uint64_t sent;	  /* number of points, records or files sent, as the exporter counts */
	/* Number of points, records or files that wait to be sent, and their size in bytes. */
	uint64_t waiting, waiting_bytes;
	int64_t last_ns; /* time of the last success, UTC; 0: there was none */
	/* Number of intervals in which nothing was written, because an earlier write was still in
	 * progress. */
	uint64_t superseded;
	struct {
		const char *cause; /* static text */
		uint64_t count;
	} dropped[EXPORT_CAUSES];
	uint32_t ndropped;
	char trouble[200]; /* present problem in one line, or "" */
};

/* State of the service that watches a whole node. The service sets it, not the model. */
#define NODE_DENIED 32
#define NODE_QUIET  64
struct node_view {
	bool on;       /* the service runs; if not, the other fields are not set */
	char name[80]; /* name of the node, or "" if unknown */
	/* All processes that were running when the service started were scanned, and their probes
	 * are attached. */
	bool ready;
	/* The kernel reports processes that map a library; otherwise gp-bpf scans all processes
	 * repeatedly. */
	bool kernel_reports;
	/* found: number of processes that the service found and watches; denied: number of
	 * processes that a rule excluded */
	uint64_t found, denied;
	/* met: number of reports from the kernel; sweeps: number of scans of all processes */
	uint64_t met, sweeps;
	/* duration of the last scan, and number of processes that it found */
	uint64_t sweep_took_ns, sweep_saw;
	uint32_t waiting; /* processes that the kernel reported and that must still be scanned */
	struct node_denied {
		uint32_t pid;
		char comm[GP_COMM_MAX], why[160];
	} denied_last[NODE_DENIED]; /* ring; the next entry is written at denied % NODE_DENIED */
	uint32_t ndenied;
	uint32_t gvisor;  /* number of gVisor sandboxes, whose processes cannot be seen */
	uint64_t watched; /* number of processes that are watched now */
	struct node_pods {
		/* here: gp-bpf runs in Kubernetes. current: its data about pods is complete and up
		 * to date. */
		bool here, current;
		uint32_t pods;
		uint64_t failures;
		char trouble[200]; /* present problem, or "" */
	} pods;
	struct {
		uint32_t pid;
		char comm[GP_COMM_MAX];
	} quiet[NODE_QUIET]; /* first few watched processes that do not train */
	uint32_t nquiet;
};

struct snapshot {
	uint64_t number; /* counts snapshots from 1 */
	uint64_t mono_ns;
	int64_t real_ns; /* 0: unknown */
	struct gp_session session;
	uint64_t session_ns; /* start of the present session of gp-bpf */
	/* session_ns in UTC, converted only once, so that it never changes; 0: unknown */
	int64_t session_real_ns;
	/* UTC at which the store and the exporters began to count; 0: unknown. */
	int64_t opened_real_ns;
	bool ended;
	struct gp_end end;
	/* In the order in which the jobs appeared. */
	struct job_view *jobs;
	uint32_t njobs;
	struct type_names types; /* names of the types of custom events in ledgers */
	/* Ranks that train come first. Then the order is by rank, then by start. */
	struct rank_view *ranks;
	uint32_t nranks;
	struct attach_view *attach;
	uint32_t nattach;
	uint64_t lost[GP_LOSS_CAUSE_COUNT];
	/* Limit for the cost of probes, in ppm of a rank's time; 0: no limit. */
	uint64_t budget_ppm;
	struct program_config program;
	struct store_view store;
	struct export_view exports[EXPORT_VIEWS];
	struct node_view node;
	uint64_t events;
	uint64_t ledger_violations;
	uint64_t unfollowed; /* number of processes beyond MODEL_RANKS, which were not followed */
	uint64_t forgotten;  /* number of ended processes that are no longer listed */
	uint64_t dropped;    /* number of events that were dropped because there was no memory */
	int references;	     /* atomic; use snapshot_ref() and snapshot_unref() */
};

/* Adds a reference and returns s. */
struct snapshot *snapshot_ref(struct snapshot *s);
/* Removes a reference, and frees s with the last one. s may be NULL. */
void snapshot_unref(struct snapshot *s);
/* Returns the job of a rank of s; NULL: it has none. */
const struct job_view *snapshot_job_of(const struct snapshot *s, const struct rank_view *r);

#endif
