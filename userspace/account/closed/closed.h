/* SPDX-License-Identifier: Apache-2.0 */
/* closed.h - the rules of `gp-bpf account --semantics closed`: where the time of an instrumented
 * job went.
 *
 * Every microsecond from the job's start to now is in exactly one bucket of model/time/ledger.h,
 * which live jobs use, too. The answer depends only on the records: they are kept, and for each
 * question a new ledger processes them in order of time. Names in capitals are warnings, which
 * count the cases (answer.h).
 *
 * Time. The job starts with its first job_start, or, without one, with its first record
 * (NO_START). "Now" is the query's instant, or the time of the last record. A job_end ends the
 * job if no record follows; otherwise it is ignored (STALE_END). Time before the first start or
 * after the end is not counted. If now is before the last record, later time is cut off, but
 * facts from later records are used. If a record is further than CLOSED_LEAP_US from the
 * previous one, it is only accepted once CLOSED_HELD records in a row agree on the new time; if
 * the first record of a log is not near any other, its time was wrong. Other such records are
 * ignored (INSANE), and so are negative step numbers and checkpoints that lasted longer than
 * CLOSED_LEAP_US.
 *
 * Runs. A job_start begins a run; another job_start within a second is from another host
 * (WRITERS). A record belongs to the current run, or to an earlier one if it is older than the
 * current run. The records of a run are sorted by time. If a run logs a step number that it has
 * passed, at a later time than all others, it has gone back to that step: this begins a run
 * without a job_start (a rewind in place). This does not apply to an exact repetition
 * (DUPLICATE), nor to the same step from a second host within CLOSED_WRITERS_US or half a step
 * (WRITERS). A step that is logged late is inserted where its number belongs (DISORDER), or
 * dropped if its time does not fit there. When a run begins with step n, steps >= n of earlier
 * runs are lost: in these runs, all time from the beginning of step n to the last sign of life
 * is WASTED, including checkpoints and loads. If step n was not logged, its beginning is
 * interpolated between its neighbours. If n is beyond the last step of the earlier run, the step
 * in progress at its end was completed: it gets the average step time of its run, at most the
 * time until the next run. If step numbers are missing within a run, the steps were not logged:
 * the time between two records is divided among them (GAPS).
 *
 * Disruptions. A disruption is a run with steps that is followed by another run. Starts that
 * failed before a step are part of the disruption before them (`starts`). After a job_end the
 * disruption is graceful. RECOVERY lasts from the last sign of life, or the end of the step in
 * progress, to the last job_start before the next step, or, if there is no step yet, to the last
 * job_start. For a rewind in place, it lasts from the last sign of training (steps, loads,
 * saves, events) to the first other sign of life, or to the step. Starts that fail before the
 * first step of the job are not disruptions: their time stays in its buckets, and the time from
 * their last sign of life to the next start is RECOVERY. If the clock of a run is behind that of
 * the previous run (SKEW), time in which they overlap belongs to the older run.
 *
 * Phases. A phase lasts from its start to its end, also within a step. A start without an end
 * (OPEN) is dropped if the phase starts again; otherwise the phase lasts as long as its run, or
 * until now, but at most until the next step, because logged phases block the trainer. Ends
 * without a start are ignored (ORPHANS). A checkpoint lasts from its start for its duration;
 * copies of several hosts and localities count once where they overlap. A checkpoint without a
 * duration is not counted (NULLS). If it has no start, it ends when it was written, if the log
 * has that time; otherwise it begins at the only time that the record has. The end of a
 * checkpoint is a sign of life. If custom events overlap, the one that began last gets the time.
 * All other time before the first step of a run is PROGRAM_STARTUP, and so is the time of its
 * first steps beyond the ideal step time. OTHER is the step in progress, and the time of a step
 * beyond max(10 ideal steps, 1 s).
 *
 * Hangs. Silence within a run or at the end of the log is a hang if it is longer than the limit
 * of model/time/hang.h for the p99 of the job's steps (30 min before the third step and while a
 * phase is open), and longer than three ideal steps; if a record stands for several steps, the
 * limit is multiplied by their number. Silence that ends with a new start is RECOVERY, because
 * it is unknown when the run ended.
 *
 * Steps. A step's time is the time between two records, without that of phases, divided by the
 * number of steps. Ideal and deviation are computed from all steps that are not lost, of any
 * length; if there are fewer than 32, the first steps of each run are not used for the ideal. A
 * window covers that part of it in which the job ran. DATA_LOADING_ASYNC is 0, because the
 * training thread logs loads and waits for them. */
#ifndef ACCOUNT_CLOSED_H
#define ACCOUNT_CLOSED_H

#include "userspace/account/log/job_log.h"
#include "userspace/base/grow.h"
#include "userspace/model/time/ledger.h"

#define CLOSED_LEAP_US	  (30ll * 86400 * 1000000)
#define CLOSED_WRITERS_US 1000000
/* Number of successive records that must agree before a leap in time is accepted. */
#define CLOSED_HELD 3
/* Limit of earlier runs among which the run of a late record is searched. */
#define CLOSED_SEARCH_BACK 16

/* The following structs keep what the log contains: runs, events, and the steps that are not lost.
 * `steps` is a stack: step numbers increase over all runs, and a restart removes the steps that it
 * repeats. Everything else is computed for each question. */
struct closed_step {
	int64_t time_us, number;
};

struct closed_event {
	int64_t time_us, duration_us;
	int64_t number; /* number of the step that the checkpoint saved or restored */
	uint32_t run, name, seq;
	uint8_t kind;
};

struct closed_sample {
	int64_t time_us;
	uint32_t active, total, available, seq;
};

/* A run of the job. Times and step numbers are GOODPUT_UNKNOWN if not known. */
struct closed_run {
	/* Index in `steps` of the run's first step. The run's steps end where those of the next run
	 * begin. */
	size_t base;
	int64_t begin_us; /* time of the run's job_start, or else of its first record */
	int64_t life_us;  /* time of the latest record, the last sign of life */
	/* the later of life_us and the end of the run's last checkpoint */
	int64_t busy_us;
	int64_t train_us; /* time of the last record of training: a step, load, save or event */
	int64_t after_us; /* time of the first record after train_us that is not of training */
	int64_t end_us;	  /* time of the job_end, if no record came after it */
	/* first and last step recorded, including steps that were lost later */
	int64_t first, last;
	int64_t first_us, last_us;
	/* the first step that a later run repeated, and when that step began */
	int64_t waste, waste_us;
	int64_t cost_us; /* time that earlier runs spent on steps that this run repeated */
	/* The run began with a job_start. false: the process of the previous run went back to an
	 * earlier step (a rewind in place). */
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
	/* all records; kept only if the query asks for earlier instants */
	struct goodput_record *kept;
	size_t nruns, nsteps, nevents, nsamples, nkept;
	size_t cap_runs, cap_steps, cap_events, cap_samples, cap_kept;
	bool events_mixed, samples_mixed; /* the array is not sorted by time yet */
	int64_t last_us;		  /* latest time in all records */
	/* time of the previous record, to detect leaps of the log's clock */
	int64_t anchor_us;
	uint64_t accepted;
	struct goodput_record held[CLOSED_HELD];
	unsigned nheld;
	uint64_t warnings[WARNINGS];
};

/* Appends an element to the array `name` of struct closed or closed_work. Returns the element;
 * NULL: no memory. */
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

/* Processes the record of a step. Returns 0 or -ENOMEM. */
int closed_take_step(struct closed *c, const struct goodput_record *r);
/* Adds a run that begins at time_us. started: it begins with a job_start. Returns NULL if there is
 * no memory. */
struct closed_run *closed_new_run(struct closed *c, int64_t time_us, bool started);
void closed_touch(struct closed *c, struct closed_run *run, int64_t time_us, bool training);

/* ---- answering ------------------------------------------------------------------------------- */

struct closed_interval {
	int64_t from_us, to_us;
	uint32_t name, seq;
	enum bucket bucket;
};

struct closed_end {	/* the end of the last step of a run */
	int64_t at_us;	/* when the step ended (µs); GOODPUT_UNKNOWN: the step has not ended */
	int64_t number; /* number of the last step that ended by at_us */
};

struct closed_work {
	const struct closed *c;
	/* the answer covers the time from start_us to now_us (µs since 1970) */
	int64_t start_us, now_us;
	/* end of the time in the ledger: the end of the job if it has ended, otherwise the later of
	 * now_us and the last record */
	int64_t until_us;
	bool ended;
	/* intervals of all runs, in order of runs and sorted within each run */
	struct closed_interval *intervals;
	size_t nintervals, cap_intervals;
	/* For each run, the index of its first interval in `intervals`; one more entry marks the
	 * end. */
	size_t *first_interval;
	/* Union of the intervals of each run: sorted, without overlaps. */
	struct goodput_span *cover;
	size_t *first_cover;
	bool *open;		 /* for each run: a phase is still open at its end */
	struct closed_end *ends; /* end of the last step of each run */
	/* For each run: index of the next run that has a step; nruns: none. */
	size_t *resumed;
	/* Step times in microseconds, from which the ideal step time is computed. */
	uint64_t *work;
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

/* The time between two records of steps in a run. It contains several steps if some were not
 * logged. */
struct closed_stretch {
	size_t run;
	int64_t from_us, to_us, number; /* number: that of the first step in the stretch */
	uint64_t count;			/* number of steps in the stretch */
	int64_t net_us;			/* time of the stretch without the time of phases */
};

/* Returns the number of steps of run r that no later run repeated. */
size_t closed_steps_of(const struct closed *c, size_t r);
/* Returns the index in `steps` after the last step of run r that had begun by at_us. */
size_t closed_steps_until(const struct closed *c, size_t r, int64_t at_us);
/* Returns the time up to which the events of run r are counted. */
int64_t closed_run_until(const struct closed_work *w, size_t r);
/* Returns the time of the last sign of life of run r that is counted. */
int64_t closed_sign_us(const struct closed *c, size_t r);
/* Pairs the starts and ends of phases, and fills w->intervals. Returns 0 or -ENOMEM. */
int closed_pair(struct closed_work *w);
/* Fills *ret with the stretch that begins with the i-th step of run r. Returns false if there is
 * none. *cover: position in w->cover, which is advanced from call to call. */
bool closed_stretch(const struct closed_work *w, size_t r, size_t i, size_t *cover,
		    struct closed_stretch *ret);
int closed_ideal(struct closed_work *w);
int closed_settle(struct closed_work *w);
int closed_step_times(struct closed_work *w, struct goodput_answer *ret);
int closed_answers(struct closed_work *w, struct goodput_answer *ret);
/* Fills the history of the answer. Call last, because it takes over w->pieces. Returns 0 or
 * -ENOMEM. */
int closed_history(struct closed_work *w, struct goodput_answer *ret);

#endif
