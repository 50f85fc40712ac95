/* SPDX-License-Identifier: Apache-2.0 */
/* step_internal.h - what the step_*.c files share; step.h is for everybody else.
 *
 *   signals -> threads (step.c) -> marks, one stream per family of markers
 *           -> lanes (step_stream.c): one per training loop, told apart by overlap in time
 *           -> groups (step_lane.c): marks that make one update of the parameters (rule B2)
 *           -> steps: as many groups as the author's iteration has (rules I and F, step_unit.c)
 */
#ifndef MODEL_STEP_INTERNAL_H
#define MODEL_STEP_INTERNAL_H

#include "userspace/base/grow.h"
#include "userspace/model/step.h"

#define STEP_THREADS 64	  /* followed at once; the one idle longest gives way */
#define STEP_HELD    256  /* groups held before the lock */
#define STEP_QUEUE   1024 /* marks held until a thread's loop is known */
#define STEP_MEMBERS 1024 /* marks of one group that can still be told apart again */
#define STEP_RECENT  64	  /* steps behind ratios and the median */
#define STEP_PERIOD  32	  /* longest period of updates looked for */
#define STEP_TOKENS  80	  /* tokens looked at before giving up: 2 periods and some */

/* Kinds of markers, each able to find steps alone; in order of trust. */
enum family {
	FAMILY_RANGES,
	FAMILY_ZERO_GRAD,
	FAMILY_UPDATE_OP,
	FAMILY_ANON,
	FAMILY_REDUCER,
	FAMILY_BACKWARD,
	FAMILY_EXECUTE,
	FAMILY_SYNC,
	FAMILY_PROBE,
	FAMILY_COUNT,
};
#define FAMILY_NONE FAMILY_COUNT

struct exec;

struct hits {
	uint64_t backward, fetch, zero_grad, reducer;
};

struct step_thread {
	uint32_t tid;
	bool backward; /* ever ran one */
	uint32_t owns; /* bit per family: its marks came from this thread */
	uint64_t seen_seq, seen_ns;
	uint64_t backward_seq, fetch_seq; /* last ones; 0: never */
	uint64_t backward_ns;
	uint64_t first_ns; /* first sign of training */
	bool update_open;
	uint64_t update_ident;
	bool amp_backward, amp_update; /* since the last decision of the gradient scaler */
	uint64_t zero_grad_backwards;  /* backwards when zero_grad was last called */
	bool zero_grad_seen;
	uint32_t zero_grad_name;
	char class[40]; /* of the optimizer it used last */
	struct hits hits;
	struct hits base[FAMILY_COUNT]; /* hits at the last mark */
	uint64_t span_ns[FAMILY_COUNT]; /* first backward since the last mark; 0: none */
};

/* One marker hit that may end a step. */
struct mark {
	uint64_t begin_ns, end_ns;
	uint64_t span_ns; /* first backward since the thread's mark before; 0: none */
	uint64_t seq;
	uint64_t backward_seq; /* last backward of its own thread */
	uint64_t sep_seq;      /* last backward or fetch on the threads it listens to */
	uint64_t fetch_seq;    /* last fetch there */
	struct hits hits;      /* there, since the mark before */
	uint64_t ident;
	uint32_t name, tid, flags;
	uint32_t thread; /* index */
	bool apart;	 /* nothing joins it */
	bool skipped;	 /* no update: the gradient scaler skipped it */
};

/* What the period is looked for in: which optimizer, and did it get a fresh batch. */
struct token {
	uint64_t ident;
	uint32_t name;
	bool fetched;
};

struct unit {		 /* how many groups make the author's step */
	uint32_t period; /* 0: none found */
	uint32_t size;	 /* groups per step */
	uint32_t from;	 /* index of the first token that fits */
	uint32_t first;	 /* ... and of the first that starts a step */
	uint32_t fresh;	 /* groups of one period that got a fresh batch */
	bool ambiguous;
	bool any;			   /* tokens need not match: every group is a step */
	bool by_class;			   /* identities say nothing here */
	struct token pattern[STEP_PERIOD]; /* from the first group of a step */
};

struct unit_input {
	const struct token *tokens;
	uint32_t count;
	bool from_start; /* tokens[0] starts a step; else what came before it is not known */
	bool fetch_ends; /* the mark that follows a fetch ends a step, it does not start one */
};

/* true: *ret is settled. */
bool unit_learn(const struct unit_input *in, struct unit *ret);
/* A period that most of many tokens fit. */
bool unit_learn_mostly(const struct unit_input *in, struct unit *ret);
/* The best reading of what there is; always settles. */
void unit_guess(const struct unit_input *in, struct unit *ret);
bool token_equal(const struct token *a, const struct token *b, bool by_class);

struct group { /* marks that make one update */
	struct token token;
	uint64_t begin_ns, end_ns, seq;
	struct hits hits;
	uint32_t updates, tid, flags;
	bool skipped;
};

enum lane_mode { LANE_LEARNING, LANE_LOCKED, LANE_RELEARNING };

struct lane {
	enum family family;
	uint32_t loop;
	bool live; /* its family was elected: it may give out steps */
	bool any;  /* a mark was seen */
	bool open;
	bool loose;	  /* updates without a backward between them count one by one, for now */
	bool taint;	  /* the next group */
	bool unwatched;	  /* ... comes after a gap: what lies before it was not seen */
	uint32_t largest; /* group closed by a backward */
	uint64_t last_seq;
	uint32_t last_tid;
	struct group group;
	uint64_t *ends; /* of the open group's marks */
	uint32_t ends_cap;
	struct group *held; /* STEP_HELD at most */
	uint32_t nheld, held_cap;
	enum lane_mode mode;
	struct unit unit;
	struct group sum; /* of the step in progress */
	uint32_t sum_groups;
	struct token *history; /* of a live one: the last STEP_TOKENS, oldest overwritten */
	uint64_t tokens;       /* ever */
	uint64_t odd[4];       /* when tokens last did not fit, latest first */
	uint32_t regrouped;
	struct hits rest; /* hits of groups dropped or joined late */
	uint64_t marks;
};

struct loop { /* what outlives a change of family */
	bool used;
	uint64_t start_ns; /* of the step in progress: end of the one before, or the first sign */
	uint64_t number;
	struct group many; /* multiply: steps so far of the one in progress */
	uint32_t nmany;
	struct hits recent[STEP_RECENT];
	uint64_t recent_ns[STEP_RECENT];
	uint64_t nrecent;	/* ever */
	uint32_t tainted;	/* bit per step, latest lowest */
	uint32_t waits;		/* ... in which the host waited for the device */
	char name[40];		/* optimizer class of the marker */
	struct step_state told; /* last state given out */
};

struct tracker { /* one family's marks, by loop */
	struct lane *lanes[STEP_LOOPS];
	uint32_t nlanes;
	uint8_t lane_of[STEP_THREADS]; /* lane + 1; 0: not known */
	struct mark *queue;	       /* STEP_QUEUE at most */
	uint32_t nqueue, queue_cap;
	uint64_t first_lane_seq; /* of the first lane's last mark by a thread with backwards of its
				    own */
	uint32_t first_lane_thread;
	uint32_t changes, overlaps; /* between threads of the first lane, lately */
	uint64_t marks, last_seq;
	uint64_t since_better; /* marks since a family of more trust made one */
};

/* A runtime whose ranges have no names (step_anon.c). */
#define ANON_PASSES 64 /* backwards looked at before what they mean is settled */

struct anon_pass { /* a backward and what followed it on its thread */
	struct mark mark;
	uint64_t second_ns; /* second range: where an optimizer called first had ended; 0: none */
	uint32_t opens;
};

struct anon { /* of one thread */
	uint32_t thread;
	uint64_t backwards;
	bool running, settled, accumulates;
	bool reduces;  /* DDP: its forward is a range as well */
	uint32_t base; /* ranges between two micro-batches */
	uint32_t gathered, backlog;
	uint32_t each; /* backwards of the last step, when it had as many as the one before; else 0
			*/
	uint32_t last; /* ... of the last step */
	struct anon_pass pass, *passes; /* ANON_PASSES at most, until it is settled */
	uint32_t passes_cap;
};

#define CYCLE_WAITS                                                                                \
	16 /* blocking waits of a process that shows nothing else, before they are a cycle */

struct cycle {	    /* the last ones */
	uint64_t n; /* ever */
	uint64_t first_ns;
	char probe[48]; /* where most of them are seen, by majority vote; "": not known */
	uint64_t votes;
	struct {
		uint64_t begin_ns, end_ns, ident;
		uint32_t tid;
	} wait[CYCLE_WAITS];
};

struct step_finder {
	struct step_config config;
	uint64_t seq;
	uint64_t now_ns, first_ns;
	uint64_t watched_ns;			  /* since then without a gap; 0: always */
	bool ended, backward, fetched, zero_grad; /* ever seen */
	uint64_t first_backward_seq;
	uint64_t updates_begun, updates_open, amps, skips, losses;
	uint32_t zero_grad_class[32], step_class[32]; /* bit sets of classes seen */
	bool zero_grad_first;			      /* it is called before the backward */
	bool zero_grad_known;
	enum family elected;
	bool fixed;  /* by the user */
	bool waited; /* for the device, since the last step */
	struct {     /* of the layer of runtimes that is counted */
		uint32_t layer;
		uint64_t compiled, cached;
	} programs;
	struct exec *exec;   /* NULL: no compiled program ran, or something better counts */
	struct cycle *cycle; /* NULL: no wait was seen, or something better was */
	struct tracker *trackers[FAMILY_COUNT];
	struct anon *anon[STEP_THREADS];
	bool anonymous;		     /* a range without a name was seen */
	struct step_thread *threads; /* STEP_THREADS at most; they move when there is one more */
	uint32_t nthreads, threads_cap;
	uint32_t backward_thread; /* index + 1: rule E listens to it */
	struct loop
		*loops[STEP_LOOPS]; /* the first one, and those that any tracker has a lane of */
	uint32_t nloops;
	struct step *out;
	uint32_t nout, out_cap, out_head;
	int error;
};

/* step.c */
struct mark mark_make(struct step_finder *sf, enum family f, struct step_thread *t,
		      const struct signal *s);

/* step_cycle.c */
void cycle_wait(struct step_finder *sf, const struct signal *s); /* SIGNAL_SYNC */
void cycle_finish(struct step_finder *sf);			 /* nothing more comes */

/* step_thread.c */
const struct step_thread *step_thread_find(const struct step_finder *sf, uint32_t tid);
/* The one idle longest gives way. NULL: no memory (sf->error). Valid until the next call. */
struct step_thread *step_thread_of(struct step_finder *sf, uint32_t tid);

/* step_stream.c */
void tracker_mark(struct step_finder *sf, enum family f, const struct mark *m);
void tracker_settle(struct step_finder *sf, struct tracker *t);
struct tracker *tracker_of(struct step_finder *sf, enum family f);
void tracker_free(struct tracker *t);
uint32_t tracker_loops(const struct step_finder *sf); /* so many there are */
bool thread_listens(const struct step_finder *sf, enum family f, const struct step_thread *to,
		    const struct step_thread *t);

/* step_lane.c */
struct lane *lane_new(struct step_finder *sf, enum family f, uint32_t loop);
void lane_free(struct lane *l);
void lane_mark(struct step_finder *sf, struct lane *l, const struct mark *m);
void lane_close(struct step_finder *sf, struct lane *l,
		bool by_backward); /* nothing can join any more */
void lane_digest(struct step_finder *sf,
		 struct lane *l); /* what is held, as far as it is settled */
void lane_finish(struct step_finder *sf, struct lane *l);
void lane_forget(struct lane *l); /* what is held */
/* Its family may come to be elected, and then goes on from what it holds. */
bool lane_hopes(const struct step_finder *sf, const struct lane *l);
void lane_spare(struct lane *l); /* memory that a search took, when nothing is held */

/* step_emit.c */
void step_emit(struct step_finder *sf, struct lane *l, const struct group *g);
enum step_boundary family_boundary(enum family f);
enum step_boundary step_boundary_of(const struct step_finder *sf, enum family f);
enum step_series step_series_of(const struct step_finder *sf, const struct loop *lp, enum family f);
enum step_tier family_tier(enum family f);

/* step_elect.c */
void step_elect(struct step_finder *sf, bool final);
/* A hit of the probe that the user named for whoever hits it ends steps, where nothing else does so
 * far. */
void step_elect_probe(struct step_finder *sf, const struct signal *s);
/* From here on this family counts. */
void step_take(struct step_finder *sf, enum family f);
enum step_unit step_unit(const struct step_finder *sf);

/* step_save.c, step_save_lane.c */
void hits_archive(struct archive *a, struct hits *h);
void group_archive(struct archive *a, struct group *g);
void lane_archive(struct archive *a, const struct step_finder *sf, struct lane **l, enum family f,
		  uint32_t loop);

/* step_anon.c */
void anon_free(struct anon *a);
void anon_backward(struct step_finder *sf, const struct mark *m);
void anon_open(struct step_finder *sf, uint32_t thread, uint64_t ts_ns);
void anon_reducer(struct step_finder *sf, uint32_t thread);
void anon_finish(struct step_finder *sf);
bool anon_backwards(const struct step_finder *sf);
bool anon_accumulates(const struct step_finder *sf);

/* For how long nothing came since ns, though somebody watched. */
static inline uint64_t silence_ns(const struct step_finder *sf, uint64_t ns)
{
	uint64_t since_ns = ns > sf->watched_ns ? ns : sf->watched_ns;

	return sf->now_ns > since_ns ? sf->now_ns - since_ns : 0;
}

static inline struct hits hits_add(struct hits a, struct hits b)
{
	return (struct hits){a.backward + b.backward, a.fetch + b.fetch, a.zero_grad + b.zero_grad,
			     a.reducer + b.reducer};
}

static inline struct hits hits_sub(struct hits a, struct hits b)
{
	return (struct hits){a.backward - b.backward, a.fetch - b.fetch, a.zero_grad - b.zero_grad,
			     a.reducer - b.reducer};
}

#endif
