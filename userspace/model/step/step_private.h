/* SPDX-License-Identifier: Apache-2.0 */
/* step_private.h - internals of the step finder (step_*.c); other files use step.h.
 *
 *   signals -> threads (step.c) -> marks, one stream for each family of markers
 *           -> candidates (step_stream.c): one for each training loop, separated by overlap in time
 *           -> groups (step_candidate.c): marks that make one update of the parameters (rule B2)
 *           -> steps: as many groups as the author's iteration has (rules I and F, step_unit.c) */
#ifndef MODEL_STEP_PRIVATE_H
#define MODEL_STEP_PRIVATE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/model/step/step.h"

/* threads followed at once; a new one replaces the one idle longest */
#define STEP_THREADS 64
#define STEP_HELD    256  /* groups held until the loop is locked */
#define STEP_QUEUE   1024 /* marks held until the thread's loop is known */
#define STEP_MEMBERS 1024 /* marks of one group that can still be split into several groups */
#define STEP_RECENT  64	  /* last steps used for ratios and the median */
#define STEP_PERIOD  32	  /* longest period of updates searched for */
/* updates in which a period is searched before giving up; more than twice STEP_PERIOD */
#define STEP_TOKENS 80
/* optimizers remembered that updated alone for a while (candidate.stages) */
#define STAGES 4
/* After this many updates by two optimizers it is known whether they alternate in no fixed
 * order. */
#define CLASS_TOKENS 17

/* Kinds of markers. Each can find steps alone; step.c describes them. The order is how far they are
 * trusted, most first: step_elect.c prefers the first one that is ready. Some code compares places:
 * families from EXECUTE on know no backward pass. Saved states hold the numbers: a change needs a
 * new FORMAT in model_save.c. */
enum family {
	FAMILY_RANGES,
	FAMILY_ZERO_GRAD,
	FAMILY_UPDATE_OP,
	FAMILY_ANON,
	FAMILY_REDUCER,
	FAMILY_PARAM_OP,
	FAMILY_BACKWARD,
	FAMILY_EXECUTE,
	FAMILY_SYNC,
	FAMILY_PROBE,
	FAMILY_COUNT,
};
#define FAMILY_NONE FAMILY_COUNT
_Static_assert(FAMILY_BACKWARD < FAMILY_EXECUTE, "families with backward passes come first");

struct exec;

/* Counts of markers. */
struct hits {
	uint64_t backward, fetch, zero_grad, reducer;
};

struct step_thread {
	uint32_t tid;
	bool backward; /* the thread ran a backward pass at some time */
	uint32_t owns; /* bit per family: the thread made marks of this family */
	uint64_t seen_seq, seen_ns;
	/* sequence numbers of the thread's last backward and fetch; 0: none */
	uint64_t backward_seq, fetch_seq;
	uint64_t backward_ns;
	uint64_t first_ns; /* first sign of training */
	bool update_open;
	uint64_t update_ident;
	bool amp_backward, amp_update; /* seen since the gradient scaler's last decision */
	uint64_t zero_grad_backwards;  /* number of backward passes at the last zero_grad */
	bool zero_grad_seen;
	uint32_t zero_grad_name;
	char class[40]; /* class of the optimizer used last */
	struct hits hits;
	struct hits base[FAMILY_COUNT]; /* counts at the last mark */
	uint64_t span_ns[FAMILY_COUNT]; /* first backward since the last mark; 0: none */
};

/* A hit of a marker that may end a step. */
struct mark {
	uint64_t begin_ns, end_ns;
	/* start of the thread's first backward since its last mark; 0: none */
	uint64_t span_ns;
	uint64_t seq;
	uint64_t backward_seq; /* last backward of the mark's thread */
	/* last backward or fetch on the threads that the mark's thread listens to */
	uint64_t sep_seq;
	uint64_t fetch_seq; /* last fetch on these threads */
	struct hits hits;   /* counts on these threads since the last mark */
	uint64_t ident;
	uint32_t name, tid, flags;
	uint32_t thread; /* index in step_finder.threads */
	bool apart;	 /* no other mark may join the same group */
	bool skipped;	 /* the gradient scaler skipped the update */
};

/* An update, as used to find the period: its optimizer, and whether a batch was fetched since the
 * update before. */
struct token {
	uint64_t ident;
	uint32_t name;
	bool fetched;
};

struct unit {		 /* the unit: how many groups make one step of the author's loop */
	uint32_t period; /* 0: no period found */
	uint32_t size;	 /* groups per step */
	uint32_t from;	 /* index of the first token that fits */
	uint32_t first;	 /* index of the first token that starts a step */
	uint32_t fresh;	 /* groups of one period that got a fresh batch */
	/* optimizers in one period, or optimizers that alternate; 0: not counted */
	uint32_t optimizers;
	bool ambiguous;
	bool any;      /* tokens need not match: every group is a step */
	bool by_class; /* optimizers are compared by class instead of identity */
	/* Each group of the optimizer in pattern[0] starts a step; other groups join, in any order.
	 */
	bool lead;
	/* number of the leader's groups in one period; 0: none */
	uint32_t leads;
	struct token pattern[STEP_PERIOD]; /* tokens of one period, from the start of a step */
};

struct unit_input {
	const struct token *tokens;
	uint32_t count;
	bool from_start; /* tokens[0] starts a step; otherwise earlier tokens are unknown */
	/* Updates of another optimizer came in between: equal tokens in a row do not prove a plain
	 * loop yet. */
	bool turns;
	bool fetch_ends; /* the mark after a fetch ends a step instead of starting one */
};

/* Finds the period of the tokens. Returns true when *ret is certain. */
bool unit_learn(const struct unit_input *in, struct unit *ret);
/* Finds a period that fits most of the tokens, when there are many. Returns true if there is one.
 */
bool unit_learn_mostly(const struct unit_input *in, struct unit *ret);
/* Returns true when update t of a second optimizer, without a batch, may be the start of two
 * optimizers alternating: few tokens were seen, or the first optimizer has updated again. */
bool unit_joins(const struct unit *u, const struct token *t, uint32_t count);
/* Returns true when the optimizers of unit_joins() alternate and the first one leads; *ret is the
 * unit then. */
bool unit_follow(const struct unit *u, const struct token *t, uint32_t count, struct unit *ret);
/* Guesses the unit from the tokens so far. Always gives a result. */
void unit_guess(const struct unit_input *in, struct unit *ret);
/* Compares tokens; an unknown identity equals any. by_class: ignore identities. */
bool token_equal(const struct token *a, const struct token *b, bool by_class);
bool token_same_optimizer(const struct token *a, const struct token *b);
/* Returns true for an update of the leading optimizer. An unknown optimizer counts as the leader:
 * the leader makes most updates. */
bool token_leads(const struct token *t, const struct token *leader);

struct group { /* marks that make one update */
	struct token token;
	uint64_t begin_ns, end_ns, seq;
	struct hits hits;
	uint32_t updates, tid, flags;
	bool skipped;
};

enum candidate_mode { CANDIDATE_LEARNING, CANDIDATE_LOCKED, CANDIDATE_RELEARNING };

/* A training loop as seen in one family of markers. */
struct candidate {
	enum family family;
	uint32_t loop;
	bool live; /* the family is elected: the candidate may give out steps */
	bool any;  /* a mark was seen */
	bool open;
	/* each update counts alone for now, also without a backward in between */
	bool loose;
	bool taint;	  /* the next group is tainted */
	bool unwatched;	  /* the next group comes after a gap in observation */
	uint32_t largest; /* size of the largest group closed by a backward */
	uint64_t last_seq;
	uint32_t last_tid;
	struct group group;
	uint64_t *ends; /* end times of the marks of the open group */
	uint32_t ends_cap;
	struct group *held; /* at most STEP_HELD */
	uint32_t nheld, held_cap;
	enum candidate_mode mode;
	struct unit unit;
	struct group sum; /* groups of the step in progress */
	uint32_t sum_groups;
	/* The last STEP_TOKENS tokens of a live candidate, as a ring. */
	struct token *history;
	uint64_t tokens; /* number of tokens so far */
	uint64_t odd[4]; /* values of `tokens` at the last misfits, latest first */
	uint32_t regrouped;
	/* Optimizers that updated alone for a while, without batches; latest first. */
	struct token stages[STAGES];
	uint32_t returns; /* how often such an optimizer came back */
	struct hits rest; /* hits of groups that were dropped or joined late */
	uint64_t marks;
};

struct loop { /* state of a loop that survives a change of family */
	bool used;
	/* start of the step in progress: end of the step before, or first sign of training */
	uint64_t start_ns;
	uint64_t number;
	struct group many; /* with --multiply: the finished parts of the step in progress */
	uint32_t nmany;
	struct hits recent[STEP_RECENT];
	uint64_t recent_ns[STEP_RECENT];
	uint64_t nrecent;   /* number of finished steps */
	uint64_t ambiguous; /* number of steps with the flag ambiguous */
	uint32_t tainted;   /* bit per step, the latest lowest: the step is tainted */
	/* bit per step, the latest lowest: the host waited for the device */
	uint32_t waits;
	char name[40];		    /* class of the marker's optimizer */
	struct step_state reported; /* last state given out */
};

struct tracker { /* the marks of one family, by loop */
	struct candidate *candidates[STEP_LOOPS];
	uint32_t ncandidates;
	/* index of the thread's candidate + 1; 0: unknown */
	uint8_t candidate_of[STEP_THREADS];
	struct mark *queue; /* at most STEP_QUEUE */
	uint32_t nqueue, queue_cap;
	/* Sequence number of the first candidate's last mark by a thread with its own backward
	 * passes.
	 */
	uint64_t first_candidate_seq;
	uint32_t first_candidate_thread;
	/* recent alternations and overlaps between threads of the first candidate */
	uint32_t changes, overlaps;
	uint64_t marks, last_seq;
	uint64_t since_better; /* marks since a more trusted family made one */
};

/* Backward passes held until their meaning is decided, for runtimes whose ranges have no names
 * (step_anon.c). */
#define ANON_PASSES 64

struct anon_pass { /* a backward and the ranges after it on its thread */
	struct mark mark;
	/* Start of the second range: the optimizer's step, if called first, ended before; 0:
	 * none. */
	uint64_t second_ns;
	uint32_t opens;
};

struct anon { /* unnamed ranges of one thread */
	uint32_t thread;
	uint64_t backwards;
	bool running, settled, accumulates;
	bool reduces;  /* DDP is used: its forward is a range, too */
	uint32_t base; /* usual number of ranges between two micro-batches */
	uint32_t gathered, backlog;
	/* Backward passes of the last step, if the step before had the same number; else 0. */
	uint32_t each;
	uint32_t last; /* backward passes of the last step */
	/* passes: at most ANON_PASSES, until the meaning of ranges is decided */
	struct anon_pass pass, *passes;
	uint32_t passes_cap;
};

/* Number of blocking waits that make a cycle, in a process that shows nothing else. */
#define CYCLE_WAITS 16

struct cycle {	    /* the last waits */
	uint64_t n; /* number of waits so far */
	uint64_t first_ns;
	char probe[48]; /* probe that saw most of them, by majority vote; "": unknown */
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
	/* start of observation without a gap; 0: from the beginning */
	uint64_t watched_ns;
	/* the process ended, or showed such a signal at some time */
	bool ended, backward, fetched, zero_grad;
	uint64_t first_backward_seq;
	uint64_t updates_begun, updates_open, amps, skips, losses;
	uint64_t operated_backwards; /* number of backward passes when the last operator ran */
	/* with update_op elected: backward passes followed by a param_op only */
	uint64_t strays;
	bool stray, operated; /* a param_op, an update_op was seen since the last backward */
	uint64_t optimizers;  /* optimizers made since the first backward */
	/* Number of steps before the first of these optimizers was made, if only one was made. */
	uint64_t optimizer_after;
	uint32_t zero_grad_class[32], step_class[32]; /* bit sets of classes seen */
	/* zero_grad is called before the backward pass */
	bool zero_grad_first;
	bool zero_grad_known;
	enum family elected;
	bool fixed;  /* chosen by the user */
	bool waited; /* the host waited for the device since the last step */
	struct {     /* programs of the layer of runtimes that is used */
		uint32_t layer;
		uint64_t compiled, cached;
	} programs;
	struct exec *exec;   /* NULL: no compiled program ran, or a better family is elected */
	struct cycle *cycle; /* NULL: no wait was seen, or a better family is elected */
	struct tracker *trackers[FAMILY_COUNT];
	struct anon *anon[STEP_THREADS];
	bool anonymous; /* a range without a name was seen */
	/* At most STEP_THREADS; pointers are invalid after one is added. */
	struct step_thread *threads;
	uint32_t nthreads, threads_cap;
	uint32_t backward_thread; /* index + 1 of the thread that rule E listens to */
	/* The first loop, and all loops for which a tracker has a candidate. */
	struct loop *loops[STEP_LOOPS];
	uint32_t nloops;
	struct step *out;
	uint32_t nout, out_cap, out_head;
	int error;
};

/* step_family.c: properties of families */
extern const struct family_row {
	enum step_boundary boundary;
	enum step_tier tier;
	const char *marker;  /* its name, for users */
	const char *why;     /* why it counts: the reason in a loop's state; NULL: needs none */
	const char *batches; /* its marks where they may be micro-batches; NULL: they are not */
	bool apart;	     /* nothing may join one of its marks */
	bool grouped;	     /* a backward or a fetch closes a group of its marks */
	/* A less trusted family takes over once it was elected and is silent for long. */
	bool gives_way;
} family_row[FAMILY_COUNT + 1];
enum step_boundary step_boundary_of(const struct step_finder *sf, enum family f);
enum step_series step_series_of(const struct step_finder *sf, const struct loop *lp, enum family f);
enum step_unit step_unit(const struct step_finder *sf);
/* Returns the tracker of a family, created if missing; NULL when there is no memory. */
struct tracker *tracker_of(struct step_finder *sf, enum family f);
bool anon_backwards(const struct step_finder *sf);
bool anon_accumulates(const struct step_finder *sf);

/* step_cycle.c */
/* Takes a SIGNAL_SYNC. */
void cycle_wait(struct step_finder *sf, const struct signal *s);
/* Ends the search for cycles at the end of the process. */
void cycle_finish(struct step_finder *sf);

/* step_thread.c */
const struct step_thread *step_thread_find(const struct step_finder *sf, uint32_t tid);
/* Returns the thread, added if new; then it replaces the one idle longest. NULL when there is no
 * memory (sf->error). Valid until the next call. */
struct step_thread *step_thread_of(struct step_finder *sf, uint32_t tid);
/* Makes a mark of this family by thread t, and resets the counts of t for it. */
struct mark mark_make(struct step_finder *sf, enum family f, struct step_thread *t,
		      const struct signal *s);

/* step_stream.c */
void tracker_mark(struct step_finder *sf, enum family f, const struct mark *m);
void tracker_settle(struct step_finder *sf, struct tracker *t);
void tracker_free(struct tracker *t);
/* Returns the number of training loops found. */
uint32_t tracker_loops(const struct step_finder *sf);
/* Returns true when thread t listens to thread `to`: hits of `to` count for marks of t. */
bool thread_listens(const struct step_finder *sf, enum family f, const struct step_thread *to,
		    const struct step_thread *t);

/* step_candidate.c */
struct candidate *candidate_new(struct step_finder *sf, enum family f, uint32_t loop);
void candidate_free(struct candidate *l);
void candidate_mark(struct step_finder *sf, struct candidate *l, const struct mark *m);
/* Closes the open group: nothing can join it any more. */
void candidate_close(struct step_finder *sf, struct candidate *l, bool by_backward);
/* Gives out held groups whose steps are certain. */
void candidate_digest(struct step_finder *sf, struct candidate *l);
void candidate_finish(struct step_finder *sf, struct candidate *l);
/* Ends a step in progress after a long silence. */
void candidate_still(struct step_finder *sf, struct candidate *l);
/* Drops held groups. */
void candidate_forget(struct candidate *l);
/* Returns true if the steps of this candidate may still become the steps of the job: its held
 * groups are needed until then. */
bool candidate_hopes(const struct step_finder *sf, const struct candidate *l);
/* Frees memory of the search if no groups are held. */
void candidate_spare(struct candidate *l);

/* step_doubt.c: cases in which the number of steps cannot be known */
/* Returns true when the optimizers are made by an inner loop. */
bool candidate_inner(const struct step_finder *sf, const struct candidate *l);
bool candidate_doubtful(const struct step_finder *sf, const struct candidate *l);
/* Writes the reason for the doubt, with the right --multiply, to out. Returns false when there is
 * no doubt. */
bool candidate_doubt_reason(const struct step_finder *sf, const struct candidate *l, char *out,
			    size_t len);

/* step_emit.c */
/* Numbers a finished group and gives out its step. */
void step_emit(struct step_finder *sf, struct candidate *l, const struct group *g);

/* step_elect.c */
void step_elect(struct step_finder *sf, bool final);
/* Elects the probe named by the user when it is hit and no other family is elected. */
void step_elect_probe(struct step_finder *sf, const struct signal *s);
/* Makes this family the elected one. */
void step_take(struct step_finder *sf, enum family f);

/* step_save.c, step_save_candidate.c */
void hits_archive(struct archive *a, struct hits *h);
void group_archive(struct archive *a, struct group *g);
void candidate_archive(struct archive *a, const struct step_finder *sf, struct candidate **l,
		       enum family f, uint32_t loop);

/* step_anon.c */
void anon_free(struct anon *a);
void anon_backward(struct step_finder *sf, const struct mark *m);
void anon_open(struct step_finder *sf, uint32_t thread, uint64_t ts_ns);
void anon_operator(struct step_finder *sf, uint32_t thread, uint64_t ident);
void anon_reducer(struct step_finder *sf, uint32_t thread);
void anon_finish(struct step_finder *sf);

/* Returns for how long (ns) nothing came since ns, without times of no observation. */
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
