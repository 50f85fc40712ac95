/* SPDX-License-Identifier: Apache-2.0 */
/* query.h - reads a store: jobs, their runs and ranks, their events, and their time by bucket.
 *
 * A function that lists rows calls fn for each row, in the order given. fn returns 0 to continue;
 * any other value ends the list and is returned. Otherwise functions return 0 or -errno (see
 * store.h). Texts are printable. Times are UTC ns; STORE_NONE: unknown.
 *
 * The sums of a job are its ledger over all runs. Its steps and step times are those of the
 * reference rank of each run: the lowest rank, or the first process if no rank is known. */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/job/disruption_row.h"
#include "userspace/model/job/fact.h"
#include "userspace/store/sketch.h"
#include "userspace/store/store.h"
#include "userspace/store/sums.h"

#define STORE_NONE	     INT64_MIN
#define STORE_EXCLUSIONS_MAX 1024
/* If a job was not written for this long (ns), it counts as unseen. A running gp-bpf writes every
 * second. */
#define STORE_UNSEEN_NS (3 * STORE_MINUTE_NS)

struct store_span {
	int64_t from_ns, to_ns; /* UTC ns; to_ns is exclusive; both 0: no limits */
};

struct store_totals {
	struct sums sums;
	uint64_t steps;
	struct sketch times;
	/* Time in the span that is excluded: by --exclude when the job was watched (exact), and by
	 * exclusions in the store. */
	uint64_t excluded_ns;
	uint64_t cut_ns; /* part of excluded_ns that is due to exclusions in the store */
	/* An exclusion covers part of a row longer than a minute, so the row's contents were
	 * divided in proportion. */
	bool estimated;
};

struct store_job {
	int64_t id;
	/* state: running, down, over, ended; "": unknown */
	char key[384], name[GP_JOB_MAX], state[12];
	bool logged;	     /* imported from a log (import.h) instead of observed */
	int64_t imported_ns; /* time of the import; STORE_NONE: not imported */
	int64_t first_ns, last_ns;
	/* When the job was last seen by a gp-bpf that is still running; 0: no such gp-bpf runs. */
	int64_t watched_ns;
	char uid[64]; /* "": none */
	/* number of runs on other nodes, which the sums include, but the lists of runs and ranks do
	 * not */
	uint32_t carried;
	/* runs: including those on other nodes; alive: number of ranks whose end was not seen */
	uint32_t runs, ranks, alive;
	uint64_t disruptions, checkpoints, max_step;
	struct store_totals totals;
};

struct store_run {
	int64_t id;
	uint32_t attempt;
	char boot_id[40];
	int64_t start_ns, end_ns, last_ns;
	/* wait status (see wait(2)) of the first rank that failed; valid if end_ns is set */
	int status;
	uint32_t ranks;
	int64_t reference; /* id of the reference rank of this run */
	char perf_tag[64], session_tag[64];
	struct store_totals totals;
};

struct store_rank {
	int64_t id;
	uint32_t pid;
	int rank, world_size; /* -1: unknown */
	int64_t start_ns, end_ns, last_ns;
	int status;
	char comm[16], command[160], tier[8], marker[48];
	uint64_t max_step;
	uint32_t accelerators; /* 0: unknown */
	struct store_totals totals;
};

struct store_checkpoint {
	int64_t start_ns, end_ns, step, run_step, bytes;
	bool restore, async, closed;
	uint32_t files;
	int rank;
	char file[192];
	/* For a restore: the step in the checkpoint that was read; how it is known ("inode",
	 * "path"...; "": unknown); confidence (NAN: unknown); whether the step is an estimate. */
	int64_t saved_step;
	char known_by[16];
	double confidence;
	bool estimated;
};

struct store_health {
	char kind[24], why[24], phase[16], evidence[FACT_EVIDENCE_MAX];
	/* Of a slowdown, also when it has ended: its causes; lost_ns 0: unknown. */
	struct time_causes causes;
	int64_t onset_ns,
		/* at_ns: when steps were fast again, for kind recovery; otherwise equal to
		 * onset_ns */
		at_ns;
	uint64_t size_ns;
	bool over;
	/* Set by callers, not read from the store: the event has no line of its own in a report
	 * (report/document.h). */
	bool minor;
	int rank;
};

struct store_note {		  /* a mark that a user set for a job, or an exclusion */
	int64_t id, at_ns, to_ns; /* to_ns: end of an exclusion; unused for a mark */
	int64_t job;		  /* for a mark */
	char text[256];
};

typedef int store_job_fn(void *ctx, const struct store_job *j);
typedef int store_run_fn(void *ctx, const struct store_run *r);
typedef int store_rank_fn(void *ctx, const struct store_rank *r);
/* Receives a disruption. The members number, fault, scheduling and mono_ns are not set, because the
 * store does not have them. */
typedef int store_disruption_fn(void *ctx, const struct disruption_row *d);
typedef int store_checkpoint_fn(void *ctx, const struct store_checkpoint *c);
typedef int store_health_fn(void *ctx, const struct store_health *h);
typedef int store_note_fn(void *ctx, const struct store_note *n);

/* Lists the jobs that were seen within the span, the latest first. Their totals are not limited to
 * the span. */
int store_jobs(struct store *st, const struct store_span *span, store_job_fn *fn, void *ctx);
/* Finds a job by its name, key or number. If several have the name, returns the latest. Returns 0,
 * -ENOENT or -errno. */
int store_job(struct store *st, const char *name, struct store_job *ret);
/* Finds a job by its number. Returns 0, -ENOENT if there is no such job, or -errno. */
int store_job_by_id(struct store *st, int64_t id, struct store_job *ret);
/* Returns 1 if the job is running and watched. Returns 0 if its gp-bpf ended or did not write for
 * STORE_UNSEEN_NS, so that the stored state may be outdated. Returns -1 if the job is not running,
 * was imported, or its state is unknown. */
int store_watched(const struct store_job *j, int64_t now_ns);
int store_runs(struct store *st, int64_t job, store_run_fn *fn, void *ctx); /* by attempt */
int store_ranks(struct store *st, int64_t run, store_rank_fn *fn,
		void *ctx); /* ordered by rank, then by start */
/* These three functions list rows of a job, ordered by time. */
int store_disruptions(struct store *st, int64_t job, const struct store_span *span,
		      store_disruption_fn *fn, void *ctx);
int store_checkpoints(struct store *st, int64_t job, const struct store_span *span,
		      store_checkpoint_fn *fn, void *ctx);
int store_healths(struct store *st, int64_t job, const struct store_span *span, store_health_fn *fn,
		  void *ctx);
/* Lists marks, ordered by time. job 0: marks of all jobs. */
int store_marks(struct store *st, int64_t job, const struct store_span *span, store_note_fn *fn,
		void *ctx);
int store_exclusions(struct store *st, const struct store_span *span, store_note_fn *fn, void *ctx);

/* Compute ledger, steps and step times of a rank or a job from the minutes that begin in the span.
 * exclude: skip minutes in which time is excluded. Minutes that were removed as too old are
 * missing, except for a span without limits and without exclusions. For quantiles use
 * sketch_quantile() of ret->times. */
int store_rank_totals(struct store *st, int64_t rank, const struct store_span *span, bool exclude,
		      struct store_totals *ret);
int store_job_totals(struct store *st, int64_t job, const struct store_span *span, bool exclude,
		     struct store_totals *ret);
/* Lists the minutes of a rank within a span, oldest first, for charts. */
typedef int store_minute_fn(void *ctx, int64_t from_ns, int64_t to_ns,
			    const struct store_totals *t);
int store_minutes(struct store *st, int64_t rank, const struct store_span *span,
		  store_minute_fn *fn, void *ctx);
/* Returns the name of the bucket in a slot of struct sums; NULL after the last slot. */
const char *store_bucket(const struct store *st, uint32_t slot);

/* Add a mark or an exclusion. Return 0 or -errno; -EINVAL: to_ns is not after from_ns. */
int store_mark(struct store *st, int64_t job, int64_t at_ns, const char *text);
int store_exclude(struct store *st, int64_t from_ns, int64_t to_ns, const char *why);
/* Remove a mark or an exclusion by its id. -ENOENT: no such id. */
int store_unmark(struct store *st, int64_t id);
int store_include(struct store *st, int64_t id);
/* Adds an exclusion that only queries through st use, until st is closed. The file is not
 * changed. */
int store_exclude_here(struct store *st, int64_t from_ns, int64_t to_ns, const char *why);

#endif
