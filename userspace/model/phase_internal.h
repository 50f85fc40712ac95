/* SPDX-License-Identifier: Apache-2.0 */
/* phase_internal.h - what phase.c (signals to spans), phase_checkpoint.c (files to checkpoints),
 * phase_step.c (spans inside steps) and phase_blocked.c (what a step waited for) share. */
#ifndef MODEL_PHASE_INTERNAL_H
#define MODEL_PHASE_INTERNAL_H

#include "bpf/gp_abi.h"
#include "userspace/base/grow.h"
#include "userspace/model/phase.h"

#define PHASE_THREADS	64   /* followed at once; the one idle longest gives way */
#define PHASE_BREAKS	64   /* not yet cut off a step */
#define PHASE_MARKS	8192 /* kept for steps that are not settled; the oldest give way */
#define PHASE_MARKS_MIN 128
#define PHASE_INNER	16 /* last marks that may lie within a new one */
#define PHASE_FETCHES	15 /* gaps behind the usual number of batches */

#define PHASE_BLOCKED_NS 20000 /* a shorter call of a collective or copy only hands it over */

enum mark_kind {
	MARK_FETCH,
	MARK_BACKWARD,
	MARK_UPDATE,
	MARK_ZERO_GRAD,
	MARK_SYNC,
	MARK_GAP,
	MARK_COLLECTIVE,
	MARK_COPY,
	MARK_COPY_OUT, /* to the host */
	MARK_COMPILE,
	MARK_INNER, /* one of those from MARK_COLLECTIVE on, or MARK_SYNC, within another */
	MARK_KINDS
};

static inline bool mark_blocks(enum mark_kind kind)
{
	return kind == MARK_SYNC || (kind >= MARK_COLLECTIVE && kind <= MARK_COMPILE);
}

struct phase_mark { /* of one thread, in order of end_ns */
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	enum mark_kind kind;
};

struct phase_break { /* lies in no step */
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	bool estimated;
};

struct burst { /* files of one checkpoint */
	bool active;
	bool open; /* a writer runs */
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint64_t unit;	 /* of the folder that its files lie in; 0: none is known */
	uint64_t ran_ns; /* end of the first step that ended since it began; 0: none did */
	uint32_t files, seen;
	char file[GP_PATH_MAX];
};

struct phase_after {	   /* since a batch came; 0: none */
	uint64_t range_ns; /* where the first range of the job's own began */
	uint64_t save_ns;  /* ... and the first checkpoint */
};

struct phase_thread {
	uint32_t tid;
	uint64_t seen_ns;
	bool backward, updates; /* ever ran one */
	bool fetching;
	uint64_t fetch_ns;		  /* where the open or last fetch began */
	uint64_t fetched_ns;		  /* end of the last fetch */
	uint32_t fetches;		  /* since the last sign of training */
	uint32_t ranged;		  /* batches of those that such a range followed */
	struct phase_after after, before; /* the last batch; the one before it */
	uint64_t gap_ns;		  /* where those began, or the update before them ended */
	uint64_t updated_ns; /* end of the last update, when no backward came after it */
	uint64_t trained_ns; /* last backward, or end of an update */
	uint64_t saved_ns;   /* end of the last checkpoint that was told */
	uint32_t usual[PHASE_FETCHES];
	uint32_t gaps; /* ever */
	struct burst save, restore;
};

struct phase_finder {
	span_fn *emit;
	void *ctx;
	struct phase_thread *threads; /* PHASE_THREADS at most; they move when there is one more */
	uint32_t nthreads, threads_cap;
	uint32_t last;		    /* index of the thread of the signal before */
	bool trained;		    /* some thread ran a backward or an update */
	uint32_t bursts;	    /* active ones */
	uint32_t seen;		    /* bit per mark_kind: ever */
	struct phase_break *breaks; /* PHASE_BREAKS at most */
	uint32_t nbreaks, breaks_cap;
	int error;		  /* what found no memory since the call before */
	struct phase_mark *marks; /* ring: index of a mark modulo cap, see phase_mark_at() */
	uint64_t first, next;
	uint32_t cap;	     /* 0, or a power of two */
	uint64_t stepped_ns; /* marks that end before are needed no more */
};

struct phase_split { /* a walk through the marks of one step, in order of time */
	struct fact_step *out;
	uint64_t from_ns;     /* where a forward pass may have begun */
	uint64_t forward_ns;  /* parts of one before from_ns, when it was interrupted */
	uint64_t backward_ns; /* where the backward that runs began; 0: none */
	uint64_t updated_ns;  /* end of the last update: their ranges may overlap */
	uint64_t worked_ns;   /* where the first backward began; 0: none */
	const struct phase_finder *pf;
	bool forward, backward;
};

#define BURST_NS 1000000000ull

/* cap is not 0. */
static inline struct phase_mark *phase_mark_at(const struct phase_finder *pf, uint64_t i)
{
	return &pf->marks[i & (pf->cap - 1)];
}

const struct phase_thread *phase_thread_find(const struct phase_finder *pf, uint32_t tid);
struct phase_thread *phase_thread_of(struct phase_finder *pf,
				     const struct signal *s); /* NULL: no memory */
bool phase_thread_trains(const struct phase_finder *pf, const struct phase_thread *t);
/* A span that lies in no step; for want of memory pf->error is set. */
void phase_break_add(struct phase_finder *pf, const struct span *s, bool estimated);

/* phase_checkpoint.c. b is t->save or t->restore; closed: its end was seen. */
void phase_burst(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		 const struct signal *s);
void phase_burst_close(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		       bool closed);
/* The thread does something else: a checkpoint that it wrote has ended. */
void phase_save_over(struct phase_finder *pf, struct phase_thread *t);
void phase_feed_save(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
void phase_feed_restore(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
void phase_restore_end(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* Time passed, or (all) the process ended. */
void phase_bursts_expire(struct phase_finder *pf, uint64_t now_ns, bool all);

/* phase_blocked.c. First mark that ends after ns. */
uint64_t phase_marks_after(const struct phase_finder *pf, uint64_t ns);
/* Marks of the step's thread; of the threads that run its backward when it runs none itself. */
bool phase_mark_counts(const struct phase_finder *pf, const struct phase_mark *m,
		       const struct step *s);
/* By kind of mark where ret_ns is not NULL. */
uint64_t phase_blocked_ns(const struct phase_split *sp, uint64_t from_ns, uint64_t to_ns,
			  uint64_t *ret_ns);
/* Of the step that sp->out is of: how long it was blocked, where, and what is left to its host. */
void phase_split_blocked(struct phase_split *sp);

#endif
