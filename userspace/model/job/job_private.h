/* SPDX-License-Identifier: Apache-2.0 */
/* job_private.h - data and functions shared by the job_*.c files; other files use job.h. */
#ifndef MODEL_JOB_PRIVATE_H
#define MODEL_JOB_PRIVATE_H

#include <stdio.h>
#include <string.h>

#include "userspace/model/job/job.h"
#include "userspace/model/job/job_member.h"
#include "userspace/model/job/model_env.h"
#include "userspace/model/time/straggler.h"

/* Number of last checkpoints for which the job's goodput and step are kept. */
#define JOB_POINTS 256

struct job_places;
struct job_lines;

/* Time of a job by bucket: the finished part (past_ns), plus that part of the reference's ledger
 * which belongs to the job. To get the latter, base_ns and skip_ns are subtracted from the
 * ledger. */
struct job_time {
	uint64_t start_ns, edge_ns;	/* past_ns covers the time from start_ns to edge_ns */
	uint64_t past_ns[BUCKET_COUNT]; /* by bucket; the sum is edge_ns - start_ns */
	/* Sums of the reference's ledger when it began to count for the job. */
	uint64_t base_ns[BUCKET_COUNT];
	uint64_t skip_ns; /* part of the reference's ledger that past_ns already contains */
	uint64_t base_steps, base_gross_ns;
	uint64_t steps, gross_ns, wasted_ns;
	/* the part of past_ns and base_ns in BUCKET_CUSTOM, by the number of the event's type */
	uint64_t past_types_ns[LEDGER_TYPES], base_types_ns[LEDGER_TYPES];
};

struct job_work {
	uint64_t made, lost; /* number of steps of the reference; number of steps that were lost */
	/* number of steps whose duration is certain, without their excluded shares */
	double timed_steps;
	uint64_t timed_ns;
	double excluded; /* sum of the excluded shares of the steps that were not lost */
	double past_ns[BUCKET_COUNT]; /* accelerator time of ranks that have left, and of outages */
	/* Of this run: number of ranks that have left, and of their accelerators. Number of
	 * accelerators in the previous run. */
	uint32_t run_ranks, run_accelerators, before_accelerators;
	uint64_t left_ns; /* time at which the last rank left */
	/* Operations of a step of those ranks that have left, number of ranks whose operations were
	 * measured, the least number of steps that were measured, and why the sum is a lower bound
	 * (as job_member.uncounted). */
	struct operations run_operations;
	uint32_t run_measured, run_measured_steps, run_uncounted;
};

/* Progress of the job in one checkpoint. */
struct job_point {
	uint64_t step, goodput_ns;
	double excluded; /* sum of excluded shares of the steps up to this one */
	uint32_t run;
};

struct job {
	uint64_t key;
	char name[GP_JOB_MAX], uid[JOB_UID_MAX];
	/* names and keys under which the job was reported before */
	struct job_former former_names[JOB_FORMERS];
	uint32_t nformer_names;
	const struct excluded *excluded; /* excluded time, owned by the model; not saved */
	enum gp_job_from from;
	int attempt; /* number that the scheduler gave the run; -1: unknown */
	struct scheduling scheduling;
	enum job_state state;
	uint32_t first_pid;
	/* Only for a job without a name, about the first rank of its last run: key of the process
	 * tree, hash of the command, and shell and branch as in struct job_member. */
	uint64_t tree, command;
	uint32_t shell_pid, branch_pid;
	bool together; /* a rank of the last run trains together with other processes */
	uint32_t runs, members, starts;
	int world_size;
	uint64_t run_start_ns, last_step;
	uint64_t done_steps; /* see struct job_view */
	/* Highest step that a run resumed from or saved, and the number of that run. futile_runs:
	 * number of failed runs in a row since then that did not get further. */
	uint64_t headway_step;
	uint32_t headway_run, futile_runs;
	int64_t since_real_ns; /* UTC at which counting began; 0: unknown */
	uint64_t step_base;    /* number of steps before the current run */
	uint32_t based_run;    /* run for which step_base was computed */
	/* Hash of the first unrecognised file that the first run read; see checkpoint_resumed(). */
	uint32_t first_read;
	/* Reference: the rank whose ledger is the job's now; NULL: none. */
	struct job_member *ref;
	/* The finished part of the job's time, by bucket, for windows; NULL: none, or no memory. */
	struct window *window;
	struct window_edge ref_edge;
	/* This rank became the reference during the run. ref_edge: contents of the rank's window at
	 * that time. */
	bool ref_midway;
	struct job_time time;
	struct job_work work;
	struct checkpoints *files;    /* NULL: none yet */
	struct job_point *points;     /* ring of the last JOB_POINTS */
	uint32_t npoints, points_cap; /* npoints: number of points added so far */
	uint64_t failed_ns;	      /* time at which a rank of the run failed last */
	/* A disruption has begun and is not over. */
	bool disrupted;
	bool unreported; /* the disruption was not reported: it counts only if the job is resumed */
	bool unsettled;	 /* the last disruption was reported, but its cause may still change */
	struct job_disruption disruption;
	/* Time of the job by bucket when the disruption began. */
	uint64_t disruption_past_ns[BUCKET_COUNT];
	uint64_t ndisruptions; /* number of disruptions reported so far */
	struct job_disruption disruptions[JOB_DISRUPTIONS];
	struct job_cause_count causes[JOB_CAUSES];
	uint32_t ncauses;
	/* Number of runs on other nodes; 0: the job has no history from another node. */
	uint32_t carried_runs;
	uint64_t carried_disruptions; /* part of ndisruptions that happened on other nodes */
	bool joins; /* a history came from another node, and no process has joined since */
	/* Comparison of the steps of the run's ranks; NULL: the run has only one rank. */
	struct straggler *straggler;
	struct job_places *places; /* NULL: none yet */
	struct job_lines *lines;   /* NULL: none yet */
	/* Number of ranks of the run on this node, by enum job_standing. */
	uint32_t standing[JOB_STANDS_COUNT];
};

/* Returns true if instant a is before b. A history from another node may contain instants before
 * this machine was booted. These are stored as negative numbers in two's complement, so a plain
 * comparison would be wrong. */
static inline bool job_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* job_ledger.c */
/* Makes m the reference of the job. midway: its ledger counts for the job from now on, otherwise
 * from the ledger's start. */
void job_time_refer(struct job *j, struct job_member *m, bool midway);
/* Called when the reference has ended and its ledger is closed: the job has no reference then. */
void job_time_leave(struct job *j);
void job_time_view(const struct job *j, uint64_t now_ns, struct ledger_view *ret);
/* Writes the settled time of the job, by bucket, to ret_ns (BUCKET_COUNT elements): time that no
 * later event moves to another bucket. */
void job_time_sums(const struct job *j, uint64_t now_ns, uint64_t *ret_ns);
uint64_t job_time_goodput(const struct job *j);
/* Moves the job's goodput above goodput_ns to WASTED, because it was lost. Returns how much was
 * moved (ns). */
uint64_t job_time_waste(struct job *j, uint64_t goodput_ns);
/* Computes the time by bucket in windows that end now. length_ns: WINDOWS_MAX lengths. */
void job_windows(const struct job *j, uint64_t now_ns, const uint64_t *length_ns,
		 struct window_view *ret);

/* job_carry.c */
/* Returns true if this node has to report the job. */
bool job_reported_here(const struct job *j);

/* defined in job_work.c; call these before the event changes the job */
/* Called when rank m begins another run. */
void job_work_begin(struct job *j, const struct job_member *m);
/* Counts a step of the reference. timed: the duration of the step is certain. */
void job_work_step(struct job *j, uint64_t start_ns, uint64_t end_ns, bool timed);
/* Moves lost steps, and lost goodput of all ranks, to WASTED. p: the checkpoint from which the job
 * resumes, or NULL. */
void job_work_lose(struct job *j, uint64_t steps, uint64_t goodput_ns, const struct job_point *p);
/* Called when a rank leaves: adds its accelerator time to the job's. */
void job_work_leave(struct job *j, const struct job_member *m, uint64_t now_ns);
void job_work_view(const struct job *j, uint64_t now_ns, struct job_view *ret);
void job_work_archive(struct archive *a, struct job_work *w);

/* job_place.c */
void job_places_free(struct job_places *ps);
void job_places_archive(struct archive *a, struct job_places **ps);

/* job_line.c */
void job_lines_free(struct job_lines *ls);
void job_lines_archive(struct archive *a, struct job_lines **ls);

/* job_table.c */
/* Find a job by key (jobs_get()) or by name (jobs_named()), and create it if it does not exist.
 * *ret is NULL if there are too many jobs. Return 0 or -ENOMEM. */
int jobs_get(struct model_env *env, uint64_t key, const char *name, const char *uid,
	     struct job **ret);
int jobs_named(struct model_env *env, const char *name, const char *uid, struct job **ret);
/* Removes the former name with index `at`. */
void job_former_drop(struct job *j, uint32_t at);
/* Removes the key from the former names of all jobs, because a job has it as its present key. */
void job_former_names_take(struct jobs *js, uint64_t key);
/* Returns the newest checkpoint with a step of at most `step`, or NULL. */
const struct job_point *job_point_of(const struct job *j, uint64_t step);
/* Records the job's progress in a checkpoint. Returns 0 or -ENOMEM. */
int job_point_add(struct job *j, uint64_t step, uint64_t goodput_ns);

/* job_named.c */
/* Returns true if the rank belongs to a later attempt than the present run. */
bool job_attempt_later(const struct job *j, const struct job_member *m);
/* Opens a disruption before a later attempt begins, unless a disruption has begun and is not
 * over. */
void job_attempt_disrupted(struct job *j, const struct job_member *m);
/* Records the attempt of a rank that has joined. begins: another run began with this rank. */
void job_attempt(struct job *j, const struct job_member *m, bool begins);
void scheduling_archive(struct archive *a, struct scheduling *s);

/* job_disruption.c */
/* Opens a disruption. */
void job_disruption_open(struct job *j, const struct job_member *m, uint64_t now_ns,
			 const struct job_cause *why);
/* Sends the last disruption, in its present form, as a fact. */
void job_disruption_report(struct model_env *env, struct job *j, uint64_t now_ns);
/* Makes the cause of the last disruption final, and counts it. */
void job_disruption_settle(struct job *j);
/* Ends the disruption: the first step after it lasted from start_ns to end_ns. */
void job_disruption_close(struct model_env *env, struct job *j, uint64_t start_ns, uint64_t end_ns,
			  uint64_t step);

#endif
