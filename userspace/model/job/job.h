/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - jobs: processes that run in parallel or one after the other for one training, their runs
 * and disruptions.
 *
 *   job.c             membership, runs, reports
 *   job_table.c       the table of jobs, and progress in checkpoints
 *   job_disruption.c  disruptions: beginning, cause, end; disruption_cause.h: the causes
 *   job_ledger.c      time of the job: ledgers of its reference ranks, and the time between them;
 *                     the same for recent time, by the clock
 *   job_place.c       the collective at which each rank waits when they make no progress
 *   job_named.c       name, attempts and scheduling as given by the cluster
 *   job_work.c        steps made, and time of the accelerators
 *   job_carry.c       history from another node
 *   job_view.c        the job's part of a snapshot; saves and restores jobs
 *   job_member.h      a rank as its job sees it
 *   model_env.h       data shared by all jobs and ranks
 *
 * A run ends with its processes; the job continues with the next run. One event that interrupts a
 * job is one disruption, however many ranks fail: it begins with the first rank that fails, and is
 * over when the job makes a step again. A job that is not resumed within JOB_WAIT_NS ended when it
 * failed. When observation ends earlier the job is reported as down, unless no observed process
 * could resume it.
 *
 * The time of a job is that of one rank at a time, the reference. Pure; call from the model's
 * thread. Times in ns, CLOCK_MONOTONIC. Bounded: JOBS_MAX jobs (the one that ended first is removed
 * first), with JOB_DISRUPTIONS disruptions each. */
#ifndef MODEL_JOB_H
#define MODEL_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/job/checkpoint.h"
#include "userspace/model/job/disruption.h"
#include "userspace/model/job/disruption_cause.h"
#include "userspace/model/time/ledger.h"
#include "userspace/model/time/program.h"
#include "userspace/model/time/window.h"

#define JOBS_MAX	512
#define JOB_DISRUPTIONS 16 /* last disruptions in a view */
/* Failed runs in a row without progress that make a crash loop. */
#define JOB_FUTILE  3
#define JOB_UID_MAX 40 /* 36 characters in Kubernetes */
/* ns after which a crashed job that was not resumed is over, as of the crash */
#define JOB_WAIT_NS 600000000000ull
/* Longest time (ns) from a signal that requests an end to the end of the process: 30 s by default
 * in Kubernetes and in Slurm (KillWait), a few minutes in some clusters. */
#define JOB_GRACE_NS 300000000000ull

/* JOB_ENDED must be the last: loops over all states end there. */
enum job_state {
	JOB_RUNNING,
	JOB_DOWN,  /* interrupted, not resumed yet */
	JOB_OVER,  /* interrupted, not resumed in time */
	JOB_ENDED, /* finished */
};
extern const char *const job_state_name[];
/* Returns the source of a job's history: "carried" (another node) or "this_node". */
const char *job_history(bool carried);

/* The reason why a process ended. */
struct job_cause {
	enum disruption_cause cause;
	/* Name of the fault, "CUDA_ERROR_ILLEGAL_ADDRESS", "Xid 79"; "": none, or unknown. */
	char fault[48];
	int rank; /* rank that failed first; -1: unknown */
	uint32_t pid;
	int exit_code; /* -1: ended by a signal, or not seen */
	int signal;    /* 0: none */
	/* Pid of the process that sent the signal; 0: none, or unknown. */
	uint32_t sender;
	/* The manager always ends its processes with this status: the process may have finished. */
	bool managed;
	char sender_comm[16];
};

#define JOB_CAUSES 12	 /* most causes distinguished */
struct job_cause_count { /* number of disruptions with one cause */
	enum disruption_cause cause;
	uint64_t count;
};

/* Parts of the time until a process of a pod starts: the pod is created, gets a node, gets its
 * images and init containers, and its container runs until the process starts. */
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

struct job_disruption {
	uint64_t number; /* 1, 2... within its job */
	struct job_cause why;
	struct disruption d;
	uint64_t split_ns[BUCKET_COUNT]; /* d.recovery_ns by bucket */
	/* Time until the first start of the next run; not part of the buckets. */
	struct scheduling scheduling;
	bool over;	/* the job has made a step since */
	bool estimated; /* the step from which the job resumed is not certain */
	char how[80];	/* how resumed_step and wasted_ns are known; "": not known yet */
};

#define JOB_FORMERS 3
struct job_former { /* identity of a job before its name was known */
	uint64_t key;
	char name[GP_JOB_MAX], uid[JOB_UID_MAX];
};

struct job_view {
	/* Stays the same, also over restarts of gp-bpf within one boot, until the name becomes
	 * known. */
	uint64_t key;
	/* Identities under which this job was reported before, the newest last; no other job has
	 * one of these. */
	struct job_former former_names[JOB_FORMERS];
	uint32_t nformer_names;
	char name[GP_JOB_MAX];
	char uid[JOB_UID_MAX]; /* part of the identity; "": the name alone is the identity */
	/* source of the name; none: no name, or given by the job's processes */
	enum gp_job_from from;
	/* attempt of the run, as counted by the scheduler; -1: unknown */
	int attempt;
	/* From the creation of the pod to the first process of the first run; not part of the
	 * ledger. */
	struct scheduling scheduling;
	enum job_state state;
	uint32_t first_pid;	/* pid of the first rank; names a job without a name */
	uint32_t runs, members; /* number of runs so far; ranks that run now */
	uint32_t reference_pid; /* rank whose ledger counts now; 0: none */
	int reference_rank;	/* -1: unknown */
	int world_size;		/* -1: unknown */
	uint64_t run_start_ns;
	/* Start of counting, UTC. Read once: unchanged when the clock is set, and over restarts of
	 * gp-bpf that keep the counts. 0: unknown. */
	int64_t since_real_ns;
	struct ledger_view ledger;		 /* over all runs; `disruptions` is set */
	struct window_view windows[WINDOWS_MAX]; /* length_ns 0: unused */
	uint64_t wasted_gross_ns;		 /* never decreases */
	uint64_t last_step;			 /* 0: none yet */
	/* steps of earlier trainings that ended in order; part of the job's steps */
	uint64_t done_steps;
	/* Progress in a complete checkpoint: last step, and goodput up to it. */
	uint64_t secured_step, secured_ns;
	uint32_t starts; /* starts of training processes since the last step */
	/* Failed runs in a row that saved no step beyond those saved before; JOB_FUTILE of them
	 * make a crash loop. */
	uint32_t futile_runs;
	/* Ranks of the last run seen on this node, and their accelerators. */
	uint32_t run_ranks, accelerators;
	double accelerator_ns[BUCKET_COUNT];
	struct program_seen work;
	struct program_view program;
	struct job_disruption disruptions[JOB_DISRUPTIONS]; /* oldest first */
	uint32_t ndisruptions;
	/* Disruptions seen on this node, by cause; never decreases. Disruptions of other nodes, or
	 * with causes beyond JOB_CAUSES, are only in ledger.disruptions. */
	struct job_cause_count causes[JOB_CAUSES];
	uint32_t ncauses;
	/* Disruptions in the ledger that are not counted for a cause yet: 0, or 1 (the last
	 * one). */
	uint32_t unsettled;
	/* This node reports the figures of the job: rank 0 of its run is or was here, or no rank is
	 * known to be a later one. */
	bool reported_here;
	/* The history continues that of another node. Windows, accelerator time and disruptions
	 * before the last one are only on that node. */
	bool carried;
	uint32_t carried_runs; /* runs on other nodes, part of runs */
};

/* standing of a rank: rank 0, or a later one */
enum job_standing { JOB_STANDS_unknown, JOB_STANDS_first, JOB_STANDS_later, JOB_STANDS_COUNT };

struct job_member;
struct model_env;
struct job;
struct jobs {
	struct job *job[JOBS_MAX];
	uint32_t count;
	uint64_t forgotten;
};

void jobs_free(struct jobs *js);
/* Takes a tick: ends jobs that were not resumed in time. */
void jobs_tick(struct model_env *env, uint64_t now_ns);
/* Makes the cause of each job's last disruption final. */
void jobs_settle(struct model_env *env);
/* Ends all jobs: all observed processes have ended, so no job can be resumed. */
void jobs_stop(struct model_env *env);
/* Fills *ret, except windows, ranks and work. */
void job_view(const struct job *j, uint64_t now_ns, struct job_view *ret);
/* Fills the windows. windows_ns: WINDOWS_MAX lengths, 0: unused. */
void job_view_windows(const struct job *j, const uint64_t *windows_ns, struct job_view *v);
/* Adds a running rank: its ledger, and its number of accelerators. */
void job_view_rank(struct job_view *v, const struct ledger_view *l, uint32_t accelerators);
/* Computes work and program figures; call after all ranks were added. */
void job_view_work(struct job_view *v, const struct program_config *c);
struct carry;
/* Returns the key of a job of that name; uid may be "". */
uint64_t job_name_key(const char *name, const char *uid);
/* Adds the history from another node, as of now_ns, before the job's time on this node. Not if it
 * is not newer, the job runs here already, or the time in between is unknown. Returns 0 or -ENOMEM:
 * the history, or its checkpoint, is lost. */
int jobs_carry(struct model_env *env, const struct carry *c, uint64_t now_ns);
/* Fills *ret for other nodes. Returns false when another node has to report the job: the job has no
 * name, never ran here, or its reference is a rank on another node. */
bool job_carry(const struct model_env *env, const struct job *j, uint64_t now_ns,
	       struct carry *ret);
void jobs_archive(struct archive *a, struct jobs *js, const struct excluded *excluded);
/* Returns the name given to the job of a process, training or not; "": none. *ret_uid: its uid. */
const char *job_called(const struct job_member *m, const char **ret_uid);
/* Returns the job with this key, NULL when there is none. */
struct job *jobs_find(const struct jobs *js, uint64_t key);
/* Saves or restores the membership of a rank; call after its ledger was restored. */
void job_member_archive(struct archive *a, struct job_member *m);

/* Adds a process that trains to its job as a rank. Returns 0 or -ENOMEM. */
int job_join(struct job_member *m, uint64_t now_ns);
/* Checks whether a process that does not train yet, in a job without a name, continues a job left
 * by another process of its process tree. */
void job_find(struct job_member *m);
/* The process that the user named for these jobs failed: the ranks that it manages count as
 * failed. */
void job_launcher_failed(const struct job_member *m, uint64_t now_ns);
/* Returns the name of the job of a process; while it is a rank, the name of that job. */
const char *job_name_of(const struct job_member *m);
/* A name became known after the rank had joined. The job takes the name and the new key if it had
 * no name, or one from a less trusted source, and this run is its only one; its view lists the
 * former identity. If another job has that key nothing changes: the counts of two jobs are not
 * merged, and the rank stays in its job. Returns whether the job was renamed. */
bool job_rename(struct job_member *m, uint64_t key);
/* Returns how long scheduling the job's first run took; NULL: unknown. */
const struct scheduling *job_scheduling(const struct job_member *m);
/* More is known of the location of a rank: its attempt, or how long its pod took to start. */
void job_placed(struct job_member *m);
/* Returns the number of steps of earlier runs that count before the rank's own. Call after the
 * rank's first step: the checkpoint that it resumes from is known by then. */
uint64_t job_step_base(struct job_member *m);
/* The rank made a step, which is in its ledger already. timed: the step's duration is certain. */
void job_step(struct job_member *m, uint64_t start_ns, uint64_t end_ns, uint64_t number,
	      bool timed);
/* Returns the goodput of the job so far (ns); 0 when the rank is not its reference. */
uint64_t job_goodput(const struct job_member *m);
/* The rank saved a checkpoint of everything up to `step`, which is in its ledger already.
 * goodput_ns: goodput of the job at the end of that step; ignored unless the rank is the reference.
 * Returns 0 or -ENOMEM. */
int job_saved(struct job_member *m, uint64_t step, uint64_t goodput_ns);
/* Returns the start of the first process of the rank's run; 0: the rank is in no run, or its job
 * has begun another one. */
uint64_t job_run_start(const struct job_member *m);
/* Returns the checkpoints of the rank's job, NULL when there is no job or no memory. make: make the
 * table if there is none yet. */
struct checkpoints *job_checkpoints(const struct job_member *m, bool make);
/* Returns the reference of the job if it is another rank; NULL: none. */
struct job_member *job_reference(const struct job_member *m);
/* Returns true and the progress in checkpoints; false: none. */
bool job_secured(const struct job_member *m, uint64_t *ret_step, uint64_t *ret_ns);
/* Returns the comparison of the rank's steps with those of the other ranks of its run. NULL: there
 * is no other rank, or no memory. */
struct straggler *job_straggler(const struct job_member *m);
#define JOB_PLACES 32 /* ranks of one job whose position is kept */
struct job_place {    /* the collective in which a rank without progress waits */
	uint32_t pid;
	int rank; /* -1: unknown */
	/* comms: number of communicators that the rank uses. comm: identity of the communicator of
	 * its last collective. */
	uint32_t comms, comm;
	uint64_t count; /* collectives entered in communicator `comm` */
	bool whole;	/* no collective was missed */
	char name[48];	/* name of the last collective */
	uint64_t reported_ns;
};
/* Takes the position of a waiting rank, every second. */
void job_place(struct job_member *m, const struct job_place *p);
/* Writes "ranks 0 and 2 wait in nccl.all_reduce #12; rank 1 has not entered it" to out; "":
 * unknown. */
void job_places_text(const struct job_member *m, uint64_t now_ns, char *out, size_t len);
/* The rank or the world size of the process has changed. */
void job_ranked(struct job_member *m);
/* Returns the number of running ranks of its run on this node. */
uint32_t job_members(const struct job_member *m);
/* The rank ended; call before job_left(). why: it failed; NULL: it finished. clean: it ended in
 * order, as requested. Returns true when the end is a disruption of the job, which was reported. */
bool job_disrupted(struct job_member *m, uint64_t now_ns, const struct job_cause *why, bool clean);
/* Replaces the cause by an event of the pod (enum gp_notice_kind) if the signal or status followed
 * from that event. Returns whether it was replaced. */
bool job_cause_noticed(struct job_cause *why, unsigned what);
/* An event of the rank's pod was reported after the rank had ended: it becomes the cause of the
 * disruption, unless a step was made since. */
void job_noticed(const struct job_member *m, uint64_t now_ns, unsigned what);
/* Call before job_left(). Returns true when the rank was the straggler. */
bool job_straggler_left(const struct job_member *m);
/* Removes a rank whose ledger is closed. */
void job_left(struct job_member *m, uint64_t now_ns);
/* The rank's ledger was extended back by more_ns. */
void job_reached_back(struct job_member *m, uint64_t more_ns);

#endif
