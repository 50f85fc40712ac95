/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - one observed process, which is a rank of a job if it trains. The model passes the
 * records of the process to these functions. They send facts, and fill the rank's part of a
 * snapshot. The fields of struct rank are in rank_private.h.
 *
 * Pure; call from the model's thread. Durations are ns, instants CLOCK_MONOTONIC ns. Functions
 * whose comment says nothing about errors cannot fail. */
#ifndef MODEL_RANK_H
#define MODEL_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/job/job.h"
#include "userspace/model/signal/device_code.h"
#include "userspace/model/signal/monitor.h"
#include "userspace/model/step/step.h"
#include "userspace/model/time/change.h"
#include "userspace/model/time/deviation.h"
#include "userspace/model/time/time_cause.h"
#include "userspace/model/time/traffic_rate.h"
#include "userspace/model/time/input_wait.h"
#include "userspace/model/time/device_clock.h"
#include "userspace/model/time/examination.h"
#include "userspace/model/time/ledger.h"
#include "userspace/model/time/lines.h"
#include "userspace/model/time/overhead.h"
#include "userspace/model/time/window.h"

/* number of last step times of a loop, for the sparkline in the live view */
#define SNAPSHOT_RECENT 128
#define SNAPSHOT_EVENTS 8 /* number of last events of a rank that are shown to users */

struct loop_view {
	struct step_state state;
	struct deviation_view time;
	struct change_view change;
	/* Causes of the slowdown in `change`; lost_ns 0: not examined. */
	struct time_causes causes;
	bool slow_alarm;      /* the slowdown in `change` was reported */
	uint64_t slow_alarms; /* number of reported slowdowns */
	/* Number and total time of the slowdowns that were not reported, because they were too
	 * short or cost too little. */
	uint64_t bursts, bursts_ns;
	/* step times in the last minute and in the last ten minutes */
	struct times_view recent_times[RECENT_CLOCKS];
	uint64_t last_number, last_end_ns;
	uint64_t recent_ns[SNAPSHOT_RECENT]; /* oldest first */
	uint32_t recent;
	uint64_t phase_ns[PHASE_COUNT]; /* sums over all steps */
	uint32_t phases_known;
	bool device_known;	   /* host_ns and wait_ns are valid */
	uint64_t host_ns, wait_ns; /* sums over all steps, of the same fields in struct fact_step */
	/* Shares of the job's named ranges in its steps, as sums over all steps. */
	struct share_view ranges;
	/* Number of steps with each flag (bit of the flags in struct step). */
	uint64_t flagged[8];
};

struct event_view {
	uint64_t mono_ns;
	char text[120]; /* "checkpoint saved in 41.0 ms: ckpt-500.pt (step 500)" */
};

struct hang_view {   /* the current silence of a rank; if there is none, the last hang */
	bool hung;   /* the silence is a hang */
	bool silent; /* silent for longer than usual; the reason may not be known yet */
	/* last sign of life before the silence; 0: there was no hang, and the rank is not silent */
	uint64_t onset_ns;
	uint64_t size_ns;
	enum gp_why why;
	char phase[16]; /* "": unknown */
	char evidence[FACT_EVIDENCE_MAX];
	uint64_t count, total_ns; /* number and total time of all hangs */
};

/* state of a rank as straggler: whether other ranks wait for it, or did earlier */
struct straggle_view {
	bool now;
	uint64_t count; /* how often the rank became the straggler */
	/* size_ns: how much longer the other ranks wait in each step than this rank */
	uint64_t onset_ns, onset_step, size_ns;
	char phase[16]; /* phase that makes the rank slow; "": unknown */
};

/* Single long steps of a rank: those that took more than twice the p99 while their loop was not
 * slow. */
struct long_steps_view {
	uint64_t count, lost_ns;       /* lost_ns: time that they took beyond the ideal step */
	uint64_t ns[TIME_CAUSE_COUNT]; /* part of lost_ns that each cause explains; sum: lost_ns */
	/* The line at which the training thread was for most of these steps; "": unknown. */
	struct lines_top most;
};

#define RANK_BADPUT 5 /* number of buckets whose causes are looked for */
/* The causes of the time of a rank in a bucket of badput. */
struct badput_view {
	enum bucket bucket;
	/* Time of the bucket that was examined; 0: the entry is unused. */
	uint64_t examined_ns;
	uint64_t ns[TIME_CAUSE_COUNT]; /* part of it that each cause explains; sum: examined_ns */
	/* The line at which the training thread was for most of that time; "": unknown. */
	struct lines_top most;
};

struct rank_view { /* a process that runs or ran a training loop, or that the user named */
	uint32_t pid;
	/* start of the process's program if that was seen, otherwise start of the process */
	uint64_t start_mono_ns;
	uint64_t observed_ns;  /* start of observation, from which all counts begin */
	int64_t since_real_ns; /* observed_ns as UTC, see struct job_view; 0: unknown */
	int rank, world_size;  /* -1: unknown */
	char comm[GP_COMM_MAX];
	char job[GP_JOB_MAX];
	char command[160];
	bool placed; /* place is valid */
	struct gp_place place;
	/* Key of the job, to find its job_view in the snapshot (which may not contain it); 0: no
	 * job. */
	uint64_t job_key;
	/* number of the run of the job, as counted by this model: 1, 2...; 0: no run */
	uint32_t run;
	bool trainer;		      /* the process has shown a marker of training */
	uint32_t accelerators;	      /* 0: unknown */
	struct operations operations; /* of a step, as measured; 0: unknown */
	uint32_t operations_steps;    /* number of steps that were measured */
	uint32_t uncounted;	      /* as job_member.uncounted */
	bool alive;
	int status; /* wait status (see wait(2)); valid when not alive */
	struct ledger_view ledger;
	struct window_view windows[WINDOWS_MAX]; /* length_ns 0: unused */
	struct loop_view *loops;
	uint32_t nloops; /* number of loops; at least 1 for a trainer */
	struct hang_view hang;
	struct straggle_view straggle;
	/* Number of errors that calls of the device and of communicators returned to the process,
	 * by kind. */
	uint64_t faults[FAULT_COUNT];
	uint64_t checkpoints, restores, checkpoint_save_ns;
	uint64_t cause_ns[TIME_CAUSE_COUNT]; /* time lost to slowdowns, by cause */
	struct long_steps_view long_steps;
	/* Buckets with 5 % of the time or more. The rest is unused. */
	struct badput_view badput[RANK_BADPUT];
	/* Waits for the data loader, since the process began. */
	struct input_sums input;
	/* Share of the last minute's step time that is in no phase; 0: none, or unknown.
	 * else_lines: the lines of the user's code with most of this time; set only if the share is
	 * more than 20 % or no phase is known, and no loop is slow. */
	double else_share;
	struct lines_top else_lines[LINES_TOP];
	/* Resources that the process lacked in the last minute; set only if no loop is slow.
	 * covered_ns 0: unknown. */
	struct resource_sums lacked;
	struct traffic_sums traffic; /* of the last minute */
	/* Share of the last minute in which the training thread was in Python's garbage collector;
	 * set only if no loop is slow. 0: none, or unknown. */
	double collect_share;
	/* Share of the last minute in which the training thread was in a data loader; set only if
	 * no loop is slow, for jobs whose waits for input no probe reports. */
	double input_share;
	/* Share of the last minute in which the training thread waited for the interpreter's lock;
	 * set only if no loop is slow. */
	double locked_share;
	/* The same, while the thread that had the lock saved a checkpoint. */
	double saved_share;
	/* The lines of the user's code at which the training thread was for most of the last
	 * minute, whatever it did there. */
	struct lines_top where[LINES_TOP];
	/* Most frequent line of the training thread in the last minute while it waited (not for the
	 * interpreter's lock, and not in a data loader), as a share of those waits. */
	struct lines_top waits_at;
	/* Most frequent line of the thread that had the interpreter's lock in the last minute, as a
	 * share of the waits for it; saved_at: while that thread saved a checkpoint. */
	struct lines_top locked_at, saved_at;
	/* The process's accelerator, according to the last record about it. */
	struct device_view device;
	/* The last examination of the training thread; NULL: there was none. */
	struct examination *examination;
	/* Last examination of the data loader's workers: the worker that was blocked longest. */
	struct examination *worker_examination;
	/* secured: a complete checkpoint contains the progress of the job up to secured_step. */
	bool secured;
	uint64_t secured_step, secured_ns;
	/* The checkpoint that the rank resumed from. how == CHECKPOINT_BY_none: none was
	 * recognised. */
	struct checkpoint_match resumed;
	/* number of probe hits, including hits that the kernel side only counted */
	uint64_t hits;
	/* estimated cost of observation: number of hits multiplied by the cost of a hit */
	struct overhead_view overhead;
	uint64_t lost; /* number of records that are known to be lost while this rank ran */
	struct event_view events[SNAPSHOT_EVENTS];
	uint32_t nevents;
	/* Number of named ranges that were not sent. They are missing in the shares of ranges in
	 * steps. */
	uint64_t ranges_unsent;
	/* monitor: figures that the job's own monitoring reports, by name. The members after
	 * nmonitor: number of monitoring events, of incomplete ones, and of values that were not
	 * kept. */
	struct monitor_value *monitor;
	uint32_t nmonitor;
	uint64_t monitor_events, monitor_truncated, monitor_unkept;
};

struct bucket_cause { /* the part of a bucket's time that has a certain cause */
	enum bucket bucket;
	enum time_cause cause;
	uint64_t ns;
	double share; /* share of the bucket's time, 0 to 1 */
	/* For BUCKET_DATA_LOADING; all 0 if the cause is TIME_CAUSE_unknown. */
	struct input_finding input;
};
/* Writes the causes of the time in BUCKET_DATA_LOADING to ret: the largest first,
 * TIME_CAUSE_unknown last. Several may have the same cause. Returns their number; 0: the bucket has
 * less than 5 % of the time, or nothing is known. */
uint32_t rank_input_causes(const struct rank_view *v, struct bucket_cause ret[INPUT_REASONS]);

struct job_member;
struct model_env;
struct rank;

/* Precision of the start time of a process in /proc (USER_HZ, 10 ms). The start time in a fork
 * record is exact to the nanosecond. */
#define RANK_START_TICK_NS 10000000ull

/* ---- its life -------------------------------------------------------------------------------- */

/* Makes a rank for process pid, first seen at now_ns. env must outlive the rank. from_start: the
 * process is observed from its first instruction. Returns NULL when there is no memory. The caller
 * frees the rank with rank_free(). */
struct rank *rank_new(struct model_env *env, uint32_t pid, uint64_t now_ns, bool from_start);
void rank_free(struct rank *r); /* NULL is allowed */
/* Returns the part of the rank that its job uses: identity, position in the process tree, workload
 * location, job. Valid as long as the rank. */
struct job_member *rank_member(struct rank *r);
/* Sets the rank's position in the process tree and, if it is unknown, its workload location,
 * both from the parent process (NULL: not known). Returns 0, or -ENOMEM if the location stays
 * unknown. */
int rank_born(struct rank *r, const struct rank *parent);
/* Sets the identity of the process from p, whose texts need not be escaped. */
void rank_identify(struct rank *r, const struct gp_process *p);
/* Sets the workload location, as received. Returns 0, or -ENOMEM if nothing was changed. */
int rank_place(struct rank *r, const struct gp_place *p);
/* Handles an exec record. *ret: the rank of the process from now on. This is r if the process was
 * forked for this program and has shown no marker. Otherwise it is a new rank, which the caller
 * owns, and r gets no further records. If there is no memory for it, *ret is NULL and nothing was
 * changed. Returns 0, or -ENOMEM if *ret is NULL or part of the last report of r is lost. */
int rank_exec(struct rank *r, const struct event *ev, struct rank **ret);
/* Ends the rank because its pid belongs to another process now, although no exit record was
 * received. Returns 0, or -ENOMEM if part of its last report is lost. */
int rank_gone(struct rank *r, uint64_t now_ns);
/* Ends observation: reports all pending facts. The rank stays alive. Returns 0, or -ENOMEM if part
 * of its last report is lost. */
int rank_stop(struct rank *r, uint64_t now_ns);

/* ---- records --------------------------------------------------------------------------------- */

/* Handles a record of the process (a hit of a probe, a fork, an exit, an out-of-memory kill, a
 * file, a blocked call, a device fault), or a record of the host (a tick, a loss, a gap, a device
 * fault with pid 0, of an unknown process).
 *
 * probe: definition of the record's probe, or NULL. hits: number of probe hits that the record
 * stands for, or 0. hit_cost_ns: cost of one hit. Returns 0, or -ENOMEM if part of the record is
 * lost. */
int rank_feed(struct rank *r, const struct event *ev, const struct gp_probe *probe, uint64_t hits,
	      uint64_t hit_cost_ns);
/* Handles the record of a signal that was sent to the process. sender: the rank of the sending
 * process; NULL: the sender is not watched. */
void rank_signalled(struct rank *r, const struct event *ev, const struct rank *sender);
/* Records that the process was interrupted (SIGINT), because `above`, its ancestor in the process
 * tree, was interrupted. */
void rank_interrupted(struct rank *r, const struct rank *above);
/* Handles a call of another process, from from_ns to now_ns, that took the device state away from
 * this process (taken) or gave it back. Ignored for a process that uses no device. Returns 0, or
 * -ENOMEM if the time of the suspension is not booked. */
int rank_suspended(struct rank *r, uint64_t from_ns, uint64_t now_ns, bool taken);
/* Handles a record that a probe was attached or detached at one site (gp_attach). Call after the
 * model's table of probes handled it. buffers_seen: the probe of copies from host memory to buffers
 * is attached at all its sites after this record. */
void rank_attached(struct rank *r, const struct event *ev, bool buffers_seen);
/* Removes child process pid from the workers of the data loader, because it has ended or is not a
 * worker. */
void rank_worker_gone(struct rank *r, uint32_t pid);
/* Adds `lost` hits, whose records were lost; each counts with the mean cost of the other hits. */
void rank_hits_lost(struct rank *r, uint64_t lost);

/* ---- queries --------------------------------------------------------------------------------- */

/* Returns true if the process has shown a marker of training. */
bool rank_trainer(const struct rank *r);
/* Returns true if the rank is listed: it trains, or the user named it, or it uses an
 * accelerator. */
bool rank_shown(const struct rank *r);
/* Returns the number of probe hits so far, including hits that were only counted or whose records
 * were lost. */
uint64_t rank_hits(const struct rank *r);
/* Returns true if the rank has been silent long enough to be examined. *ret_tid: the thread that
 * trained last; *ret_since_ns: the last sign of life. */
bool rank_silent(const struct rank *r, uint64_t now_ns, uint32_t *ret_tid, uint64_t *ret_since_ns);
/* Returns true if the rank is silent, and works together with other ranks. */
bool rank_stalled(const struct rank *r, uint64_t now_ns);
/* Returns true if the process waits for its data loader so much that the reasons should be
 * examined. */
bool rank_starved(const struct rank *r, uint64_t now_ns);
/* Returns true if the steps of a loop take longer than usual, even if this may end soon, if no step
 * has ended for a while, or if few samples of its Python lines were taken so far. */
bool rank_slow(const struct rank *r, uint64_t now_ns);
/* Returns true if the rank is slower than usual or silent, and was not examined since this began.
 * *ret_tid: the thread to examine. */
bool rank_unexplained(const struct rank *r, uint64_t now_ns, uint32_t *ret_tid);
/* Returns true if training waits for its data loader, and the loader's workers were not examined
 * for a long time. */
bool rank_workers_due(const struct rank *r, uint64_t now_ns);
/* Handles a gp_examined or gp_waited record about a worker of the rank's data loader. Returns 0 or
 * -ENOMEM. */
int rank_worker_examined(struct rank *r, const struct event *ev);
/* Handles a gp_instead record. other: the process that ran on the CPU instead of this one; NULL:
 * that process is not watched. */
void rank_instead(struct rank *r, const struct event *ev, const struct rank *other);
/* Returns the thread that trained last, or the main thread of a process that the user named and
 * that has not trained; 0: there is none. */
uint32_t rank_thread(const struct rank *r);
/* Returns the roles of the probes that find the rank's steps, a bit 1ull << enum gp_role for each.
 * Until it is known how the steps are found, returns all roles that may find steps. See
 * model_roles(). */
uint64_t rank_roles(const struct rank *r, uint64_t now_ns);
/* Adds an event to the list that is shown to users (struct event_view). */
void rank_event(struct rank *r, uint64_t mono_ns, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Reports the states of the loops of a training rank again, because more is known of its identity
 * now. */
void rank_states_again(struct rank *r, uint64_t now_ns);
/* Fills *ret. The caller frees ret->loops, both examinations and ret->monitor. figures: also fill
 * step-time statistics and windows, which are zero otherwise. Returns 0, or -ENOMEM if *ret is
 * invalid. */
int rank_view(const struct rank *r, uint64_t now_ns, bool figures, struct rank_view *ret);

/* Saves *r, or restores a rank to *r. The caller owns the restored rank, even if an error occurs;
 * NULL: nothing was restored. env: as for rank_new(). alive: whether the rank must be alive;
 * otherwise restoring fails. rank_size: size of a rank in bytes, for archive_count(). */
void rank_archive(struct archive *a, struct rank **r, struct model_env *env, bool alive);
extern const size_t rank_size;

#endif
