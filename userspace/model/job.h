/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - what processes that come one after the other, and run beside each other, are together: a job, its
 * runs, and what interrupted it (design §6, §7).
 *
 *   job.c         who belongs to which job; runs; what is told
 *   job_fall.c    disruptions: how they begin, what belongs to them, how they end
 *   job_ledger.c  where the job's time went: its reference rank's ledgers, and what lies between them
 *   job_window.c  the same of late, by the clock
 *   job_work.c    how much it has made, and the time of its accelerators
 *   job_carry.c   what another node knew of it
 *   job_view.c    its part of a snapshot, its state as bytes
 *
 * A run ends with its processes; the job goes on with the next run. One event that interrupts a job is one
 * disruption, however many ranks fall in it: it begins with the first that ends other than by finishing, and
 * is over when the job makes a step again. A job that nobody takes up again within JOB_WAIT_NS is over since
 * it fell; where the watch ends earlier it is down, unless nobody is left who could take it up.
 * Pure. Bounded: JOBS_MAX jobs, those that ended long ago forgotten first; JOB_FALLS disruptions of each
 * kept.
 */
#ifndef MODEL_JOB_H
#define MODEL_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/checkpoint.h"
#include "userspace/model/disruption.h"
#include "userspace/model/ledger.h"
#include "userspace/model/program.h"
#include "userspace/model/window.h"

#define JOBS_MAX    512
#define JOB_FALLS   16		    /* last disruptions that are shown */
#define JOB_UID_MAX 40		    /* Kubernetes: 36 characters */
#define JOB_WAIT_NS 600000000000ull /* design §6: a crashed job is over after 10 minutes, backdated */
/* From a signal that asks to end to an end that obeys it: Kubernetes grants 30 s by default, Slurm likewise
 * (KillWait), clusters a few minutes. */
#define JOB_GRACE_NS 300000000000ull

enum job_state {
	JOB_RUNNING,
	JOB_DOWN,  /* interrupted: nobody has taken it up yet */
	JOB_OVER,  /* ... and nobody did in time */
	JOB_ENDED, /* finished */
};
extern const char *const job_state_name[];
/* "carried", from another node, or "this_node". */
const char *job_history(bool carried);

struct job_cause {
	char cause[12]; /* "killed", "crashed", "exit", "oom", "exec", "unseen" */
	int rank;	/* that fell first; -1: unknown */
	uint32_t pid;
	int exit_code; /* -1: by signal, or not seen */
	int signal;    /* 0: none */
	uint32_t sender;
	char sender_comm[16];
};

struct job_fall {	 /* a disruption */
	uint64_t number; /* 1, 2... in its job */
	struct job_cause why;
	struct disruption d;
	uint64_t split_ns[BUCKET_COUNT]; /* recovery_ns by bucket */
	bool over;			 /* a step was made after it */
	bool estimated;			 /* where it went on from is not known for certain */
	char how[64];			 /* how resumed_step and wasted_ns are known; "" while they are not */
};

struct job_view {
	uint64_t key; /* stays, also over restarts of gp-bpf on one boot */
	char name[64];
	char uid[JOB_UID_MAX]; /* with its name what makes it the same one; "": its name does */
	enum job_state state;
	uint32_t first_pid;	/* its first rank: its name where it has none */
	uint32_t runs, members; /* ever; ranks that run now */
	uint32_t reference_pid; /* whose ledger counts now; 0: nobody's */
	int reference_rank;	/* -1: unknown */
	int world_size;		/* -1: unknown */
	uint64_t run_start_ns;
	struct ledger_view ledger;		 /* over all runs; `disruptions` filled */
	struct window_view windows[WINDOWS_MAX]; /* length 0: no more */
	uint64_t wasted_gross_ns;		 /* never falls */
	uint64_t last_step;			 /* 0: none yet */
	/* Progress that a whole checkpoint covers: up to that step, so much of it. */
	uint64_t secured_step, secured_ns;
	uint32_t starts; /* of processes that trained, since the last step: a crash loop shows here */
	/* Of its ranks that were seen here: those of the run that was last, and their accelerators; by bucket
	 * the time of all accelerators that its ranks ever had, outages included. */
	uint32_t run_ranks, accelerators;
	double accelerator_ns[BUCKET_COUNT];
	struct program_seen work;
	struct program_view program;
	struct job_fall falls[JOB_FALLS]; /* oldest first */
	uint32_t nfalls;
	/* Its history goes on from another node's: all but its windows, its accelerators' time and the
	 * disruptions before the last one, which only that node has. */
	bool carried;
	uint32_t carried_runs; /* of runs */
};

struct rank;
struct rank_env;
struct job;
struct jobs {
	struct job *job[JOBS_MAX];
	uint32_t count;
	uint64_t forgotten;
};

void jobs_free(struct jobs *js);
/* Time passed. */
void jobs_tick(struct rank_env *env, uint64_t now_ns);
/* All that was watched has ended: nobody is left to take a job up again. */
void jobs_stop(struct rank_env *env);
void job_view(const struct job *j, uint64_t now_ns, struct job_view *ret);
/* Its windows, which job_view() leaves zero. windows_ns: lengths of WINDOWS_MAX of them, 0: no more. */
void job_view_windows(const struct job *j, const uint64_t *windows_ns, struct job_view *v);
/* A rank of it that has not ended. */
void job_view_rank(struct job_view *v, const struct ledger_view *l, uint32_t accelerators);
/* Once its ranks were told: what follows from them. */
void job_view_work(struct job_view *v, const struct program_config *c);
struct carry;
/* The key of a job of that name; uid may be "". */
uint64_t job_name_key(const char *name, const char *uid);
/* What another node knew of a job, as of now_ns, goes before all that it does here from now on: false where
 * that is nothing new, the job runs here already, or the time between cannot be told. */
bool jobs_carry(struct rank_env *env, const struct carry *c, uint64_t now_ns);
/* What this node knows of the job. false: another one is to tell: the job has no name, never ran here, or its
 * reference is a rank elsewhere. */
bool job_carry(const struct rank_env *env, const struct job *j, uint64_t now_ns, struct carry *ret);
void jobs_archive(struct archive *a, struct jobs *js, const struct away *away);
/* NULL: there is none of that key. */
struct job *jobs_find(const struct jobs *js, uint64_t key);
/* Saved with a rank: its place in its job. */
void job_rank_archive(struct archive *a, struct rank *r);

/* A process trains: it is a rank of its job from here on. 0 or -ENOMEM. */
int job_join(struct rank *r, uint64_t now_ns);
/* By how much the numbers of its steps are to be raised: those of the runs before that still count. Asked
 * when it has made a step: what it goes on from is known by then. */
uint64_t job_step_base(struct rank *r);
/* It made a step, which its ledger has. timed: what it took is certain. */
void job_step(struct rank *r, uint64_t start_ns, uint64_t end_ns, uint64_t number, bool timed);
/* Progress of its job that counts so far; 0 where it is not the job's reference. */
uint64_t job_goodput(const struct rank *r);
/* It has saved a checkpoint of what was done up to that step; all of it is in its ledger. */
void job_saved(struct rank *r, uint64_t step);
/* The job's checkpoints; make: though there are none yet. NULL: there is no such job, or no memory. */
struct checkpoints *job_checkpoints(const struct rank *r, bool make);
/* Where the rank's job has its steps from, if that is another rank. NULL: nowhere. */
struct rank *job_reference(const struct rank *r);
/* false: nothing is secured. */
bool job_secured(const struct rank *r, uint64_t *ret_step, uint64_t *ret_ns);
/* It ended other than by finishing (why), or by finishing: NULL; asked: a signal had asked it to. Before the
 * rank leaves. True: that is a disruption of the job, and was told. */
bool job_fell(struct rank *r, uint64_t now_ns, const struct job_cause *why, bool asked);
/* Its ledger is closed: it is no rank of the job any more. */
void job_left(struct rank *r, uint64_t now_ns);

#endif
