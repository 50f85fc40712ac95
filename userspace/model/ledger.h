/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.h - every nanosecond of one rank's life in exactly one bucket (design §6).
 *
 * Integer arithmetic. The sum of all buckets equals elapsed after every call; ledger_check() says
 * so. Time is settled from left to right: what lies after the last settled instant sits in OTHER,
 * and `unsettled_ns` says how much of OTHER that is (the step that is running now, or silence). A
 * hang is shown at once, before what is around it is settled.
 *
 * What a step took too long has a place in it: the first steps' excess (startup) is its first
 * unclaimed time, a slow or torn step's excess its last. Where the ideal is learnt only after the
 * step, the time is moved there then, and so is progress that a restart disproves: the sum stays,
 * and neither `productive_gross_ns` nor `wasted_gross_ns` ever falls. Pure, bounded: at most
 * LEDGER_PENDING intervals are kept beyond the settled edge; a flood is merged and counted as
 * coarse, never dropped from the sum.
 */
#ifndef MODEL_LEDGER_H
#define MODEL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/away.h"

/* Names as the goodput library spells them; rows in order of priority, highest first: where
 * intervals overlap, the first one listed gets the time; EXCLUDED, the last, is before all: time
 * that people left out, which is in no bucket that is told and no part of the elapsed time that is.
 */
#define LEDGER_BUCKETS(X) /* id, name, label for people */                                         \
	X(UNOBSERVED, "UNOBSERVED", "unobserved")                                                  \
	X(HANG, "HANG", "hang")                                                                    \
	X(RECOVERY, "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION", "recovery")                         \
	X(WASTED, "WASTED_PROGRESS_FROM_DISRUPTION", "wasted progress")                            \
	X(SLICE_DOWN, "ELASTIC_SLICE_DOWN", "waiting for a lost slice")                            \
	X(SCALE_UP, "ELASTIC_SCALE_UP", "waiting for more slices")                                 \
	X(REINIT, "ELASTIC_REINITIALIZATION", "elastic reinitialization")                          \
	X(CHECKPOINT_SAVE, "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME", "checkpoint save")                 \
	X(CHECKPOINT_RESTORE, "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME", "checkpoint restore")        \
	X(CUSTOM, "CUSTOM_BADPUT_EVENTS", "named events")                                          \
	X(EVAL, "CUSTOM_BADPUT_EVENTS.EVAL", "evaluation")                                         \
	X(DATA_LOADING, "DATA_LOADING_SYNC", "data loading")                                       \
	X(ACCELERATOR_INIT, "TPU_INITIALIZATION", "accelerator initialization")                    \
	X(TRAINING_PREP, "TRAINING_PREP", "training preparation")                                  \
	X(PROGRAM_STARTUP, "PROGRAM_STARTUP", "program startup")                                   \
	X(GOODPUT, "GOODPUT", "goodput")                                                           \
	X(OTHER, "OTHER", "other")                                                                 \
	X(EXCLUDED, "EXCLUDED", "left out")

enum bucket {
#define X(id, name, label) BUCKET_##id,
	LEDGER_BUCKETS(X)
#undef X
		BUCKET_COUNT,
	BUCKETS_TOLD = BUCKET_EXCLUDED,
};
extern const char *const bucket_name[BUCKET_COUNT];
extern const char *const bucket_label[BUCKET_COUNT];

#define LEDGER_TYPES	32 /* of custom events; the first stands for all beyond the others */
#define LEDGER_REST	0  /* its name */
#define LEDGER_TYPE_MAX 32 /* bytes of a name as people know it */

struct ledger_type {
	uint32_t name; /* the caller's number; LEDGER_REST */
	uint64_t ns;   /* of BUCKET_CUSTOM, whose sum these are */
};

struct type_names { /* by number, from 1; "": none */
	char name[LEDGER_TYPES][LEDGER_TYPE_MAX];
};

struct ledger_view {
	uint64_t start_ns, now_ns; /* elapsed = now - start */
	uint64_t ns[BUCKET_COUNT];
	uint64_t unsettled_ns; /* part of OTHER that may still be claimed */
	/* Goodput once the first steps are settled, 0 before, with what was disproved: it never
	 * falls. */
	uint64_t productive_gross_ns;
	uint64_t wasted_gross_ns; /* nor does this */
	uint64_t steps, max_step;
	uint64_t
		late_ns; /* that intervals would have claimed had they come before it was settled */
	uint64_t merged; /* intervals taken together because there were too many */
	uint64_t disruptions; /* counted by the rank: 0 in what ledger_view() gives */
	bool ended;
	struct ledger_type types[LEDGER_TYPES]; /* the rest first */
	uint32_t ntypes;
};

/* Without what is left out: what the buckets that are told add up to. */
static inline uint64_t ledger_elapsed(const struct ledger_view *l)
{
	return l->now_ns - l->start_ns - l->ns[BUCKET_EXCLUDED];
}
/* The time by name, custom events by type: of i = 0, 1... until NULL, what adds up to elapsed. The
 * caller has room for the name. */
#define LEDGER_NAME_MAX 64
const char *ledger_part(const struct ledger_view *l, const struct type_names *names, uint32_t i,
			char out[LEDGER_NAME_MAX], uint64_t *ret_ns);

#define LEDGER_PENDING 1024

/* A piece of time that was settled, or moved since. */
struct ledger_span {
	uint64_t from_ns, to_ns;
	enum bucket bucket;
	enum bucket
		was; /* BUCKET_COUNT: settled now, all of it. Else of what is `was` in it: the first
			(into PROGRAM_STARTUP) or the last (anything else) ns go to `bucket` */
	uint64_t ns;
	uint32_t type; /* name of a custom event */
};
typedef void (*ledger_trace_fn)(void *ctx, const struct ledger_span *s);

struct ledger;
/* start_ns: the rank's first instant; observed_ns >= start_ns: since when we watch (before:
 * UNOBSERVED). */
struct ledger *ledger_new(uint64_t start_ns, uint64_t observed_ns);
void ledger_free(struct ledger *l);
/* What is left out, the caller's for as long as l is there; NULL: nothing. Also of what was not
 * observed, while nothing else is booked. Not saved. */
void ledger_away(struct ledger *l, const struct away *a);
/* Room for more than LEDGER_PENDING intervals, a power of two; they cost time by their square. Not
 * saved. */
void ledger_keep(struct ledger *l, uint32_t pending);
/* The rank turns out to have begun earlier than what was known of it: UNOBSERVED until then.
 * Returns how much. */
uint64_t ledger_reach_back(struct ledger *l, uint64_t start_ns);

/* Each span that is settled from now on (of a new ledger: from observed_ns on), in order of time,
 * and what is moved or reached back to: clipped to any window their sum is what the buckets got in
 * it. Not saved. NULL: none, which costs nothing. */
void ledger_trace(struct ledger *l, ledger_trace_fn fn, void *ctx);

/* An interval that belongs to a bucket other than GOODPUT; may overlap others, may come before the
 * steps around it are known, may reach back as far as the settled edge (earlier parts are ignored
 * and counted: late_ns of the view). 0 or -ENOMEM. */
int ledger_interval(struct ledger *l, enum bucket b, uint64_t from_ns, uint64_t to_ns);
/* The same for a custom event. Of several at once the one that began last has the time (it is
 * nested in the others); of those that began together, the one told last. name: LEDGER_TYPES - 1 of
 * them are told apart. */
int ledger_custom(struct ledger *l, uint32_t name, uint64_t from_ns, uint64_t to_ns);
/* A finished step: settles everything up to its end. Steps of parallel loops may overlap. torn:
 * records were lost while it ran; what it took beyond ten times the ideal is then UNOBSERVED, not
 * OTHER. */
int ledger_step(struct ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t number, bool torn);
/* The same for count steps of which the bounds alone are known; number: of the last one. */
int ledger_steps(struct ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t number,
		 uint64_t count);
/* The job begins another run: all before at_ns is the run's that was. Until its first step it
 * starts up, and its first steps may have an excess again. */
void ledger_run(struct ledger *l, uint64_t at_ns);
/* A restart disproves the last ns of goodput: they were wasted. */
void ledger_disprove(struct ledger *l, uint64_t ns);
/* Time is now now_ns (never goes back). */
void ledger_advance(struct ledger *l, uint64_t now_ns);
void ledger_end(struct ledger *l, uint64_t now_ns);
/* The ideal step is known (or better known). The first call settles the first steps' excess as
 * PROGRAM_STARTUP; or, where we came in the middle of training, what was seen before its first sign
 * as UNOBSERVED. Known before the first step, it serves from there on. */
void ledger_ideal(struct ledger *l, uint64_t ideal_ns, uint64_t mad_ns);

void ledger_view(const struct ledger *l, struct ledger_view *ret);
/* Of that, GOODPUT alone: cheaper. */
uint64_t ledger_goodput(const struct ledger *l);
/* Nothing came until now_ns: that may still be claimed. */
void ledger_view_idle(struct ledger_view *v, const struct away *a, uint64_t now_ns);
/* Types seen, the rest first; ret has room for LEDGER_TYPES. */
uint32_t ledger_types(const struct ledger *l, struct ledger_type *ret);
/* True while every nanosecond is in exactly one bucket. */
bool ledger_check(const struct ledger *l);
/* A ledger that does not add up is refused. */
void ledger_archive(struct archive *a, struct ledger **l);

#endif
