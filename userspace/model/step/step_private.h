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

/* Maximum number of threads that are followed at a time. A new one replaces the thread that was
 * idle longest. */
#define STEP_THREADS 64
/* Maximum number of groups (updates) that are held until it is known how many make a step. */
#define STEP_HELD 256
/* Maximum number of marks that are held until the loop of their thread is known. */
#define STEP_QUEUE 1024
/* Maximum number of marks in a group of which the end times are kept, so that the group can still
 * be split. */
#define STEP_MEMBERS 1024
/* Number of last steps from which the median step time and the markers per step are computed. */
#define STEP_RECENT 64
/* Updates of several optimizers repeat in a fixed order: the length of one repetition, in updates,
 * is the period. Longer periods than this are not found. */
#define STEP_PERIOD 32
/* Number of last updates that are searched for a period. It is more than twice STEP_PERIOD, so that
 * each period occurs twice. */
#define STEP_TOKENS 80
/* Number of optimizers in candidate.stages: the last ones that made all updates for a while. */
#define STAGES 4
/* After this many updates by two optimizers it is known whether they alternate in a fixed order. */
#define CLASS_TOKENS 17

/* Families of markers, the most trusted first. Each can find steps alone (see step.c); step_elect.c
 * prefers the most trusted one that is ready. Families from FAMILY_EXECUTE on have no backward
 * passes; code compares numbers of families to test this. Saved states contain the numbers: raise
 * FORMAT in model_save.c after a change. */
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

/* A thread of the process, and what it did for training. */
struct step_thread {
	uint32_t tid;
	bool backward; /* the thread ran a backward pass at some time */
	uint32_t owns; /* one bit per family: whether the thread made marks of this family */
	uint64_t seen_seq, seen_ns;
	/* sequence numbers of the signals of the last backward pass and the last batch fetch; 0:
	 * none */
	uint64_t backward_seq, fetch_seq;
	uint64_t backward_ns;
	uint64_t first_ns; /* time of the thread's first sign of training */
	bool update_open;
	uint64_t update_ident;
	/* amp_backward: a backward pass was seen since the gradient scaler's last decision;
	 * amp_update: an update was seen since then */
	bool amp_backward, amp_update;
	/* number of backward passes before the last zero_grad, on all threads whose work counts */
	uint64_t zero_grad_backwards;
	bool zero_grad_seen;
	uint32_t zero_grad_name;
	char class[40]; /* class of the optimizer that the thread used last */
	struct hits hits;
	/* value of `hits` at the thread's last mark, for each family */
	struct hits base[FAMILY_COUNT];
	/* start of the first backward pass since the last mark of the family; 0: none */
	uint64_t span_ns[FAMILY_COUNT];
};

/* A hit of a marker that may end a step. */
struct mark {
	uint64_t begin_ns, end_ns;
	/* start of the thread's first backward since its last mark; 0: none */
	uint64_t span_ns;
	uint64_t seq;
	/* sequence number of the last backward pass on the mark's own thread */
	uint64_t backward_seq;
	/* sequence number of the last backward pass or batch fetch on any thread whose work counts
	 * for this mark (thread_listens()) */
	uint64_t sep_seq;
	uint64_t fetch_seq; /* sequence number of the last batch fetch on these threads */
	/* counts of markers since this thread's last mark, on all threads whose work counts for
	 * this mark */
	struct hits hits;
	uint64_t ident;
	uint32_t name, tid, flags;
	uint32_t thread; /* index in step_finder.threads */
	bool apart;	 /* no other mark can join this one in a group */
	bool skipped;	 /* the gradient scaler skipped the update */
};

/* An update as the search for a period sees it: its optimizer, and whether a batch was fetched
 * since the previous update. */
struct token {
	uint64_t ident;
	uint32_t name;
	bool fetched;
};

/* The unit of a training loop: how many groups of marks make one step of the author's loop. */
struct unit {
	uint32_t period; /* length of one repetition, in updates; 0: no period found */
	uint32_t size;	 /* number of groups that make one step */
	uint32_t from;	 /* index of the first token that fits the pattern */
	uint32_t first;	 /* index of the first token that starts a step */
	uint32_t fresh;	 /* number of groups of one period that got a new batch */
	/* number of optimizers in one period, or of optimizers that alternate; 0: not counted */
	uint32_t optimizers;
	bool ambiguous;
	bool any;      /* there is no pattern: every group is a step */
	bool by_class; /* optimizers are compared by class instead of identity */
	/* Each group of the optimizer in pattern[0] starts a step, and groups of other optimizers
	 * join the step in progress. */
	bool lead;
	/* number of groups of the optimizer in pattern[0] per period; 0: there is no period */
	uint32_t leads;
	/* tokens of one period, beginning with the first one of a step */
	struct token pattern[STEP_PERIOD];
};

/* Updates in which a period is searched for. */
struct unit_input {
	const struct token *tokens;
	uint32_t count;
	/* tokens[0] is the first token of a step; if false, tokens before it may be missing */
	bool from_start;
	/* Another optimizer has begun to make updates, too: several equal tokens in a row do not
	 * prove yet that there is only one optimizer. */
	bool turns;
	/* the first mark after a batch fetch ends a step; if false, it starts one */
	bool fetch_ends;
};

/* Searches for the period of the tokens. Returns true and the unit in *ret if the period is
 * certain. */
bool unit_learn(const struct unit_input *in, struct unit *ret);
/* Searches for a period that fits most of the tokens, in a long sequence. Returns true if there is
 * one. */
bool unit_learn_mostly(const struct unit_input *in, struct unit *ret);
/* u: one optimizer makes all updates. t[0]: update of another optimizer, without a new batch.
 * Returns true if the two may alternate from now on: the first one updated again in t[0..count), or
 * too few updates were seen to know. */
bool unit_joins(const struct unit *u, const struct token *t, uint32_t count);
/* Call after unit_joins() returned true. Returns true, and the new unit in *ret, if the optimizers
 * alternate and the first one leads (see unit.lead). */
bool unit_follow(const struct unit *u, const struct token *t, uint32_t count, struct unit *ret);
/* Returns the most probable unit for the tokens so far in *ret, without certainty. */
void unit_guess(const struct unit_input *in, struct unit *ret);
/* Returns true if the tokens are equal. An unknown identity equals any other. by_class: identities
 * are ignored. */
bool token_equal(const struct token *a, const struct token *b, bool by_class);
bool token_same_optimizer(const struct token *a, const struct token *b);
/* Returns true if t is an update of the leading optimizer (see unit.lead). An unknown optimizer
 * counts as the leading one, because that makes most updates. */
bool token_leads(const struct token *t, const struct token *leader);

/* Marks that make one update. */
struct group {
	struct token token;
	uint64_t begin_ns, end_ns, seq;
	struct hits hits;
	uint32_t updates, tid, flags;
	bool skipped;
};

enum candidate_mode { CANDIDATE_LEARNING, CANDIDATE_LOCKED, CANDIDATE_RELEARNING };

/* A loop candidate: a sequence of marks of one family that may be one training loop. step_stream.c
 * assigns marks to it, step_candidate.c makes steps of them. */
struct candidate {
	enum family family;
	uint32_t loop;
	bool live; /* steps are made of this family's marks at present */
	bool any;  /* a mark was seen */
	bool open;
	/* Each update counts alone until the next backward pass, because the group had become too
	 * large. */
	bool loose;
	bool taint;	  /* a record was lost, so the next group is tainted */
	bool unwatched;	  /* the next group is the first one after a gap in observation */
	uint32_t largest; /* largest number of updates in a group that a backward pass closed */
	uint64_t last_seq;
	uint32_t last_tid;
	struct group group;
	uint64_t *ends; /* end times of the marks of the open group */
	uint32_t ends_cap;
	struct group *held; /* groups that are held, at most STEP_HELD */
	uint32_t nheld, held_cap;
	enum candidate_mode mode;
	struct unit unit;
	struct group sum; /* sum of all groups of the step in progress */
	uint32_t sum_groups;
	/* Ring of the last STEP_TOKENS updates (struct token), if the family is or was elected. */
	struct token *history;
	uint64_t tokens; /* number of updates that were ever put into history */
	/* values of `tokens` at the last updates that did not fit the pattern, latest first */
	uint64_t odd[4];
	uint32_t regrouped;
	/* Optimizers that made all updates for a while, latest first. Used only if no batches of
	 * the process are seen. */
	struct token stages[STAGES];
	uint32_t returns; /* how often an optimizer in `stages` made all updates again */
	/* hits of marks that came after their group was closed; the next group gets them */
	struct hits rest;
	uint64_t marks;
};

/* State of a training loop that does not depend on the family of markers. */
struct loop {
	bool used;
	/* start of the step in progress: end of the step before, or first sign of training */
	uint64_t start_ns;
	uint64_t number;
	struct group many; /* with --multiply: sum of the parts of the step in progress */
	uint32_t nmany;
	struct hits recent[STEP_RECENT];
	uint64_t recent_ns[STEP_RECENT];
	uint64_t nrecent;   /* number of finished steps */
	uint64_t ambiguous; /* number of steps with the flag ambiguous */
	/* One bit per step, the latest step lowest: whether the step is tainted (STEP_tainted). */
	uint32_t tainted;
	/* One bit per step, the latest step lowest: whether the host waited for the device. */
	uint32_t waits;
	char name[40];		    /* class of the loop's optimizer */
	struct step_state reported; /* state that step_finder_state() returned last */
};

/* Assigns the marks of one family to loop candidates, by thread (step_stream.c). */
struct tracker {
	struct candidate *candidates[STEP_LOOPS];
	uint32_t ncandidates;
	/* index + 1 of the candidate to which marks of the thread belong; 0: not known yet */
	uint8_t candidate_of[STEP_THREADS];
	struct mark *queue; /* marks that are held, at most STEP_QUEUE */
	uint32_t nqueue, queue_cap;
	/* Sequence number and thread of the first candidate's last mark that was made by a thread
	 * with its own backward passes. */
	uint64_t first_candidate_seq;
	uint32_t first_candidate_thread;
	/* How often successive marks of the first candidate came from different threads with their
	 * own backward passes, and how often such marks overlapped in time (see step_stream.c).
	 * Counted since the last reset. */
	uint32_t changes, overlaps;
	uint64_t marks, last_seq;
	/* number of marks of this family since the last mark of a more trusted family */
	uint64_t since_better;
};

/* Number of backward passes held until the meaning of unnamed ranges is known (step_anon.c). */
#define ANON_PASSES 64

/* A backward pass, and the ranges that followed it on its thread. */
struct anon_pass {
	struct mark mark;
	/* Start of the second range after the pass; 0: none. If the first range was the optimizer's
	 * step, the step ended before this. */
	uint64_t second_ns;
	uint32_t opens;
};

/* Search for the meaning of unnamed ranges on one thread (step_anon.c). */
struct anon {
	uint32_t thread;
	uint64_t backwards;
	bool running, settled, accumulates;
	bool reduces;  /* DDP is used: each forward pass opens one range more */
	uint32_t base; /* usual number of ranges between two micro-batches of one step */
	uint32_t gathered, backlog;
	/* number of backward passes in the last step, if the step before had as many; else 0 */
	uint32_t each;
	uint32_t last; /* number of backward passes in the last step */
	/* passes: held backward passes, at most ANON_PASSES, until the meaning of the ranges is
	 * known */
	struct anon_pass pass, *passes;
	uint32_t passes_cap;
};

/* If a process shows nothing but waits for a device, these waits count as cycles after this many of
 * them. Also the number of last waits that are kept. */
#define CYCLE_WAITS 16

struct cycle {	    /* the search for cycles of waits */
	uint64_t n; /* number of waits since the start */
	uint64_t first_ns;
	char probe[48]; /* probe that reported most waits, by majority vote; "": none yet */
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
	/* when the observation resumed after the last gap; 0: there was no gap */
	uint64_t watched_ns;
	/* ended: the process has ended. backward, fetched, zero_grad: such a signal of the process
	 * was seen */
	bool ended, backward, fetched, zero_grad;
	uint64_t first_backward_seq;
	uint64_t updates_begun, updates_open, amps, skips, losses;
	/* number of backward passes before the last call of an operator of an optimizer */
	uint64_t operated_backwards;
	/* If operators of optimizers (FAMILY_UPDATE_OP) make the steps: number of backward passes
	 * followed only by operators that other code uses, too (FAMILY_PARAM_OP). */
	uint64_t strays;
	/* stray: an operator of FAMILY_PARAM_OP was seen since the last backward pass; operated:
	 * one of FAMILY_UPDATE_OP was seen */
	bool stray, operated;
	uint64_t optimizers; /* number of optimizers made since the first backward pass */
	/* number of steps before the first optimizer that was made after a backward pass */
	uint64_t optimizer_after;
	/* Bit sets, by hash of the class name: optimizers whose zero_grad() was seen, and those
	 * whose step() was seen. */
	uint32_t zero_grad_class[32], step_class[32];
	/* the loop calls zero_grad before the backward pass */
	bool zero_grad_first;
	bool zero_grad_known;
	enum family elected;
	bool fixed;  /* the user chose `elected` */
	bool waited; /* the host has waited for the device since the last step ended */
	/* number of programs compiled, and of programs loaded from a cache, as one layer of
	 * runtimes reports them */
	struct {
		uint32_t layer;
		uint64_t compiled, cached;
	} programs;
	/* search for steps among the runs of compiled programs; NULL: none ran, or a more trusted
	 * family is elected */
	struct exec *exec;
	/* search for cycles of waits; NULL: no wait was seen, or a more trusted family is
	 * elected */
	struct cycle *cycle;
	struct tracker *trackers[FAMILY_COUNT];
	struct anon *anon[STEP_THREADS];
	bool anonymous; /* a range without a name was seen */
	/* At most STEP_THREADS. Adding a thread invalidates pointers to threads. */
	struct step_thread *threads;
	uint32_t nthreads, threads_cap;
	/* index + 1 of the thread whose backward passes count as marks (rule E in step.c) */
	uint32_t backward_thread;
	/* Training loops. The first one always exists, the others if a tracker has a candidate for
	 * them. nloops: number of loops that the elected family found. */
	struct loop *loops[STEP_LOOPS];
	uint32_t nloops;
	struct step *out;
	uint32_t nout, out_cap, out_head;
	int error;
};

/* Properties of each family (step_family.c). */
extern const struct family_row {
	enum step_boundary boundary;
	enum step_tier tier;
	const char *marker; /* name of the marker, for users */
	/* reason given to users in the loop's state; NULL: no explanation is needed */
	const char *why;
	/* name of these marks in messages, if they may be micro-batches; NULL: they never are */
	const char *batches;
	bool apart;   /* no other mark can join a mark of this family in a group */
	bool grouped; /* a backward pass or batch fetch closes a group of these marks */
	/* A less trusted family can replace this one if this one makes no mark for long. */
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
/* Processes a SIGNAL_SYNC: a wait for the device. */
void cycle_wait(struct step_finder *sf, const struct signal *s);
/* Ends the search for cycles at the end of the process. */
void cycle_finish(struct step_finder *sf);

/* step_thread.c */
const struct step_thread *step_thread_find(const struct step_finder *sf, uint32_t tid);
/* Returns the thread with this tid, and adds it if it is new. If there are too many threads, it
 * replaces the thread idle longest. Returns NULL and sets sf->error if there is no memory. The
 * pointer is valid until the next call. */
struct step_thread *step_thread_of(struct step_finder *sf, uint32_t tid);
/* Makes a mark of family f by thread t, with the hits since its last mark of f. */
struct mark mark_make(struct step_finder *sf, enum family f, struct step_thread *t,
		      const struct signal *s);

/* step_stream.c */
void tracker_mark(struct step_finder *sf, enum family f, const struct mark *m);
void tracker_settle(struct step_finder *sf, struct tracker *t);
void tracker_free(struct tracker *t);
/* Returns the number of training loops found. */
uint32_t tracker_loops(const struct step_finder *sf);
/* Returns true if hits on thread `to` count for the marks of thread t. */
bool thread_listens(const struct step_finder *sf, enum family f, const struct step_thread *to,
		    const struct step_thread *t);

/* step_candidate.c */
struct candidate *candidate_new(struct step_finder *sf, enum family f, uint32_t loop);
void candidate_free(struct candidate *l);
void candidate_mark(struct step_finder *sf, struct candidate *l, const struct mark *m);
/* Closes the open group: no further mark can join it. by_backward: a backward pass or a fetch
 * follows. */
void candidate_close(struct step_finder *sf, struct candidate *l, bool by_backward);
/* Makes steps of the held groups as far as it is certain which groups make a step. */
void candidate_digest(struct step_finder *sf, struct candidate *l);
void candidate_finish(struct step_finder *sf, struct candidate *l);
/* Ends the step in progress after a long silence, if one optimizer leads (see unit.lead). */
void candidate_still(struct step_finder *sf, struct candidate *l);
/* Drops held groups. */
void candidate_forget(struct candidate *l);
/* Returns true if this candidate's family may still be elected, so that its held groups are
 * needed. */
bool candidate_hopes(const struct step_finder *sf, const struct candidate *l);
/* Frees the array of held groups if it is empty and large. */
void candidate_spare(struct candidate *l);

/* defined in step_doubt.c */
/* Returns true if a loop within each step creates new optimizers: many were created, with few
 * updates each. */
bool candidate_inner(const struct step_finder *sf, const struct candidate *l);
bool candidate_doubtful(const struct step_finder *sf, const struct candidate *l);
/* Writes to out why the number of steps is ambiguous, and which --multiply would be right. Returns
 * false if the number is not ambiguous. */
bool candidate_doubt_reason(const struct step_finder *sf, const struct candidate *l, char *out,
			    size_t len);

/* step_emit.c */
/* Numbers a finished group and queues its step for step_finder_next(). */
void step_emit(struct step_finder *sf, struct candidate *l, const struct group *g);

/* step_elect.c */
void step_elect(struct step_finder *sf, bool final);
/* Elects the probe that the user named, when it is hit and no family is elected yet. */
void step_elect_probe(struct step_finder *sf, const struct signal *s);
/* Elects family f: steps are made of its marks from now on. */
void step_take(struct step_finder *sf, enum family f);

/* defined in step_save.c and step_save_candidate.c */
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

/* Returns the time (ns) from ns until now, or from the last gap in the observation until now if
 * that gap was later. */
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
