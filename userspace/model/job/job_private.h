/* SPDX-License-Identifier: Apache-2.0 */
/* job_private.h - internals of the job_*.c files; other files use job.h. */
#ifndef MODEL_JOB_PRIVATE_H
#define MODEL_JOB_PRIVATE_H

#include <stdio.h>
#include <string.h>

#include "userspace/model/job/job.h"
#include "userspace/model/job/job_member.h"
#include "userspace/model/job/model_env.h"
#include "userspace/model/time/straggler.h"

#define JOB_POINTS 256 /* last checkpoints whose progress is remembered */

struct job_places;

/* Time of the job: the finished part, and the part of the reference's ledger that belongs to it. */
struct job_time {
	uint64_t start_ns, edge_ns;	/* past_ns covers this interval */
	uint64_t past_ns[BUCKET_COUNT]; /* the sum is edge_ns - start_ns */
	/* Sums of the reference's ledger at the instant from which it counts for the job. */
	uint64_t base_ns[BUCKET_COUNT];
	uint64_t skip_ns; /* time of the reference's ledger that is in past_ns already */
	uint64_t base_steps, base_gross_ns;
	uint64_t steps, gross_ns, wasted_ns;
	/* Parts of BUCKET_CUSTOM in past_ns and base_ns, by number of the type. */
	uint64_t past_types_ns[LEDGER_TYPES], base_types_ns[LEDGER_TYPES];
};

struct job_work {
	uint64_t made, lost; /* steps of the reference; number of these that were lost */
	double timed_steps;  /* weighted by their shares that are not excluded */
	uint64_t timed_ns;
	double excluded;	      /* excluded shares of the steps not lost, added up */
	double past_ns[BUCKET_COUNT]; /* accelerator time of ranks that left, and of outages */
	/* Ranks of the run that left, and their accelerators; accelerators of the run before. */
	uint32_t run_ranks, run_accelerators, before_accelerators;
	uint64_t left_ns; /* when the last rank left */
};

struct job_point { /* progress that is in a checkpoint */
	uint64_t step, goodput_ns;
	double excluded; /* see struct job_work */
	uint32_t run;
};

struct job {
	uint64_t key;
	char name[GP_JOB_MAX], uid[JOB_UID_MAX];
	struct job_former former_names[JOB_FORMERS]; /* the last JOB_FORMERS identities */
	uint32_t nformer_names;
	const struct excluded *excluded; /* of the model; not saved */
	enum gp_job_from from;
	int attempt; /* of the run; -1: unknown */
	struct scheduling scheduling;
	enum job_state state;
	uint32_t first_pid;
	/* Of a job without a name, about the first rank of the last run: key of its process tree,
	 * hash of its command, shell and branch as in struct job_member. */
	uint64_t tree, command;
	uint32_t shell_pid, branch_pid;
	bool together; /* the first rank trains together with others */
	uint32_t runs, members, starts;
	int world_size;
	uint64_t run_start_ns, last_step;
	uint64_t done_steps; /* steps of earlier trainings that ended in order */
	/* Highest step that a run resumed from or saved, and the number of that run. futile_runs:
	 * failed runs in a row since then that got no further. */
	uint64_t headway_step;
	uint32_t headway_run, futile_runs;
	int64_t since_real_ns; /* start of counting, UTC; 0: unknown */
	uint64_t step_base;    /* number of steps before the current run */
	uint32_t based_run;    /* run for which step_base is known */
	/* first unrecognised file read by the first run: see checkpoint_resumed() */
	uint32_t first_read;
	struct job_member *ref; /* reference: the rank whose ledger counts; NULL: none */
	struct window *window;	/* finished time; NULL: none, or no memory */
	struct window_edge ref_edge;
	/* ref_edge contains time of the reference from before it became the reference. */
	bool ref_midway;
	struct job_time time;
	struct job_work work;
	struct checkpoints *files;    /* NULL: none yet */
	struct job_point *points;     /* the last JOB_POINTS, a ring */
	uint32_t npoints, points_cap; /* npoints: number added so far */
	uint64_t failed_ns;	      /* last failure of a rank of the run */
	bool disrupted;		      /* a disruption is open */
	bool unreported; /* the open disruption does not count unless the job is resumed */
	bool unsettled;	 /* the last disruption was reported, and its cause may still change */
	struct job_disruption disruption;
	/* sums of the job when the disruption began */
	uint64_t disruption_past_ns[BUCKET_COUNT];
	uint64_t ndisruptions; /* number of disruptions reported so far */
	struct job_disruption disruptions[JOB_DISRUPTIONS];
	struct job_cause_count causes[JOB_CAUSES];
	uint32_t ncauses;
	/* Number of runs on other nodes; 0: no history from another node. */
	uint32_t carried_runs;
	uint64_t carried_disruptions; /* part of ndisruptions whose details are not on this node */
	bool joins;		      /* no process has joined since the history came */
	/* comparison of the run's ranks; NULL: nothing to compare */
	struct straggler *straggler;
	struct job_places *places; /* NULL: none yet */
	/* Number of ranks of the run seen on this node, by standing. */
	uint32_t standing[JOB_STANDS_COUNT];
};

/* Compares instants. In a job from another node they may lie before the boot (0): then they are
 * large numbers, whose differences are still right. */
static inline bool job_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* job_ledger.c */
/* Makes m the reference: its ledger counts for the job from its start, or (midway) from now on. */
void job_time_refer(struct job *j, struct job_member *m, bool midway);
/* Removes the reference, whose ledger is closed. */
void job_time_leave(struct job *j);
void job_time_view(const struct job *j, uint64_t now_ns, struct ledger_view *ret);
/* Writes the settled time of the job by bucket to ret_ns (BUCKET_COUNT). */
void job_time_sums(const struct job *j, uint64_t now_ns, uint64_t *ret_ns);
uint64_t job_time_goodput(const struct job *j);
/* Moves goodput beyond goodput_ns, which was lost, to WASTED. Returns how much was moved (ns). */
uint64_t job_time_waste(struct job *j, uint64_t goodput_ns);
/* The same for recent time, by the clock. */
void job_windows(const struct job *j, uint64_t now_ns, const uint64_t *length_ns,
		 struct window_view *ret);

/* job_carry.c */
/* Returns true when this node has to report the job. */
bool job_reported_here(const struct job *j);

/* job_work.c; call before the event changes the job */
/* Another run begins with rank m. */
void job_work_begin(struct job *j, const struct job_member *m);
/* The reference made a step. timed: the step's duration is certain. */
void job_work_step(struct job *j, uint64_t start_ns, uint64_t end_ns, bool timed);
/* Moves lost steps and goodput of all ranks to WASTED. p: the point that the job resumes from,
 * NULL: none. */
void job_work_lose(struct job *j, uint64_t steps, uint64_t goodput_ns, const struct job_point *p);
/* A rank leaves: adds its accelerator time. */
void job_work_leave(struct job *j, const struct job_member *m, uint64_t now_ns);
void job_work_view(const struct job *j, uint64_t now_ns, struct job_view *ret);
void job_work_archive(struct archive *a, struct job_work *w);

/* job_place.c */
void job_places_free(struct job_places *ps);
void job_places_archive(struct archive *a, struct job_places **ps);

/* job_table.c */
/* jobs_get() finds a job by its key, jobs_named() by its name; both create it if missing. *ret is
 * NULL when there are too many jobs. Return 0 or -ENOMEM. */
int jobs_get(struct model_env *env, uint64_t key, const char *name, const char *uid,
	     struct job **ret);
int jobs_named(struct model_env *env, const char *name, const char *uid, struct job **ret);
/* Removes a former identity. */
void job_former_drop(struct job *j, uint32_t at);
/* Removes the key from all former identities: another job has it now. */
void job_former_names_take(struct jobs *js, uint64_t key);
/* Returns the newest point whose step is not later than `step`; NULL: none. */
const struct job_point *job_point_of(const struct job *j, uint64_t step);
/* Adds a checkpoint. Returns 0 or -ENOMEM. */
int job_point_add(struct job *j, uint64_t step, uint64_t goodput_ns);

/* job_named.c */
/* Returns true when the rank is of a later attempt than the run. */
bool job_attempt_later(const struct job *j, const struct job_member *m);
/* Opens a disruption before a later attempt begins, unless one is open. */
void job_attempt_disrupted(struct job *j, const struct job_member *m);
/* Records the attempt of a rank that has joined. begins: the rank began another run. */
void job_attempt(struct job *j, const struct job_member *m, bool begins);
void scheduling_archive(struct archive *a, struct scheduling *s);

/* job_disruption.c */
/* Opens a disruption. */
void job_disruption_open(struct job *j, const struct job_member *m, uint64_t now_ns,
			 const struct job_cause *why);
/* Reports the last disruption as it is now. */
void job_disruption_report(struct model_env *env, struct job *j, uint64_t now_ns);
/* Makes the cause of the last disruption final, and counts it. */
void job_disruption_settle(struct job *j);
/* Ends the disruption with the first step after it, from start_ns to end_ns. */
void job_disruption_close(struct model_env *env, struct job *j, uint64_t start_ns, uint64_t end_ns,
			  uint64_t step);

#endif
