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
 *   rank_change.c     slowdown of a loop, its causes, and recovery
 *   rank_window.c     where its time went recently
 *   rank_report.c     reports checkpoints, ranges and the ledger as facts
 *   rank_failure.c    whether its end was clean, and what caused a failure
 *   rank_worker.c     worker processes of its data loader
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
 * and grows with what the process does. A rank that trains in one loop takes 63 KiB after days, and
 * 7 KiB for the resources it lacked,
 * including its share of a job (make bench ONLY=memory); at most 9 MiB whatever the process does,
 * by the bounds of the parts.
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
#include "userspace/model/time/deviation.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/time/hang.h"
#include "userspace/model/job/job.h"
#include "userspace/model/job/job_member.h"
#include "userspace/model/job/model_env.h"
#include "userspace/model/time/ledger.h"
#include "userspace/model/signal/model_probe.h"
#include "userspace/model/signal/monitor.h"
#include "userspace/model/job/notice.h"
#include "userspace/model/time/overhead.h"
#include "userspace/model/phase/phase.h"
#include "userspace/model/time/range.h"
#include "userspace/model/time/range_share.h"
#include "userspace/model/time/resource.h"
#include "userspace/model/rank/rank.h"
#include "userspace/model/step/step.h"
#include "userspace/model/time/window.h"

/* checkpoints and ranges that wait until the steps before them are reported */
#define RANK_NOTES 16
/* Steps remembered: the last RANK_DONE, and up to RANK_DONE_MAX while they are younger than
 * RANK_DONE_NS. */
#define RANK_DONE     128
#define RANK_DONE_MAX 4096
#define RANK_DONE_NS  20000000000ull
#define RANK_COMMS    16 /* communicators of one process that are counted */
/* faults of one process that are distinguished; further ones are only counted */
#define RANK_FAULTS 16
#define RANK_HANGS  4 /* last hangs, for the steps around them */
/* ticks for which the longest step time is kept, as a loss may be noticed late */
#define RANK_SPANS  4
#define RANK_ROLES  64 /* bound of roles in arrays: above any enum gp_role */
#define RANK_UNSENT 3  /* groups of rank_unsent.c: waits, collectives, copies */

struct rank_done { /* a finished step, to relate later events to it */
	uint64_t number;
	uint64_t from_ns;    /* checkpoints begun from here on contain the step */
	uint64_t goodput_ns; /* goodput of the job so far, if this rank is its reference */
};

struct rank_slow {		    /* the present slowdown of a loop, else the last one */
	struct resource_sums usual; /* what the process lacked before it */
	struct time_causes causes;
	int64_t lost_ns;     /* time lost that is not in rank.cause_ns yet */
	int64_t all_lost_ns; /* time lost since the slowdown began */
	bool alarm;	     /* it lasted long enough and cost enough to be reported */
	uint64_t alarms;     /* number of reported slowdowns */
	/* Number and time of the slowdowns that ended before they were reported. */
	uint64_t bursts, bursts_ns;
};

/* A training loop of the process. */
struct rank_loop {
	struct step_state state; /* as reported last */
	struct deviation *time;
	struct change *change;
	struct recent *recent_times; /* times of the last minutes */
	uint64_t ideal_ns, mad_ns;   /* ideal step and MAD, updated now and then */
	uint64_t steps, updates;     /* steps given out, and the updates in them */
	/* Number of the last step over all runs of its job; number in this run. */
	uint64_t last_number, run_step, last_end_ns, resume_ns;
	uint32_t tid;
	uint64_t recent_ns[SNAPSHOT_RECENT];
	uint64_t recent;	/* number of steps so far */
	struct rank_done *done; /* ring: see rank_done() */
	uint32_t done_cap;	/* 0, or a power of two */
	uint64_t done_first, done_next;
	uint64_t phase_ns[PHASE_COUNT], host_ns, wait_ns; /* sums, as in struct fact_step */
	/* phases_unsent: phases that are unknown in some steps, so that their sums are invalid */
	uint32_t phases_known, phases_unsent;
	bool device_known, device_unsent;
	uint64_t flagged[8];
	uint64_t first_ns; /* end of the loop's first step */
	/* When the loss of records was noticed; 0: none since the last step. */
	uint64_t hole_ns;
	uint64_t span_ns[RANK_SPANS]; /* longest time between ends of steps, at the last ticks */
	bool undercounted;	      /* missing records may have been ends of steps */
	/* The probe that finds the steps was attached so shortly before the first one that some may
	 * be missing. */
	bool probed_late;
	struct rank_slow *slow; /* from its first slowdown on; NULL: there was none, or no memory */
};

struct rank_note { /* a span whose fact is sent after the facts of earlier steps */
	struct span span;
	uint32_t pid; /* process that wrote or read */
	char file[GP_PATH_MAX];
};

struct hang_seen { /* data of a record about the thread that makes no progress */
	uint64_t reported_ns, since_ns;
	uint32_t tid;
	unsigned role; /* role of the call; GP_ROLE_none: the thread was seen in /proc */
	bool between;  /* the call is a call of a communication library */
	bool counted;  /* the call is already counted as an entered collective */
	enum gp_why why;
	char wchan[40], where[120];
};

struct rank_fault {
	uint64_t count[FAULT_COUNT];
	uint64_t reported[RANK_FAULTS]; /* hashes of the faults reported: each is reported once */
	uint32_t nreported;
	/* First fault since the last step; at_ns 0: none. */
	uint64_t at_ns;
	enum fault_kind kind;
	bool weak; /* a fault of this kind also occurs without an error */
	char name[48];
};

/* number of collectives entered, by communicator in order of first use */
struct rank_collectives {
	uint64_t comm[RANK_COMMS], count[RANK_COMMS];
	uint32_t ncomms, last;
	/* The process uses more communicators, so it is unknown which one a call uses. */
	bool many;
	/* Some collectives were not sent: the number entered is unknown from now on. */
	bool unsent;
	char name[48]; /* probe of the last collective */
};

struct rank_hang {
	uint64_t progress_ns;  /* last sign of life */
	uint64_t marked_ns;    /* last sign of life whose time is known exactly */
	uint64_t longest_ns;   /* longest silence that ended by itself */
	uint32_t tid;	       /* thread that trained last */
	enum signal_kind last; /* last signal of that thread */
	uint32_t compiles;     /* open ranges of a compiler */
	/* Last range opened on that thread and still open, or file of a save; "": unknown. */
	char range[48];
	bool any;
	struct hang_seen call, sample;
	/* start of the current hang, and its booked part; 0: none */
	uint64_t onset_ns, booked_ns;
	struct {
		uint64_t from_ns, to_ns;
	} past[RANK_HANGS];
	uint64_t count, total_ns;   /* number of hangs; time of finished hangs */
	struct hang_view *reported; /* the last one reported; NULL: there was no hang */
	char *stack;	   /* of the training thread, GP_STACK_MAX bytes; NULL: none was read */
	uint64_t stack_ns; /* when it was read; 0: before the last sign of life */
};

#define RANK_WORKERS 32
struct rank_workers {	  /* child processes started since the last batch that have not ended */
	uint64_t last_ns; /* start of the last child */
	uint32_t count;	  /* number of children; the first RANK_WORKERS are kept */
	struct rank_worker {
		uint64_t born_ns;
		uint32_t pid; /* 0: a child that was not kept */
	} * kept;	      /* NULL: none started, or no memory */
};

/* Ranges opened at once of the job (rank_range.c). Steps in further ones are not time of their
 * bucket. */
#define RANK_RANGES 16

struct rank_range {
	uint32_t tid;
	uint64_t begin_ns, booked_ns;
	enum bucket bucket;
	uint32_t type;
	char name[GP_NAME_MAX];
};

/* Compilations before the first step that are kept; further ones count as TRAINING_PREP. */
#define START_COMPILES 32

/* life of a process before its first step, see rank_start.c */
struct rank_start {
	uint64_t ready_ns; /* start of the preparation of training; 0: not yet */
	uint64_t group_ns; /* when making a group began; 0: no group is being made */
	uint32_t group_tid;
	uint32_t compile_tid, compiling; /* number of open ranges of a compiler on that thread */
	uint64_t compile_ns;		 /* start of the outermost open range of the compiler */
	uint32_t ncompiles, compiles_cap;
	bool over; /* the first step has begun */
	struct start_compile {
		uint64_t from_ns, to_ns;
	} * compiles; /* in order of time, at most START_COMPILES; freed once `over` */
	/* Making of the first group or communicator, and first wait for a batch; 0: not seen. Not
	 * saved, as earlier time has been reported. */
	uint64_t group_from_ns, group_to_ns, loader_from_ns, loader_to_ns;
};

struct rank {
	struct job_member member;
	bool placed;	   /* the location is its own, not inherited from its parent */
	bool place_ranked; /* rank and world size come from the location */
	uint64_t end_ns;   /* valid when not alive */
	bool from_start;
	bool fresh;   /* just forked: has neither run a program nor forked since */
	bool settled; /* a tick has passed: attaching probes is complete */
	bool missed;  /* the process was not observed for a while before its first marker */
	bool alive, trainer, target;
	/* the process itself gave rank and world size, to make a communicator */
	bool self_ranked;
	int status;

	struct marker *marker; /* allocated from the first marker to the end of the process */
	struct step_finder *finder;
	struct phase_finder *phase;
	uint64_t ledger_start_ns, windows_reported_ns;
	struct rank_loop *loops[STEP_LOOPS];
	uint32_t nloops;
	uint32_t shown[RANK_ROLES]; /* hash of the last probe hit of each role */
	int error;		    /* error of the current call */

	struct rank_note *notes; /* at most RANK_NOTES */
	uint32_t nnotes, notes_cap;
	uint64_t ledger_reported_ns;
	bool ledger_due;

	uint64_t resume_ns; /* time at which member.resume was recognised; 0: not recognised */
	struct {
		uint64_t begin_ns, end_ns, step;
		uint32_t tid;
		bool estimated;
	} saved; /* last checkpoint reported */
	/* Start of the last write of a checkpoint; 0: none since the last step. */
	uint64_t wrote_ns;

	struct rank_start start;
	struct rank_range *ranges; /* open ranges, in order; at most RANK_RANGES */
	uint32_t nranges, ranges_cap;
	struct range_shares *shares; /* from its first range on */
	uint64_t ranges_unsent;	     /* over their bound, or taken by the budget */
	struct monitor *monitor;     /* from its first event on */
	struct resource *resource;   /* from its first record on */
	struct rank_hang hang;
	struct rank_fault fault;
	struct straggle_view straggle;
	struct rank_collectives collectives;
	/* When a blocking call was last counted instead of sent. */
	uint64_t unsent_ns[RANK_UNSENT];
	/* Start of the suspension, and its booked part; 0: not suspended. */
	uint64_t suspended_ns, suspended_booked_ns;
	uint64_t checkpoints, restores, save_ns, longest_save_ns;
	struct rank_workers workers;
	uint64_t slow_reported_ns,
		slow_unreported; /* last report of a slow step, and slow steps since */
	struct overhead overhead;
	uint64_t hits, lost, disruptions;
	uint64_t cause_ns[TIME_CAUSE_COUNT]; /* lost to slowdowns */
	struct gp_signal killed;	     /* last fatal signal sent to it, and when */
	uint64_t killed_ns;
	uint64_t interrupted_ns; /* last SIGINT to the process or its ancestor; 0: never */
	bool oom;
	struct event_view events[SNAPSHOT_EVENTS];
	uint64_t nevents; /* number of events so far */
};

/* Returns the rank that a member is part of. */
static inline struct rank *rank_of(struct job_member *m)
{
	return (struct rank *)((char *)m - offsetof(struct rank, member));
}

/* rank_life.c */
/* Allocates the parts of a training rank: at the first marker, or when a file proves to be a
 * checkpoint. Returns 0 or -ENOMEM. */
int rank_open(struct rank *r);
/* Frees the parts that only a live process needs. */
void rank_drop_finders(struct rank *r);

/* rank_fact.c */
/* Completes the fact with rank and time, and sends it. */
void rank_fact(const struct rank *r, struct fact *f, uint64_t mono_ns);
/* Counts a violation when the ledger does not add up. */
void rank_ledger_checked(struct rank *r);

/* rank_loop.c */
/* Starts the rank's training at its first marker. */
void rank_trains(struct rank *r, uint64_t now_ns);
/* Takes a finished step. */
void rank_step(struct rank *r, const struct step *s);
/* Returns loop i, made when missing; NULL when there is no memory. */
struct rank_loop *rank_loop(struct rank *r, uint32_t i);
/* Returns a remembered step; back 0: the last one. NULL when there are not so many. */
static inline const struct rank_done *rank_done(const struct rank_loop *lp, uint64_t back)
{
	if (back >= lp->done_next - lp->done_first)
		return NULL;
	return &lp->done[(lp->done_next - 1 - back) & (lp->done_cap - 1)];
}
/* Reports the states of the rank's loops that have changed. */
void rank_states(struct rank *r, uint64_t now_ns);
/* Updates the ideal step, in the ledger as well; final: no more steps come. */
void rank_ideal(struct rank *r, bool final);

/* rank_stepped.c */
/* Returns true when the rank has a loop of executions or cycles and nothing shows that it trains:
 * its time is OTHER from the first execution or cycle on. */
bool rank_counts(const struct rank *r);
/* Returns the checkpoint that the note is about, or NULL. *ret_step: last step in the checkpoint;
 * *ret_estimated: that step is deduced. */
const struct checkpoint *rank_files_stepped(struct rank *r, const struct rank_note *n,
					    uint64_t *ret_step, bool *ret_estimated);
/* Records that a complete checkpoint contains everything up to this step. */
void rank_saved(struct rank *r, uint64_t step);
/* Records that checkpoints begun from from_ns on contain step `number`. */
void rank_files_step(struct rank *r, uint64_t from_ns, uint64_t number);
/* Returns the reference rank of the job if it is another rank; NULL: none. */
struct rank *rank_reference(const struct rank *r);
/* Returns the last step done at at_ns, of the loop that runs on thread tid (else of the first
 * loop). *ret_known (may be NULL): false when the result is only an upper bound, because at_ns is
 * too long ago. */
uint64_t rank_step_at(const struct rank *r, uint32_t tid, uint64_t at_ns, bool *ret_known);

/* rank_file.c */
/* Takes gp_file and gp_renamed. Returns 0 or -ENOMEM. */
int rank_file(struct rank *r, const struct event *ev);

/* rank_flow.c */
/* Passes a signal to the step finder, without signals that are unreliable because probes are
 * missing. Returns 0 or -ENOMEM. */
int rank_find(struct rank *r, const struct signal *s);

/* rank_late.c */
/* Takes a hit of a probe of this role. */
void rank_late_hit(struct rank *r, uint32_t role, uint32_t probe);
/* Takes a step, an execution or a cycle, before it is counted. */
void rank_late_step(struct rank *r, struct rank_loop *lp, const struct step *s);
/* Flags a step whose number is uncertain, before it is counted. */
void rank_late_flag(struct rank_loop *lp, struct step *s);
/* Adds the doubts of this module (late probes, lost records) to the state of the step finder. */
void rank_late_state(const struct rank_loop *lp, struct step_state *st);

/* Missing records were noticed at now_ns. */
void rank_late_hole(struct rank *r, uint64_t now_ns);
void rank_late_tick(struct rank *r);

/* rank_change.c */
/* Takes what a thread used, or what its control group lacked. Returns 0 or -ENOMEM. */
int rank_resource(struct rank *r, const struct event *ev);
/* Takes a step; reports when its loop became slow or recovered. */
void rank_change(struct rank *r, struct rank_loop *lp, const struct fact_step *fs);
/* Examines the causes of a present slowdown again. */
void rank_change_tick(struct rank *r, uint64_t now_ns);

/* rank_window.c */
/* Makes the window of a new ledger. Returns 0 or -ENOMEM. */
int rank_window_open(struct rank *r);
/* Connects ledger and window after they were restored. */
void rank_window_trace(struct rank *r);
/* Writes the windows to ret[WINDOWS_MAX], which must be zeroed; unused ones stay zero. */
void rank_windows(const struct rank *r, uint64_t now_ns, struct window_view *ret);
/* Reports the windows from time to time. */
void rank_report_windows(struct rank *r, uint64_t now_ns);

/* rank_report.c */
/* Takes a span of the phase finder. ctx: the rank. */
void rank_span(void *ctx, const struct span *s);
/* Reports the notes that began before before_ns. */
void rank_notes(struct rank *r, uint64_t before_ns);
/* Reports an interval without observation. */
void rank_report_gap(struct rank *r, uint64_t from_ns, uint64_t now_ns);
/* Reports the ledger, and resets its due time. */
void rank_report_ledger(struct rank *r, uint64_t now_ns);

/* rank_failure.c */
/* Returns true for an orderly end: exit status 0, or an end because of SIGINT. */
bool rank_ended_clean(const struct rank *r, uint64_t now_ns);
/* Reports its end to its job: a disruption if it failed. replaced: its process runs another program
 * now. */
void rank_failed(struct rank *r, uint64_t now_ns, bool replaced);

/* rank_worker.c */
/* A child was forked. */
void rank_worker_born(struct rank *r, uint32_t pid, uint64_t now_ns);
/* Takes SIGNAL_FETCH. When workers were started shortly before, the time since their start is data
 * loading. */
void rank_worker_fetched(struct rank *r, const struct signal *s);
void rank_worker_archive(struct archive *a, struct rank_workers *w);

/* rank_place.c */
/* Sets the location of the parent, for a child without a known location. Returns 0 or -ENOMEM. */
int rank_place_inherit(struct rank *r, const struct rank *parent);
/* Sets rank and world size from the location if the process does not give them. */
void rank_place_apply(struct rank *r);
void rank_place_archive(struct archive *a, struct rank *r);

/* rank_straggler.c */
/* Takes a step for the comparison of waits. */
void rank_straggler_step(struct rank *r, const struct fact_step *fs);
/* Reports that the rank is no longer the straggler. */
void rank_straggler_over(struct rank *r, uint64_t now_ns);
void rank_straggler_archive(struct archive *a, struct straggle_view *v);

/* rank_collective.c */
/* Takes SIGNAL_COLLECTIVE. */
void rank_collective(struct rank *r, const struct signal *s);
/* Takes the making of a communicator: the largest one gives rank and world size if nothing else
 * did. */
void rank_communicator(struct rank *r, const struct signal *s);
/* Reports how many collectives a silent process has entered. called: the process is in a collective
 * that has not returned. */
void rank_collective_stands(struct rank *r, uint64_t now_ns, bool called);
void rank_collective_archive(struct archive *a, struct rank_collectives *c);

/* rank_unsent.c */
/* Calls of this probe were counted instead of sent: figures derived from them are unknown. */
void rank_unsent(struct rank *r, const struct gp_probe *probe, uint64_t hits, uint64_t now_ns);
/* Notes that the probe of collectives was removed: the number entered is unknown from now on. */
void rank_unsent_collectives(struct rank *r);
/* Removes figures from a step, and from the sums of its loop, that are unknown because calls were
 * not sent. */
void rank_unsent_step(struct rank *r, struct rank_loop *lp, struct fact_step *fs);

/* rank_suspend.c */
/* Ends a suspension: the device state was given back, by a call from from_ns to now_ns. */
void rank_resume(struct rank *r, uint64_t from_ns, uint64_t now_ns);
void rank_suspend_tick(struct rank *r, uint64_t now_ns);

/* rank_fault.c */
/* Takes SIGNAL_ERROR. */
void rank_fault_signal(struct rank *r, const struct signal *s);
/* Takes a message of the kernel log about a device. mine: it names this process. */
void rank_fault_kernel(struct rank *r, const struct event *ev, bool mine);
/* Forgets faults before start_ns, where a step began: the process survived them. */
void rank_fault_step(struct rank *r, uint64_t start_ns);
/* Sets the cause of an unclean end to a fault shortly before, if that says more. */
void rank_fault_cause(const struct rank *r, uint64_t now_ns, struct job_cause *why);
void rank_fault_archive(struct archive *a, struct rank_fault *f);

/* rank_hang.c */
/* Takes each signal of the rank, and decides whether it is a sign of life. */
void rank_hang_signal(struct rank *r, const struct signal *s);
/* Takes a record about a blocked thread. */
void rank_hang_seen(struct rank *r, const struct event *ev, const struct gp_probe *probe);
/* Takes the Python stack of a thread. Returns 0 or -ENOMEM. */
int rank_hang_stack(struct rank *r, const struct event *ev);
void rank_hang_free(struct rank_hang *h);
/* Checks for a hang, once a second. */
void rank_hang_tick(struct rank *r, uint64_t now_ns);
/* Ends the current hang; ended: because the process ended. */
void rank_hang_close(struct rank *r, uint64_t now_ns, bool ended);
/* Restarts the silence at now_ns: the process was not observed before. */
void rank_hang_unsure(struct rank *r, uint64_t now_ns);
/* Returns true when a known hang overlaps the interval. */
bool rank_hang_within(const struct rank *r, uint64_t from_ns, uint64_t to_ns);
void rank_hang_view(const struct rank *r, uint64_t now_ns, struct hang_view *ret);
void rank_hang_archive(struct archive *a, struct rank_hang *h);

/* rank_start.c */
/* Takes any signal. Returns true when no other module needs it. */
bool rank_start_signal(struct rank *r, const struct signal *s);
/* Ends the startup: the first step began at at_ns, or the process ended without a step. Call before
 * the ledger gets the step. */
void rank_start_over(struct rank *r, uint64_t at_ns);
void rank_start_archive(struct archive *a, struct rank_start *st);

/* rank_range.c */
/* Takes SIGNAL_RANGE_BEGIN and SIGNAL_RANGE. */
void rank_range_signal(struct rank *r, const struct signal *s);
/* Books the open ranges up to end_ns. Call before the ledger gets a step that ends there. */
void rank_range_step(struct rank *r, uint64_t end_ns);
/* Drops the open ranges: their ends will not be seen. */
void rank_range_close(struct rank *r, uint64_t now_ns);
void rank_range_archive(struct archive *a, struct rank *r);

/* rank_monitor.c */
int rank_monitor(struct rank *r, const struct event *ev); /* 0 or -ENOMEM */
/* Reports events that can no longer become complete; call once a second. */
void rank_monitor_tick(struct rank *r, uint64_t now_ns);
/* Reports all events in progress, as no further records come. */
void rank_monitor_close(struct rank *r);
/* Fills the monitor's part of a snapshot. Returns 0 or -ENOMEM. */
int rank_monitor_view(const struct rank *r, struct rank_view *ret);

#endif
