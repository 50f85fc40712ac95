/* SPDX-License-Identifier: Apache-2.0 */
/* closed.h - the rules of the closed semantics: where the time of an instrumented job went.
 *
 * Every microsecond from the job's start to now is in exactly one bucket of model/time/ledger.h,
 * which live jobs use, too. The answer depends only on the records: they are kept, and a new ledger
 * books them in order of time for each question.
 *
 * Time.  The job starts with its first job_start; without one, with its first record (NO_START).
 * Now is the query's instant, otherwise the last record's. A job_end counts if no record comes
 * after it: then the job is over. Otherwise it is stale (STALE_END). Nothing is counted before the
 * first start and after the end. If now is before the last record, later time is cut off, but what
 * later records show is used. A time further than CLOSED_LEAP_US from the previous record is
 * accepted when CLOSED_HELD records in a row agree on it; if the first record of a log stands
 * alone, its time was wrong. Other such records are ignored (INSANE), and so are negative step
 * numbers and checkpoints of more than that.
 *
 * Runs.  A job_start begins a run (another one within a second is that of another host: WRITERS). A
 * record belongs to the current run, or to an earlier one if it is older than the run. Records of a
 * run are sorted by their times. A step number n that the run has passed, later in time than all
 * others, is a rewind in place: a run without a start. An exact repetition is not one (DUPLICATE),
 * nor is the same step from a second host within CLOSED_WRITERS_US or half a step (WRITERS). A late
 * step is inserted at its place (DISORDER), or dropped if there is none. When a run begins with
 * step n, steps >= n of earlier runs no longer count: from the instant when n first began to the
 * last sign of life of the run that lost them all time is WASTED, including checkpoints and loads.
 * If n was not recorded, that instant is interpolated between its neighbours. If n is beyond the
 * last step, the step in flight was done: it gets the average time of its run's steps, and never
 * more than the gap. Numbers that are missing inside a run were not logged: a stretch counts as so
 * many steps (GAPS).
 *
 * Disruption.  A run with steps that is followed by another run. Failed boots are part of the
 * disruption before them (`starts`). After a job_end it is graceful. RECOVERY: from the last sign
 * of life, or the end of the step in flight, to the last job_start before the next step (if there
 * is no step yet, to the last job_start). In place: from the last sign of training (steps, loads,
 * saves, events) to the first other sign, or to the step. Boots that fail before the first step of
 * the job are not disruptions: their time keeps its bucket, and the time from their last sign of
 * life to the next start is RECOVERY. A run whose clock is behind (SKEW) cannot get time that is
 * settled: where they overlap, time belongs to the older run.
 *
 * Phases.  From start to end, also inside steps. A start without an end (OPEN) is dropped if
 * another start follows; otherwise the phase lasts as long as its run, or until now, but at most
 * until the next step, because logged phases block the trainer. Ends without a start are ORPHANS. A
 * checkpoint is [start, start + duration]; copies of several hosts and localities count once where
 * they overlap; without a duration (NULLS) it is not counted; without a start it ends when it was
 * written, if the log gives that time, otherwise it begins at the one instant that the record has.
 * Its end is a sign of life. If custom events overlap, the one begun last gets the time. All other
 * time before a run's first step is PROGRAM_STARTUP, and so is the time of its first steps beyond
 * the ideal; the step in flight, and time of a step beyond max(10 ideal, 1 s), are OTHER.
 *
 * Hang.  Silence inside a run, or at the end of the log, beyond the limit of model/time/hang.h for
 * the p99 of the job's steps (30 min before the third step and while a phase is open), and beyond
 * three ideal steps; multiplied by the number of steps in a record. Silence that a new start ends
 * is RECOVERY, because it is unknown when the run died.
 *
 * Steps.  Their time is the time between records without marked time, divided by the number of
 * steps. Ideal and deviation cover all steps that count, of any length; if there are fewer than 32,
 * the first steps of each run are not used for the ideal. A window covers the part of it in which
 * the job ran. DATA_LOADING_ASYNC is 0: loads are logged by the training thread, so it waits for
 * them. */
#ifndef ACCOUNT_CLOSED_H
#define ACCOUNT_CLOSED_H

#include "userspace/account/log/job_log.h"
#include "userspace/base/grow.h"
#include "userspace/model/time/ledger.h"

#define CLOSED_LEAP_US	   (30ll * 86400 * 1000000)
#define CLOSED_WRITERS_US  1000000
#define CLOSED_HELD	   3  /* records that must agree before a large leap of time is accepted */
#define CLOSED_SEARCH_BACK 16 /* most runs that are searched for the run of a late record */

/* What is kept: runs, the steps that still count (a stack: numbers increase over all runs; a
 * restart removes steps that it disproves), and events as they were logged. Everything else is
 * computed for each question. */
struct closed_step {
	int64_t time_us, number;
};

struct closed_event {
	int64_t time_us, duration_us;
	int64_t number; /* step of a checkpoint */
	uint32_t run, name, seq;
	uint8_t kind;
};

struct closed_sample {
	int64_t time_us;
	uint32_t active, total, available, seq;
};

/* Times and numbers of a run; GOODPUT_UNKNOWN if not known. */
struct closed_run {
	/* index of the run's first step in `steps`; its steps end at the next run's base */
	size_t base;
	int64_t begin_us; /* time of the run's job_start, otherwise of its first record */
	int64_t life_us;  /* last sign of life */
	/* life_us, or a later end of a checkpoint, which is logged when complete */
	int64_t busy_us;
	int64_t train_us;    /* last sign of training */
	int64_t after_us;    /* first other sign of life after train_us */
	int64_t end_us;	     /* time of job_end, if no record came after it */
	int64_t first, last; /* steps recorded, whether or not they still count */
	int64_t first_us, last_us;
	/* the number, and the instant, from which the run's steps are disproved */
	int64_t waste, waste_us;
	int64_t cost_us; /* progress of earlier runs that this run disproved */
	/* the run began with a job_start; otherwise it continues in the process of the previous
	 * run */
	bool started;
};

struct closed {
	const struct goodput_query *query;
	bool (*scale_up)(void *, uint32_t);
	void *ctx;
	uint32_t job;
	struct closed_run *runs;
	struct closed_step *steps;
	struct closed_event *events;
	struct closed_sample *samples;
	struct goodput_record *kept; /* for questions about earlier instants */
	size_t nruns, nsteps, nevents, nsamples, nkept;
	size_t cap_runs, cap_steps, cap_events, cap_samples, cap_kept;
	bool events_mixed, samples_mixed; /* not sorted by time yet */
	int64_t last_us;		  /* latest time of all records */
	int64_t anchor_us;		  /* of the previous record */
	uint64_t accepted;
	struct goodput_record held[CLOSED_HELD];
	unsigned nheld;
	uint64_t warnings[WARNINGS];
};

/* Appends an element to one of the arrays of struct closed or closed_work, and returns it; NULL: no
 * memory. */
#define closed_add(c, name)                                                                        \
	grow_append(&(c)->name, &(c)->n##name, &(c)->cap_##name, sizeof(*(c)->name))

static inline bool closed_is_checkpoint(uint8_t kind)
{
	return kind == GOODPUT_SAVE || kind == GOODPUT_RESTORE || kind == GOODPUT_EMERGENCY_RESTORE;
}

static inline int64_t closed_later_us(int64_t a_us, int64_t b_us)
{
	return a_us > b_us ? a_us : b_us;
}

/* Processes a record of a step. Returns 0 or -ENOMEM. */
int closed_take_step(struct closed *c, const struct goodput_record *r);
/* Begins a run at time_us; started: the record is a job_start. NULL: no memory. */
struct closed_run *closed_new_run(struct closed *c, int64_t time_us, bool started);
void closed_touch(struct closed *c, struct closed_run *run, int64_t time_us, bool training);

/* ---- answering ------------------------------------------------------------------------------- */

struct closed_interval {
	int64_t from_us, to_us;
	uint32_t name, seq;
	enum bucket bucket;
};

struct closed_end {	/* how the last step of a run that counts ended */
	int64_t at_us;	/* GOODPUT_UNKNOWN: the step did not end */
	int64_t number; /* last step that was done at at_us */
};

struct closed_work {
	const struct closed *c;
	int64_t start_us, now_us; /* the time that the answer covers */
	int64_t until_us;	  /* end of the settled time: now_us, or the last record */
	bool ended;
	struct closed_interval *intervals; /* of all runs, sorted within each run */
	size_t nintervals, cap_intervals;
	/* index of each run's first interval; one entry more than runs */
	size_t *first_interval;
	struct goodput_span *cover; /* union of each run's intervals */
	size_t *first_cover;
	bool *open;		 /* by run: a phase is open at the end of the run */
	struct closed_end *ends; /* by run */
	size_t *resumed;	 /* by run: the next run with a step; nruns: none */
	uint64_t *work;		 /* memory for step times */
	size_t nwork;
	int64_t ideal_us, mad_us;
	bool has_ideal;
	struct ledger *ledger;
	struct goodput_piece *pieces;
	size_t npieces, cap_pieces;
	struct disruption *disruptions;
	size_t ndisruptions, cap_disruptions;
	int error;
	uint64_t warnings[WARNINGS];
};

/* The time between two step records of one run. */
struct closed_stretch {
	size_t run;
	int64_t from_us, to_us, number; /* number: of the stretch's first step */
	uint64_t count;			/* number of steps in it */
	int64_t net_us;			/* without marked time */
};

/* Returns the number of steps of run r that still count. */
size_t closed_steps_of(const struct closed *c, size_t r);
/* Returns the index in `steps` after the last step of run r that had begun by at_us. */
size_t closed_steps_until(const struct closed *c, size_t r, int64_t at_us);
/* end of the time in which events of run r count */
int64_t closed_run_until(const struct closed_work *w, size_t r);
/* time of the last sign of life that counts */
int64_t closed_sign_us(const struct closed *c, size_t r);
/* Pairs events into intervals. Returns 0 or -ENOMEM. */
int closed_pair(struct closed_work *w);
/* Gets the stretch of run r that begins at its i-th step; false: no such stretch. *cover: position
 * in w->cover, which advances. */
bool closed_stretch(const struct closed_work *w, size_t r, size_t i, size_t *cover,
		    struct closed_stretch *ret);
int closed_ideal(struct closed_work *w);
int closed_settle(struct closed_work *w);
int closed_step_times(struct closed_work *w, struct goodput_answer *ret);
int closed_answers(struct closed_work *w, struct goodput_answer *ret);
/* Fills the history; call after the answers, because it takes over the pieces. Returns 0 or
 * -ENOMEM. */
int closed_history(struct closed_work *w, struct goodput_answer *ret);

#endif
