/* SPDX-License-Identifier: Apache-2.0 */
/* intake.h - from facts and snapshots to what is to be written: minutes of ranks, and notes. Pure,
 * not thread-safe.
 *
 * A snapshot closes what the facts before it told: only what lies before the last one is ever
 * handed out, so what is written is the state at one instant, and a feed that is played again from
 * any point before that instant goes on from there. A rank's ledger is cumulative; the minute gets
 * what it gained. Time that moves to another bucket later (a hang, wasted progress, the excess of
 * first steps) moves in the minutes where it lay: no bucket of a minute is negative. Where a job
 * that was down turns out to be over since it was disrupted, minutes lose again what they got
 * since.
 *
 * Bounded: INTAKE_ROWS minutes that could not be written yet; beyond, two of one rank become one
 * that stands for both, so sums stay whole and only their place in time gets coarse. INTAKE_NOTES
 * notes; beyond, they are lost and counted. */
#ifndef STORE_INTAKE_H
#define STORE_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/table.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/job/job.h"
#include "userspace/model/snapshot.h"
#include "userspace/store/sketch.h"
#include "userspace/store/sums.h"

#define INTAKE_RANKS 8192
#define INTAKE_ROWS  8192
#define INTAKE_NOTES 1024

struct intake_minute {
	int64_t minute; /* since 1970; it stands for its 60 s, or for all that its sums add up to */
	int64_t until_ns; /* UTC */
	struct sums sums;
	uint64_t steps;
	struct sketch times;
	/* May hold more than its time: joined with another, or the clock was set back, or the start
	 * moved. */
	bool joined;
	uint64_t number; /* of the order in which they were closed */
	/* No minute but a change of those before it: time of slot `was` turned out to be what
	 * `sums` says. */
	bool moves;
	bool first; /* ... the oldest time of that slot from `minute` on, else the latest */
	int was;
	struct intake_minute *next;
};

#define INTAKE_KEY_MAX 384
#define INTAKE_OUTAGE                                                                              \
	16 /* minutes of an outage, until its job is over: JOB_WAIT_NS, and what is cut */

struct intake_outage { /* what minutes have of the time since a job was disrupted */
	int64_t minute[INTAKE_OUTAGE];
	struct sums sums[INTAKE_OUTAGE];
	uint32_t count;
};

struct intake_about { /* of a rank or a job, as last seen */
	bool job;
	uint32_t pid;				     /* 0: a job */
	char key[INTAKE_KEY_MAX], title[GP_JOB_MAX]; /* of its job: what makes it the same one, and
							what people call it */
	char former[JOB_FORMERS]
		   [INTAKE_KEY_MAX]; /* of a job: keys that it had before in this session */
	uint32_t nformers;
	char state[12];	       /* of a job */
	char uid[JOB_UID_MAX]; /* of its job */
	uint32_t run;	  /* of its job, as the model counts them in this session; 0: not known */
	uint32_t carried; /* runs of its job that other nodes had */
	uint64_t disruptions, steps; /* of such a job, ever */
	uint64_t job_key;	     /* of a job */
	uint64_t start_mono_ns, end_mono_ns, until_mono_ns;
	int64_t start_ns, end_ns, until_ns; /* UTC */
	int64_t run_start_ns;		    /* ... of a job's last run; 0: of a rank */
	uint64_t run_mono_ns;
	int rank, world_size; /* -1: unknown */
	int status;
	bool ended;
	char comm[16], command[160], tier[8], marker[48];
	uint64_t max_step;
	uint32_t accelerators;					      /* of a rank; 0: unknown */
	char perf_tag[PROGRAM_TAG_MAX], session_tag[PROGRAM_TAG_MAX]; /* of its run */
};

struct intake_rank { /* or a job: its ledger goes on over its runs */
	struct intake_about about;
	struct job_disruption
		*disruptions; /* of a job: JOB_DISRUPTIONS of them, as they were noted last */
	uint32_t ndisruptions;
	struct intake_outage *outage; /* of a job that is down; NULL: none was seen here */
	int64_t id;		      /* in the store; 0: not known there yet */
	bool placed;		      /* id is known; minutes are made from here on */
	bool changed, settled;	      /* since it was written; ended, and all is written */
	bool seen;		      /* a snapshot has shown it */
	bool over;		/* told to have ended; what it did last may be told after that */
	bool left;		/* facts of this pid are another process's */
	uint32_t absent;	/* snapshots in a row that did not show it */
	struct sums now, base;	/* cumulative ledger; what of it the store does not count */
	bool rebased, rebasing; /* base is to be written; is being written */
	/* Began before what was taken for its start, and the store may have that one; ... that is
	 * being written. */
	bool earlier, earlying;
	struct sums first; /* the first ledger that was seen here */
	int64_t first_ns;  /* ... when, UTC */
	int64_t formed_ns; /* UTC: formed is what was known then; 0: nothing is formed */
	uint64_t formed_mono_ns,
		formed_start_ns; /* ... on the monotonic clock; the start that it had then */
	struct sums formed;	 /* in closed minutes and the running one: now - base */
	struct sums closed;	 /* ... in closed ones */
	uint64_t run_mono_ns;	 /* of a job: start of the run that before_ns is for */
	int64_t before_ns;	 /* ... GOODPUT of the runs before that one */
	uint64_t closed_steps;
	struct sketch closed_times;
	struct intake_minute running;
	bool runs;			       /* running holds something */
	struct intake_minute *oldest, *newest; /* closed, not written */
	uint64_t taken;			       /* minutes up to this number are being written */
	uint64_t new_steps;		       /* since the last snapshot */
	struct sketch new_times;
	uint64_t shown_steps; /* before it, of no minute yet: the place was not known */
	struct sketch shown_times;
};

struct intake_note {
	struct intake_rank *rank;
	enum fact_type type;
	int64_t real_ns, start_ns;
	uint64_t mono_ns;
	union {
		struct job_disruption disruption;
		struct fact_checkpoint checkpoint;
		struct fact_health health;
	};
	struct checkpoint_match match; /* of a checkpoint; how 0: none */
	char text[GP_PATH_MAX], words[240];
};

struct intake {
	struct table *by_pid; /* who its facts are about */
	struct table *by_job;
	struct intake_rank *ranks[INTAKE_RANKS];
	uint32_t count;
	struct intake_note notes[INTAKE_NOTES]; /* in order */
	uint32_t nnotes, ready;			/* ready: those before the last snapshot */
	struct type_names types; /* of custom events, as the last snapshot has them */
	uint32_t typed;		 /* a bit for each that had time */
	uint64_t last_fact;	 /* number of the last fact that came */
	uint64_t closed;  /* ... before the last snapshot: what is handed out holds up to here */
	uint64_t skip;	  /* facts up to here are in the store */
	bool blind;	  /* ... which are not known: those go by that a predecessor told before */
	uint64_t minutes; /* closed ever */
	uint32_t rows;	  /* closed, not written */
	struct {	  /* what was not kept as it came */
		uint64_t ranks, notes, facts, merged;
	} lost;
};

struct intake *intake_new(void); /* NULL: no memory */
void intake_free(struct intake *t);
void intake_fact(struct intake *t, const struct fact *f);
void intake_snapshot(struct intake *t, const struct snapshot *s);
/* What makes a job the same one in a store. */
void intake_key(char out[INTAKE_KEY_MAX], const struct snapshot *s, const struct job_view *j);
/* ... made it, before it was renamed. */
void intake_former_key(char out[INTAKE_KEY_MAX], const struct snapshot *s,
		       const struct job_former *f);
/* Ranks whose place in the store is not known. */
bool intake_unplaced(const struct intake *t);
/* There is something to write. */
bool intake_due(const struct intake *t);

/* What the store has of a rank or a job. gone_on: by the same run of the model, whose ledger goes
 * on from it; else what comes from here on is added to it, and what lies between is not observed,
 * unless it was over. */
struct intake_place {
	int64_t id;
	bool gone_on, ended;
	struct sums base;
	struct sums closed;	      /* in closed minutes */
	uint64_t closed_steps;	      /* likewise */
	struct sketch closed_times;   /* likewise */
	int64_t until_ns;	      /* closed ones are known up to then; 0: there are none */
	struct intake_minute running; /* the one that is open there; until_ns 0: none */
};
void intake_place(struct intake *t, struct intake_rank *r, const struct intake_place *p);
/* Minutes that were taken are written, or were not: they are offered again. */
void intake_written(struct intake *t, struct intake_rank *r, bool done);
/* The first n notes are. */
void intake_noted(struct intake *t, uint32_t n);
/* The store is another one, and empty: ranks have no place, and all of their time is told again. */
void intake_again(struct intake *t);
/* Lets go of ranks that are over, written, and gone from the snapshots. */
void intake_forget(struct intake *t);

#endif
