/* SPDX-License-Identifier: Apache-2.0 */
/* top_state.h - the state of a node as gp-bpf top shows it, parsed from the JSON of /debug/state.
 * The JSON is not trusted: size, depth and number of values are limited before anything is stored;
 * jobs beyond TOP_JOBS and ranks beyond TOP_RANKS are only counted; a value of an unexpected type
 * is treated as missing. Texts may have any characters: escape them before showing them. Pure. */
#ifndef VIEW_TOP_STATE_H
#define VIEW_TOP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/time/ledger.h"

#define TOP_BYTES	(16u << 20) /* size limit of the JSON */
#define TOP_JOBS	512
#define TOP_RANKS	4096
#define TOP_RECENT	64
#define TOP_EVENTS	4
#define TOP_DISRUPTIONS 4

enum top_mark { /* bits for the current problems of a job or rank, the worst first */
		TOP_HUNG = 1,
		TOP_SILENT = 2,
		TOP_STRAGGLER = 4,
		TOP_SLOW = 8, /* fail-slow */
};
#define TOP_MARKS 4

struct top_time { /* how much time a job or rank spent in each bucket */
	uint64_t ns[BUCKET_COUNT];
	/* type of custom event with the most time (custom_ns); "": none */
	char custom[LEDGER_TYPE_MAX];
	uint64_t custom_ns;
	uint64_t observed_ns;
};

struct top_event {
	uint64_t mono_ns;
	char text[160];
};

struct top_rank {
	char key[20]; /* key of the job to which the rank belongs; "": none */
	/* index in top_state.jobs of the rank's job; TOP_JOBS: the job is not in the list */
	uint32_t of;
	char job[GP_JOB_MAX], node[64], pod[64], comm[24], command[160];
	char state[16]; /* state of the rank's main loop */
	char marker[64];
	int64_t rank, world_size; /* -1: unknown */
	uint32_t pid;
	bool trainer, alive;
	int64_t exit_code, signal; /* -1: unknown, or the process ended in another way */
	unsigned marks;
	uint64_t step, last_end_ns, count, p50_ns, p99_ns, mean_ns;
	bool wait_known;
	uint64_t wait_ns; /* time that the rank waited for other ranks, in the last `count` steps */
	uint64_t accelerators, hits, overhead_ns, elapsed_ns;
	bool overhead_known;
	struct top_time time;
	/* latest step times, oldest first; `recent` is their number */
	uint64_t recent_ns[TOP_RECENT];
	uint32_t recent;
	/* how long the rank hangs, or how long others wait for it in each step */
	uint64_t mark_ns;
	char evidence[FACT_EVIDENCE_MAX], why[32];
	/* present step time divided by the step time before the slowdown; 0: unknown */
	double slow_ratio;
	struct top_event events[TOP_EVENTS]; /* the latest events */
	uint32_t nevents;
};

struct top_disruption {
	char cause[24], fault[48];
	bool over;
	int64_t rank; /* rank that failed first; -1: unknown */
	uint64_t at_ns, step, wasted_ns, recovery_ns;
};

struct top_window {
	char name[16];
	double ratio; /* below 0: unknown */
};

struct top_job {
	char key[20], name[GP_JOB_MAX], uid[40], state[12];
	uint64_t runs, futile, step, disruptions;
	struct top_time time;
	struct top_window windows[4];
	uint32_t nwindows;
	struct top_disruption last_disruptions[TOP_DISRUPTIONS]; /* latest disruptions of the job */
	uint32_t nlast_disruptions;
	/* The following members are about the job's ranks on this node. */
	/* first: index of the job's first rank in top_state.ranks. ranks: number of the job's
	 * ranks; those that run come first */
	uint32_t first, ranks;
	uint32_t alive, marked[TOP_MARKS];
	uint32_t shown; /* index of the rank whose step time the job's row shows; TOP_RANKS: none */
};

struct top_state {
	char version[24], node[80];
	uint64_t mono_ns;
	int64_t real_ns; /* UTC; 0: unknown */
	bool service;	 /* the state comes from a gp-bpf service, which watches the node */
	uint64_t watched, no_training, denied, gvisor, accelerators, lost;
	char losses[160];  /* lost records by cause: "ring_call 12, ..."; "": none */
	char nothing[200]; /* reason why there are no jobs that train */
	struct top_job *jobs;
	uint32_t njobs;
	struct top_rank *ranks; /* ranks of jobs, followed by processes without a job */
	uint32_t nranks;
	uint64_t jobs_beyond, ranks_beyond;
};

/* Parses a state. Returns 0; -EBADMSG: json is not a state or exceeds a limit; -ENOMEM. Free *ret
 * with top_state_free(). */
int top_state_parse(struct top_state *ret, const char *json, size_t len);
void top_state_free(struct top_state *s);

/* Returns which problems the job's ranks have, as bits of enum top_mark; 0: none. */
unsigned top_job_marks(const struct top_job *j);
/* Returns the name of the bucket without progress that took most time, and its time; NULL: none. */
const char *top_badput(const struct top_time *t, uint64_t *ret_ns);
/* Returns the job's or rank's goodput as a share from 0 to 1; below 0: unknown. */
double top_goodput(const struct top_time *t);

#endif
