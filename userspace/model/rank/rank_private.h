/* SPDX-License-Identifier: Apache-2.0 */
/* rank_private.h - one observed process (a rank): its markers, steps, ledger, and the facts that
 * follow from them.
 *
 *   rank.c            records, and its end
 *   rank_life.c       made, identified, freed
 *   rank_fact.c       sends facts, and events for people
 *   rank_loop.c       a finished step: statistics, ledger, FACT_STEP
 *   rank_stepped.c    which steps it had done at what time
 *   rank_file.c       files that may be checkpoints
 *   rank_flow.c       signals to the step finder, and the probes that it needs
 *   rank_late.c       whether its first steps may have been missed
 *   rank_line.c       Python lines at which it is
 *   rank_change.c     slowdown of a loop, its causes, and recovery
 *   rank_device.c     its accelerator: a lower clock, and errors
 *   rank_examine.c    examinations of its training thread
 *   rank_window.c     where its time went recently
 *   rank_report.c     reports checkpoints, ranges and the ledger as facts
 *   rank_failure.c    whether its end was clean, and what caused a failure
 *   rank_worker.c     worker processes of its data loader
 *   rank_input.c      waits for its data loader, and their reasons
 *   rank_place.c      where it runs
 *   rank_straggler.c  other ranks wait for it
 *   rank_collective.c collectives that it has entered
 *   rank_unsent.c     calls that were counted instead of sent
 *   rank_suspend.c    its device state was taken away
 *   rank_fault.c      errors of its device and communicators
 *   rank_hang.c       silence, and what is known of its reason
 *   rank_view.c       its part of a snapshot
 *   rank_save.c       its state as bytes
 *   rank_start.c      its life before the first step
 *   rank_range.c      named ranges of the job
 *   rank_monitor.c    the job's own monitoring
 *
 * A process that never shows a marker costs 3 KiB: everything else is allocated at the first one,
 * and grows with what the process does. A rank that trains in one loop takes 63 KiB after days,
 * including its share of a job (make bench ONLY=memory). To this come 7 KiB for the resources it
 * lacked, 9 KiB once it waits for input, 9 KiB for its accelerator, and 21 KiB for its lines of
 * Python. The bounds of the
 * parts allow at most 9 MiB, whatever the process does.
 *
 * Times in ns, CLOCK_MONOTONIC. Functions without a comment on errors cannot fail, or set
 * rank.error, which the function called by the model returns. */
#ifndef MODEL_RANK_PRIVATE_H
#define MODEL_RANK_PRIVATE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"
#include "userspace/model/time/anchor.h"
#include "userspace/model/time/time_cause.h"
#include "userspace/model/time/change.h"
#include "userspace/model/signal/device_code.h"
#include "userspace/model/time/device_clock.h"
#include "userspace/model/time/deviation.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/time/hang.h"
#include "userspace/model/job/job.h"
#include "userspace/model/job/job_member.h"
#include "userspace/model/time/input_wait.h"
#include "userspace/model/job/model_env.h"
#include "userspace/model/time/ledger.h"
#include "userspace/model/time/lines.h"
#include "userspace/model/signal/model_probe.h"
#include "userspace/model/signal/monitor.h"
#include "userspace/model/job/notice.h"
#include "userspace/model/time/overhead.h"
#include "userspace/model/phase/phase.h"
#include "userspace/model/time/range.h"
#include "userspace/model/time/range_share.h"
#include "userspace/model/time/resource.h"
#include "userspace/model/time/examination.h"
#include "userspace/model/rank/rank.h"
#include "userspace/model/step/step.h"
#include "userspace/model/time/window.h"

/* most checkpoints and ranges that wait until the steps before them are reported */
#define RANK_NOTES 16
/* Finished steps that are kept, to find out which steps a checkpoint contains: the last RANK_DONE,
 * and up to RANK_DONE_MAX of those in the last RANK_DONE_NS. */
#define RANK_DONE     128
#define RANK_DONE_MAX 4096
#define RANK_DONE_NS  20000000000ull
#define RANK_COMMS    16 /* communicators of one process for which collectives are counted */
/* Different faults of one process that are reported; further ones are only counted. */
#define RANK_FAULTS 16
#define RANK_HANGS  4 /* hangs that are kept, to flag the steps in which they were */
/* Number of last ticks for which the longest step time is kept, because a loss of records may be
 * noticed some seconds later. */
#define RANK_SPANS 4
#define RANK_ROLES 64 /* length of arrays that are indexed by role (enum gp_role) */
/* kinds of calls that rank_unsent.c distinguishes: waits, collectives, copies */
#define RANK_UNSENT 3

struct rank_done { /* a finished step that is kept to find the last step of a checkpoint */
	uint64_t number;
	uint64_t from_ns; /* a checkpoint that begins at this time or later contains the step */
	/* goodput of the job at the end of the step, if this rank is the reference rank */
	uint64_t goodput_ns;
};

struct rank_slow { /* the present slowdown of a loop, else the last one */
	/* what the process lacked (a CPU, memory...) before the slowdown */
	struct resource_sums usual;
	struct lines_sums usual_lines;	 /* lines at which its thread was before the slowdown */
	struct device_sums usual_device; /* what its accelerator did before the slowdown */
	struct time_causes causes;
	int64_t lost_ns;     /* time lost that is not in rank.cause_ns yet */
	int64_t all_lost_ns; /* time lost since the slowdown began */
	bool alarm;	     /* it lasted long enough and cost enough to be reported */
	uint64_t alarms;     /* number of reported slowdowns */
	/* Number and time of the slowdowns that ended before they were reported. */
	uint64_t bursts, bursts_ns;
	/* The straggler for which this rank waits, or waited: how late it is in each step, its
	 * process and its rank number (-1: unknown). late_ns 0: there is none. */
	uint64_t late_ns;
	uint32_t late_pid;
	int late_rank;
};

/* A training loop of the process. */
struct rank_loop {
	struct step_state state; /* as reported last */
	struct deviation *time;
	struct change *change;
	struct recent *recent_times; /* step times of the last minute and ten minutes */
	uint64_t ideal_ns, mad_ns;   /* ideal step and MAD, updated now and then */
	uint64_t steps, updates;     /* steps reported so far, and the updates in them */
	/* Last step: its number over all runs of the job, and its number in this run. */
	uint64_t last_number, run_step, last_end_ns, resume_ns;
	uint32_t tid;
	uint64_t recent_ns[SNAPSHOT_RECENT];
	uint64_t recent;	/* number of times added to recent_ns so far */
	struct rank_done *done; /* ring of the last finished steps, see rank_done() */
	uint32_t done_cap;	/* capacity of `done`: 0, or a power of two */
	uint64_t done_first, done_next;
	/* sums over all steps, of the same fields in struct fact_step */
	uint64_t phase_ns[PHASE_COUNT], host_ns, wait_ns;
	/* bit per phase. phases_unsent: unknown in some steps because calls were not sent, so that
	 * their sums are invalid. */
	uint32_t phases_known, phases_unsent;
	bool device_known, device_unsent;
	uint64_t flagged[8];
	uint64_t first_ns; /* end of the loop's first step */
	/* When a loss of records was noticed since the last step; 0: no loss. */
	uint64_t hole_ns;
	/* longest time between the ends of two steps, during each of the last ticks */
	uint64_t span_ns[RANK_SPANS];
	/* some ends of steps may have been lost, so numbers may be too low */
	bool undercounted;
	/* The probe that ends steps was attached so shortly before the first step that earlier ones
	 * may have been missed. */
	bool probed_late;
	/* the present slowdown, or the last one; NULL: there was none, or no memory */
	struct rank_slow *slow;
};

struct rank_note { /* a checkpoint or range that is reported after the steps before it */
	struct span span;
	uint32_t pid; /* process that wrote or read the file */
	char file[GP_PATH_MAX];
};

struct hang_seen { /* data of a record about the thread that makes no progress */
	uint64_t reported_ns, since_ns;
	uint32_t tid;
	/* role of the call in progress; GP_ROLE_none: the thread was examined in /proc */
	unsigned role;
	bool between; /* the call is a call of a communication library */
	bool counted; /* the call is already counted as an entered collective */
	enum gp_why why;
	char wchan[40], where[120];
};

struct rank_fault {
	uint64_t count[FAULT_COUNT];
	/* hashes of the faults that were reported, so that each is reported once */
	uint64_t reported[RANK_FAULTS];
	uint32_t nreported;
	/* First fault since the last step, a possible cause of a failure. at_ns 0: no fault. */
	uint64_t at_ns;
	enum fault_kind kind;
	bool weak; /* this kind of fault also occurs in normal operation */
	char name[48];
};

/* number of collectives entered for each communicator, which are in order of first use */
struct rank_collectives {
	uint64_t comm[RANK_COMMS], count[RANK_COMMS];
	uint32_t ncomms, last;
	/* The process has more than RANK_COMMS communicators, so it is unknown which one a call
	 * uses. */
	bool many;
	/* Some collectives were not sent, so the number entered is unknown from now on. */
	bool unsent;
	char name[48]; /* name of the probe that the last collective hit */
};

struct rank_hang {
	uint64_t progress_ns; /* last sign of life */
	/* last sign of life whose time is exact (the time of launches is not) */
	uint64_t marked_ns;
	uint64_t longest_ns;   /* longest silence that ended by itself */
	uint32_t tid;	       /* thread that trained last */
	enum signal_kind last; /* last signal of that thread */
	uint32_t compiles;     /* number of open ranges of a compiler on that thread */
	/* The last range opened on that thread that is still open, or the file of a checkpoint
	 * being saved. "": unknown. */
	char range[48];
	bool any;
	struct hang_seen call, sample;
	/* Start of the current hang, and the end of the part that is booked. 0: no hang. */
	uint64_t onset_ns, booked_ns;
	struct {
		uint64_t from_ns, to_ns;
	} past[RANK_HANGS];
	uint64_t count, total_ns; /* number of hangs; total time of those that are over */
	/* the current or last hang, as reported; NULL: there was no hang */
	struct hang_view *reported;
	/* Python stack of the training thread, GP_STACK_MAX bytes; NULL: none was read */
	char *stack;
	uint64_t stack_ns; /* when the stack was read; 0: before the last sign of life */
	/* claim of NCCL's RAS service since the last sign of life; "": none */
	char claim[GP_RAS_MAX];
};

#define RANK_WORKERS 32
struct rank_workers {	  /* child processes started since the last batch that still run */
	uint64_t last_ns; /* start of the last child */
	uint32_t count;	  /* number of children; `kept` describes the first RANK_WORKERS */
	struct rank_worker {
		uint64_t born_ns;
		uint32_t pid; /* 0: stands for a child that is not described */
	} * kept;	      /* NULL: there were no children, or no memory */
};

/* Named ranges with a bucket that may be open at the same time (rank_range.c). The time of further
 * ones is not booked to their bucket. */
#define RANK_RANGES 16

struct rank_range {
	uint32_t tid;
	uint64_t begin_ns, booked_ns;
	enum bucket bucket;
	uint32_t type;
	char name[GP_NAME_MAX];
};

/* Compilations before the first step whose time is kept. The time of further ones becomes
 * TRAINING_PREP. */
#define START_COMPILES 32

/* life of a process before its first step, see rank_start.c */
struct rank_start {
	uint64_t ready_ns; /* start of TRAINING_PREP; 0: it has not begun */
	/* when the process began to make a process group; 0: it makes none now */
	uint64_t group_ns;
	uint32_t group_tid;
	/* compiling: number of open ranges of a compiler on thread compile_tid */
	uint32_t compile_tid, compiling;
	uint64_t compile_ns; /* start of the outermost open range of the compiler */
	uint32_t ncompiles, compiles_cap;
	bool over; /* the first step has begun */
	struct start_compile {
		uint64_t from_ns, to_ns;
		/* in order of time, at most START_COMPILES; freed after the first step has begun */
	} * compiles;
	/* When the first group or communicator was made, and the first wait for a batch; 0: not
	 * seen. Not saved: a restored rank has reported the time before. */
	uint64_t group_from_ns, group_to_ns, loader_from_ns, loader_to_ns;
};

struct rank {
	struct job_member member;
	/* the location was received for this process, not inherited from its parent */
	bool placed;
	bool place_ranked; /* rank and world size were taken from the location */
	uint64_t end_ns;   /* valid when not alive */
	bool from_start;
	bool fresh;   /* forked, and has neither run another program nor forked since */
	bool settled; /* a tick has passed since the start, so all probes are attached */
	bool missed;  /* observation of the process had a gap before its first marker */
	bool alive, trainer, target;
	/* The process itself gave rank and world size when it made a communicator. */
	bool self_ranked;
	int status;

	/* these three are allocated at the first marker, and freed when the process ends */
	struct marker *marker;
	struct step_finder *finder;
	struct phase_finder *phase;
	uint64_t ledger_start_ns, windows_reported_ns;
	struct rank_loop *loops[STEP_LOOPS];
	uint32_t nloops;
	uint32_t shown[RANK_ROLES]; /* hash of the last probe hit of each role */
	/* error of the current call of a function of rank.h, returned at its end */
	int error;

	struct rank_note *notes; /* at most RANK_NOTES */
	uint32_t nnotes, notes_cap;
	uint64_t ledger_reported_ns;
	bool ledger_due;

	/* when the process read the checkpoint in member.resume; 0: none recognised */
	uint64_t resume_ns;
	struct {
		uint64_t begin_ns, end_ns, step;
		uint32_t tid;
		bool estimated;
	} saved; /* the checkpoint that was reported last */
	/* Start of the last write to a possible checkpoint; 0: none since the last step. */
	uint64_t wrote_ns;

	struct rank_start start;
	/* open named ranges with a bucket, in order of opening; at most RANK_RANGES */
	struct rank_range *ranges;
	uint32_t nranges, ranges_cap;
	struct range_shares *shares; /* NULL until the first named range */
	/* named ranges not sent: they exceeded their limit, or the budget removed their probe */
	uint64_t ranges_unsent;
	struct monitor *monitor;   /* NULL until the first event of the job's own monitoring */
	struct resource *resource; /* NULL until the first record of resources */
	struct input_gate input_gate;
	struct input_waits *input;	 /* NULL until the first record of its workers */
	struct rank_lines *lines;	 /* NULL until the first sample of a line */
	struct device_clock *device;	 /* NULL until the first record of its accelerator */
	struct examination *examination; /* the last one; NULL: there was none */
	/* Of its loader's workers: the one of the last examination that was blocked longest. */
	struct examination *worker_examination;
	struct rank_hang hang;
	struct rank_fault fault;
	struct straggle_view straggle;
	struct rank_collectives collectives;
	/* When calls of each kind were last counted instead of sent. */
	uint64_t unsent_ns[RANK_UNSENT];
	/* Start of the current suspension (rank_suspend.c), and the end of the part that is booked.
	 * 0: not suspended. */
	uint64_t suspended_ns, suspended_booked_ns;
	uint64_t checkpoints, restores, save_ns, longest_save_ns;
	struct rank_workers workers;
	uint64_t slow_reported_ns,
		/* time of the last event about a slow step, and number of slow steps since */
		slow_unreported;
	struct overhead overhead;
	uint64_t hits, lost, disruptions;
	uint64_t cause_ns[TIME_CAUSE_COUNT]; /* lost to slowdowns */
	/* last fatal signal sent to the process; killed_ns: its time */
	struct gp_signal killed;
	uint64_t killed_ns;
	uint64_t interrupted_ns; /* last SIGINT to the process or its ancestor; 0: never */
	bool oom;
	struct event_view events[SNAPSHOT_EVENTS];
	uint64_t nevents; /* number of events added so far */
};

/* Returns the rank that contains this job member. */
static inline struct rank *rank_of(struct job_member *m)
{
	return (struct rank *)((char *)m - offsetof(struct rank, member));
}

/* rank_life.c */
/* Allocates the parts of a training rank: at the first marker, or when a file proves to be a
 * checkpoint. Returns 0 or -ENOMEM. */
int rank_open(struct rank *r);
/* Frees the parts of a rank that only a live process needs. */
void rank_drop_finders(struct rank *r);

/* rank_fact.c */
/* Completes the fact with rank and time, and sends it. */
void rank_fact(const struct rank *r, struct fact *f, uint64_t mono_ns);
/* Reports an error of gp-bpf itself if the ledger's buckets do not add up to the elapsed time. */
void rank_ledger_checked(struct rank *r);

/* rank_loop.c */
/* Marks the process as training, at its first marker. */
void rank_trains(struct rank *r, uint64_t now_ns);
/* Takes a finished step. */
void rank_step(struct rank *r, const struct step *s);
/* Returns loop i, created if it does not exist; NULL when there is no memory. */
struct rank_loop *rank_loop(struct rank *r, uint32_t i);
/* Returns a finished step of the loop; back: number of steps after it, 0: the last one. NULL if it
 * is not kept. */
static inline const struct rank_done *rank_done(const struct rank_loop *lp, uint64_t back)
{
	if (back >= lp->done_next - lp->done_first)
		return NULL;
	return &lp->done[(lp->done_next - 1 - back) & (lp->done_cap - 1)];
}
/* Reports the states of the rank's loops that have changed. */
void rank_states(struct rank *r, uint64_t now_ns);
/* Computes the ideal step anew, and passes it to the ledger. final: no more steps come. */
void rank_ideal(struct rank *r, bool final);

/* rank_stepped.c */
/* Returns true if executions or cycles of the rank are counted, but nothing shows that it trains.
 * Its time from the first of them on is OTHER. */
bool rank_counts(const struct rank *r);
/* Finds the checkpoint that note n is about; returns NULL if it is unknown. *ret_step: last step in
 * it; *ret_estimated: that step is not certain. */
const struct checkpoint *rank_files_stepped(struct rank *r, const struct rank_note *n,
					    uint64_t *ret_step, bool *ret_estimated);
/* Records that a complete checkpoint contains all steps up to this one. */
void rank_saved(struct rank *r, uint64_t step);
/* Records that checkpoints begun from from_ns on contain step `number`. */
void rank_files_step(struct rank *r, uint64_t from_ns, uint64_t number);
/* Returns the reference rank of the job; NULL if this rank is the reference rank, or there is
 * none. */
struct rank *rank_reference(const struct rank *r);
/* Returns the number of the last step that was finished at at_ns. The loop is the one on thread
 * tid, else the first loop. *ret_known (may be NULL): false if the step is not kept any more, so
 * that the result is only an upper bound. */
uint64_t rank_step_at(const struct rank *r, uint32_t tid, uint64_t at_ns, bool *ret_known);

/* rank_file.c */
/* Takes records of files (gp_file) and renames (gp_renamed). Returns 0 or -ENOMEM. */
int rank_file(struct rank *r, const struct event *ev);

/* rank_flow.c */
/* Passes a signal to the step finder, unless it is unreliable because other probes are missing.
 * Returns 0 or -ENOMEM. */
int rank_find(struct rank *r, const struct signal *s);

/* rank_late.c */
/* Notes the last probe of this role that was hit. */
void rank_late_hit(struct rank *r, uint32_t role, uint32_t probe);
/* Takes a step, an execution or a cycle. Call before it is counted. */
void rank_late_step(struct rank *r, struct rank_loop *lp, const struct step *s);
/* Flags the step if its number is uncertain. Call before it is counted. */
void rank_late_flag(struct rank_loop *lp, struct step *s);
/* Lowers the confidence in the state of a loop, if steps may be missing because of late probes or
 * lost records. */
void rank_late_state(const struct rank_loop *lp, struct step_state *st);

/* Notes that records were lost, noticed at now_ns. */
void rank_late_hole(struct rank *r, uint64_t now_ns);
void rank_late_tick(struct rank *r);

/* rank_change.c */
/* Takes records of what a thread used (gp_usage) or its control group lacked (gp_pressure). Returns
 * 0 or -ENOMEM. */
int rank_resource(struct rank *r, const struct event *ev);
/* Sums what the training thread lacked in the last minute, after its first step; covered_ns is 0
 * if that is too short, or a loop is slow. */
void rank_lacked(const struct rank *r, uint64_t now_ns, struct resource_sums *ret);
/* Takes a step. Reports when its loop became lastingly slower, or recovered. */
void rank_change(struct rank *r, struct rank_loop *lp, const struct fact_step *fs);
/* Examines the causes of current slowdowns again, once a second. */
void rank_change_tick(struct rank *r, uint64_t now_ns);

/* rank_input.c */
/* Takes what the workers of its data loader used. Returns 0 or -ENOMEM. */
int rank_input(struct rank *r, const struct event *ev);
/* Takes a wait for input that is over. */
void rank_input_wait(struct rank *r, uint64_t from_ns, uint64_t to_ns);
/* Appends what the workers did during the slowdown *v to out, if that is a cause of it. */
void rank_input_evidence(const struct rank *r, const struct change_view *v,
			 const struct time_causes *causes, uint64_t now_ns, char *out, size_t len);

/* rank_line.c */
struct rank_lines;
/* Takes a sample of the line of a thread. Returns 0 or -ENOMEM. */
int rank_line(struct rank *r, const struct event *ev);
void rank_lines_free(struct rank_lines *ls); /* NULL is allowed */
/* Takes a finished step. */
void rank_line_step(struct rank *r, const struct fact_step *fs);
/* Sums the lines of the minute before a slowdown. */
void rank_line_usual(const struct rank *r, uint64_t onset_ns, struct lines_sums *ret);
/* Adds to the causes of a slowdown what its lines explain. */
void rank_line_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
		      uint64_t now_ns);
/* Sets else_share and else_lines. */
void rank_line_view(const struct rank *r, uint64_t now_ns, struct rank_view *ret);
void rank_lines_archive(struct archive *a, struct rank_lines **ls);

/* rank_device.c */
/* Takes figures of its accelerator. Returns 0 or -ENOMEM. */
int rank_device(struct rank *r, const struct event *ev);
/* Takes a finished step. */
void rank_device_step(struct rank *r, const struct fact_step *fs);
/* Sums what the accelerator did in the minute before a slowdown. */
void rank_device_usual(const struct rank *r, uint64_t onset_ns, struct device_sums *ret);
/* Adds to the causes of a slowdown what the accelerator explains. */
void rank_device_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
			uint64_t now_ns);
/* Appends what the accelerator did during the slowdown *v to out, if that is a cause of it. */
void rank_device_evidence(const struct rank *r, const struct rank_slow *slow,
			  const struct change_view *v, uint64_t now_ns, char *out, size_t len);
void rank_device_view(const struct rank *r, struct device_view *ret);

/* rank_window.c */
/* Creates the windows for a new ledger. Returns 0 or -ENOMEM. */
int rank_window_open(struct rank *r);
/* Makes a restored ledger report its time to the restored windows. */
void rank_window_trace(struct rank *r);
/* Fills ret[WINDOWS_MAX], which must be zeroed. Windows that are not used stay zero. */
void rank_windows(const struct rank *r, uint64_t now_ns, struct window_view *ret);
/* Reports the windows as facts, at their interval. */
void rank_report_windows(struct rank *r, uint64_t now_ns);

/* rank_report.c */
/* Takes a span (checkpoint, evaluation...) from the phase finder and books it. ctx: the rank. */
void rank_span(void *ctx, const struct span *s);
/* Reports the waiting checkpoints and ranges that began before before_ns. */
void rank_notes(struct rank *r, uint64_t before_ns);
/* Reports an interval without observation. */
void rank_report_gap(struct rank *r, uint64_t from_ns, uint64_t now_ns);
/* Reports the ledger as a fact, and starts the interval until the next report. */
void rank_report_ledger(struct rank *r, uint64_t now_ns);

/* rank_failure.c */
/* Returns true for an end that is not a failure: exit status 0, or an end because of SIGINT. */
bool rank_ended_clean(const struct rank *r, uint64_t now_ns);
/* Reports the end of the rank to its job, which opens a disruption if the rank failed. replaced:
 * the process continues with another program. */
void rank_failed(struct rank *r, uint64_t now_ns, bool replaced);

/* rank_worker.c */
/* A child was forked. */
void rank_worker_born(struct rank *r, uint32_t pid, uint64_t now_ns);
/* Takes SIGNAL_FETCH: a batch was loaded. If workers were started shortly before, the time since
 * their start is booked as data loading. */
void rank_worker_fetched(struct rank *r, const struct signal *s);
void rank_worker_archive(struct archive *a, struct rank_workers *w);

/* rank_place.c */
/* Gives the location of the parent to a child whose own location is unknown. Returns 0 or
 * -ENOMEM. */
int rank_place_inherit(struct rank *r, const struct rank *parent);
/* Sets rank and world size from the location, unless the process gave them itself. */
void rank_place_apply(struct rank *r);
void rank_place_archive(struct archive *a, struct rank *r);

/* rank_straggler.c */
/* Passes a step to the comparison of waits between ranks (straggler.h). */
void rank_straggler_step(struct rank *r, const struct fact_step *fs);
/* Adds to the causes of a slowdown the waits for another rank of this node that is the straggler.
 */
void rank_straggler_causes(const struct rank *r, struct rank_slow *slow,
			   const struct change_view *v);
/* Appends which rank is late, and by how much, to out, if that is a cause of the slowdown. */
void rank_straggler_evidence(const struct rank_slow *slow, char *out, size_t len);
/* Reports that the rank is no longer the straggler. */
void rank_straggler_over(struct rank *r, uint64_t now_ns);
void rank_straggler_archive(struct archive *a, struct straggle_view *v);

/* rank_collective.c */
/* Counts a collective (SIGNAL_COLLECTIVE). */
void rank_collective(struct rank *r, const struct signal *s);
/* Takes the making of a communicator. Its rank and size become those of the process, unless
 * something else gave them; the largest communicator counts. */
void rank_communicator(struct rank *r, const struct signal *s);
/* Reports to the job how many collectives a silent process has entered. called: it is in a further
 * collective now. */
void rank_collective_stands(struct rank *r, uint64_t now_ns, bool called);
void rank_collective_archive(struct archive *a, struct rank_collectives *c);

/* rank_unsent.c */
/* Notes that calls of this probe were counted instead of sent: figures derived from them are
 * unknown for a while. */
void rank_unsent(struct rank *r, const struct gp_probe *probe, uint64_t hits, uint64_t now_ns);
/* Notes that the probe of collectives was removed: the number entered is unknown from now on. */
void rank_unsent_collectives(struct rank *r);
/* Marks figures of a step, and of the sums of its loop, as unknown if calls that they need were not
 * sent. */
void rank_unsent_step(struct rank *r, struct rank_loop *lp, struct fact_step *fs);

/* rank_suspend.c */
/* Ends a suspension: a call from from_ns to now_ns gave the device state back. */
void rank_resume(struct rank *r, uint64_t from_ns, uint64_t now_ns);
void rank_suspend_tick(struct rank *r, uint64_t now_ns);

/* rank_fault.c */
/* Takes SIGNAL_ERROR. */
void rank_fault_signal(struct rank *r, const struct signal *s);
/* Takes a message of the kernel log about a fault of a device. mine: the message names this
 * process. */
void rank_fault_kernel(struct rank *r, const struct event *ev, bool mine);
/* Takes new uncorrected memory errors of the process's accelerator. */
void rank_fault_device(struct rank *r, const struct device_view *d, uint64_t errors,
		       uint64_t now_ns);
/* Drops stored faults before start_ns: a step began then, so they did not make the process fail. */
void rank_fault_step(struct rank *r, uint64_t start_ns);
/* Sets the cause of a failure to a fault shortly before, if that says more than *why does. */
void rank_fault_cause(const struct rank *r, uint64_t now_ns, struct job_cause *why);
void rank_fault_archive(struct archive *a, struct rank_fault *f);

/* rank_hang.c */
/* Takes each signal of the rank, and decides whether it is a sign of life. */
void rank_hang_signal(struct rank *r, const struct signal *s);
/* Takes a record about a thread that is blocked, in a call or in /proc. */
void rank_hang_seen(struct rank *r, const struct event *ev, const struct gp_probe *probe);
/* Takes the Python stack of a thread. Returns 0 or -ENOMEM. */
int rank_hang_stack(struct rank *r, const struct event *ev);
/* Takes what NCCL's RAS service says. */
void rank_hang_claim(struct rank *r, const struct event *ev);
void rank_hang_free(struct rank_hang *h);
/* Checks for a hang, once a second. */
void rank_hang_tick(struct rank *r, uint64_t now_ns);
/* Ends the current hang. ended: the process has ended. */
void rank_hang_close(struct rank *r, uint64_t now_ns, bool ended);
/* Counts the silence from now_ns on, because the process was not observed before. */
void rank_hang_unsure(struct rank *r, uint64_t now_ns);
/* Returns true when a hang overlaps the interval. */
bool rank_hang_within(const struct rank *r, uint64_t from_ns, uint64_t to_ns);
void rank_hang_view(const struct rank *r, uint64_t now_ns, struct hang_view *ret);
void rank_hang_archive(struct archive *a, struct rank_hang *h);

/* rank_examine.c */
/* Takes a record gp_examined or gp_waited. Returns 0 or -ENOMEM. */
int rank_examined(struct rank *r, const struct event *ev);
/* Returns the last examination if all of it lies within the span and was possible, or NULL. */
static inline const struct examination *rank_examination(const struct rank *r, uint64_t from_ns,
							 uint64_t to_ns)
{
	const struct examination *e = r->examination;

	return e && !e->error && e->from_ns >= from_ns && e->to_ns <= to_ns ? e : NULL;
}

/* rank_start.c */
/* Takes each signal of the rank. Returns true when no other module needs the signal. */
bool rank_start_signal(struct rank *r, const struct signal *s);
/* Ends the startup: the first step began at at_ns, or the process ended without a step. Call before
 * the ledger gets the step. */
void rank_start_over(struct rank *r, uint64_t at_ns);
void rank_start_archive(struct archive *a, struct rank_start *st);

/* rank_range.c */
/* Takes the begin and end of a named range (SIGNAL_RANGE_BEGIN, SIGNAL_RANGE). */
void rank_range_signal(struct rank *r, const struct signal *s);
/* Books the open ranges up to end_ns. Call before the ledger gets a step that ends at end_ns. */
void rank_range_step(struct rank *r, uint64_t end_ns);
/* Drops the open ranges, because their ends will not be seen. */
void rank_range_close(struct rank *r, uint64_t now_ns);
void rank_range_archive(struct archive *a, struct rank *r);

/* rank_monitor.c */
int rank_monitor(struct rank *r, const struct event *ev); /* 0 or -ENOMEM */
/* Reports events of the job's monitoring whose missing records did not come in time. Call once a
 * second. */
void rank_monitor_tick(struct rank *r, uint64_t now_ns);
/* Reports all incomplete events of the job's monitoring, because no further records come. */
void rank_monitor_close(struct rank *r);
/* Copies the figures of the job's monitoring to ret. Returns 0 or -ENOMEM. */
int rank_monitor_view(const struct rank *r, struct rank_view *ret);

#endif
