/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - what processes that come one after the other, and run beside each other, are together: a
 * job, its runs, and what interrupted it (design §6, §7).
 *
 *   job.c         who belongs to which job; runs; what is told
 *   job_fall.c    disruptions: how they begin, what belongs to them, how they end
 *   job_ledger.c  where the job's time went: its reference rank's ledgers, and what lies between
 * them job_window.c  the same of late, by the clock job_place.c   at which collective its ranks
 * stand while they get no further job_named.c   what those who run it say of it: names that come
 * late, attempts, scheduling job_work.c    how much it has made, and the time of its accelerators
 *   job_carry.c   what another node knew of it
 *   job_view.c    its part of a snapshot, its state as bytes
 *
 * A run ends with its processes; the job goes on with the next run. One event that interrupts a job
 * is one disruption, however many ranks fall in it: it begins with the first that ends other than
 * by finishing, and is over when the job makes a step again. A job that nobody takes up again
 * within JOB_WAIT_NS is over since it fell; where the watch ends earlier it is down, unless nobody
 * is left who could take it up. Pure. Bounded: JOBS_MAX jobs, those that ended long ago forgotten
 * first; JOB_FALLS disruptions of each kept.
 */
#ifndef MODEL_JOB_H
#define MODEL_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/checkpoint.h"
#include "userspace/model/disruption.h"
#include "userspace/model/ledger.h"
#include "userspace/model/program.h"
#include "userspace/model/window.h"

#define JOBS_MAX    512
#define JOB_FALLS   16 /* last disruptions that are shown */
#define JOB_UID_MAX 40 /* Kubernetes: 36 characters */
#define JOB_WAIT_NS                                                                                \
	600000000000ull /* design §6: a crashed job is over after 10 minutes, backdated */
/* From a signal that asks to end to an end that obeys it: Kubernetes grants 30 s by default, Slurm
 * likewise (KillWait), clusters a few minutes. */
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
	/* "killed", "crashed", "exit", "oom", "exec", "asked", "unseen"; a fault's: fault_name;
	 * what was done to its pod or node: notice_name */
	char cause[24];
	char fault[48]; /* what that is called, "CUDA_ERROR_ILLEGAL_ADDRESS", "Xid 79"; "": none, or
			 * unknown
			 */
	int rank;	/* that fell first; -1: unknown */
	uint32_t pid;
	int exit_code; /* -1: by signal, or not seen */
	int signal;    /* 0: none */
	uint32_t sender;
	char sender_comm[16];
};

#define JOB_CAUSES 12	 /* told apart */
struct job_cause_count { /* disruptions of that cause, ever */
	char cause[24];
	uint64_t count;
};

/* Of the time from one instant to the start of a process in a pod: the pod is made, gets a node,
 * has its images and what must run before it, and its container runs until the process does. */
#define SCHEDULE_PARTS(X)                                                                          \
	X(0, create)                                                                               \
	X(1, schedule)                                                                             \
	X(2, image)                                                                                \
	X(3, start)

enum schedule_part {
#define X(id, name) SCHEDULE_##name = id,
	SCHEDULE_PARTS(X)
#undef X
		SCHEDULE_COUNT
};
extern const char *const schedule_name[SCHEDULE_COUNT];
struct scheduling {
	bool known;
	uint64_t ns[SCHEDULE_COUNT];
};

struct job_fall {	 /* a disruption */
	uint64_t number; /* 1, 2... in its job */
	struct job_cause why;
	struct disruption d;
	uint64_t split_ns[BUCKET_COUNT]; /* recovery_ns by bucket */
	struct scheduling
		scheduling; /* from it to the first start of the next run; beside the buckets */
	bool over;	    /* a step was made after it */
	bool estimated;	    /* where it went on from is not known for certain */
	char how[64];	    /* how resumed_step and wasted_ns are known; "" while they are not */
};

#define JOB_FORMERS 3
struct job_former { /* what a job was known by before its name was */
	uint64_t key;
	char name[64], uid[JOB_UID_MAX];
};

struct job_view {
	uint64_t key; /* stays, also over restarts of gp-bpf on one boot, until its name becomes
			 known */
	/* What was told under these keys is of this job, the newest last; no other job has one of
	 * them. */
	struct job_former formers[JOB_FORMERS];
	uint32_t nformers;
	char name[64];
	char uid[JOB_UID_MAX]; /* with its name what makes it the same one; "": its name does */
	enum gp_job_from from; /* who names it; none: nobody, or its processes */
	int attempt;	       /* of its run, as who restarts it counts; -1: unknown */
	/* From the pod's making to the first process of the first run: beside the ledger, never in
	 * it. */
	struct scheduling scheduling;
	enum job_state state;
	uint32_t first_pid;	/* its first rank: its name where it has none */
	uint32_t runs, members; /* ever; ranks that run now */
	uint32_t reference_pid; /* whose ledger counts now; 0: nobody's */
	int reference_rank;	/* -1: unknown */
	int world_size;		/* -1: unknown */
	uint64_t run_start_ns;
	/* What is counted is counted from then on, UTC: said once, so that it names the count also
	 * when the clock is set, and over restarts of gp-bpf that keep the count. 0: unknown. */
	int64_t since_real_ns;
	struct ledger_view ledger;		 /* over all runs; `disruptions` filled */
	struct window_view windows[WINDOWS_MAX]; /* length 0: no more */
	uint64_t wasted_gross_ns;		 /* never falls */
	uint64_t last_step;			 /* 0: none yet */
	/* Progress that a whole checkpoint covers: up to that step, so much of it. */
	uint64_t secured_step, secured_ns;
	uint32_t starts; /* of processes that trained, since the last step: a crash loop shows here
			  */
	/* Of its ranks that were seen here: those of the run that was last, and their accelerators;
	 * by bucket the time of all accelerators that its ranks ever had, outages included. */
	uint32_t run_ranks, accelerators;
	double accelerator_ns[BUCKET_COUNT];
	struct program_seen work;
	struct program_view program;
	struct job_fall falls[JOB_FALLS]; /* oldest first */
	uint32_t nfalls;
	/* Of the ledger's disruptions those that were seen here, by cause: the counts never fall.
	 * Those of another node, and of causes beyond these, are in the ledger's number alone. */
	struct job_cause_count causes[JOB_CAUSES];
	uint32_t ncauses;
	uint32_t unsettled; /* of the ledger's disruptions those that are counted for no cause yet:
			       0, or the last one */
	bool told_here; /* its own figures are this node's to tell: rank 0 of its run is, or was,
			   here, or no rank is known to be another one */
	/* Its history goes on from another node's: all but its windows, its accelerators' time and
	 * the disruptions before the last one, which only that node has. */
	bool carried;
	uint32_t carried_runs; /* of runs */
};

/* What is known of which rank one is. */
enum job_standing { JOB_STANDS_unknown, JOB_STANDS_first, JOB_STANDS_later, JOB_STANDS_COUNT };

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
/* What was told last of causes stays. */
void jobs_settle(struct rank_env *env);
/* All that was watched has ended: nobody is left to take a job up again. */
void jobs_stop(struct rank_env *env);
void job_view(const struct job *j, uint64_t now_ns, struct job_view *ret);
/* Its windows, which job_view() leaves zero. windows_ns: lengths of WINDOWS_MAX of them, 0: no
 * more. */
void job_view_windows(const struct job *j, const uint64_t *windows_ns, struct job_view *v);
/* A rank of it that has not ended. */
void job_view_rank(struct job_view *v, const struct ledger_view *l, uint32_t accelerators);
/* Once its ranks were told: what follows from them. */
void job_view_work(struct job_view *v, const struct program_config *c);
struct carry;
/* The key of a job of that name; uid may be "". */
uint64_t job_name_key(const char *name, const char *uid);
/* What another node knew of a job, as of now_ns, goes before all that it does here from now on:
 * false where that is nothing new, the job runs here already, or the time between cannot be told.
 */
bool jobs_carry(struct rank_env *env, const struct carry *c, uint64_t now_ns);
/* What this node knows of the job. false: another one is to tell: the job has no name, never ran
 * here, or its reference is a rank elsewhere. */
bool job_carry(const struct rank_env *env, const struct job *j, uint64_t now_ns, struct carry *ret);
void jobs_archive(struct archive *a, struct jobs *js, const struct away *away);
/* NULL: there is none of that key. */
struct job *jobs_find(const struct jobs *js, uint64_t key);
/* Saved with a rank: its place in its job. */
void job_rank_archive(struct archive *a, struct rank *r);

/* A process trains: it is a rank of its job from here on. 0 or -ENOMEM. */
int job_join(struct rank *r, uint64_t now_ns);
/* What the job of a process is called: while it is a rank of one, as that one is. */
const char *job_name_of(const struct rank *r);
/* A name came after the rank had joined. A job that nobody named, or somebody less trusted, and
 * that has had this run alone, goes by it and by the new key from here on; its view tells the
 * former one. Where there is a job of that key already, nothing is done: what two jobs have counted
 * is not made one, and the rank stays where it is, under that one's name. */
bool job_rename(struct rank *r, uint64_t key);
/* How long the first run of its job took to be scheduled; NULL: not known. */
const struct scheduling *job_scheduling(const struct rank *r);
/* More is known of where a rank runs: its attempt, how long its pod took. */
void job_placed(struct rank *r);
/* By how much the numbers of its steps are to be raised: those of the runs before that still count.
 * Asked when it has made a step: what it goes on from is known by then. */
uint64_t job_step_base(struct rank *r);
/* It made a step, which its ledger has. timed: what it took is certain. */
void job_step(struct rank *r, uint64_t start_ns, uint64_t end_ns, uint64_t number, bool timed);
/* Progress of its job that counts so far; 0 where it is not the job's reference. */
uint64_t job_goodput(const struct rank *r);
/* It has saved a checkpoint of what was done up to that step; all of it is in its ledger. */
void job_saved(struct rank *r, uint64_t step);
/* When the first process of the rank's run began; 0: it is of none, or its job has begun another
 * one. */
uint64_t job_run_start(const struct rank *r);
/* The job's checkpoints; make: though there are none yet. NULL: there is no such job, or no memory.
 */
struct checkpoints *job_checkpoints(const struct rank *r, bool make);
/* Where the rank's job has its steps from, if that is another rank. NULL: nowhere. */
struct rank *job_reference(const struct rank *r);
/* false: nothing is secured. */
bool job_secured(const struct rank *r, uint64_t *ret_step, uint64_t *ret_ns);
/* The rank's steps are compared with those of others of its run. NULL: it is alone, or no memory.
 */
struct straggler *job_straggler(const struct rank *r);
#define JOB_PLACES 32 /* ranks of one job */
struct job_place {    /* where a rank that gets no further stands */
	uint32_t pid;
	int rank; /* -1: unknown */
	uint32_t comms,
		comm;	/* communicators that it uses; the one of its last collective, as it came */
	uint64_t count; /* collectives entered there */
	bool whole;	/* none of them was missed */
	char name[48];	/* of the last one */
	uint64_t told_ns;
};
/* Every second while it gets no further. */
void job_place(struct rank *r, const struct job_place *p);
/* "ranks 0 and 2 wait in nccl.all_reduce #12; rank 1 has not entered it"; "": that is not known. */
void job_places_text(const struct rank *r, uint64_t now_ns, char *out, size_t len);
/* Its rank or its world size is another one now. */
void job_ranked(struct rank *r);
/* Ranks of its run that are here. */
uint32_t job_members(const struct rank *r);
/* It ended other than by finishing (why), or by finishing: NULL; clean: it ended in order, as it
 * was asked to. Before the rank leaves. True: that is a disruption of the job, and was told. */
bool job_fell(struct rank *r, uint64_t now_ns, const struct job_cause *why, bool clean);
/* What was done to a pod (enum gp_notice_kind) says more than the signal, or the status, that came
 * of it: it is the cause from here on. */
bool job_cause_noticed(struct job_cause *why, unsigned what);
/* It is told after the rank, which was of that pod, has ended: the cause of the disruption that
 * this was, as long as no step was made since. */
void job_noticed(const struct rank *r, uint64_t now_ns, unsigned what);
/* Its ledger is closed: it is no rank of the job any more. */
void job_left(struct rank *r, uint64_t now_ns);
/* Its ledger turned out to begin that much earlier. */
void job_reached_back(struct rank *r, uint64_t more_ns);

#endif
