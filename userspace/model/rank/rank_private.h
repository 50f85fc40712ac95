/* SPDX-License-Identifier: Apache-2.0 */
/* rank_private.h - struct rank, one observed process: its markers, steps and ledger, and the facts
 * that follow from them. The files of this folder have the functions for:
 *
 *   rank.c            records of the process, and its end
 *   rank_life.c       creating, identifying and freeing the rank
 *   rank_fact.c       sending facts, and events that are shown to users
 *   rank_loop.c       finished steps: statistics, ledger, FACT_STEP
 *   rank_stepped.c    the steps that were finished at some instant
 *   rank_file.c       files that may be checkpoints
 *   rank_flow.c       signals to the step finder, and the probes that are needed for it
 *   rank_late.c       steps that may have been missed
 *   rank_line.c       Python lines that the training thread executes
 *   rank_change.c     slowdowns of a loop, their causes, and recovery
 *   rank_device.c     the accelerator: a lower clock, and errors
 *   rank_examine.c    examinations of the training thread
 *   rank_window.c     time by bucket in windows, such as the last hour
 *   rank_report.c     reporting checkpoints, ranges and the ledger as facts
 *   rank_failure.c    whether the end was a failure, and its cause
 *   rank_worker.c     worker processes of the data loader
 *   rank_input.c      waits for the data loader, and their reasons
 *   rank_place.c      the workload location (pod, container, node)
 *   rank_straggler.c  ranks that other ranks wait for
 *   rank_collective.c the number of collectives that were entered
 *   rank_unsent.c     calls that the kernel side counted instead of sending
 *   rank_suspend.c    suspensions: the device state was taken away
 *   rank_fault.c      errors of the device and of communicators
 *   rank_hang.c       silence of the process, and its reason
 *   rank_view.c       the rank's part of a snapshot
 *   rank_save.c       saving and restoring the rank
 *   rank_start.c      the time before the first step
 *   rank_range.c      named ranges of the job
 *   rank_monitor.c    the job's own monitoring
 *   rank_work.c       operations of a step
 *
 * A process that never shows a marker costs 3 KiB: everything else is allocated at the first one,
 * and grows with what the process does. A rank that trains in one loop takes 63 KiB after days,
 * including its share of a job (make bench ONLY=memory). In addition it needs 7 KiB for resources
 * that it lacked, 12 KiB for its traffic, 9 KiB if it waits for input, 9 KiB for its accelerator,
 * and 21 KiB for its Python lines. The bounds of the parts allow at most 9 MiB, whatever the
 * process does.
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
#include "userspace/model/time/traffic_rate.h"
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

/* Limit of checkpoints and ranges that wait until the steps before them are reported. */
#define RANK_NOTES 16
/* Finished steps are kept to find out which steps a checkpoint contains: the last RANK_DONE steps,
 * and those of the last RANK_DONE_NS (ns), at most RANK_DONE_MAX. */
#define RANK_DONE     128
#define RANK_DONE_MAX 4096
#define RANK_DONE_NS  20000000000ull
/* Limit of communicators of a process for which collectives are counted. */
#define RANK_COMMS 16
/* Limit of different faults of a process that are reported; further ones are only counted. */
#define RANK_FAULTS 16
/* Number of past hangs that are kept, to flag steps with a hang in them. */
#define RANK_HANGS 4
/* Number of last ticks for which the longest step time is kept: a loss of records may be noticed
 * some seconds later. */
#define RANK_SPANS 4
#define RANK_ROLES 64 /* length of arrays with an element for each role (enum gp_role) */
/* number of kinds of calls that rank_unsent.c distinguishes: waits, collectives, copies */
#define RANK_UNSENT 3

struct rank_done { /* a finished step, kept to find the last step that a checkpoint contains */
	uint64_t number;
	uint64_t from_ns; /* a checkpoint that begins at this time or later contains the step */
	/* GOODPUT of the job at the end of the step, if this rank is the job's reference rank */
	uint64_t goodput_ns;
};

/* The causes of a slowdown are found by comparing the last RANK_USUAL_NS with the time before the
 * slowdown: from RANK_USUAL_NS to RANK_ONSET_NS before its onset, because the onset is not known
 * exactly. */
#define RANK_USUAL_NS 60000000000ull
#define RANK_ONSET_NS 1000000000ull

struct rank_slow { /* the present slowdown of a loop; if there is none, the last one */
	/* what the process lacked before the slowdown (a CPU, memory...) */
	struct resource_sums usual;
	/* Lines that the training thread executed before the slowdown. */
	struct lines_sums usual_lines;
	struct device_sums usual_device; /* use of the accelerator before the slowdown */
	struct traffic_sums usual_traffic;
	struct time_causes causes;
	int64_t lost_ns;     /* time lost that was not added to rank.cause_ns yet */
	int64_t all_lost_ns; /* time lost since the slowdown began */
	/* The slowdown was reported: it lasted long enough and cost enough. */
	bool alarm;
	uint64_t alarms; /* number of reported slowdowns */
	/* Number and total time of the slowdowns that ended before they were reported. */
	uint64_t bursts, bursts_ns;
	/* The straggler that this rank waits or waited for: how late it is in each step, its pid,
	 * and its rank number (-1: unknown). late_ns 0: there is none. */
	uint64_t late_ns;
	uint32_t late_pid;
	int late_rank;
};

/* A training loop of the process */
struct rank_loop {
	struct step_state state; /* the state that was reported last */
	struct deviation *time;
	struct change *change;
	struct recent *recent_times; /* step times of the last minute and ten minutes */
	uint64_t ideal_ns, mad_ns;   /* ideal step time and MAD, updated from time to time */
	uint64_t steps, updates;     /* numbers of reported steps, and of the updates in them */
	/* The last step: its number over all runs of the job, its number in this run, and its
	 * end. */
	uint64_t last_number, run_step, last_end_ns, resume_ns;
	uint32_t tid;
	uint64_t recent_ns[SNAPSHOT_RECENT];
	uint64_t recent;	/* number of times added to recent_ns so far */
	struct rank_done *done; /* ring of the last finished steps, see rank_done() */
	uint32_t done_cap;	/* capacity of `done`: 0, or a power of two */
	uint64_t done_first, done_next;
	/* sums over all steps, of the same fields in struct fact_step */
	uint64_t phase_ns[PHASE_COUNT], host_ns, wait_ns;
	/* A bit for each phase. phases_unsent: the phase is unknown in some steps, because calls
	 * were not sent; its sum is then invalid. */
	uint32_t phases_known, phases_unsent;
	bool device_known, device_unsent;
	uint64_t flagged[8];
	uint64_t first_ns; /* end of the loop's first step */
	/* When a loss of records was noticed after the last step; 0: there was no loss. */
	uint64_t hole_ns;
	/* longest time between the ends of two steps, for each of the last ticks */
	uint64_t span_ns[RANK_SPANS];
	/* Some ends of steps may have been lost, so that step numbers may be too low. */
	bool undercounted;
	/* The probe that ends steps was attached so shortly before the first step that earlier
	 * steps may have been missed. */
	bool probed_late;
	/* The present slowdown, or the last one; NULL: there was none, or there was no memory. */
	struct rank_slow *slow;
};

/* A checkpoint or range that waits to be reported until the steps before it are reported. */
struct rank_note {
	struct span span;
	uint32_t pid; /* the process that wrote or read the file */
	char file[GP_PATH_MAX];
};

struct hang_seen { /* a record about the thread that makes no progress */
	uint64_t reported_ns, since_ns;
	uint32_t tid;
	/* Role of the probe whose call is in progress; GP_ROLE_none: the thread was examined in
	 * /proc instead. */
	unsigned role;
	bool between; /* the call is one of a communication library */
	bool counted; /* the call was already counted as an entered collective */
	enum gp_why why;
	char wchan[32], where[104];
};

struct rank_fault {
	uint64_t count[FAULT_COUNT];
	/* hashes of the reported faults, so that each is reported only once */
	uint64_t reported[RANK_FAULTS];
	uint32_t nreported;
	/* The first fault since the last step, which is a possible cause of a failure. at_ns 0:
	 * there was none. */
	uint64_t at_ns;
	enum fault_kind kind;
	bool weak; /* this kind of fault also occurs in normal operation */
	char name[48];
};

/* Number of entered collectives for each communicator, in the order of their first use. */
struct rank_collectives {
	uint64_t comm[RANK_COMMS], count[RANK_COMMS];
	uint32_t ncomms, last;
	/* The process has more than RANK_COMMS communicators, so it is not known which one a call
	 * uses. */
	bool many;
	/* Some collectives were not sent, so the number of entered ones is unknown from then on. */
	bool unsent;
	char name[48]; /* name of the probe that reported the last collective */
};

struct rank_hang {
	uint64_t progress_ns; /* last sign of life */
	/* Last sign of life with an exact time; launches have no exact time. */
	uint64_t marked_ns;
	uint64_t longest_ns;   /* longest silence that ended by itself */
	uint32_t tid;	       /* the training thread: the thread that trained last */
	enum signal_kind last; /* last signal of the training thread */
	/* Number of compiler ranges that are open on the training thread. */
	uint32_t compiles;
	/* Name of the range that the training thread opened last and has not closed, or of a
	 * checkpoint file that is being saved. "": unknown. */
	char range[48];
	bool any;
	struct hang_seen call, sample;
	/* Start of the current hang, and the end of the part that is booked already. 0: no hang. */
	uint64_t onset_ns, booked_ns;
	struct {
		uint64_t from_ns, to_ns;
	} past[RANK_HANGS];
	uint64_t count, total_ns; /* number of hangs; total time of those that have ended */
	/* The current hang or the last one, as reported; NULL: there was no hang. */
	struct hang_view *reported;
	/* Python stack of the training thread (GP_STACK_MAX bytes); NULL: no stack was read. */
	char *stack;
	uint64_t stack_ns; /* when the stack was read; 0: the stack is not valid any more */
	/* Claim of NCCL's RAS service (GP_RAS_MAX bytes). "": none since the last sign of life;
	 * NULL: there was never one. */
	char *claim;
};

#define RANK_WORKERS 32
/* Child processes started since the last batch that are still running. */
struct rank_workers {
	uint64_t last_ns; /* start of the last child */
	/* Number of children; `kept` has an entry for at most RANK_WORKERS of them. */
	uint32_t count;
	struct rank_worker {
		uint64_t born_ns;
		uint32_t pid; /* 0: a child of which only the start is known */
	} * kept;	      /* NULL: there were no children, or no memory */
};

/* Limit of named ranges with a bucket that are open at the same time (rank_range.c). The time of
 * further ranges is not booked to their bucket. */
#define RANK_RANGES 16

struct rank_range {
	uint32_t tid;
	uint64_t begin_ns, booked_ns;
	enum bucket bucket;
	uint32_t type;
	char name[GP_NAME_MAX];
};

/* Limit of compilations before the first step whose time is kept. The time of further ones is
 * booked as TRAINING_PREP. */
#define START_COMPILES 32

/* The life of a process before its first step (rank_start.c). */
struct rank_start {
	uint64_t ready_ns; /* start of TRAINING_PREP; 0: it has not begun */
	/* When the process began to make a process group; 0: it is not making one. */
	uint64_t group_ns;
	uint32_t group_tid;
	/* compiling: number of compiler ranges that are open on thread compile_tid */
	uint32_t compile_tid, compiling;
	uint64_t compile_ns; /* start of the outermost open compiler range */
	uint32_t ncompiles, compiles_cap;
	bool over; /* the first step has begun */
	struct start_compile {
		uint64_t from_ns, to_ns;
		/* Compilations in order of time, at most START_COMPILES; freed when the first step
		 * has begun. */
	} * compiles;
	/* When the first process group or communicator was made, and when the first batch was
	 * waited for; 0: not seen. Not saved, because a restored rank has already reported its
	 * startup. */
	uint64_t group_from_ns, group_to_ns, loader_from_ns, loader_to_ns;
};

struct rank {
	struct job_member member;
	/* The location was received for this process; false: it was inherited from the parent. */
	bool placed;
	bool place_ranked; /* rank and world size come from the location */
	uint64_t end_ns;   /* end of the process; valid when not alive */
	bool from_start;
	/* The process was forked, and since then has neither executed another program nor
	 * forked. */
	bool fresh;
	bool settled; /* a tick has passed since the start, so that all probes are attached */
	bool missed;  /* the process was not observed for a while before its first marker */
	bool alive, trainer, target;
	/* Rank and world size come from the process itself, which gave them when it made a
	 * communicator. */
	bool self_ranked;
	int status;

	/* Allocated at the first marker, and freed when the process ends. */
	struct marker *marker;
	struct step_finder *finder;
	struct phase_finder *phase;
	uint64_t ledger_start_ns, windows_reported_ns;
	struct rank_loop *loops[STEP_LOOPS];
	uint32_t nloops;
	uint32_t shown[RANK_ROLES]; /* for each role, the hash of the probe that was hit last */
	/* Error that occurred in the current call of a function of rank.h, which returns it at its
	 * end. */
	int error;

	struct rank_note *notes; /* at most RANK_NOTES */
	uint32_t nnotes, notes_cap;
	uint64_t ledger_reported_ns;
	bool ledger_due;

	/* When the process read the checkpoint in member.resume; 0: none was recognised. */
	uint64_t resume_ns;
	struct {
		uint64_t begin_ns, end_ns, step;
		uint32_t tid;
		bool estimated;
	} saved; /* the checkpoint that was reported last */
	/* Start of the last write to a file that may be a checkpoint; 0: there was none since the
	 * last step. */
	uint64_t wrote_ns;

	struct rank_start start;
	/* Open named ranges that have a bucket, in the order of their opening; at most
	 * RANK_RANGES. */
	struct rank_range *ranges;
	uint32_t nranges, ranges_cap;
	struct range_shares *shares; /* NULL until the first named range */
	/* Number of named ranges that were not sent, because they exceeded their limit or the
	 * overhead budget removed their probe. */
	uint64_t ranges_unsent;
	struct monitor *monitor;   /* NULL until the first event of the job's own monitoring */
	struct resource *resource; /* NULL until the first record of resources */
	struct input_gate input_gate;
	/* NULL until the first record about the data loader's workers. */
	struct input_waits *input;
	struct rank_lines *lines;     /* NULL until the first sample of a Python line */
	struct traffic_rate *traffic; /* NULL until the first record of what it reads */
	/* NULL until the first record about the process's accelerator. */
	struct device_clock *device;
	/* The present measurement of operations (NULL: none), and when the next one may begin. */
	struct rank_work *work;
	uint64_t work_again_ns;
	/* The last examination of the training thread; NULL: there was none. */
	struct examination *examination;
	/* The last examination of the data loader worker that was blocked longest; NULL: there was
	 * none. */
	struct examination *worker_examination;
	struct rank_long *long_steps; /* NULL: there was none */
	struct rank_badput *badput;   /* NULL: there was no span outside of steps */
	struct rank_hang hang;
	struct rank_fault fault;
	struct straggle_view straggle;
	struct rank_collectives collectives;
	/* When calls of each kind were last counted by the kernel side instead of sent. */
	uint64_t unsent_ns[RANK_UNSENT];
	/* Start of the current suspension (rank_suspend.c), and the end of the part that is booked
	 * already. 0: not suspended. */
	uint64_t suspended_ns, suspended_booked_ns;
	uint64_t checkpoints, restores, save_ns, longest_save_ns;
	struct rank_workers workers;
	uint64_t slow_reported_ns,
		/* when a slow step was last reported as an event; number of slow steps since
		 * then */
		slow_unreported;
	struct overhead overhead;
	uint64_t hits, lost, disruptions;
	uint64_t cause_ns[TIME_CAUSE_COUNT]; /* time lost to slowdowns, by cause */
	/* The last fatal signal that was sent to the process, and when. */
	struct gp_signal killed;
	uint64_t killed_ns;
	/* When SIGINT was last sent to the process or an ancestor; 0: never. */
	uint64_t interrupted_ns;
	bool oom;
	struct event_view events[SNAPSHOT_EVENTS];
	uint64_t nevents; /* number of events added so far */
};

/* Returns the rank that the job member is part of. */
static inline struct rank *rank_of(struct job_member *m)
{
	return (struct rank *)((char *)m - offsetof(struct rank, member));
}

/* rank_life.c */
/* Allocates the parts of a training rank. Call at the first marker, or when a file proves to be a
 * checkpoint. Returns 0 or -ENOMEM. */
int rank_open(struct rank *r);
/* Frees the parts of a rank that are needed only while its process is alive. */
void rank_drop_finders(struct rank *r);

/* rank_fact.c */
/* Sets the rank and the time of the fact, and sends the fact. */
void rank_fact(const struct rank *r, struct fact *f, uint64_t mono_ns);
/* Logs an error of gp-bpf if the buckets of the rank's ledger do not add up to the elapsed time. */
void rank_ledger_checked(struct rank *r);

/* rank_loop.c */
/* Marks the process as training, at its first marker. */
void rank_trains(struct rank *r, uint64_t now_ns);
/* Handles a finished step. */
void rank_step(struct rank *r, const struct step *s);
/* Returns loop i, which is created if it does not exist; NULL when there is no memory. */
struct rank_loop *rank_loop(struct rank *r, uint32_t i);
/* Returns a finished step of the loop, or NULL if the step is not kept any more. back: number of
 * steps after it; 0: the last step. */
static inline const struct rank_done *rank_done(const struct rank_loop *lp, uint64_t back)
{
	if (back >= lp->done_next - lp->done_first)
		return NULL;
	return &lp->done[(lp->done_next - 1 - back) & (lp->done_cap - 1)];
}
/* Reports the states of those loops of the rank whose state has changed. */
void rank_states(struct rank *r, uint64_t now_ns);
/* Computes the ideal step time again and passes it to the ledger. final: no more steps follow. */
void rank_ideal(struct rank *r, bool final);

/* rank_stepped.c */
/* Returns true if executions or cycles of the rank are counted without any sign that it trains. Its
 * time after the first of them is then OTHER. */
bool rank_counts(const struct rank *r);
/* Finds the checkpoint that note n is about; NULL: it is not known. *ret_step: the last step in the
 * checkpoint; *ret_estimated: this step is not certain. */
const struct checkpoint *rank_files_stepped(struct rank *r, const struct rank_note *n,
					    uint64_t *ret_step, bool *ret_estimated);
/* Records that a complete checkpoint contains all steps up to `step`. */
void rank_saved(struct rank *r, uint64_t step);
/* Records that step `number` is contained in checkpoints that begin at from_ns or later. */
void rank_files_step(struct rank *r, uint64_t from_ns, uint64_t number);
/* Returns the reference rank of the job; NULL if this rank is the reference rank, or the job has
 * none. */
struct rank *rank_reference(const struct rank *r);
/* Returns the number of the last step that was finished at at_ns, in the loop on thread tid, or in
 * the first loop if the thread has no loop. *ret_known (may be NULL): false if this step is not
 * kept any more, so that the result is only an upper bound. */
uint64_t rank_step_at(const struct rank *r, uint32_t tid, uint64_t at_ns, bool *ret_known);

/* rank_file.c */
/* Handles records about files (gp_file) and renames (gp_renamed). Returns 0 or -ENOMEM. */
int rank_file(struct rank *r, const struct event *ev);

/* rank_work.c */
struct rank_work;
void rank_work_free(struct rank_work *w); /* NULL is allowed */
void rank_work_archive(struct archive *a, struct rank *r);
/* Takes an operator that was called. Returns 0 or -ENOMEM. */
int rank_work_operation(struct rank *r, const struct event *ev);
/* Notes that calls of an operator were not sent. probe: the hash of its row. */
void rank_work_unsent(struct rank *r, uint32_t probe);
/* Ends a measurement, as its probes were detached. Steps that were measured until then count. */
void rank_work_stop(struct rank *r, uint64_t now_ns);
/* Takes a finished step of the first loop. */
void rank_work_step(struct rank *r, const struct step *s);
/* The outermost backward pass of a thread begins. */
void rank_work_backward(struct rank *r, uint32_t tid, uint64_t ts_ns);
void rank_work_tick(struct rank *r, uint64_t now_ns);
/* Returns true while the probes of operators are needed. */
bool rank_work_wants(const struct rank *r);

/* rank_flow.c */
/* Passes a signal to the step finder, unless the signal is unreliable because probes are missing.
 * Returns 0 or -ENOMEM. */
int rank_find(struct rank *r, const struct signal *s);

/* rank_late.c */
/* Records which probe of this role was hit last. */
void rank_late_hit(struct rank *r, uint32_t role, uint32_t probe);
/* Checks whether steps before this step, execution or cycle may have been missed. Call before s is
 * counted. */
void rank_late_step(struct rank *r, struct rank_loop *lp, const struct step *s);
/* Flags the step if its number is not certain. Call before s is counted. */
void rank_late_flag(struct rank_loop *lp, struct step *s);
/* Lowers the confidence in the state of a loop if steps may be missing, because a probe was
 * attached late or records were lost. */
void rank_late_state(const struct rank_loop *lp, struct step_state *st);

/* Records that a loss of records was noticed at now_ns. */
void rank_late_hole(struct rank *r, uint64_t now_ns);
void rank_late_tick(struct rank *r);

/* rank_change.c */
/* Handles records of the resources that a thread used (gp_usage) or its control group lacked
 * (gp_pressure). Returns 0 or -ENOMEM. */
int rank_resource(struct rank *r, const struct event *ev);
/* Sums what the training thread lacked (CPU, memory...) in the last minute, counted from its first
 * step. covered_ns is 0 if this time is too short, or a loop is slow. */
void rank_lacked(const struct rank *r, uint64_t now_ns, struct resource_sums *ret);
/* Handles a finished step. Reports if the loop has become slower for a longer time, or has
 * recovered. */
void rank_change(struct rank *r, struct rank_loop *lp, const struct fact_step *fs);
/* Examines the causes of current slowdowns again. Call once a second. */
void rank_change_tick(struct rank *r, uint64_t now_ns);

/* rank_input.c */
/* Handles a record of what the workers of the data loader used. Returns 0 or -ENOMEM. */
int rank_input(struct rank *r, const struct event *ev);
/* Handles a wait for input that has ended. */
void rank_input_wait(struct rank *r, uint64_t from_ns, uint64_t to_ns);
/* If the data loader is a cause of the slowdown *v, appends to out what its workers did during the
 * slowdown. */
void rank_input_evidence(const struct rank *r, const struct change_view *v,
			 const struct time_causes *causes, uint64_t now_ns, char *out, size_t len);

/* As rank_thread(). */
static inline uint32_t rank_looked_at(const struct rank *r)
{
	return r->trainer || !r->target ? r->hang.tid : r->member.pid;
}

/* ---- rank_badput.c ---- */
struct rank_badput;
/* Handles a span that the ledger settled or moved. */
void rank_badput_span(struct rank *r, const struct ledger_span *s);
/* Examines the spans that ended some seconds ago. */
void rank_badput_tick(struct rank *r, uint64_t now_ns);
/* Fills the first elements of ret, which is 0 before. l: the time of the rank. */
void rank_badput_view(const struct rank *r, const struct ledger_view *l,
		      struct badput_view ret[RANK_BADPUT]);
void rank_badput_archive(struct archive *a, struct rank_badput **at);
void rank_badput_free(struct rank_badput *b); /* NULL is allowed */

/* rank_line.c */
struct rank_lines;
/* Handles a sample of the Python line of a thread. Returns 0 or -ENOMEM. */
int rank_line(struct rank *r, const struct event *ev);
void rank_lines_free(struct rank_lines *ls); /* NULL is allowed */

/* Returns true if a loop is slower than usual and causes were found for that, or at least looked
 * for: right after the beginning of the watch, too little is known of the time before. */
static inline bool rank_slow_examined(const struct rank_loop *lp)
{
	return change_before_ns(lp->change) && lp->slow && lp->slow->causes.lost_ns;
}

/* ---- rank_long.c ---- */
/* Tag of the samples in long steps; rank_badput.c uses those up to RANK_BADPUT. */
#define RANK_LONG_TAG (RANK_BADPUT + 1)
/* Notes a step of ns if it is long. Call it before the step is added to lp->time. */
void rank_long_step(struct rank *r, const struct rank_loop *lp, const struct step *s, uint64_t ns);
/* Finds the causes of the long steps that ended some seconds ago. */
void rank_long_tick(struct rank *r, uint64_t now_ns);
/* Forgets the long steps since onset_ns whose causes are not known yet: they are part of a
 * slowdown. */
void rank_long_drop(struct rank *r, uint64_t onset_ns);
void rank_long_view(const struct rank *r, struct long_steps_view *ret);
void rank_long_archive(struct archive *a, struct rank_long **at);
void rank_long_free(struct rank_long *l); /* NULL is allowed */
/* Handles a finished step. */
void rank_line_step(struct rank *r, const struct fact_step *fs);
/* Sums the samples of Python lines in the minute before a slowdown. */
void rank_line_usual(const struct rank *r, uint64_t onset_ns, struct lines_sums *ret);
/* Adds to the causes of a slowdown the part that Python lines explain. Returns by how much the
 * waits in each step have grown for certain (ns), other than for input and the interpreter's lock.
 */
uint64_t rank_line_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
			  uint64_t now_ns);
/* Sets the fields of *ret that come from samples of the Python stack: else_share to saved_at. */
void rank_line_view(const struct rank *r, uint64_t now_ns, struct rank_view *ret);
/* The same as lines_tag() and lines_tagged(). */
void rank_line_tag(struct rank *r, uint64_t from_ns, uint64_t to_ns, uint8_t tag);
void rank_line_tagged(const struct rank *r, uint8_t tag, struct lines_tagged *ret);
void rank_lines_archive(struct archive *a, struct rank_lines **ls);

/* rank_device.c */
/* Handles a record of figures of the process's accelerator. Returns 0 or -ENOMEM. */
int rank_device(struct rank *r, const struct event *ev);
/* Handles a finished step. */
void rank_device_step(struct rank *r, const struct fact_step *fs);
/* Sums the accelerator's figures in the minute before a slowdown. */
void rank_device_usual(const struct rank *r, uint64_t onset_ns, struct device_sums *ret);
/* Adds to the causes of a slowdown the part that the accelerator explains. */
void rank_device_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
			uint64_t now_ns);
/* If the accelerator is a cause of the slowdown *v, appends its figures during the slowdown to
 * out. */
void rank_device_evidence(const struct rank *r, const struct rank_slow *slow,
			  const struct change_view *v, uint64_t now_ns, char *out, size_t len);
void rank_device_view(const struct rank *r, struct device_view *ret);

/* rank_figures.c */
/* Handles a record of what the process and its loader workers read, and of failures of its network.
 * Returns 0 or -ENOMEM. */
int rank_traffic(struct rank *r, const struct event *ev);
/* Sums the traffic in the minute before a slowdown or a silence that began at onset_ns. */
void rank_traffic_usual(const struct rank *r, uint64_t onset_ns, struct traffic_sums *ret);
/* Sets slow->causes.figures: figures that support the causes of a slowdown (bytes read, TCP
 * segments sent again...). Call after all causes were found. */
void rank_figures_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
			 uint64_t now_ns);
/* Appends failures of the network during a silence that began at onset_ns to out, followed by
 * "; ". */
void rank_figures_silent(const struct rank *r, uint64_t onset_ns, uint64_t now_ns, char *out,
			 size_t len);
/* Sums the traffic in the last minute. */
void rank_figures_view(const struct rank *r, uint64_t now_ns, struct traffic_sums *ret);

/* rank_window.c */
/* Creates the windows (such as the last hour) for a new ledger. Returns 0 or -ENOMEM. */
int rank_window_open(struct rank *r);
/* Connects a restored ledger to the restored windows, to which it reports its time. */
void rank_window_trace(struct rank *r);
/* Fills ret[WINDOWS_MAX], which must be zeroed. Unused windows stay zero. */
void rank_windows(const struct rank *r, uint64_t now_ns, struct window_view *ret);
/* Reports the windows as facts if their interval has passed. */
void rank_report_windows(struct rank *r, uint64_t now_ns);

/* rank_report.c */
/* Books a span (checkpoint, evaluation...) that the phase finder has found. ctx: the rank. */
void rank_span(void *ctx, const struct span *s);
/* Reports the checkpoints and ranges in r->notes that began before before_ns: they wait there until
 * the steps before them are reported. */
void rank_notes(struct rank *r, uint64_t before_ns);
/* Reports that the process was not observed from from_ns to now_ns. */
void rank_report_gap(struct rank *r, uint64_t from_ns, uint64_t now_ns);
/* Reports the ledger as a fact. The interval until the next report begins. */
void rank_report_ledger(struct rank *r, uint64_t now_ns);

/* rank_failure.c */
/* Returns true if the end of the process is not a failure: exit status 0, or SIGINT. */
bool rank_ended_clean(const struct rank *r, uint64_t now_ns);
/* Reports the end of the rank to its job. If the rank failed, this begins a disruption. replaced:
 * the process continues with another program. */
void rank_failed(struct rank *r, uint64_t now_ns, bool replaced);

/* rank_worker.c */
/* A child was forked. */
void rank_worker_born(struct rank *r, uint32_t pid, uint64_t now_ns);
/* Handles SIGNAL_FETCH: a batch was loaded. If workers were started shortly before, books the time
 * since their start as data loading. */
void rank_worker_fetched(struct rank *r, const struct signal *s);
void rank_worker_archive(struct archive *a, struct rank_workers *w);

/* rank_place.c */
/* Gives a child whose location is unknown the location of its parent. Returns 0 or -ENOMEM. */
int rank_place_inherit(struct rank *r, const struct rank *parent);
/* Sets rank and world size from the location, unless the process itself gave them. */
void rank_place_apply(struct rank *r);
void rank_place_archive(struct archive *a, struct rank *r);

/* rank_straggler.c */
/* Passes a step to the comparison of the ranks' waits (straggler.h). */
void rank_straggler_step(struct rank *r, const struct fact_step *fs);
/* Adds to the causes of a slowdown the waits for a straggler, which is another rank on this
 * node. */
void rank_straggler_causes(const struct rank *r, struct rank_slow *slow,
			   const struct change_view *v);
/* If a straggler is a cause of the slowdown, appends to out which rank it is, and by how much it is
 * late. */
void rank_straggler_evidence(const struct rank_slow *slow, char *out, size_t len);
/* Reports that the rank is not the straggler any more. */
void rank_straggler_over(struct rank *r, uint64_t now_ns);
void rank_straggler_archive(struct archive *a, struct straggle_view *v);

/* rank_collective.c */
/* Counts a collective (SIGNAL_COLLECTIVE). */
void rank_collective(struct rank *r, const struct signal *s);
/* Handles the creation of a communicator. Its rank and size become those of the process, unless
 * another source gave them. Of several communicators, the largest decides. */
void rank_communicator(struct rank *r, const struct signal *s);
/* Reports to the job how many collectives a silent process has entered. called: the process has
 * called one more collective and is still inside it. */
void rank_collective_stands(struct rank *r, uint64_t now_ns, bool called);
/* Returns true if the process works together with other ranks. */
bool rank_is_distributed(const struct rank *r);
void rank_collective_archive(struct archive *a, struct rank_collectives *c);

/* rank_unsent.c */
/* Records that calls of this probe were counted by the kernel side instead of sent. Figures derived
 * from such calls are unknown for a while. */
void rank_unsent(struct rank *r, uint32_t hash, const struct gp_probe *probe, uint64_t hits,
		 uint64_t now_ns);
/* Records that the probe of collectives was removed. The number of entered collectives is unknown
 * from now on. */
void rank_unsent_collectives(struct rank *r);
/* Marks figures of a step and the sums of its loop as unknown, if they need calls that were not
 * sent. */
void rank_unsent_step(struct rank *r, struct rank_loop *lp, struct fact_step *fs);

/* rank_suspend.c */
/* Ends a suspension: a call that lasted from from_ns to now_ns restored the device state. */
void rank_resume(struct rank *r, uint64_t from_ns, uint64_t now_ns);
void rank_suspend_tick(struct rank *r, uint64_t now_ns);

/* rank_fault.c */
/* Handles a SIGNAL_ERROR. */
void rank_fault_signal(struct rank *r, const struct signal *s);
/* Handles a message in the kernel's log about a device fault. mine: the message names this
 * process. */
void rank_fault_kernel(struct rank *r, const struct event *ev, bool mine);
/* Handles new uncorrected memory errors of the process's accelerator. */
void rank_fault_device(struct rank *r, const struct device_view *d, uint64_t errors,
		       uint64_t now_ns);
/* Drops faults that were stored before start_ns, when a step began: they did not make the process
 * fail. */
void rank_fault_step(struct rank *r, uint64_t start_ns);
/* Sets the cause of a failure to a fault that occurred shortly before, if the fault explains more
 * than *why does. */
void rank_fault_cause(const struct rank *r, uint64_t now_ns, struct job_cause *why);
void rank_fault_archive(struct archive *a, struct rank_fault *f);

/* rank_hang.c */
/* Call for each signal of the rank. Decides whether the signal is a sign of life. */
void rank_hang_signal(struct rank *r, const struct signal *s);
/* Handles a record about a blocked thread, found in a call or in /proc. */
void rank_hang_seen(struct rank *r, const struct event *ev, const struct gp_probe *probe);
/* Handles a record with the Python stack of a thread. Returns 0 or -ENOMEM. */
int rank_hang_stack(struct rank *r, const struct event *ev);
/* Handles a record with a claim of NCCL's RAS service about a hang. Returns 0 or -ENOMEM. */
int rank_hang_claim(struct rank *r, const struct event *ev);
void rank_hang_free(struct rank_hang *h);
/* Checks whether the process hangs. Call once a second. */
void rank_hang_tick(struct rank *r, uint64_t now_ns);
/* Ends the current hang, if there is one. ended: the process has ended. */
void rank_hang_close(struct rank *r, uint64_t now_ns, bool ended);
/* Restarts the measurement of the process's silence at now_ns, because the process was not observed
 * before now_ns. */
void rank_hang_unsure(struct rank *r, uint64_t now_ns);
/* Returns true when a hang overlaps the interval. */
bool rank_hang_within(const struct rank *r, uint64_t from_ns, uint64_t to_ns);
void rank_hang_view(const struct rank *r, uint64_t now_ns, struct hang_view *ret);
void rank_hang_archive(struct archive *a, struct rank_hang *h);

/* rank_examine.c */
/* Handles a gp_examined or gp_waited record. Returns 0 or -ENOMEM. */
int rank_examined(struct rank *r, const struct event *ev);
/* Returns the last examination if it was possible and lies completely within [from_ns, to_ns];
 * otherwise NULL. */
static inline const struct examination *rank_examination(const struct rank *r, uint64_t from_ns,
							 uint64_t to_ns)
{
	const struct examination *e = r->examination;

	return e && !e->error && e->from_ns >= from_ns && e->to_ns <= to_ns ? e : NULL;
}

/* rank_start.c */
/* Call for each signal of the rank. Returns true if no other module needs the signal. */
bool rank_start_signal(struct rank *r, const struct signal *s);
/* Ends the startup of the process: the first step began at at_ns, or the process ended without a
 * step. Call before the step is passed to the ledger. */
void rank_start_over(struct rank *r, uint64_t at_ns);
void rank_start_archive(struct archive *a, struct rank_start *st);

/* rank_range.c */
/* Handles the begin and end of a named range (SIGNAL_RANGE_BEGIN, SIGNAL_RANGE). */
void rank_range_signal(struct rank *r, const struct signal *s);
/* Books the time of open ranges up to end_ns. Call before a step that ends at end_ns is passed to
 * the ledger. */
void rank_range_step(struct rank *r, uint64_t end_ns);
/* Drops the open ranges. Call when their ends will not be seen. */
void rank_range_close(struct rank *r, uint64_t now_ns);
void rank_range_archive(struct archive *a, struct rank *r);

/* rank_monitor.c */
int rank_monitor(struct rank *r, const struct event *ev); /* 0 or -ENOMEM */
/* Reports events of the job's monitoring whose missing records did not arrive in time. Call once a
 * second. */
void rank_monitor_tick(struct rank *r, uint64_t now_ns);
/* Reports all incomplete events of the job's monitoring. Call when no further records follow. */
void rank_monitor_close(struct rank *r);
/* Copies the figures of the job's monitoring to *ret. Returns 0 or -ENOMEM. */
int rank_monitor_view(const struct rank *r, struct rank_view *ret);

#endif
