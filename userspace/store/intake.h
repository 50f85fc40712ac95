/* SPDX-License-Identifier: Apache-2.0 */
/* intake.h - collects facts and snapshots of the model, and forms the rows that are written to the
 * store: minutes of ranks, and notes. Pure, not thread-safe.
 *
 * Only data from before the last snapshot is handed out, so that all rows show the state at one
 * instant. After a restart, facts and snapshots repeated from an earlier point continue there.
 *
 * A rank's ledger is cumulative; a minute gets the increase. If time moves to another bucket later
 * (a hang, wasted progress, the excess of first steps), it moves within the minutes that contain
 * it, so no bucket of a minute is negative. If a job ended with its last disruption, the time after
 * it is removed from its minutes.
 *
 * At most INTAKE_ROWS unwritten minutes are kept. Beyond that, two neighbouring minutes of a rank
 * are merged: sums stay right, but are less precise in time. At most INTAKE_NOTES notes are kept;
 * further ones are lost and counted. */
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
	/* start of the minute, in minutes since 1970; it lasts 60 s, or longer if its sums are more
	 * than that */
	int64_t minute;
	int64_t until_ns; /* UTC */
	struct sums sums;
	uint64_t steps;
	struct sketch times;
	/* The minute may contain more time than it lasts, because minutes were merged, the clock
	 * was set back, or the start of the rank was corrected. */
	bool joined;
	uint64_t number; /* minutes are numbered in the order in which they were closed */
	/* This entry is not a minute, but a correction of earlier minutes: time moves from slot
	 * `was` to the slots of `sums`. */
	bool moves;
	/* for a correction: move the earliest time in slot `was`, beginning with the minute
	 * `minute`; false: move the latest time */
	bool first;
	int was;
	struct intake_minute *next;
};

#define INTAKE_KEY_MAX 384
/* Limit of minutes of an outage that are kept. They are needed until the job counts as over,
 * JOB_WAIT_NS after the disruption. */
#define INTAKE_OUTAGE 16

/* Time of a job by minute since it was disrupted. If the job turns out to have ended, this time is
 * removed from its minutes. */
struct intake_outage {
	int64_t minute[INTAKE_OUTAGE];
	struct sums sums[INTAKE_OUTAGE];
	uint32_t count;
};

struct intake_about { /* identity and last state of a rank, or of a job */
	bool job;
	uint32_t pid; /* 0: a job */
	/* key of the job in the store, and its name as shown to users */
	char key[INTAKE_KEY_MAX], title[GP_JOB_MAX];
	/* job only: keys that the job had earlier in this session */
	char former[JOB_FORMERS][INTAKE_KEY_MAX];
	uint32_t nformer_names;
	char state[12];	       /* job only: name of the job's state */
	char uid[JOB_UID_MAX]; /* uid of the rank's job */
	/* number of the run in this session, as counted by the model; 0: unknown */
	uint32_t run;
	uint32_t carried; /* number of the job's runs on other nodes */
	/* Totals over all runs, for a job that also has runs on other nodes. */
	uint64_t disruptions, steps;
	uint64_t job_key; /* job only: key of the job in the model */
	uint64_t start_mono_ns, end_mono_ns, until_mono_ns;
	int64_t start_ns, end_ns, until_ns; /* UTC */
	int64_t run_start_ns;		    /* UTC start of a job's last run; 0: this is a rank */
	uint64_t run_mono_ns;
	int rank, world_size; /* -1: unknown */
	int status;
	bool ended;
	char comm[16], command[160], tier[8], marker[48];
	uint64_t max_step;
	uint32_t accelerators;					      /* rank only; 0: unknown */
	char perf_tag[PROGRAM_TAG_MAX], session_tag[PROGRAM_TAG_MAX]; /* tags of the rank's run */
};

struct intake_rank { /* a rank, or a whole job, whose rows are written to the store */
	struct intake_about about;
	/* job only: the job's disruptions (JOB_DISRUPTIONS entries), each as it was in its last
	 * note */
	struct job_disruption *disruptions;
	uint32_t ndisruptions;
	/* for a job that is down: its time by minute since it went down; NULL: the job is not down,
	 * or was down already when it was first seen */
	struct intake_outage *outage;
	int64_t id;  /* number of the row in the store; 0: not known yet */
	bool placed; /* id is known; minutes are formed only after that */
	/* changed: there is something to write; settled: the rank or job has ended and everything
	 * is written */
	bool changed, settled;
	bool seen; /* the rank or job was in a snapshot */
	bool over; /* the rank or job has ended, but some of its last facts may still arrive */
	bool left; /* another process has the rank's pid now */
	/* Number of successive snapshots, up to the last, without this entry. */
	uint32_t absent;
	/* now: all time in the model's ledger; base: the part of `now` that is not added to the
	 * store */
	struct sums now, base;
	/* rebased: `base` was changed and has to be written; rebasing: it is being written */
	bool rebased, rebasing;
	/* earlier: the stored start of the rank is too late and has to be corrected; earlying: this
	 * correction is being written */
	bool earlier, earlying;
	struct sums first; /* ledger when the entry was first seen in this session */
	int64_t first_ns;  /* UTC time of `first` */
	int64_t formed_ns; /* UTC time up to which `formed` contains the ledger; 0: none yet */
	/* formed_mono_ns: formed_ns in CLOCK_MONOTONIC; formed_start_ns: start of the rank as known
	 * at that time */
	uint64_t formed_mono_ns, formed_start_ns;
	struct sums formed;   /* time in all minutes, the running one included; equals now - base */
	struct sums closed;   /* time in closed minutes */
	uint64_t run_mono_ns; /* job only: start of the run that before_ns belongs to */
	int64_t before_ns;    /* job only: GOODPUT of all runs before that run */
	uint64_t closed_steps;
	struct sketch closed_times;
	struct intake_minute running;
	bool runs; /* `running` is in use */
	/* queue of closed minutes that are not written yet */
	struct intake_minute *oldest, *newest;
	/* the writer's thread is writing the minutes up to this number; 0: none */
	uint64_t taken;
	uint64_t new_steps; /* steps since the last snapshot */
	struct sketch new_times;
	/* Steps before the last snapshot that are in no minute yet, because the rank's row was
	 * unknown. */
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
		struct {
			/* without the pointers that are valid only during the call */
			struct fact_health health;
			struct time_causes causes;
		};
	};
	/* for a restore: the checkpoint that was read, and how that is known; match.how 0:
	 * unknown */
	struct checkpoint_match match;
	char text[GP_PATH_MAX], words[FACT_EVIDENCE_MAX];
};

struct intake {
	struct table *by_pid; /* pid -> struct intake_rank that gets the facts of this pid */
	struct table *by_job;
	struct intake_rank *ranks[INTAKE_RANKS];
	uint32_t count;
	struct intake_note notes[INTAKE_NOTES]; /* oldest first */
	/* ready: number of notes that are older than the last snapshot */
	uint32_t nnotes, ready;
	/* names of the types of custom events, as of the last snapshot */
	struct type_names types;
	/* a bit for each type of custom events that ever had time */
	uint32_t typed;
	uint64_t last_fact; /* number of the last fact */
	/* Number of the last fact before the last snapshot. The rows that are handed out contain
	 * the facts up to this one. */
	uint64_t closed;
	uint64_t skip; /* facts up to this number are in the store already, and are skipped */
	/* `skip` is unknown. All facts that the previous process reported before this one took over
	 * are skipped instead. */
	bool blind;
	uint64_t minutes; /* number of minutes closed so far */
	uint32_t rows;	  /* number of closed minutes that are not written yet */
	/* Numbers of ranks, notes and facts that were lost, and of minutes that were merged. */
	struct {
		uint64_t ranks, notes, facts, merged;
	} lost;
};

struct intake *intake_new(void); /* NULL: no memory */
void intake_free(struct intake *t);
void intake_fact(struct intake *t, const struct fact *f);
void intake_snapshot(struct intake *t, const struct snapshot *s);
/* Writes the key that identifies the job in stores. */
void intake_key(char out[INTAKE_KEY_MAX], const struct snapshot *s, const struct job_view *j);
/* Writes the key that the job had under a former name. */
void intake_former_key(char out[INTAKE_KEY_MAX], const struct snapshot *s,
		       const struct job_former *f);
/* Returns true if there are ranks whose row in the store is not known. */
bool intake_unplaced(const struct intake *t);
/* Returns true if there is data that the store does not have. */
bool intake_due(const struct intake *t);

/* Sets the state of a rank or job that was read from the store. gone_on: it was written for the
 * same run of the model, so the model's ledger continues the stored one. Otherwise the model's
 * ledger is added to the stored one, and the time between them is unobserved unless the job was
 * over. */
struct intake_place {
	int64_t id;
	bool gone_on, ended;
	struct sums base;
	struct sums closed;	      /* time in closed minutes */
	uint64_t closed_steps;	      /* number of steps in closed minutes */
	struct sketch closed_times;   /* times of the steps in closed minutes */
	int64_t until_ns;	      /* UTC end of the closed minutes; 0: there are none */
	struct intake_minute running; /* the running minute; until_ns 0: there is none */
};
void intake_place(struct intake *t, struct intake_rank *r, const struct intake_place *p);
/* Call after an attempt to write the minutes that were taken. done: they were written and are
 * dropped; otherwise they are handed out again. */
void intake_written(struct intake *t, struct intake_rank *r, bool done);
/* Removes the first n notes. Call after they were written. */
void intake_noted(struct intake *t, uint32_t n);
/* Starts again for an empty store: no rank has a row in it, so all time known to the model is
 * written. */
void intake_again(struct intake *t);
/* Drops the entries of ranks that have ended, are written, and are no longer in snapshots. */
void intake_forget(struct intake *t);

#endif
