/* SPDX-License-Identifier: Apache-2.0 */
/* phase_private.h - state and functions shared by the phase*.c files; phase.h is for all others.
 *
 *   phase.c             signals to spans
 *   phase_thread.c      the table of threads
 *   phase_checkpoint.c  files and markers to checkpoints
 *   phase_file.c        files from the file system probes
 *   phase_step.c        spans within steps, and what a step waited for
 *   phase_save.c        state as bytes */
#ifndef MODEL_PHASE_PRIVATE_H
#define MODEL_PHASE_PRIVATE_H

#include <errno.h>
#include <string.h>

#include "bpf/gp_abi.h"
#include "userspace/base/grow.h"
#include "userspace/model/phase/phase.h"

#define PHASE_THREADS	64   /* followed at once; the one idle longest is replaced */
#define PHASE_BREAKS	64   /* not yet cut off a step */
#define PHASE_MARKS	8192 /* kept for unsettled steps; the oldest is replaced */
#define PHASE_MARKS_MIN 128
#define PHASE_INNER	16 /* last marks that may lie within a new one */
#define PHASE_FETCHES	15 /* gaps used to learn the usual number of batches */
#define PHASE_RUNS	20 /* last times from one sign of work to the next */
/* times after the same program that are needed to compute the usual one */
#define PHASE_ALIKE 4

/* A shorter call of a collective or copy only enqueues it. */
#define PHASE_BLOCKED_NS 20000

/* The order matters: mark_blocks() and MARK_INNER take COLLECTIVE to COMPILE as one range. Saved
 * states hold the numbers: a change needs a new FORMAT in model_save.c. */
enum mark_kind {
	MARK_FETCH,
	MARK_BACKWARD,
	MARK_UPDATE,
	MARK_ZERO_GRAD,
	MARK_SYNC,
	MARK_GAP,
	MARK_COLLECTIVE,
	MARK_COPY,
	MARK_COPY_OUT, /* copy to the host */
	MARK_COMPILE,
	/* A mark from MARK_COLLECTIVE on, or MARK_SYNC, that lies within another one. */
	MARK_INNER,
	MARK_KINDS
};

_Static_assert(MARK_COMPILE - MARK_COLLECTIVE == 3, "mark_blocks() is about all in this range");

/* Returns true when the thread is blocked (or compiles) during such a mark. */
static inline bool mark_blocks(enum mark_kind kind)
{
	return kind == MARK_SYNC || (kind >= MARK_COLLECTIVE && kind <= MARK_COMPILE);
}

/* Bits of these kinds, as in phase_finder.seen. */
#define MARKS_BLOCKING (1u << MARK_SYNC | 0xfu << MARK_COLLECTIVE)

struct phase_mark { /* of one thread; sorted by end_ns */
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	enum mark_kind kind;
};

struct phase_break { /* time that lies in no step */
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	bool estimated;
};

struct burst { /* files of one checkpoint */
	bool active;
	bool open; /* a writer is active */
	/* It began with a call of the function that saves, which was seen. */
	bool called;
	/* The time that the training thread waited for it to begin has been reported. */
	bool handed;
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint64_t unit;	 /* the folder of its files; 0: unknown */
	uint64_t ran_ns; /* end of the first step that ended after it began; 0: none */
	uint32_t files, seen;
	char file[GP_PATH_MAX];
};

struct phase_after {	   /* events since a batch came; 0: did not happen */
	uint64_t range_ns; /* start of the first named range of the job */
	uint64_t save_ns;  /* start of the first checkpoint */
};

/* Batches before the first one that was trained on: whether that number is usual is not known yet.
 * Fields as in struct phase_thread; fetches 0: there are none. */
struct phase_first {
	uint64_t begin_ns, end_ns, loading_ns;
	uint32_t fetches, quiet;
};

struct phase_thread {
	uint32_t tid;
	uint64_t seen_ns;
	bool backward, updates; /* ever ran one */
	bool fetching;
	uint64_t fetch_ns;   /* start of the open or last fetch */
	uint64_t fetched_ns; /* end of the last fetch */
	uint32_t fetches;    /* since the last sign of training */
	/* Value of fetches when something had last run without gradients; 0: nothing did. */
	uint32_t quiet;
	uint64_t quiet_ns; /* end of that */
	uint32_t ranged;   /* number of these batches that were followed by a named range */
	struct phase_after after, before; /* of the last batch; of the one before */
	uint64_t gap_ns;     /* start of these batches, or end of the update before them */
	uint64_t updated_ns; /* end of the last update, if no backward came after it */
	uint64_t trained_ns; /* last backward, or end of an update */
	uint64_t saved_ns;   /* end of the last checkpoint reported */
	uint32_t usual[PHASE_FETCHES];
	uint32_t gaps;	      /* ever */
	uint64_t idle_ns;     /* end of the last update, if no work came after it; else 0 */
	uint64_t run_ns, ran; /* time of the last run of a program, and which one */
	/* Times from a run to the next sign of work, except those prolonged by a save. */
	uint64_t between_ns[PHASE_RUNS];
	uint32_t between[PHASE_RUNS]; /* program before each: hash of `ran`; 0: an update */
	uint32_t runs;		      /* number of these, ever */
	/* When it called a function that saves asynchronously, until it shows that this returned;
	 * 0: no such call. */
	uint64_t called_ns;
	uint64_t loading_ns,
		loaded_ns; /* loading time of these batches: all of them; the last one */
	struct phase_first first;
	struct burst save, restore;
};

struct phase_finder {
	span_fn *emit;
	void *ctx;
	struct phase_thread
		*threads; /* at most PHASE_THREADS; pointers are invalid after one is added */
	uint32_t nthreads, threads_cap;
	uint32_t last;		    /* index of the thread of the last signal */
	bool trained;		    /* some thread ran a backward or an update */
	bool files;		    /* files are watched */
	uint32_t bursts;	    /* number of active bursts */
	uint32_t seen;		    /* bit per mark_kind ever seen */
	struct phase_break *breaks; /* at most PHASE_BREAKS */
	uint32_t nbreaks, breaks_cap;
	int error;		  /* error since the last call that returns one */
	struct phase_mark *marks; /* ring: see phase_mark_at() */
	uint64_t first, next;
	uint32_t cap;	     /* 0, or a power of two */
	uint64_t stepped_ns; /* marks that end before this are not needed any more */
	/* End of the last wait for an asynchronous checkpoint that did not shorten a step. */
	uint64_t handed_ns;
};

struct phase_split { /* state of a walk through the marks of one step, in order of time */
	struct fact_step *out;
	uint64_t from_ns;    /* earliest start of a forward pass */
	uint64_t forward_ns; /* parts of the forward pass before from_ns, when it was interrupted */
	uint64_t backward_ns; /* start of the running backward; 0: none */
	uint64_t updated_ns;  /* end of the last update: the ranges of updates may overlap */
	uint64_t worked_ns;   /* start of the first backward; 0: none */
	const struct phase_finder *pf;
	bool forward, backward;
};

/* Files less than this apart are one checkpoint. */
#define BURST_NS 1000000000ull

/* Returns mark i of the ring; cap must not be 0. */
static inline struct phase_mark *phase_mark_at(const struct phase_finder *pf, uint64_t i)
{
	return &pf->marks[i & (pf->cap - 1)];
}

/* Returns NULL when the thread is not known. */
const struct phase_thread *phase_thread_find(const struct phase_finder *pf, uint32_t tid);
/* Returns the thread of a signal, added when new; NULL when there is no memory. */
struct phase_thread *phase_thread_of(struct phase_finder *pf, const struct signal *s);
bool phase_thread_trains(const struct phase_finder *pf, const struct phase_thread *t);
/* Adds a span that lies in no step; sets pf->error when there is no memory. */
void phase_break_add(struct phase_finder *pf, const struct span *s, bool estimated);

/* phase_checkpoint.c */
/* Adds a file to a burst; b is t->save or t->restore. */
void phase_burst(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		 const struct signal *s);
/* Ends a burst and reports it; closed: its end was seen. */
void phase_burst_close(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		       bool closed);
/* The thread does something else, so the checkpoint that it wrote has ended. */
void phase_save_over(struct phase_finder *pf, struct phase_thread *t);
/* Returns the thread whose checkpoint this thread writes (threads of a pool write for their
 * caller). */
struct phase_thread *phase_save_thread(struct phase_finder *pf, struct phase_thread *t);
void phase_feed_save(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* The thread runs a program. */
void phase_run(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* The thread works after an update, so it does not wait in a save. */
void phase_works(struct phase_finder *pf, struct phase_thread *t, uint64_t now_ns);
void phase_feed_save_call(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
void phase_feed_restore(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
void phase_restore_end(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* Ends bursts that are over by now_ns; all: the process ended. */
void phase_bursts_expire(struct phase_finder *pf, uint64_t now_ns, bool all);

#endif
