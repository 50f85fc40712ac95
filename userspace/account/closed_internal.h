/* SPDX-License-Identifier: Apache-2.0 */
/* closed_internal.h - what the closed semantics keep of a log, and how a question is worked out.
 *
 * Kept: runs, the steps that still count (a stack: numbers rise through all runs; a restart pops
 * what it disproves), events as they were told. Everything else is worked out when asked and thrown
 * away. */
#ifndef ACCOUNT_CLOSED_INTERNAL_H
#define ACCOUNT_CLOSED_INTERNAL_H

#include "userspace/account/closed.h"
#include "userspace/model/ledger.h"

#define CLOSED_HELD	 3  /* records that must agree before time is believed to have leapt */
#define CLOSED_LOOK_BACK 16 /* runs among which a late record's is looked for */

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

/* Takes a record whose time can be believed. 0 or -ENOMEM. */
int closed_take(struct closed *c, const struct goodput_record *r);
int closed_take_step(struct closed *c, const struct goodput_record *r);
/* A run that nobody has started begins at time_us. */
struct closed_run *closed_new_run(struct closed *c, int64_t time_us, bool started);
void closed_touch(struct closed *c, struct closed_run *run, int64_t time_us, bool training);

/* ---- a question
 * ---------------------------------------------------------------------------------- */

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
int64_t closed_covered_us(const struct closed_work *w, size_t r, size_t *cover, int64_t from_us,
			  int64_t to_us);
int closed_ideal(struct closed_work *w);
int closed_settle(struct closed_work *w);
int closed_step_times(struct closed_work *w, struct goodput_answer *ret);
int closed_answers(struct closed_work *w, struct goodput_answer *ret);
/* After the answers: takes the pieces. */
int closed_history(struct closed_work *w, struct goodput_answer *ret);

#endif
