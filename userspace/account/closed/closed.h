/* SPDX-License-Identifier: Apache-2.0 */
/* closed.h - the rules of the closed semantics: where the time of an instrumented job went.
 *
 * Every microsecond from the job's start to now is in exactly one bucket of
 * model/time/ledger.h, which live jobs use, too. The answer is a function of the records: they are
 * kept, and settled from left to right by a new ledger when somebody asks.
 *
 * Time.  The job starts with its first job_start; without one, with its first record (NO_START).
 * Now is the query's, else the last record's. A job_end counts if nothing comes after it: then the
 * job is over. Else it is stale (STALE_END). Before the first start and after the end nothing is
 * counted. A now before the last record cuts off what is later; what is known from there is used. A
 * time further than CLOSED_LEAP_US from the record before is believed when CLOSED_HELD records in a
 * row agree on it; a first record that stands alone is the one that was wrong. Others are ignored
 * (INSANE), as are negative step numbers and checkpoints of more than that.
 *
 * Runs.  A job_start begins a run (another within a second of it is another host's: WRITERS). A
 * record is of the run in which it came, or of an earlier one where it is older than the run.
 * Within a run, order is that of the records' times. A step number n that the run is past, later in
 * time than all others, is a rewind in place: a run without a start. An exact repeat is none
 * (DUPLICATE), nor what a second host tells of a step within CLOSED_WRITERS_US or half a step of
 * the first (WRITERS). A late step is put in its place (DISORDER), or dropped if there is none.
 * Steps >= n of earlier runs no longer count when a run begins with n: from the instant when n
 * first began to the last sign of life of the run that lost them, all is WASTED, checkpoints and
 * loads included. Where n was not recorded, that instant lies on the line between its neighbours.
 * Where n is beyond the last step, that step was done: it is credited with what the steps of its
 * run took on average, and never with more than the gap. Numbers that are missing inside a run were
 * not logged: a stretch stands for as many steps (GAPS).
 *
 * Disruption.  A run with steps after which another run follows. Failed boots are part of the one
 * that they follow (`starts`). After a job_end it is graceful. RECOVERY: from the last sign of
 * life, or the end of the credited step, to the last job_start before the first step that follows
 * (or, before that, to the last one). In place: from the last sign of training (steps, loads,
 * saves, events) to the first of another kind, or to the step. Boots that fail before the first
 * step of the job interrupt nothing: no disruption, what they did keeps its bucket, from their last
 * sign of life to the next start is RECOVERY. A run whose clock is behind (SKEW) cannot claim time
 * that is settled: what overlaps is the older run's.
 *
 * Phases.  From start to end, inside steps, too. A start without an end (OPEN) is dropped if
 * another start follows; else it lasts as long as its run, or until now, but until the next step at
 * most: what is told of blocks the trainer. Ends without a start are ORPHANS. A checkpoint is
 * [start, start + duration]; several hosts' and places' copies count where they overlap once;
 * without a duration (NULLS) it is not counted; without a start it ends when it was written, if the
 * log says when that was, else it begins at the one instant that the record names. Its end is a
 * sign of life. If custom events overlap, the one begun last has the time. All other time up
 * to a run's first step is PROGRAM_STARTUP, and so is what its first steps take beyond the ideal;
 * the step in flight, and what a step takes beyond max(10 ideal, 1 s), is OTHER.
 *
 * Hang.  Silence inside a run, or at the end of the log, beyond the limit of model/time/hang.h by
 * the p99 of the job's steps (30 min before the third step and while a phase is open), and beyond
 * three ideal steps; as often as a record stands for steps. Silence that a new start ends is
 * RECOVERY, since nobody can say when the run died.
 *
 * Steps.  Their time is that between records, less marked time, divided by how many they stand for.
 * Ideal and deviation are of all that count, at any length; of fewer than 32, those that a run
 * began with are left out of the ideal. A window is what of it the job lived through.
 * DATA_LOADING_ASYNC is 0: a load is told by the thread that trains, so it waits. */
#ifndef ACCOUNT_CLOSED_H
#define ACCOUNT_CLOSED_H

#include "userspace/account/log/job_log.h"
#include "userspace/model/time/ledger.h"

#define CLOSED_LEAP_US	   (30ll * 86400 * 1000000)
#define CLOSED_WRITERS_US  1000000
#define CLOSED_HELD	   3  /* records that must agree before time is believed to have leapt */
#define CLOSED_SEARCH_BACK 16 /* runs among which a late record's is looked for */

/* Kept: runs, the steps that still count (a stack: numbers rise through all runs; a restart pops
 * what it disproves), events as they were told. Everything else is worked out when asked and thrown
 * away. */
struct closed_step {
	int64_t time_us, number;
};

struct closed_event {
	int64_t time_us, duration_us;
	int64_t number; /* of a checkpoint's step */
	uint32_t run, name, seq;
	uint8_t kind;
};

struct closed_sample {
	int64_t time_us;
	uint32_t active, total, available, seq;
};

/* Times and numbers: GOODPUT_UNKNOWN where there is none. */
struct closed_run {
	size_t base;	     /* its first step in `steps`; the next run's is its end */
	int64_t begin_us;    /* its job_start, else its first record */
	int64_t life_us;     /* last sign of life */
	int64_t busy_us;     /* with checkpoints until then: each was told of when it was over */
	int64_t train_us;    /* last one of training */
	int64_t after_us;    /* first one after that which is none of training */
	int64_t end_us;	     /* job_end, if nothing came after it */
	int64_t first, last; /* steps recorded, whether or not they still count */
	int64_t first_us, last_us;
	int64_t waste, waste_us; /* disproved from this step, this instant on */
	int64_t cost_us;	 /* progress of earlier runs that it disproved */
	bool started; /* by a job_start; else it goes on in the process of the run before */
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
	bool events_mixed, samples_mixed; /* not in order of time yet */
	int64_t last_us;		  /* of all records */
	int64_t anchor_us;		  /* of the record before */
	uint64_t accepted;
	struct goodput_record held[CLOSED_HELD];
	unsigned nheld;
	uint64_t warnings[WARNINGS];
};

/* One more place at the end of a vector; NULL: no memory. */
void *closed_grow(void **array, size_t *count, size_t *cap, size_t size);

/* Takes a record of a step. 0 or -ENOMEM. */
int closed_take_step(struct closed *c, const struct goodput_record *r);
/* A run that nobody has started begins at time_us. */
struct closed_run *closed_new_run(struct closed *c, int64_t time_us, bool started);
void closed_touch(struct closed *c, struct closed_run *run, int64_t time_us, bool training);

/* ---- a question ------------------------------------------------------------------------------ */

struct closed_interval {
	int64_t from_us, to_us;
	uint32_t name, seq;
	enum bucket bucket;
};

struct closed_end {	/* how a run's last step that counts ended */
	int64_t at_us;	/* GOODPUT_UNKNOWN: it did not */
	int64_t number; /* done by then */
};

struct closed_work {
	const struct closed *c;
	int64_t start_us, now_us; /* what is answered about */
	int64_t until_us;	  /* what is settled: now, or the last record */
	bool ended;
	struct closed_interval *intervals; /* of all runs, each run's in order */
	size_t nintervals, cap_intervals;
	size_t *first_interval;	    /* by run; one more */
	struct goodput_span *cover; /* their union, by run */
	size_t *first_cover;
	bool *open;		 /* by run: a phase goes on at its end */
	struct closed_end *ends; /* by run */
	size_t *resumed;	 /* by run: the next one with a step; nruns: none */
	uint64_t *work;		 /* step times */
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

/* A stretch between two step records of one run. */
struct closed_stretch {
	size_t run;
	int64_t from_us, to_us, number; /* of its first step */
	uint64_t count;			/* steps that it stands for */
	int64_t net_us;			/* less marked time */
};

/* How many steps run r still has. */
size_t closed_steps_of(const struct closed *c, size_t r);
int64_t closed_run_until(const struct closed_work *w, size_t r); /* no event of it goes on beyond */
int64_t closed_sign_us(const struct closed *c, size_t r);	 /* last sign of life that counts */
/* Events into intervals. */
int closed_pair(struct closed_work *w);
/* The next stretch of run r from its i-th step; false: there is none. *cover: a place in w->cover,
 * which goes along. */
bool closed_stretch(const struct closed_work *w, size_t r, size_t i, size_t *cover,
		    struct closed_stretch *ret);
int closed_ideal(struct closed_work *w);
int closed_settle(struct closed_work *w);
int closed_step_times(struct closed_work *w, struct goodput_answer *ret);
int closed_answers(struct closed_work *w, struct goodput_answer *ret);
/* After the answers: takes the pieces. */
int closed_history(struct closed_work *w, struct goodput_answer *ret);

#endif
