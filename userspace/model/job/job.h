/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - jobs: the processes that run for one training, in parallel or one after the other, with
 * the runs and disruptions of the job.
 *
 *   job.c             ranks join and leave; runs and their steps
 *   job_table.c       the table of jobs, and progress in checkpoints
 *   job_disruption.c  disruptions: beginning, cause and end
 *   disruption_cause.h  causes of disruptions
 *   job_ledger.c      time of the job by bucket, in all and in windows: the time in the ledgers of
 *                     its reference ranks, and the time between runs
 *   job_place.c       the collective in which each rank waits when the job hangs
 *   job_named.c       name, attempts and scheduling as given by the cluster
 *   job_work.c        number of steps, and time of the accelerators
 *   job_carry.c       history from another node
 *   job_view.c        the job's part of a snapshot; saves and restores jobs
 *   job_member.h      a rank as its job sees it
 *   model_env.h       data shared by all jobs and ranks
 *
 * A run ends with its processes; the job continues with the next run. One event that interrupts a
 * job is one disruption, however many ranks fail: it begins with the first rank that fails, and is
 * over when the job makes a step again. A job that is not resumed within JOB_WAIT_NS ended when it
 * failed. If observation ends earlier, the job is reported as down, unless no observed process
 * could resume it.
 *
 * At any time one rank is the reference: the job's time by bucket is the time of that rank.
 *
 * Call these functions from the model's thread; they read no clock and no file. Times in ns,
 * CLOCK_MONOTONIC. There are at most JOBS_MAX jobs (of those that have ended, the oldest is removed
 * first), each with JOB_DISRUPTIONS listed disruptions. */
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
#define JOB_DISRUPTIONS 16 /* number of last disruptions that a view lists */
/* After this many failed runs in a row without progress the job is in a crash loop. */
#define JOB_FUTILE  3
#define JOB_UID_MAX 40 /* size of a job's uid with its NUL; in Kubernetes it has 36 characters */
/* A job that is not resumed within this time (ns) counts as ended; its end is the time of the
 * failure. */
#define JOB_WAIT_NS 600000000000ull
/* Longest time (ns) from a request to end until the process ends: by default 30 s in Kubernetes and
 * in Slurm (KillWait), a few minutes in some clusters. */
#define JOB_GRACE_NS 300000000000ull

/* State of a job. JOB_ENDED must stay last: code iterates up to it. */
enum job_state {
	JOB_RUNNING,
	JOB_DOWN,  /* interrupted, not resumed yet */
	JOB_OVER,  /* interrupted, not resumed within JOB_WAIT_NS */
	JOB_ENDED, /* finished */
};
extern const char *const job_state_name[];
/* Returns where the history of a job comes from: "carried" (from another node) or "this_node". */
const char *job_history(bool carried);

/* Why a process ended. */
struct job_cause {
	enum disruption_cause cause;
	/* Name of the device fault, such as "CUDA_ERROR_ILLEGAL_ADDRESS" or "Xid 79", or "". */
	char fault[48];
	int rank; /* rank of the process that failed first; -1: unknown */
	uint32_t pid;
	int exit_code; /* -1: a signal ended the process, or its end was not seen */
	int signal;    /* 0: none */
	/* Process that sent the signal; 0: none, or unknown. */
	uint32_t sender;
	/* Ray manages the process, and its exit status is 1. Ray ends processes with this status
	 * even if they have finished, so the process may not have failed. */
	bool managed;
	char sender_comm[16];
};

#define JOB_CAUSES 12	 /* maximum number of causes that are counted for a job */
struct job_cause_count { /* number of disruptions with one cause */
	enum disruption_cause cause;
	uint64_t count;
};

/* Parts of the time until a process of a pod starts: until the pod is created, until it has a node,
 * until its images and init containers are ready, and until the process starts in its container. */
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
	uint64_t number; /* number within the job, from 1 */
	struct job_cause why;
	struct disruption d;
	uint64_t split_ns[BUCKET_COUNT]; /* d.recovery_ns, divided by bucket */
	/* Time that scheduling the next run took. The buckets do not contain it. */
	struct scheduling scheduling;
	bool over;	/* the job has made a step since the disruption */
	bool estimated; /* the step from which the job resumed is not certain */
	char how[80];	/* text that explains how resumed_step and wasted_ns were found, or "" */
};

#define JOB_FORMERS 3
/* Name and key of a job before a better name became known. */
struct job_former {
	uint64_t key;
	char name[GP_JOB_MAX], uid[JOB_UID_MAX];
};

struct job_view {
	/* Key of the job. A restart of gp-bpf does not change it, but a boot of the machine does,
	 * and so does a better name for the job. */
	uint64_t key;
	/* Names and keys under which this job was reported before, the newest last. No other job
	 * has one of them. */
	struct job_former former_names[JOB_FORMERS];
	uint32_t nformer_names;
	char name[GP_JOB_MAX];
	char uid[JOB_UID_MAX]; /* with the name it identifies the job; "": the name alone does */
	/* Where the name comes from; none: the job has no name, or its processes gave it. */
	enum gp_job_from from;
	/* number that the scheduler gives the run; -1: unknown */
	int attempt;
	/* Time from the creation of the pod to the first process of the first run. The ledger does
	 * not contain it. */
	struct scheduling scheduling;
	enum job_state state;
	uint32_t first_pid;	/* pid of the first rank, by which a job without a name is called */
	uint32_t runs, members; /* number of runs so far; number of ranks that run now */
	uint32_t reference_pid; /* rank whose ledger is the job's now; 0: none */
	int reference_rank;	/* -1: unknown */
	int world_size;		/* -1: unknown */
	uint64_t run_start_ns;
	/* UTC time from which on the job is counted; 0: unknown. It does not change when the clock
	 * is set, nor when gp-bpf restarts and keeps the counts. */
	int64_t since_real_ns;
	struct ledger_view ledger;		 /* time and disruptions of all runs */
	struct window_view windows[WINDOWS_MAX]; /* a window whose length_ns is 0 is unused */
	uint64_t wasted_gross_ns; /* all wasted goodput so far (ns); never decreases */
	uint64_t last_step;	  /* 0: none yet */
	/* Number of steps that earlier runs made beyond the step from which the next run continued,
	 * if they ended without a disruption. They count as steps of the job. */
	uint64_t done_steps;
	/* Progress that is in a complete checkpoint: the last step, and the goodput (ns) up to
	 * it. */
	uint64_t secured_step, secured_ns;
	uint32_t starts; /* number of starts of training processes since the last step */
	/* Number of failed runs in a row that saved no step beyond earlier ones; JOB_FUTILE of them
	 * are a crash loop. */
	uint32_t futile_runs;
	/* Number of ranks of the last run that were seen on this node, and of their
	 * accelerators. */
	uint32_t run_ranks, accelerators;
	uint32_t run_measured; /* ranks whose operations of a step were measured */
	double accelerator_ns[BUCKET_COUNT];
	struct program_seen work;
	struct program_view program;
	struct job_disruption disruptions[JOB_DISRUPTIONS]; /* oldest first */
	uint32_t ndisruptions;
	/* Number of disruptions on this node, by cause; it never decreases. Disruptions of other
	 * nodes, and those with more than JOB_CAUSES different causes, are only counted in
	 * ledger.disruptions. */
	struct job_cause_count causes[JOB_CAUSES];
	uint32_t ncauses;
	/* Number of disruptions in the ledger that `causes` does not contain yet, because the cause
	 * may still change: 0, or 1 for the last one. */
	uint32_t unsettled;
	/* This node reports the figures of the job: rank 0 of the run is or was here, or the
	 * numbers of all ranks here are unknown. */
	bool reported_here;
	/* The job ran on another node before, and this history continues that one. Windows,
	 * accelerator time and disruptions before the last one are known only on the other node. */
	bool carried;
	uint32_t carried_runs; /* number of runs on other nodes, included in `runs` */
};

/* Whether a rank is rank 0 or has a higher number. This decides which node reports a job. */
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
/* Called once a second: ends jobs that were not resumed in time. */
void jobs_tick(struct model_env *env, uint64_t now_ns);
/* Makes the cause of each job's last disruption final, and counts it. */
void jobs_settle(struct model_env *env);
/* Ends all jobs, because all observed processes have ended and cannot resume one. */
void jobs_stop(struct model_env *env);
/* Fills *ret, except the windows (job_view_windows()), ranks (job_view_rank()) and work
 * (job_view_work()). */
void job_view(const struct job *j, uint64_t now_ns, struct job_view *ret);
/* Fills the windows. windows_ns: WINDOWS_MAX lengths, of which 0 is unused. */
void job_view_windows(const struct job *j, const uint64_t *windows_ns, struct job_view *v);
/* Figures that job_view_rank() adds, named as in struct rank_view and struct job_member */
struct job_view_share {
	const struct ledger_view *ledger;
	uint32_t accelerators;
	const struct operations *operations;
	uint32_t operations_steps, uncounted;
};
/* Adds the figures of a running rank. */
void job_view_rank(struct job_view *v, const struct job_view_share *r);
/* Computes work and program figures. Call it after all ranks were added. */
void job_view_work(struct job_view *v, const struct program_config *c);
struct carry;
/* Returns the key of a job of that name; uid may be "". */
uint64_t job_name_key(const char *name, const char *uid);
/* Adds the history c from another node before the job's time on this node. now_ns: the present
 * time. Adds nothing if the history here is newer, the job already runs here, or the wall clock
 * time is not known yet. Returns 0, or -ENOMEM: the history, or its checkpoint, is lost. */
int jobs_carry(struct model_env *env, const struct carry *c, uint64_t now_ns);
/* Fills *ret with the job's history for other nodes. Returns false if this node need not report the
 * job: it has no name, never ran here, or its reference is a rank on another node. */
bool job_carry(const struct model_env *env, const struct job *j, uint64_t now_ns,
	       struct carry *ret);
void jobs_archive(struct archive *a, struct jobs *js, const struct excluded *excluded);
/* Returns the name given to the job of a process, which need not train, or "". *ret_uid: its
 * uid. */
const char *job_called(const struct job_member *m, const char **ret_uid);
/* Returns the job with this key, or NULL. */
struct job *jobs_find(const struct jobs *js, uint64_t key);
/* Saves or restores to which job a rank belongs. Call it after the rank's ledger was restored. */
void job_member_archive(struct archive *a, struct job_member *m);

/* Makes a process that trains a rank of its job. Returns 0 or -ENOMEM. */
int job_join(struct job_member *m, uint64_t now_ns);
/* For a process that does not train yet and has no job name: finds a job of the same process tree
 * whose processes have ended, and which this process may continue. If there is one, sets
 * m->job_key. */
void job_find(struct job_member *m);
/* Call when m, the process that the user named, has failed, and Ray managed the
 * ranks of its job: they count as failed, too. */
void job_launcher_failed(const struct job_member *m, uint64_t now_ns);
/* Returns the name of the job in which the process is a rank. If there is none, returns the name of
 * a job that the process's data contains, or "". */
const char *job_name_of(const struct job_member *m);
/* Called when a name became known after the rank had joined its job. The job takes the name and the
 * new key if it had no name, or one from a less trusted source, and if this is its only run; its
 * view then lists the former name. If another job already has that key, nothing changes: the counts
 * of two jobs are never merged. Returns true if the job was renamed. */
bool job_rename(struct job_member *m, uint64_t key);
/* Returns how long scheduling the job's first run took, or NULL if unknown. */
const struct scheduling *job_scheduling(const struct job_member *m);
/* Called when the workload location of a rank is better known: its attempt, or how long its pod
 * took to start. */
void job_placed(struct job_member *m);
/* Returns the number of steps of earlier runs, which are added to the rank's own step number. Call
 * it after the rank's first step, when it is known from which checkpoint the rank resumed. */
uint64_t job_step_base(struct job_member *m);
/* Counts a step of the rank, which its ledger already contains. timed: the duration of the step is
 * certain. */
void job_step(struct job_member *m, uint64_t start_ns, uint64_t end_ns, uint64_t number,
	      bool timed);
/* Returns the goodput of the job so far (ns), or 0 if the rank is not the job's reference. */
uint64_t job_goodput(const struct job_member *m);
/* Notes that the rank saved a checkpoint up to `step`, which its ledger already contains.
 * goodput_ns: goodput of the job at the end of that step; used only if the rank is the reference.
 * Returns 0 or -ENOMEM. */
int job_saved(struct job_member *m, uint64_t step, uint64_t goodput_ns);
/* Returns the start of the first process of the rank's run, or 0 if the rank is in no run or its
 * job has begun another one. */
uint64_t job_run_start(const struct job_member *m);
/* Returns the checkpoints of the rank's job. make: creates the table if it does not exist. Returns
 * NULL if there is no job, no table or no memory. */
struct checkpoints *job_checkpoints(const struct job_member *m, bool make);
/* Returns the job's reference rank if that is another rank than m, else NULL. */
struct job_member *job_reference(const struct job_member *m);
/* Returns true and sets *ret_step and *ret_ns (goodput) to the progress that is in checkpoints.
 * Returns false if no progress is. */
bool job_secured(const struct job_member *m, uint64_t *ret_step, uint64_t *ret_ns);
/* Returns the comparison of the steps of all ranks in the rank's run, or NULL if there is no other
 * rank or no memory. */
struct straggler *job_straggler(const struct job_member *m);
/* Maximum number of ranks of a job whose collective position is kept. */
#define JOB_PLACES 32
/* Collective position: the collective in which a rank that makes no progress waits. */
struct job_place {
	uint32_t pid;
	int rank; /* -1: unknown */
	/* comms: number of communicators that the rank uses. comm: number of the communicator of
	 * the rank's last collective, counted in the order of first use. */
	uint32_t comms, comm;
	uint64_t count; /* number of collectives that the rank entered in communicator `comm` */
	bool whole;	/* all collectives of the rank were seen */
	char name[48];	/* name of the last collective */
	uint64_t reported_ns;
};
/* Notes the collective position of a waiting rank. Called every second. */
void job_place(struct job_member *m, const struct job_place *p);
/* Writes which ranks wait for which to out, such as "ranks 0 and 2 wait in nccl.all_reduce #12;
 * rank 1 has not entered it", or "" if unknown. */
void job_places_text(const struct job_member *m, uint64_t now_ns, char *out, size_t len);
struct job_line { /* the Python line at which a rank was when it was sampled last */
	uint32_t pid;
	int rank; /* -1: unknown */
	bool waits;
	/* since_ns: the rank has been there at least since then; at_ns: time of the sample */
	uint64_t since_ns, at_ns;
	char text[224]; /* "all_reduce at train.py:88"; escaped */
};
/* Stores the line at which a rank is. Called for each sample. */
void job_line(struct job_member *m, const struct job_line *l);
/* Writes "ranks 0, 2, 3 wait in all_reduce at train.py:88; rank 1 is in fetch at data.py:31 since
 * 14:02:10 UTC" to out; "" if the lines of fewer than two ranks are known. */
void job_lines_text(const struct job_member *m, uint64_t now_ns, char *out, size_t len);
/* Called when the rank number or the world size of the process has changed. */
void job_ranked(struct job_member *m);
/* Returns how many ranks of this rank's run are running on this node. */
uint32_t job_members(const struct job_member *m);
/* Called when the rank ended, before job_left(). why: the reason if it failed, NULL if it finished.
 * clean: it did not fail, or may not have failed (Ray ends all workers with status 1). Returns true
 * if this disrupted the job; the disruption was reported. */
bool job_disrupted(struct job_member *m, uint64_t now_ns, const struct job_cause *why, bool clean);
/* If an event of the pod (enum gp_notice_kind) may have led to the signal or exit status in *why,
 * makes it the cause. Returns true if so. */
bool job_cause_noticed(struct job_cause *why, unsigned what);
/* Called when an event of the rank's pod is reported after the rank ended. The event becomes the
 * cause of the disruption, unless the job has made a step since. */
void job_noticed(const struct job_member *m, uint64_t now_ns, unsigned what);
/* Returns true if the rank was the straggler. Call it before job_left(). */
bool job_straggler_left(const struct job_member *m);
/* Removes a rank that has ended from its job. Its ledger must be closed. */
void job_left(struct job_member *m, uint64_t now_ns);
/* Called when the rank's ledger was extended to begin more_ns earlier. */
void job_reached_back(struct job_member *m, uint64_t more_ns);

#endif
