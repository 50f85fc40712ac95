/* SPDX-License-Identifier: Apache-2.0 */
/* job_internal.h - what the job_*.c share. */
#ifndef MODEL_JOB_INTERNAL_H
#define MODEL_JOB_INTERNAL_H

#include "userspace/model/job.h"
#include "userspace/model/rank.h"
#include "userspace/model/straggler.h"

#define JOB_POINTS 256 /* checkpoints whose place in the job's time is remembered */

struct job_places;

struct job_time {
	uint64_t start_ns, edge_ns;	/* what lies between is in past_ns */
	uint64_t past_ns[BUCKET_COUNT]; /* adds up to edge - start */
	/* Of the reference's ledger, what is not the job's: sums at the instant from which it
	 * counts ... */
	uint64_t base_ns[BUCKET_COUNT];
	uint64_t skip_ns; /* ... and what the job's past has already */
	uint64_t base_steps, base_gross_ns;
	uint64_t steps, gross_ns, wasted_ns;
	/* Of BUCKET_CUSTOM in past_ns and base_ns, by number of the type. */
	uint64_t past_types_ns[LEDGER_TYPES], base_types_ns[LEDGER_TYPES];
};

struct job_work {
	uint64_t made, lost; /* steps of its reference, and those that were disproved */
	double timed_steps;  /* by the shares of them that are not left out */
	uint64_t timed_ns;
	double away;		      /* of made, but for lost: the shares that are left out */
	double past_ns[BUCKET_COUNT]; /* of accelerators: of ranks that left, and outages */
	/* Of the run: ranks that left, and their accelerators; those of the run before. */
	uint32_t run_ranks, run_accelerators, before_accelerators;
	uint64_t left_ns; /* when the last rank did */
};

struct job_point { /* up to here progress is secured */
	uint64_t step, goodput_ns;
	double away; /* of job_work */
};

struct job {
	uint64_t key;
	char name[64], uid[JOB_UID_MAX];
	struct job_former formers[JOB_FORMERS]; /* the last ones */
	uint32_t nformers;
	const struct away *away; /* its model's; not saved */
	enum gp_job_from from;
	int attempt; /* of the run; -1: unknown */
	struct scheduling scheduling;
	enum job_state state;
	uint32_t first_pid;
	uint32_t runs, members, starts;
	int world_size;
	uint64_t run_start_ns, last_step;
	int64_t since_real_ns; /* what it counts began then, UTC, as the clock was; 0: unknown */
	uint64_t step_base;    /* of the run's steps */
	uint32_t based_run;    /* whose base is known */
	struct rank *ref;      /* its ledger counts; NULL: nobody's */
	struct window *window; /* of what is past; NULL: nothing, or no memory */
	struct window_edge ref_edge;
	bool ref_midway; /* ... holds what the reference did before it was the reference */
	struct job_time time;
	struct job_work work;
	struct checkpoints *files;    /* NULL: none yet */
	struct job_point *points;     /* the last JOB_POINTS */
	uint32_t npoints, points_cap; /* npoints: ever */
	uint64_t fell_ns;	      /* when one of a run last ended other than by finishing */
	bool fell;		      /* a disruption is open: */
	bool untold;		      /* ... it is none unless the job goes on */
	bool unsettled;		      /* ... it was told, and its cause may be another one yet */
	struct job_fall fall;
	uint64_t fall_past_ns[BUCKET_COUNT]; /* the job's sums when it began */
	uint64_t nfalls;		     /* ever, those that were told */
	struct job_fall falls[JOB_FALLS];
	struct job_cause_count causes[JOB_CAUSES];
	uint32_t ncauses;
	/* Of another node: */
	uint32_t carried_runs;		     /* 0: nothing is */
	uint64_t carried_falls;		     /* of nfalls, those whose details are not here */
	bool joins;			     /* nothing was done here since */
	struct straggler *straggler;	     /* of its run; NULL: nothing to compare */
	struct job_places *places;	     /* NULL: none yet */
	uint32_t standing[JOB_STANDS_COUNT]; /* of its run: ranks that were here, by what is known
						of theirs */
};

/* Instants of a job that was carried here may lie before the boot, which is 0: then they are large
 * numbers, of which differences are right. */
static inline bool job_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* job.c */
int job_point_add(struct job *j, uint64_t step, uint64_t goodput_ns); /* 0 or -ENOMEM */

/* job_ledger.c */
void job_time_refer(struct job *j, struct rank *r,
		    bool midway);   /* r's ledger counts from here on */
void job_time_leave(struct job *j); /* the reference's ledger is closed */
void job_time_view(const struct job *j, uint64_t now_ns, struct ledger_view *ret);
/* Where the time has gone, but for what is not settled yet. */
void job_time_sums(const struct job *j, uint64_t now_ns, uint64_t *ret_ns);
uint64_t job_time_goodput(const struct job *j);
/* Progress beyond so much goodput is lost: moved. Returns how much that was. */
uint64_t job_time_waste(struct job *j, uint64_t goodput_ns);

/* job_window.c: the same by the clock; each before job_time has changed */
void job_window_refer(struct job *j, const struct rank *r, bool midway, uint64_t from_ns,
		      enum bucket between);
void job_window_leave(struct job *j, const struct rank *r, const struct ledger_view *v,
		      uint64_t edge_ns);
void job_window_waste(struct job *j, uint64_t ns);
void job_windows(const struct job *j, uint64_t now_ns, const uint64_t *length_ns,
		 struct window_view *ret);

/* job_carry.c: what the job does is this node's to tell. */
bool job_told_here(const struct job *j);

/* job_work.c; before what it tells of has changed the job */
void job_work_begin(struct job *j, const struct rank *r); /* another run, with this rank */
void job_work_step(struct job *j, uint64_t start_ns, uint64_t end_ns, bool timed);
/* Those behind p; NULL: all of them. */
void job_work_lose(struct job *j, uint64_t steps, uint64_t goodput_ns, const struct job_point *p);
void job_work_leave(struct job *j, const struct rank *r, uint64_t now_ns);
void job_work_view(const struct job *j, uint64_t now_ns, struct job_view *ret);
void job_work_archive(struct archive *a, struct job_work *w);

/* job_place.c */
void job_places_free(struct job_places *ps);
void job_places_archive(struct archive *a, struct job_places **ps);

/* job.c */
/* The newest checkpoint of no later step. */
const struct job_point *job_point_of(const struct job *j, uint64_t step);
/* Made where it is not there. *ret NULL: there are too many. 0 or -ENOMEM. */
int jobs_named(struct rank_env *env, const char *name, const char *uid, struct job **ret);

/* job_named.c */
void job_formers_take(struct jobs *js, uint64_t key); /* it is another job's now */
/* The rank is of a later attempt than the run. */
bool job_attempt_later(const struct job *j, const struct rank *r);
/* ... before that begins: a disruption, unless one is open. */
void job_attempt_fell(struct job *j, const struct rank *r);
void job_attempt(struct job *j, const struct rank *r, bool begins); /* it has joined */
void scheduling_archive(struct archive *a, struct scheduling *s);

/* job_fall.c */
void job_fall_open(struct job *j, const struct rank *r, uint64_t now_ns,
		   const struct job_cause *why);
void job_fall_tell(struct rank_env *env, struct job *j, uint64_t now_ns);
/* Its cause stays what it is, and is counted. */
void job_fall_settle(struct job *j);
void job_fall_close(struct rank_env *env, struct job *j, uint64_t start_ns, uint64_t end_ns,
		    uint64_t step);

#endif
