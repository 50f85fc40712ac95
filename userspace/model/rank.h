/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - one process: its markers, its steps, its ledger, and the facts that come of them.
 *
 *   rank.c       life: made, identified, fed, ended
 *   rank_loop.c  a finished step: statistics, ledger, FACT_STEP
 *   rank_flow.c  what of a run can be believed
 *   rank_late.c  whether its first steps could be seen
 *   rank_change.c  what is told of a loop that became slow, and fast again
 *   rank_start.c its life before the first step
 *   rank_range.c the job's own ranges
 *   rank_monitor.c  the job's own monitoring
 *   rank_window.c  where its time went of late
 *   rank_fact.c  facts, and the events that people are shown
 *   rank_hang.c  silence, and what is known of its reason
 *   rank_straggler.c  the others wait for it
 *   rank_collective.c  the collectives it has entered
 *   rank_untold.c  what the budget kept from being told
 *   rank_suspend.c  its device's state was taken away
 *   rank_fault.c  errors of its device and communicators
 *   rank_place.c  where it runs
 *   rank_view.c  its part of a snapshot
 *   rank_save.c  its state as bytes
 *
 * A process that never shows a marker costs 3 KiB: the rest is made at the first one, and grows
 * with what the process does. One that trains in one loop has 61 KiB after days of it, its share of
 * a job included (make bench ONLY=memory); one that does whatever it can has under 9 MiB, by the
 * bounds of the parts.
 */
#ifndef MODEL_RANK_H
#define MODEL_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"
#include "userspace/model/anchor.h"
#include "userspace/model/change.h"
#include "userspace/model/device_code.h"
#include "userspace/model/deviation.h"
#include "userspace/model/fact.h"
#include "userspace/model/hang.h"
#include "userspace/model/job.h"
#include "userspace/model/ledger.h"
#include "userspace/model/model_probe.h"
#include "userspace/model/monitor.h"
#include "userspace/model/notice.h"
#include "userspace/model/overhead.h"
#include "userspace/model/phase.h"
#include "userspace/model/range.h"
#include "userspace/model/range_share.h"
#include "userspace/model/rank_range.h"
#include "userspace/model/rank_start.h"
#include "userspace/model/snapshot.h"
#include "userspace/model/step.h"
#include "userspace/model/window.h"

#define RANK_NOTES  16 /* checkpoints and ranges that wait for the steps before them */
#define RANK_DONE   128
#define RANK_COMMS  16 /* communicators of one process that are counted */
#define RANK_FAULTS 16 /* told apart; beyond they are counted */
#define RANK_HANGS  4  /* last ones, for the steps around them */
#define RANK_ROLES  64 /* enum gp_role */
#define RANK_UNTOLD 3  /* rank_untold.c: waits, collectives, copies */

struct rank_env {      /* what all ranks of a model share */
	fact_fn *sink; /* may be NULL */
	void *ctx;
	const struct model_probes *probes; /* the model's */
	struct anchors anchors;
	struct away away; /* by the last of them */
	struct range_rules ranges;
	struct step_config step; /* of processes that show their first marker from here on */
	uint64_t ideal_ns;	 /* the user's; 0: found */
	uint64_t hang_ns;	 /* the user's limit of silence; 0: found */
	uint64_t windows_ns[WINDOWS_MAX]; /* the user's; 0: no more. None: the usual ones */
	uint64_t budget_ppm; /* of a rank's time that probes beyond the marker may cost; 0: no bound
			      */
	struct program_config program;
	char job_uid[JOB_UID_MAX]; /* of jobs that have a name */
	uint64_t ledger_violations;
	uint64_t facts; /* told so far: the number of the last one */
	struct jobs jobs;
	struct notices notices;
};

struct rank_loop {
	struct step_state state; /* as last told */
	struct deviation *time;
	struct change *change;
	struct recent *late;	   /* by the clock */
	uint64_t ideal_ns, mad_ns; /* refreshed now and then */
	uint64_t steps, updates;   /* given out, and what they hold */
	uint64_t last_number, run_step, last_end_ns,
		resume_ns; /* number: over the runs of the job */
	uint32_t tid;
	uint64_t recent_ns[SNAPSHOT_RECENT];
	uint64_t recent; /* ever */
	struct {
		uint64_t number;
		uint64_t from_ns;    /* what is saved from then on has it */
		uint64_t goodput_ns; /* of the job so far, where it is its reference */
	} done[RANK_DONE];	     /* last steps, for what began a while ago */
	uint64_t phase_ns[PHASE_COUNT], host_ns, wait_ns; /* sums, as of fact_step */
	uint32_t phases_known,
		phases_untold; /* untold: not of all its steps, so that the sums are of no use */
	bool device_known, device_untold;
	uint64_t flagged[8];
	uint64_t first_ns; /* end of its first step */
	bool probed_late; /* what finds its steps came so shortly before that some may be missing */
};

struct rank_note { /* a span whose fact is told after the steps before it */
	struct span span;
	uint32_t pid; /* who wrote or read */
	char file[GP_PATH_MAX];
};

struct hang_seen { /* what a record said of the thread that does not get on */
	uint64_t told_ns, since_ns;
	uint32_t tid;
	unsigned role; /* of the call; none: from /proc */
	bool between;  /* ... a communicator's */
	bool counted;  /* ... and counts among the collectives that were entered */
	enum gp_why why;
	char wchan[40], where[120];
};

struct rank_fault {
	uint64_t count[FAULT_COUNT];
	uint64_t told[RANK_FAULTS]; /* hashes of what was: each is told once */
	uint32_t ntold;
	/* The first since the last step; at_ns 0: none. */
	uint64_t at_ns;
	enum fault_kind kind;
	bool weak; /* it happens without an error, too */
	char name[48];
};

struct rank_collectives { /* that it has entered, by communicator in order of first use */
	uint64_t comm[RANK_COMMS], count[RANK_COMMS];
	uint32_t ncomms, last;
	bool many;     /* there are more communicators: which one is meant is not known */
	bool untold;   /* some were not told: how many it entered is not known any more */
	char name[48]; /* probe of the last one */
};

struct rank_hang {
	uint64_t progress_ns;  /* last sign of life */
	uint64_t marked_ns;    /* ... that has a date of its own */
	uint64_t longest_ns;   /* silence that ended by itself */
	uint32_t tid;	       /* the thread that trained last */
	enum signal_kind last; /* what it did last */
	uint32_t compiles;     /* ranges of a compiler that are open */
	char range[48];	       /* opened there last, and still open; "" when not known */
	bool any;
	struct hang_seen call, look;
	uint64_t onset_ns, booked_ns; /* of the hang that goes on; 0: none */
	struct {
		uint64_t from_ns, to_ns;
	} past[RANK_HANGS];
	uint64_t count, total_ns; /* ever; total: of those that are over */
	struct hang_view told;	  /* the last one */
};

struct rank {
	struct rank_env *env;
	uint32_t pid;
	struct gp_process process; /* texts escaped; rank and world size: what is known of them */
	struct gp_place *place;	   /* likewise; NULL: not known */
	bool placed;		   /* ... its own, not its parent's */
	bool place_ranked;	   /* rank and world size are those of its place */
	uint64_t start_ns; /* on CLOCK_MONOTONIC: of its program where that was seen, else of it */
	uint64_t observed_ns;  /* watched since */
	int64_t since_real_ns; /* that instant, UTC, as the clock was when it began to train; 0:
				  unknown */
	uint64_t end_ns;       /* when not alive */
	bool from_start;
	bool fresh; /* born, and has neither run a program nor made a child since */
	bool begun; /* its program's start was seen: what the process was before is another one's */
	bool settled; /* a tick passed: attaching is over */
	bool missed;  /* nobody watched for a while before its first marker */
	bool alive, trainer, target;
	bool self_ranked; /* rank and world size are those that it gave to make a communicator */
	bool accelerated; /* called an accelerator's runtime */
	int status;

	struct marker *marker; /* from the first marker to the end */
	struct step_finder *finder;
	struct phase_finder *phase;
	struct ledger *ledger;
	struct window *window; /* of what the ledger tells */
	uint64_t ledger_start_ns, windows_told_ns;
	struct rank_loop *loops[STEP_LOOPS];
	uint32_t nloops;
	uint64_t seen;		    /* bit per signal_kind */
	uint32_t shown[RANK_ROLES]; /* hash of the probe of this role that was hit last */
	int error;		    /* of the call in progress */

	uint64_t job_key;	    /* of the job it belongs to if it trains */
	struct job *job;	    /* while it is a rank of it */
	uint32_t run;		    /* of that job */
	uint64_t step_base;	    /* steps of the runs before it */
	enum job_standing standing; /* as its job has counted it */

	struct rank_note *notes; /* RANK_NOTES at most */
	uint32_t nnotes, notes_cap;
	uint64_t ledger_told_ns;
	bool ledger_due;

	struct checkpoint_resume resume; /* what it read before its first step */
	uint64_t resume_ns;		 /* ... when that was recognised; 0: not */
	struct {
		uint64_t begin_ns, end_ns, step;
	} saved;	   /* last checkpoint that was told */
	uint64_t wrote_ns; /* began what it wrote last; 0: none since its last step */

	struct rank_start start;
	struct rank_range *ranges; /* open, in order; RANK_RANGES at most */
	uint32_t nranges, ranges_cap;
	struct range_shares *shares; /* from its first range on */
	uint64_t ranges_unsent;	     /* over their bound, or the budget */
	struct monitor *monitor;     /* from its first event on */
	struct rank_hang hang;
	struct rank_fault fault;
	struct straggle_view straggle;
	struct rank_collectives collectives;
	uint64_t untold_ns[RANK_UNTOLD]; /* when a call that blocks was last counted instead of told
					  */
	uint64_t suspended_ns,
		suspended_booked_ns; /* since when, and up to where it is booked; 0: it is not */
	uint64_t checkpoints, restores, save_ns, longest_save_ns;
	uint64_t slow_told_ns, slow_untold; /* slow steps: when one was told, and how many since */
	struct overhead overhead;
	uint64_t hits, lost, disruptions;
	struct gp_signal killed; /* last fatal signal that was sent, and when */
	uint64_t killed_ns;
	bool oom;
	struct event_view events[SNAPSHOT_EVENTS];
	uint64_t nevents; /* ever */
};

struct rank *rank_new(struct rank_env *env, uint32_t pid, uint64_t now_ns, bool from_start);
/* The same process from here on, which runs another program now. NULL: no memory. */
struct rank *rank_next(const struct rank *r, uint64_t now_ns);
void rank_free(struct rank *r); /* NULL is fine */

/* Is this record about the same process (not another one that got its pid)? */
bool rank_is(const struct rank *r, uint64_t start_ns);
/* It shows a marker of training. */
void rank_trains(struct rank *r, uint64_t now_ns);
void rank_identify(struct rank *r, const struct gp_process *p);
/* Probes were attached: what a process that ran before did until then was not observed. */
void rank_attached(struct rank *r, uint64_t now_ns);
/* Records of its probes, ticks, losses, exec. hits: 0 when it is no probe's. 0 or -ENOMEM. */
int rank_feed(struct rank *r, const struct event *ev, const struct gp_probe *probe, uint64_t hits,
	      uint64_t price_ns);
void rank_exit(struct rank *r, const struct event *ev);
/* Made at the first marker, or where a checkpoint shows otherwise. 0 or -ENOMEM. */
int rank_open(struct rank *r);
/* Another program takes its place. */
void rank_replaced(struct rank *r, uint64_t now_ns);
/* Its pid is another process's now: its end was not seen. */
void rank_gone(struct rank *r, uint64_t now_ns);
/* We stop watching: what is known is final. */
void rank_stop(struct rank *r, uint64_t now_ns);
bool rank_shown(const struct rank *r);

/* rank_loop.c */
void rank_step(struct rank *r, const struct step *s);
struct rank_loop *rank_loop(struct rank *r, uint32_t i); /* NULL: no memory */
void rank_states(struct rank *r, uint64_t now_ns);
void rank_ideal(struct rank *r, bool final);
void rank_ledger_checked(struct rank *r);

/* rank_file.c */
int rank_file(struct rank *r, const struct event *ev); /* gp_file and gp_renamed. 0 or -ENOMEM */
/* What was written within the span was written after that step: the checkpoint that it is, or NULL.
 */
const struct checkpoint *rank_files_stepped(struct rank *r, const struct rank_note *n,
					    uint64_t step);
/* A step is known that what was written from from_ns on has. */
void rank_files_step(struct rank *r, uint64_t from_ns, uint64_t number);
/* Last step that had been done by then, of the loop that runs on the thread (of the first one
 * else). */
uint64_t rank_step_at(const struct rank *r, uint32_t tid, uint64_t at_ns);

/* rank_flow.c: the signal goes to the finder; what may be wrong in it for what was not seen does
 * not. 0 or -ENOMEM. */
int rank_find(struct rank *r, const struct signal *s);

/* rank_late.c */
void rank_late_hit(struct rank *r, uint32_t role, uint32_t probe);
/* A step, or what is counted instead: before it is. */
void rank_late_step(struct rank *r, struct rank_loop *lp, const struct step *s);
/* What it makes of the state that the finder tells. */
void rank_late_state(const struct rank_loop *lp, struct step_state *st);

/* rank_change.c */
void rank_change(struct rank *r, struct rank_loop *lp, const struct fact_step *fs);

/* rank_window.c */
int rank_window_open(struct rank *r);	/* the ledger is new. 0 or -ENOMEM */
void rank_window_trace(struct rank *r); /* ledger and window were read from bytes */
/* Into ret[WINDOWS_MAX], zeroed; what there is not stays so. */
void rank_windows(const struct rank *r, uint64_t now_ns, struct window_view *ret);
/* Of so many, as the user wants them. */
const uint64_t *rank_window_lengths(const struct rank_env *env);
void rank_tell_windows(struct rank *r, uint64_t now_ns); /* now and then */

/* rank_fact.c */
void rank_fact(const struct rank *r, struct fact *f,
	       uint64_t mono_ns); /* fills who and when, and tells it */
void rank_span(void *ctx, const struct span *s);
void rank_notes(struct rank *r, uint64_t before_ns); /* tells those that began before */
void rank_tell_gap(struct rank *r, uint64_t from_ns, uint64_t now_ns);
void rank_tell_ledger(struct rank *r, uint64_t now_ns);
void rank_fell(struct rank *r, uint64_t now_ns,
	       bool replaced); /* it ended; replaced: by another program */
void rank_event(struct rank *r, uint64_t mono_ns, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void rank_states_again(struct rank *r, uint64_t now_ns); /* more is known of who it is */

/* rank_place.c */
int rank_place(struct rank *r, const struct gp_place *p); /* as it came. 0 or -ENOMEM */
/* Of a child that nothing else is known of. 0 or -ENOMEM. */
int rank_place_inherit(struct rank *r, const struct rank *parent);
void rank_place_apply(struct rank *r); /* what it says where the process says nothing */
/* What its job is called, whether or not it trains; "": nothing is known. */
const char *rank_job_named(const struct rank *r, const char **ret_uid);
void rank_place_archive(struct archive *a, struct rank *r);

/* rank_straggler.c */
void rank_straggler_step(struct rank *r, const struct fact_step *fs);
void rank_straggler_over(struct rank *r, uint64_t now_ns);
void rank_straggler_archive(struct archive *a, struct straggle_view *v);

/* rank_collective.c */
void rank_collective(struct rank *r, const struct signal *s);
/* It makes a communicator: the largest one says who it is, where nothing else did. */
void rank_communicator(struct rank *r, const struct signal *s);
/* It gets no further. called: it is in a collective that has not returned. */
void rank_collective_stands(struct rank *r, uint64_t now_ns, bool called);
void rank_collective_archive(struct archive *a, struct rank_collectives *c);

/* rank_untold.c: calls of this probe were counted instead of told; its probe was taken from all of
 * them. */
void rank_untold(struct rank *r, const struct gp_probe *probe, uint64_t hits, uint64_t now_ns);
void rank_untold_collectives(struct rank *r);
void rank_untold_step(struct rank *r, struct rank_loop *lp, struct fact_step *fs);

/* rank_suspend.c: another process takes its device's state away, or gives it back: from_ns..now_ns
 * the call.
 */
void rank_suspend(struct rank *r, uint64_t from_ns, uint64_t now_ns);
void rank_resume(struct rank *r, uint64_t from_ns, uint64_t now_ns);
void rank_suspend_tick(struct rank *r, uint64_t now_ns);

/* rank_fault.c */
void rank_fault_signal(struct rank *r, const struct signal *s);
/* The kernel's log speaks of a device: mine: of this process's, as it says. */
void rank_fault_kernel(struct rank *r, const struct event *ev, bool mine);
void rank_fault_step(struct rank *r, uint64_t start_ns); /* a step was begun: it goes on */
/* It ended other than by finishing: why, if what it met just before says more. */
void rank_fault_cause(const struct rank *r, uint64_t now_ns, struct job_cause *why);
void rank_fault_archive(struct archive *a, struct rank_fault *f);

/* rank_hang.c */
void rank_hang_signal(struct rank *r, const struct signal *s);
void rank_hang_seen(struct rank *r, const struct event *ev, const struct gp_probe *probe);
void rank_hang_tick(struct rank *r, uint64_t now_ns);
/* Nothing more comes of the hang that goes on. ended: the process does. */
void rank_hang_close(struct rank *r, uint64_t now_ns, bool ended);
/* Until now_ns it may have done anything: silence is not proved. */
void rank_hang_unsure(struct rank *r, uint64_t now_ns);
bool rank_hang_within(const struct rank *r, uint64_t from_ns, uint64_t to_ns);
/* Silent for so long that somebody should look; *ret_tid: the thread that trained last. */
bool rank_silent(const struct rank *r, uint64_t now_ns, uint32_t *ret_tid, uint64_t *ret_since_ns);
void rank_hang_view(const struct rank *r, uint64_t now_ns, struct hang_view *ret);
void rank_hang_archive(struct archive *a, struct rank_hang *h);

/* rank_view.c */
int rank_view(const struct rank *r, uint64_t now_ns, struct rank_view *ret); /* 0 or -ENOMEM */
/* Step-time statistics and windows, which rank_view() leaves zero. */
void rank_view_figures(const struct rank *r, uint64_t now_ns, struct rank_view *v);

/* rank_save.c */
void rank_archive(struct archive *a, struct rank **r, struct rank_env *env);
void rank_env_archive(struct archive *a, struct rank_env *env); /* all but whom to tell */

#endif
