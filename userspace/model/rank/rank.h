/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - one observed process (a rank). The model passes it the records of the process; it sends
 * facts and fills its part of a snapshot. The fields of struct rank are in rank_private.h.
 *
 * Pure; call from the model's thread. Durations in ns, instants CLOCK_MONOTONIC ns. Functions
 * without a comment on errors cannot fail. */
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
#include "userspace/model/time/input_wait.h"
#include "userspace/model/time/device_clock.h"
#include "userspace/model/time/examination.h"
#include "userspace/model/time/ledger.h"
#include "userspace/model/time/lines.h"
#include "userspace/model/time/overhead.h"
#include "userspace/model/time/window.h"

/* number of last step times of a loop, for the sparkline in the live view */
#define SNAPSHOT_RECENT 128
#define SNAPSHOT_EVENTS 8 /* last events of a rank that people are shown */

struct loop_view {
	struct step_state state;
	struct deviation_view time;
	struct change_view change;
	struct time_causes causes; /* of the slowdown in change; lost_ns 0: not examined */
	bool slow_alarm;	   /* the slowdown in change was reported */
	uint64_t slow_alarms;	   /* number of reported slowdowns */
	/* Number and time of the slowdowns that were too short or too cheap to be reported. */
	uint64_t bursts, bursts_ns;
	/* Steps of the last minute and the last ten minutes, by the clock. */
	struct times_view recent_times[RECENT_CLOCKS];
	uint64_t last_number, last_end_ns;
	uint64_t recent_ns[SNAPSHOT_RECENT]; /* oldest first */
	uint32_t recent;
	uint64_t phase_ns[PHASE_COUNT]; /* sums over all steps */
	uint32_t phases_known;
	bool device_known;	   /* host_ns and wait_ns are valid */
	uint64_t host_ns, wait_ns; /* sums over all steps, of the same fields in struct fact_step */
	struct share_view ranges;  /* named ranges of the job, sums over all steps */
	uint64_t flagged[8];	   /* number of steps with each flag bit */
};

struct event_view {
	uint64_t mono_ns;
	char text[120]; /* "checkpoint saved in 41.0 ms: ckpt-500.pt (step 500)" */
};

struct hang_view {   /* the current silence of a rank; if there is none, the last hang */
	bool hung;   /* the silence is a hang */
	bool silent; /* silent for longer than usual; the reason may still be being examined */
	/* Last sign of life before the silence. 0: there was no hang, and the rank is not
	 * silent. */
	uint64_t onset_ns;
	uint64_t size_ns;
	enum gp_why why;
	char phase[16]; /* "": unknown */
	char evidence[FACT_EVIDENCE_MAX];
	uint64_t count, total_ns; /* number and total time of all hangs */
};

struct straggle_view { /* other ranks wait for this rank, or did */
	bool now;
	uint64_t count; /* how often the rank became the straggler */
	/* size_ns: how much longer the other ranks wait in each step */
	uint64_t onset_ns, onset_step, size_ns;
	char phase[16]; /* phase that makes the rank slow; "": unknown */
};

struct rank_view { /* a process that runs (or ran) a training loop, or that the user named */
	uint32_t pid;
	/* start of its program if that was seen, otherwise start of the process */
	uint64_t start_mono_ns;
	uint64_t observed_ns;  /* start of observation; all counts begin then */
	int64_t since_real_ns; /* observed_ns in UTC, see struct job_view; 0: unknown */
	int rank, world_size;  /* -1: unknown */
	char comm[GP_COMM_MAX];
	char job[GP_JOB_MAX];
	char command[160];
	bool placed; /* place is valid */
	struct gp_place place;
	/* key of the rank's job_view in the snapshot; 0: no job. A job may be missing in the
	 * snapshot. */
	uint64_t job_key;
	/* the run of that job in which the rank is, counted by this model: 1, 2...; 0: no run */
	uint32_t run;
	bool trainer;	       /* the process has shown a marker of training */
	uint32_t accelerators; /* 0: unknown */
	bool alive;
	int status; /* as from wait(2); valid when not alive */
	struct ledger_view ledger;
	struct window_view windows[WINDOWS_MAX]; /* length_ns 0: unused */
	struct loop_view *loops;
	uint32_t nloops; /* at least 1 for a trainer */
	struct hang_view hang;
	struct straggle_view straggle;
	/* Number of errors returned by the device and the communicators of the process, by kind.
	 * Each return counts. */
	uint64_t faults[FAULT_COUNT];
	uint64_t checkpoints, restores, checkpoint_save_ns;
	uint64_t cause_ns[TIME_CAUSE_COUNT]; /* lost to slowdowns */
	struct input_sums input;	     /* waits for the data loader since it began */
	/* Share of the time of the last minute's steps that is in no phase; 0: or unknown. The
	 * lines of the user's own code where most of it is, if it is more than 20 % or no phase is
	 * known, and no loop is slow. */
	double else_share;
	struct lines_top else_lines[LINES_TOP];
	/* Resources that the process lacked in the last minute, if no loop is slow; covered_ns 0:
	 * unknown. */
	struct resource_sums lacked;
	/* Share of the last minute that Python's garbage collector took in the training thread, if
	 * no loop is slow; 0: or unknown. */
	double collect_share;
	/* Likewise, share in which it was in a data loader: for jobs whose waits for input no probe
	 * sees. */
	double input_share;
	struct device_view device;	 /* its accelerator, as of the last record of it */
	struct examination *examination; /* the last one; NULL: there was none */
	/* Of its loader's workers: the one of the last examination that was blocked longest. */
	struct examination *worker_examination;
	/* secured: a complete checkpoint contains progress of the job, up to secured_step. */
	bool secured;
	uint64_t secured_step, secured_ns;
	/* Checkpoint that the rank resumed from. how == CHECKPOINT_BY_none: no checkpoint was
	 * recognised. */
	struct checkpoint_match resumed;
	/* number of probe hits, including those that the kernel only counted */
	uint64_t hits;
	/* estimated cost of observation: hits times the cost of a hit */
	struct overhead_view overhead;
	uint64_t lost; /* records known to be lost while this rank ran */
	struct event_view events[SNAPSHOT_EVENTS];
	uint32_t nevents;
	/* Number of named ranges that were not sent. The shares of ranges in steps lack them. */
	uint64_t ranges_unsent;
	/* Figures that the job reports by its own monitoring, by name. Numbers of its monitoring
	 * events, of those that are incomplete, and of values of Stats that were not kept. */
	struct monitor_value *monitor;
	uint32_t nmonitor;
	uint64_t monitor_events, monitor_truncated, monitor_unkept;
};

struct bucket_cause { /* part of the time of a bucket that a cause explains */
	enum bucket bucket;
	enum time_cause cause;
	uint64_t ns;
	double share;		    /* of the bucket's time, 0 to 1 */
	struct input_finding input; /* of BUCKET_DATA_LOADING; all 0 for TIME_CAUSE_unknown */
};
/* Writes the causes of the time in BUCKET_DATA_LOADING, the largest first and TIME_CAUSE_unknown
 * last. Returns their number; 0: the bucket has less than 5 % of the time, or nothing is known. Two
 * may have the same cause. */
uint32_t rank_input_causes(const struct rank_view *v, struct bucket_cause ret[INPUT_REASONS]);

struct job_member;
struct model_env;
struct rank;

/* Precision of a process's start time in /proc (USER_HZ). A fork record has it to the
 * nanosecond. */
#define RANK_START_TICK_NS 10000000ull

/* ---- its life -------------------------------------------------------------------------------- */

/* Makes a rank of process pid, first seen at now_ns. env must outlive the rank. from_start: the
 * process is observed from its first instruction. Returns NULL when there is no memory; the caller
 * owns the rank. */
struct rank *rank_new(struct model_env *env, uint32_t pid, uint64_t now_ns, bool from_start);
void rank_free(struct rank *r); /* NULL is allowed */
/* Returns the part of the rank that its job sees: identity, position in the process tree, workload
 * location, job. Valid as long as the rank. */
struct job_member *rank_member(struct rank *r);
/* Sets the rank's position in the process tree and, if unknown, its workload location, from the
 * process that forked it (NULL: unknown). Returns 0 or -ENOMEM: the location stays unknown. */
int rank_born(struct rank *r, const struct rank *parent);
/* Sets the identity of the process. The texts of p need not be escaped. */
void rank_identify(struct rank *r, const struct gp_process *p);
/* Sets the workload location as received. Returns 0 or -ENOMEM: nothing has changed. */
int rank_place(struct rank *r, const struct gp_place *p);
/* Takes an exec record. *ret: the rank of the process from now on. It is r if the process was
 * forked for this program and has shown no marker; otherwise a new rank, which the caller owns, and
 * r gets no further record. *ret is NULL when there is no memory; then nothing has changed. Returns
 * 0 or -ENOMEM: *ret is NULL, or part of the last report of r is lost. */
int rank_exec(struct rank *r, const struct event *ev, struct rank **ret);
/* Ends the rank when its pid belongs to another process although no exit was seen. Returns 0 or
 * -ENOMEM: part of its last report is lost. */
int rank_gone(struct rank *r, uint64_t now_ns);
/* Ends observation: reports all pending facts. The rank stays alive. Returns 0 or -ENOMEM: part of
 * its last report is lost. */
int rank_stop(struct rank *r, uint64_t now_ns);

/* ---- records --------------------------------------------------------------------------------- */

/* Takes a record of the process (a hit of a probe, a fork, its exit, an out-of-memory kill, a file,
 * a blocked call, a fault of a device), or a record of the host (a tick, a loss, a gap, a fault of
 * a device by an unknown process, pid 0). probe: definition of the record's probe; NULL: none.
 * hits: number of probe hits that the record stands for; 0: none. hit_cost_ns: cost of a hit.
 * Returns 0 or -ENOMEM: part of the record is lost. */
int rank_feed(struct rank *r, const struct event *ev, const struct gp_probe *probe, uint64_t hits,
	      uint64_t hit_cost_ns);
/* Takes a signal that was sent to the process. sender: the rank of the sending process; NULL: that
 * process is not watched. */
void rank_signalled(struct rank *r, const struct event *ev, const struct rank *sender);
/* Notes that the process was interrupted (SIGINT), because its ancestor `above` in the process tree
 * was. */
void rank_interrupted(struct rank *r, const struct rank *above);
/* Takes a call of another process, from from_ns to now_ns, that took the device state away from
 * this process (taken) or gave it back. Ignored for a process that uses no device. Returns 0 or
 * -ENOMEM: the time of the suspension is not booked. */
int rank_suspended(struct rank *r, uint64_t from_ns, uint64_t now_ns, bool taken);
/* Takes a report that a probe was attached or detached at one site (gp_attach). Call after the
 * model's probes took it. buffers_seen: since then the probe of copies from host memory to buffers
 * is attached at all its sites. */
void rank_attached(struct rank *r, const struct event *ev, bool buffers_seen);
/* Removes the child process pid from the workers of the data loader: it ended, or is not a
 * worker. */
void rank_worker_gone(struct rank *r, uint32_t pid);
/* Adds `lost` hits whose records were lost, each at the mean cost of the other hits. */
void rank_hits_lost(struct rank *r, uint64_t lost);

/* ---- queries --------------------------------------------------------------------------------- */

/* Returns true when the rank has shown a marker of training. */
bool rank_trainer(const struct rank *r);
/* Returns true when the rank is listed: it trains, is a target of the user, or uses an
 * accelerator. */
bool rank_shown(const struct rank *r);
/* Returns the number of probe hits so far, including counted and lost ones. */
uint64_t rank_hits(const struct rank *r);
/* Returns true when the rank has been silent long enough to be examined. *ret_tid: the thread that
 * trained last; *ret_since_ns: last sign of life. */
bool rank_silent(const struct rank *r, uint64_t now_ns, uint32_t *ret_tid, uint64_t *ret_since_ns);
/* Returns true if it is silent, and works together with other ranks. */
bool rank_stalled(const struct rank *r, uint64_t now_ns);
/* Returns true when the process waits for its data loader so much that the reasons should be
 * examined. */
bool rank_starved(const struct rank *r, uint64_t now_ns);
/* Returns true when the steps of a loop take longer than usual, also when that may end soon, and as
 * long as little is known of its lines. */
bool rank_slow(const struct rank *r);
/* Returns true when the rank is slower than usual or silent, and was not examined since that began.
 * *ret_tid: the thread to examine. */
bool rank_unexplained(const struct rank *r, uint64_t now_ns, uint32_t *ret_tid);
/* Returns true when training waits for its data loader, whose workers were not examined for long.
 */
bool rank_workers_due(const struct rank *r, uint64_t now_ns);
/* Takes a record gp_examined or gp_waited of a worker of the rank's data loader. Returns 0 or
 * -ENOMEM. */
int rank_worker_examined(struct rank *r, const struct event *ev);
/* Takes a record gp_instead. other: the process that ran instead, or NULL if it is not followed. */
void rank_instead(struct rank *r, const struct event *ev, const struct rank *other);
/* Returns the thread that trained last; 0: none. */
uint32_t rank_thread(const struct rank *r);
/* Returns the roles of probes (bit 1ull << enum gp_role) that find the steps of the rank. While it
 * is not known how its steps are found, returns all roles that may find them. See model_roles(). */
uint64_t rank_roles(const struct rank *r, uint64_t now_ns);
/* Adds an event for people (struct event_view). */
void rank_event(struct rank *r, uint64_t mono_ns, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Reports the states of the loops of a training rank again, because its identity became better
 * known. */
void rank_states_again(struct rank *r, uint64_t now_ns);
/* Fills *ret. The caller frees ret->loops, both examinations and ret->monitor. figures: also fill
 * step-time statistics and windows, which are zero otherwise. Returns 0 or -ENOMEM: *ret is
 * invalid. */
int rank_view(const struct rank *r, uint64_t now_ns, bool figures, struct rank_view *ret);

/* Saves *r, or restores a rank to *r, which the caller owns even if an error occurs; NULL: nothing
 * was restored. env: as for rank_new(). alive: the archive must contain a rank that is (or is not)
 * alive, otherwise restoring fails. rank_size: bytes of a rank, for archive_count(). */
void rank_archive(struct archive *a, struct rank **r, struct model_env *env, bool alive);
extern const size_t rank_size;

#endif
