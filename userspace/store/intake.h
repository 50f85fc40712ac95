/* SPDX-License-Identifier: Apache-2.0 */
/* intake.h - turns facts and snapshots into rows to be written: minutes of ranks, and notes. Pure,
 * not thread-safe. Hands out only what happened before the last snapshot, so that rows show the
 * state at one instant and a feed that is repeated from an earlier point continues from there. A
 * rank's ledger is cumulative; a minute gets the increase. Time that moves to another bucket later
 * (a hang, wasted progress, the excess of first steps) moves within its own minutes, so no bucket
 * of a minute is negative. If a job ended with its last disruption, the time after it is removed
 * from its minutes. Keeps at most INTAKE_ROWS unwritten minutes: beyond, two neighbouring minutes
 * of a rank are merged, so sums stay right but their time is less precise. Keeps at most
 * INTAKE_NOTES notes; further ones are lost and counted. */
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
	/* start, in minutes since 1970; covers 60 s, or longer if its sums add up to more */
	int64_t minute;
	int64_t until_ns; /* UTC */
	struct sums sums;
	uint64_t steps;
	struct sketch times;
	/* may contain more time than it lasts: it was merged, the clock was set back, or the rank's
	 * start moved */
	bool joined;
	uint64_t number; /* in the order in which minutes were closed */
	/* not a minute but a correction of earlier ones: time of slot `was` belongs to the slots of
	 * `sums` */
	bool moves;
	/* moves the first time of slot `was` from `minute` on; otherwise its latest time */
	bool first;
	int was;
	struct intake_minute *next;
};

#define INTAKE_KEY_MAX 384
/* Minutes kept of an outage until its job counts as over: JOB_WAIT_NS, and partial minutes. */
#define INTAKE_OUTAGE 16

struct intake_outage { /* time since a job was disrupted, as entered in minutes */
	int64_t minute[INTAKE_OUTAGE];
	struct sums sums[INTAKE_OUTAGE];
	uint32_t count;
};

struct intake_about { /* identity and state of a rank or a job, as last seen */
	bool job;
	uint32_t pid; /* 0: a job */
	/* key of the rank's job, and that job's name for users */
	char key[INTAKE_KEY_MAX], title[GP_JOB_MAX];
	char former[JOB_FORMERS][INTAKE_KEY_MAX]; /* of a job: earlier keys in this session */
	uint32_t nformer_names;
	char state[12];	       /* of a job, not of a rank */
	char uid[JOB_UID_MAX]; /* of the rank's job */
	/* number of the job's run in this session, as counted by the model; 0: unknown */
	uint32_t run;
	uint32_t carried;	     /* runs of the rank's job on other nodes */
	uint64_t disruptions, steps; /* of a job with runs on other nodes, over all its runs */
	uint64_t job_key;	     /* of a job */
	uint64_t start_mono_ns, end_mono_ns, until_mono_ns;
	int64_t start_ns, end_ns, until_ns; /* UTC */
	int64_t run_start_ns;		    /* UTC, of a job's last run; 0: for a rank */
	uint64_t run_mono_ns;
	int rank, world_size; /* -1: unknown */
	int status;
	bool ended;
	char comm[16], command[160], tier[8], marker[48];
	uint64_t max_step;
	uint32_t accelerators;					      /* of a rank; 0: unknown */
	char perf_tag[PROGRAM_TAG_MAX], session_tag[PROGRAM_TAG_MAX]; /* of its run */
};

struct intake_rank { /* a rank, or a job: its ledger covers all its runs */
	struct intake_about about;
	struct job_disruption *disruptions; /* of a job: JOB_DISRUPTIONS entries, as last noted */
	uint32_t ndisruptions;
	struct intake_outage *outage; /* of a job that is down; NULL: not seen here */
	int64_t id;		      /* row in the store; 0: not known yet */
	bool placed;		      /* id is known; minutes are made from here on */
	bool changed, settled;	      /* since the last write; ended and completely written */
	bool seen;		      /* was in a snapshot */
	bool over;		      /* ended; its last facts may still follow */
	bool left;		      /* its pid belongs to another process now */
	uint32_t absent;	      /* consecutive snapshots without it */
	/* cumulative ledger; the part of it that is not to be added to the store */
	struct sums now, base;
	bool rebased, rebasing; /* base has to be written; base is being written */
	/* the rank began before its first known start, which may be stored; the new start is being
	 * written */
	bool earlier, earlying;
	struct sums first; /* the first ledger seen here */
	int64_t first_ns;  /* UTC, when `first` was seen */
	int64_t formed_ns; /* UTC, as of which `formed` is; 0: nothing is formed */
	/* CLOCK_MONOTONIC of formed_ns; start of the rank at that time */
	uint64_t formed_mono_ns, formed_start_ns;
	struct sums formed;   /* time in closed minutes and the running one: now - base */
	struct sums closed;   /* time in closed minutes */
	uint64_t run_mono_ns; /* of a job: start of the run that before_ns belongs to */
	int64_t before_ns;    /* of a job: GOODPUT of the runs before */
	uint64_t closed_steps;
	struct sketch closed_times;
	struct intake_minute running;
	bool runs;			       /* `running` is in use */
	struct intake_minute *oldest, *newest; /* closed minutes that are not written */
	uint64_t taken;			       /* minutes up to this number are being written */
	uint64_t new_steps;		       /* since the last snapshot */
	struct sketch new_times;
	/* steps before the last snapshot that are not in a minute yet, because the rank's row in
	 * the store was unknown */
	uint64_t shown_steps;
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
	struct checkpoint_match match; /* of a checkpoint; `how` 0: not matched */
	char text[GP_PATH_MAX], words[FACT_EVIDENCE_MAX];
};

struct intake {
	struct table *by_pid; /* rank to which facts of a pid belong */
	struct table *by_job;
	struct intake_rank *ranks[INTAKE_RANKS];
	uint32_t count;
	struct intake_note notes[INTAKE_NOTES]; /* oldest first */
	uint32_t nnotes, ready;			/* ready: those before the last snapshot */
	struct type_names types;		/* of custom events, as of the last snapshot */
	uint32_t typed;				/* bit per type that had time */
	uint64_t last_fact;			/* number of the last fact */
	/* number of the last fact before the last snapshot: rows handed out include facts up to
	 * this one */
	uint64_t closed;
	uint64_t skip; /* facts up to this number are in the store */
	/* skip is unknown: facts that the predecessor of this process reported are skipped */
	bool blind;
	uint64_t minutes; /* number of minutes closed so far */
	uint32_t rows;	  /* closed, not written */
	struct {	  /* lost items, and minutes merged with others */
		uint64_t ranks, notes, facts, merged;
	} lost;
};

struct intake *intake_new(void); /* NULL: no memory */
void intake_free(struct intake *t);
void intake_fact(struct intake *t, const struct fact *f);
void intake_snapshot(struct intake *t, const struct snapshot *s);
/* Writes the identity of a job in a store. */
void intake_key(char out[INTAKE_KEY_MAX], const struct snapshot *s, const struct job_view *j);
/* Writes a former identity of the job, from before it was renamed. */
void intake_former_key(char out[INTAKE_KEY_MAX], const struct snapshot *s,
		       const struct job_former *f);
/* Returns true if there are ranks whose row in the store is unknown. */
bool intake_unplaced(const struct intake *t);
/* Returns true if there is something to write. */
bool intake_due(const struct intake *t);

/* State of a rank or a job in the store. gone_on: written by the same run of the model, whose
 * ledger continues; otherwise new time is added, and the time in between is unobserved unless the
 * run was over. */
struct intake_place {
	int64_t id;
	bool gone_on, ended;
	struct sums base;
	struct sums closed;	      /* in closed minutes */
	uint64_t closed_steps;	      /* in closed minutes */
	struct sketch closed_times;   /* in closed minutes */
	int64_t until_ns;	      /* end of its closed minutes; 0: none */
	struct intake_minute running; /* its running minute; until_ns 0: none */
};
void intake_place(struct intake *t, struct intake_rank *r, const struct intake_place *p);
/* Reports that the minutes taken were written (done), or that they were not and will be handed out
 * again. */
void intake_written(struct intake *t, struct intake_rank *r, bool done);
/* The first n notes were written. */
void intake_noted(struct intake *t, uint32_t n);
/* Starts over for a new, empty store: no rank has a row, and all time is written again. */
void intake_again(struct intake *t);
/* Forgets ranks that ended, were written, and are not in snapshots any more. */
void intake_forget(struct intake *t);

#endif
