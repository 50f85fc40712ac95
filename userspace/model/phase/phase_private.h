/* SPDX-License-Identifier: Apache-2.0 */
/* phase_private.h - internals of the phase*.c files; other files use phase.h.
 *
 *   phase.c             turns signals into spans
 *   phase_thread.c      the table of threads
 *   phase_checkpoint.c  finds checkpoints from files and markers
 *   phase_file.c        handles records of the file system probes
 *   phase_step.c        divides steps into phases, and finds what they waited for
 *   phase_save.c        saves and restores the state */
#ifndef MODEL_PHASE_PRIVATE_H
#define MODEL_PHASE_PRIVATE_H

#include <errno.h>
#include <string.h>

#include "bpf/gp_abi.h"
#include "userspace/base/grow.h"
#include "userspace/model/phase/phase.h"

/* Threads whose state is kept. A further one replaces the one that was idle longest. */
#define PHASE_THREADS 64
#define PHASE_BREAKS  64 /* limit of breaks that are kept until they are cut from a step */
/* Marks kept until the step that contains them is finished. A further one replaces the oldest. */
#define PHASE_MARKS	8192
#define PHASE_MARKS_MIN 128
/* number of last marks that are checked when a blocking mark is added: they may lie within it */
#define PHASE_INNER 16
/* limit of kept values of `usual`, from which the usual number of batches between two signs of
 * training is learned */
#define PHASE_FETCHES 15
/* limit of kept times between two signs of work, from which the usual time is learned */
#define PHASE_RUNS 20
/* number of times from a program to the next sign of work that are needed to know the usual time */
#define PHASE_ALIKE 4

/* ns; a shorter call of a collective or copy only enqueues work, and does not count as blocked */
#define PHASE_BLOCKED_NS 20000

/* Kinds of marks. The order matters: mark_blocks() treats COLLECTIVE to COMPILE as one range. Saved
 * states contain the numbers, so a change needs a new FORMAT in model_save.c. */
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
	/* A blocking mark that lies within a later blocking mark, which already contains its time.
	 */
	MARK_INNER,
	MARK_KINDS
};

_Static_assert(MARK_COMPILE - MARK_COLLECTIVE == 3, "mark_blocks() is about all in this range");

/* Returns true if the thread was blocked, or compiled, during a mark of this kind. */
static inline bool mark_blocks(enum mark_kind kind)
{
	return kind == MARK_SYNC || (kind >= MARK_COLLECTIVE && kind <= MARK_COMPILE);
}

/* Bits of the blocking kinds of marks, as in phase_finder.seen. */
#define MARKS_BLOCKING (1u << MARK_SYNC | 0xfu << MARK_COLLECTIVE)

/* an activity of one thread, to divide steps into phases; marks are sorted by end_ns */
struct phase_mark {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	enum mark_kind kind;
};

struct phase_break { /* time that belongs to no step, such as an evaluation or a checkpoint */
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	bool estimated;
};

struct burst { /* a checkpoint that a thread writes or reads: one file, or several close together */
	bool active;
	bool open; /* a writer is active */
	/* The checkpoint began with a call of a function that saves. */
	bool called;
	/* The wait of the training thread for the start of this checkpoint has been reported. */
	bool handed;
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint64_t unit;	 /* hash of the folder that contains the checkpoint's files; 0: unknown */
	uint64_t ran_ns; /* end of the first step that ended after begin_ns; 0: none */
	uint32_t files, seen;
	char file[GP_PATH_MAX];
};

struct phase_after {	   /* times of events after the fetch of a batch; 0: no such event */
	uint64_t range_ns; /* start of the first named range of the job */
	uint64_t save_ns;  /* start of the first checkpoint */
};

/* The batches fetched before the first one that was trained on. If later steps
 * show that their number is unusual, they were an evaluation, or batches that a resumed job
 * skipped. Members as in struct phase_thread; fetches 0: there were no such batches. */
struct phase_first {
	uint64_t begin_ns, end_ns, loading_ns;
	uint32_t fetches, quiet;
};

struct phase_thread {
	uint32_t tid;
	uint64_t seen_ns;
	bool backward, updates; /* the thread has ever run a backward pass; an update */
	bool fetching;
	uint64_t fetch_ns;   /* start of the fetch of a batch in progress, or of the last one */
	uint64_t fetched_ns; /* end of the last fetch of a batch */
	uint32_t fetches;    /* number of batches since the last sign of training */
	/* Value of `fetches` when code last ran without gradients; 0: no such code ran. */
	uint32_t quiet;
	uint64_t quiet_ns; /* end of the last code that ran without gradients */
	/* number of the batches in `fetches` that were followed by a named range */
	uint32_t ranged;
	/* after: events since the last batch was fetched; before: events between the fetch of the
	 * previous batch and that of the last one */
	struct phase_after after, before;
	/* start of the first fetch of a batch since the last training; end of the last update, if
	 * there was one */
	uint64_t gap_ns;
	/* end of the last update, or of a checkpoint after it; 0 after a backward pass */
	uint64_t updated_ns;
	uint64_t trained_ns; /* last backward pass, or end of the last update */
	uint64_t saved_ns;   /* end of the last checkpoint that was reported */
	uint32_t usual[PHASE_FETCHES];
	uint32_t gaps;	  /* number of values put into `usual` so far */
	uint64_t idle_ns; /* end of the last update; 0 after any further work */
	/* time of the last run of a program, and the hash of that program */
	uint64_t run_ns, ran;
	/* Times from a run of a program, or an update, to the next sign of work, except those with
	 * a save in between. */
	uint64_t between_ns[PHASE_RUNS];
	/* for each time in between_ns: hash of the program whose run came before; 0: an update came
	 * before */
	uint32_t between[PHASE_RUNS];
	uint32_t runs; /* number of times in between_ns so far */
	/* Time of a call of a function that saves asynchronously; 0 when the call has returned. */
	uint64_t called_ns;
	uint64_t loading_ns,
		/* loading_ns: time spent loading all batches since the last training; loaded_ns:
		 * time spent loading the last batch */
		loaded_ns;
	struct phase_first first;
	struct burst save, restore;
};

struct phase_finder {
	span_fn *emit;
	void *ctx;
	struct phase_thread
		*threads; /* at most PHASE_THREADS; adding a thread may move the array */
	uint32_t nthreads, threads_cap;
	/* index of the thread of the last signal, which is tried first */
	uint32_t last;
	bool trained;		    /* some thread ran a backward pass or an update */
	bool files;		    /* file system probes are attached */
	uint32_t bursts;	    /* number of checkpoints being written or read */
	uint32_t seen;		    /* one bit for each mark_kind that has occurred */
	struct phase_break *breaks; /* at most PHASE_BREAKS */
	uint32_t nbreaks, breaks_cap;
	/* first error since the last call of a function that returns an error */
	int error;
	struct phase_mark *marks; /* ring of the last marks, see phase_mark_at() */
	uint64_t first, next;
	uint32_t cap;	     /* capacity of the ring: 0, or a power of two */
	uint64_t stepped_ns; /* marks that end before this instant are no longer needed */
	/* End of the last wait of a training thread for an asynchronous checkpoint to begin that
	 * could not be cut from its step; the step is then marked as estimated. */
	uint64_t handed_ns;
};

struct phase_split { /* state while a step is divided into phases, mark by mark */
	struct fact_step *out;
	uint64_t from_ns; /* start of the forward pass in progress, if there is one */
	/* length of the earlier parts of the forward pass in progress */
	uint64_t forward_ns;
	uint64_t backward_ns; /* start of the backward pass in progress; 0: none */
	uint64_t updated_ns;  /* end of the last update: the ranges of two updates may overlap */
	uint64_t worked_ns;   /* start of the first backward pass of the step; 0: none */
	const struct phase_finder *pf;
	bool forward, backward;
};

/* Files that are written or read less than this (ns) apart belong to one checkpoint. */
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
/* Adds a span as a break: it belongs to no step. Sets pf->error when there is no memory. */
void phase_break_add(struct phase_finder *pf, const struct span *s, bool estimated);

/* phase_checkpoint.c */
/* Handles a call that writes or reads a file: adds the file to checkpoint b (t->save or
 * t->restore). */
void phase_burst(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		 const struct signal *s);
/* Ends checkpoint b and reports it as a span. closed: its end was seen. */
void phase_burst_close(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		       bool closed);
/* Ends the checkpoint that the thread writes, because the thread does something else now. */
void phase_save_over(struct phase_finder *pf, struct phase_thread *t);
/* Returns the thread to which a file written by t belongs. Threads of a pool write for the thread
 * that called the function that saves. */
struct phase_thread *phase_save_thread(struct phase_finder *pf, struct phase_thread *t);
void phase_feed_save(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* Handles a run of a compiled program on the thread. */
void phase_run(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* Handles a sign of work of the thread after an update. If the thread had called a function that
 * saves asynchronously, that call has returned. */
void phase_works(struct phase_finder *pf, struct phase_thread *t, uint64_t now_ns);
void phase_feed_save_call(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
void phase_feed_restore(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
void phase_restore_end(struct phase_finder *pf, struct phase_thread *t, const struct signal *s);
/* Ends checkpoints that had no file for BURST_NS at now_ns. all: ends all checkpoints, at the end
 * of the process. */
void phase_bursts_expire(struct phase_finder *pf, uint64_t now_ns, bool all);

#endif
