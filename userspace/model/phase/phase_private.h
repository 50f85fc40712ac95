/* SPDX-License-Identifier: Apache-2.0 */
/* phase_private.h - internals of the phase*.c files; other files use phase.h.
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

/* threads followed at once; a new one replaces the one idle longest */
#define PHASE_THREADS 64
#define PHASE_BREAKS  64 /* breaks that were not removed from a step yet */
/* marks kept for steps that are not finished; a new one replaces the oldest */
#define PHASE_MARKS	8192
#define PHASE_MARKS_MIN 128
/* only the last PHASE_INNER marks are checked for lying within a new one */
#define PHASE_INNER   16
#define PHASE_FETCHES 15 /* gaps used to learn the usual number of batches */
#define PHASE_RUNS    20 /* last times from one sign of work to the next that are kept */
/* A usual time needs at least this many times after the same program. */
#define PHASE_ALIKE 4

/* ns; a shorter call of a collective or copy only enqueues work and does not count as blocked */
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

/* Bits of the kinds of marks that block, as in phase_finder.seen. */
#define MARKS_BLOCKING (1u << MARK_SYNC | 0xfu << MARK_COLLECTIVE)

struct phase_mark { /* a mark of one thread; sorted by end_ns */
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
	/* The burst began with a call of the function that saves. */
	bool called;
	/* The wait of the training thread for the start of this checkpoint has been reported. */
	bool handed;
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint64_t unit;	 /* the folder of its files; 0: unknown */
	uint64_t ran_ns; /* end of the first step that ended after the burst began; 0: none */
	uint32_t files, seen;
	char file[GP_PATH_MAX];
};

struct phase_after {	   /* events since the last batch; 0: did not happen */
	uint64_t range_ns; /* start of the first named range of the job */
	uint64_t save_ns;  /* start of the first checkpoint */
};

/* Batches before the first one that was trained on. Whether their number is usual is not known yet.
 * Fields as in struct phase_thread; fetches 0: no such batches. */
struct phase_first {
	uint64_t begin_ns, end_ns, loading_ns;
	uint32_t fetches, quiet;
};

struct phase_thread {
	uint32_t tid;
	uint64_t seen_ns;
	bool backward, updates; /* the thread ran a backward, an update at some time */
	bool fetching;
	uint64_t fetch_ns;   /* start of the open or last fetch */
	uint64_t fetched_ns; /* end of the last fetch */
	uint32_t fetches;    /* number of batches since the last sign of training */
	/* Value of `fetches` when code last ran without gradients; 0: none did. */
	uint32_t quiet;
	uint64_t quiet_ns; /* end of the last code that ran without gradients */
	uint32_t ranged;   /* number of these batches that were followed by a named range */
	/* after: since the last batch; before: since the previous one */
	struct phase_after after, before;
	/* start of the batches since the last training, or end of the update before them */
	uint64_t gap_ns;
	uint64_t updated_ns; /* end of the last update, if no backward came after it */
	uint64_t trained_ns; /* last backward, or end of an update */
	uint64_t saved_ns;   /* end of the last checkpoint reported */
	uint32_t usual[PHASE_FETCHES];
	uint32_t gaps;	  /* number of gaps so far */
	uint64_t idle_ns; /* end of the last update, if no work came after it; else 0 */
	/* time of the last run of a program, and identity of that program */
	uint64_t run_ns, ran;
	/* Times from a run to the next sign of work, without those prolonged by a save. */
	uint64_t between_ns[PHASE_RUNS];
	/* program before each time: hash of `ran`; 0: an update */
	uint32_t between[PHASE_RUNS];
	uint32_t runs; /* number of times in between_ns so far */
	/* Time of a call of a function that saves asynchronously, until the thread shows that the
	 * call returned; 0: no such call. */
	uint64_t called_ns;
	uint64_t loading_ns,
		/* loading time of all batches since the last training; of the last one */
		loaded_ns;
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
	uint32_t seen;		    /* bit per mark_kind seen so far */
	struct phase_break *breaks; /* at most PHASE_BREAKS */
	uint32_t nbreaks, breaks_cap;
	int error;		  /* error since the last call that returns one */
	struct phase_mark *marks; /* ring: see phase_mark_at() */
	uint64_t first, next;
	uint32_t cap;	     /* 0, or a power of two */
	uint64_t stepped_ns; /* marks that end before this instant are no longer needed */
	/* End of the last wait for an asynchronous checkpoint by which no step was shortened. */
	uint64_t handed_ns;
};

struct phase_split { /* state of the division of one step, in order of its marks */
	struct fact_step *out;
	uint64_t from_ns; /* earliest start of a forward pass */
	/* length of the forward pass before from_ns, if it was interrupted */
	uint64_t forward_ns;
	uint64_t backward_ns; /* start of the running backward; 0: none */
	uint64_t updated_ns;  /* end of the last update; ranges of updates may overlap */
	uint64_t worked_ns;   /* start of the first backward; 0: none */
	const struct phase_finder *pf;
	bool forward, backward;
};

/* Files less than this (ns) apart belong to one checkpoint. */
#define BURST_NS 1000000000ull

/* Returns mark i of the ring; cap must not be 0. */
static inline struct phase_mark *phase_mark_at(const struct phase_finder *pf, uint64_t i)
{
	return &pf->marks[i & (pf->cap - 1)];
}

/* Returns NULL when the thread is unknown. */
const struct phase_thread *phase_thread_find(const struct phase_finder *pf, uint32_t tid);
/* Returns the thread of a signal, added if new; NULL when there is no memory. */
struct phase_thread *phase_thread_of(struct phase_finder *pf, const struct signal *s);
bool phase_thread_trains(const struct phase_finder *pf, const struct phase_thread *t);
/* Adds a span that lies in no step; sets pf->error when there is no memory. */
void phase_break_add(struct phase_finder *pf, const struct span *s, bool estimated);

/* phase_checkpoint.c */
/* Adds a file to a burst; b is t->save or t->restore. */
void phase_burst(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		 const struct signal *s);
/* Ends a burst and reports its span. closed: the end was seen. */
void phase_burst_close(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		       bool closed);
/* Ends the checkpoint that the thread wrote: the thread does something else now. */
void phase_save_over(struct phase_finder *pf, struct phase_thread *t);
/* Returns the thread whose checkpoint this thread writes: threads of a pool write for the thread
 * that called them. */
struct phase_thread *phase_save_thread(struct phase_finder *pf, struct phase_thread *t);
void phase_feed_save(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* Takes a run of a program on the thread. */
void phase_run(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* The thread works after an update, so it no longer waits in a save. */
void phase_works(struct phase_finder *pf, struct phase_thread *t, uint64_t now_ns);
void phase_feed_save_call(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
void phase_feed_restore(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
void phase_restore_end(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* Ends bursts without a file for BURST_NS at now_ns. all: ends all of them, at the end of the
 * process. */
void phase_bursts_expire(struct phase_finder *pf, uint64_t now_ns, bool all);

#endif
