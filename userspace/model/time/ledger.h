/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.h - accounts every nanosecond of one rank's life to exactly one bucket.
 *
 * Integer arithmetic: after every call the sum of all buckets equals the elapsed time;
 * ledger_check() verifies this. Time is settled (divided among the buckets) in order of time. The
 * time after the last settled instant, which is the running step or silence, counts as OTHER;
 * `unsettled_ns` is that part of OTHER. Only a hang is shown at once, before the time around it is
 * settled.
 *
 * The time by which a step is longer than the ideal step is not goodput. In the first steps, which
 * include startup, this excess is cut from the beginning of the step; in later steps, from its end.
 * Time that is booked as an interval (such as a checkpoint) is not cut again.
 *
 * Settled time may still move between buckets: when the ideal step becomes known after the first
 * steps, and when a restart loses progress. The sum does not change, and neither
 * `productive_gross_ns` nor `wasted_gross_ns` ever decreases.
 *
 * Pure, bounded: at most LEDGER_PENDING intervals after the last settled instant are kept. Further
 * ones are merged, which is counted; their time is not lost. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_LEDGER_H
#define MODEL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/exclusion.h"

/* Buckets. The order is the priority: where intervals overlap, the bucket listed first gets the
 * time. Only buckets before GOODPUT can be booked with ledger_interval(). The last one, EXCLUDED
 * (time that the user excluded), has priority over all. It is not exported as a bucket and not part
 * of the exported elapsed time.
 *
 * Columns: id; name in every export, as in the goodput library; label for people; short name in
 * .case files and in the lines that nodes pass to each other; uses:
 *   RANGE   a user range (--range) may be booked to the bucket
 *   ALWAYS  TensorBoard and Cloud Monitoring get the bucket even when it is 0, as from the library
 */
#define LEDGER_BUCKETS(X)                                                                          \
	X(UNOBSERVED, "UNOBSERVED", "unobserved", "unseen", 0)                                     \
	X(HANG, "HANG", "hang", "hang", 0)                                                         \
	X(RECOVERY, "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION", "down", "recovery",                 \
	  BUCKET_USE_ALWAYS)                                                                       \
	X(WASTED, "WASTED_PROGRESS_FROM_DISRUPTION", "wasted progress", "wasted",                  \
	  BUCKET_USE_ALWAYS)                                                                       \
	X(SLICE_DOWN, "ELASTIC_SLICE_DOWN", "waiting for a lost slice", "slice", BUCKET_USE_RANGE) \
	X(SCALE_UP, "ELASTIC_SCALE_UP", "waiting for more slices", "scale", BUCKET_USE_RANGE)      \
	X(REINIT, "ELASTIC_REINITIALIZATION", "elastic reinitialization", "reinit",                \
	  BUCKET_USE_RANGE)                                                                        \
	X(CHECKPOINT_SAVE, "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME", "checkpoint save", "save",         \
	  BUCKET_USE_RANGE | BUCKET_USE_ALWAYS)                                                    \
	X(CHECKPOINT_RESTORE, "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME", "checkpoint restore",        \
	  "restore", BUCKET_USE_RANGE | BUCKET_USE_ALWAYS)                                         \
	X(CUSTOM, "CUSTOM_BADPUT_EVENTS", "named events", "custom", 0)                             \
	X(EVAL, "CUSTOM_BADPUT_EVENTS.EVAL", "evaluation", "eval", BUCKET_USE_RANGE)               \
	X(DATA_LOADING, "DATA_LOADING_SYNC", "data loading", "data",                               \
	  BUCKET_USE_RANGE | BUCKET_USE_ALWAYS)                                                    \
	X(ACCELERATOR_INIT, "TPU_INITIALIZATION", "accelerator initialization", "init",            \
	  BUCKET_USE_RANGE | BUCKET_USE_ALWAYS)                                                    \
	X(TRAINING_PREP, "TRAINING_PREP", "training preparation", "prep",                          \
	  BUCKET_USE_RANGE | BUCKET_USE_ALWAYS)                                                    \
	X(PROGRAM_STARTUP, "PROGRAM_STARTUP", "program startup", "startup",                        \
	  BUCKET_USE_RANGE | BUCKET_USE_ALWAYS)                                                    \
	X(GOODPUT, "GOODPUT", "goodput", "goodput", 0)                                             \
	X(OTHER, "OTHER", "other", "other", BUCKET_USE_ALWAYS)                                     \
	X(EXCLUDED, "EXCLUDED", "left out", "out", 0)

enum bucket_use { BUCKET_USE_RANGE = 1, BUCKET_USE_ALWAYS = 2 };

enum bucket {
#define X(id, name, label, word, use) BUCKET_##id,
	LEDGER_BUCKETS(X)
#undef X
		BUCKET_COUNT,
	/* Number of exported buckets. */
	BUCKETS_EXPORTED = BUCKET_EXCLUDED,
};
_Static_assert(BUCKET_GOODPUT < BUCKET_OTHER, "whatever nothing claims comes last");
_Static_assert(BUCKET_EXCLUDED == BUCKET_COUNT - 1,
	       "BUCKETS_EXPORTED counts the buckets before it");
extern const char *const bucket_name[BUCKET_COUNT];
extern const char *const bucket_label[BUCKET_COUNT];
extern const char *const bucket_word[BUCKET_COUNT];
extern const unsigned char bucket_use[BUCKET_COUNT]; /* enum bucket_use */

/* If two processes of one job overlap in time, the overlap counts only once. The later process
 * loses it, from these buckets first, in this order (startup before progress). */
#define BUCKETS_GIVE_WAY 5
extern const enum bucket bucket_gives_way[BUCKETS_GIVE_WAY];

/* number of types of custom events that are distinguished, LEDGER_REST included */
#define LEDGER_TYPES	32
#define LEDGER_REST	0  /* index of the type that collects all types beyond LEDGER_TYPES */
#define LEDGER_TYPE_MAX 32 /* bytes of the name of a type, with the final 0 */

struct ledger_type {
	uint32_t name; /* number of the type's name, chosen by the caller, or LEDGER_REST */
	uint64_t ns;   /* time of the type; the types add up to BUCKET_CUSTOM */
};

struct type_names { /* names of types of custom events, by number from 1; "": unused */
	char name[LEDGER_TYPES][LEDGER_TYPE_MAX];
};

struct ledger_view {
	uint64_t start_ns, now_ns; /* elapsed = now_ns - start_ns */
	uint64_t ns[BUCKET_COUNT];
	/* part of OTHER that later steps or intervals may still move to another bucket */
	uint64_t unsettled_ns;
	/* GOODPUT and the progress that restarts lost. 0 until the first steps are settled; never
	 * decreases. */
	uint64_t productive_gross_ns;
	uint64_t wasted_gross_ns; /* progress that restarts lost; never decreases */
	uint64_t steps, max_step;
	/* Total length of intervals that were ignored because their time was already settled. */
	uint64_t late_ns;
	uint64_t merged; /* number of intervals that were merged because too many were pending */
	/* Number of disruptions. The rank or job sets it; ledger_view() sets it to 0. */
	uint64_t disruptions;
	bool ended;
	/* ntypes entries are in use; LEDGER_REST is the first */
	struct ledger_type types[LEDGER_TYPES];
	uint32_t ntypes;
};

/* Returns the elapsed time (ns) without excluded time. It is the sum of the exported buckets. */
static inline uint64_t ledger_elapsed(const struct ledger_view *l)
{
	return l->now_ns - l->start_ns - l->ns[BUCKET_EXCLUDED];
}
/* Iterates over buckets and types of custom events, i = 0, 1... Returns the name of part i
 * (composed in `out` if necessary) and its time in *ret_ns; NULL after the last. The times add up
 * to ledger_elapsed(). */
#define LEDGER_NAME_MAX 64
const char *ledger_part(const struct ledger_view *l, const struct type_names *names, uint32_t i,
			char out[LEDGER_NAME_MAX], uint64_t *ret_ns);

/* Limit of intervals after the last settled instant that are kept until they are settled. */
#define LEDGER_PENDING 1024

/* A span of time that ledger_trace() reports: settled now, or moved to another bucket later. */
struct ledger_span {
	uint64_t from_ns, to_ns;
	enum bucket bucket;
	/* BUCKET_COUNT: the span is settled now, and all of its time belongs to `bucket`.
	 * Otherwise `ns` of the time that bucket `was` has within the span move to `bucket`: the
	 * earliest part of that time if `bucket` is PROGRAM_STARTUP, else the latest part. */
	enum bucket was;
	uint64_t ns;
	uint32_t type; /* type of a custom event */
};
typedef void (*ledger_trace_fn)(void *ctx, const struct ledger_span *s);

struct ledger;
/* start_ns: first instant of the rank; observed_ns >= start_ns: start of observation (the time
 * before is UNOBSERVED). Returns NULL when there is no memory. */
struct ledger *ledger_new(uint64_t start_ns, uint64_t observed_ns);
void ledger_free(struct ledger *l);
/* Sets the excluded time; *a must outlive l; NULL: none. Unobserved time is excluded, too, unless
 * an interval was booked there. Not saved. */
void ledger_exclude(struct ledger *l, const struct excluded *a);
/* Raises the limit of pending intervals to `pending`: a power of two above LEDGER_PENDING. Cost
 * grows with its square. Not saved. */
void ledger_keep(struct ledger *l, uint32_t pending);
/* Moves the start of the ledger back to start_ns, when the rank proves to be older; the added time
 * is UNOBSERVED. Returns the length of that time (ns). */
uint64_t ledger_reach_back(struct ledger *l, uint64_t start_ns);

/* Calls fn for each span that is settled from now on (in a new ledger: from observed_ns on), in
 * order of time, and for each span that is moved or added by ledger_reach_back(). So the spans
 * within a window add up to the time of its buckets. Not saved. fn may be NULL: no calls, no
 * cost. */
void ledger_trace(struct ledger *l, ledger_trace_fn fn, void *ctx);

/* Books an interval to a bucket other than GOODPUT. Intervals may overlap and may come before the
 * steps around them. Time that is already settled is ignored and counted in late_ns. Returns 0 or
 * -ENOMEM. */
int ledger_interval(struct ledger *l, enum bucket b, uint64_t from_ns, uint64_t to_ns);
/* Books a custom event of type `name`. If several overlap, the one that began last gets the time,
 * because it is nested in the others; if some begin together, the one booked last. LEDGER_TYPES - 1
 * types are distinguished. Returns 0 or -ENOMEM. */
int ledger_custom(struct ledger *l, uint32_t name, uint64_t from_ns, uint64_t to_ns);
/* Books a finished step: settles everything up to its end. Steps of parallel loops may overlap.
 * torn: records were lost during the step; then its time beyond ten times the ideal is UNOBSERVED
 * instead of OTHER. */
void ledger_step(struct ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t number, bool torn);
/* Books `count` steps of which only the start of the first and the end of the last are known;
 * number: of the last one. */
void ledger_steps(struct ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t number,
		  uint64_t count);
/* Starts another run of the job: all time before at_ns belongs to the previous run. Time before the
 * first step of the new run is startup, and its first steps may contain startup time again. */
void ledger_run(struct ledger *l, uint64_t at_ns);
/* Moves the newest ns of GOODPUT to WASTED: a restart lost that progress. */
void ledger_disprove(struct ledger *l, uint64_t ns);
/* Advances the time to now_ns; it never goes back. */
void ledger_advance(struct ledger *l, uint64_t now_ns);
/* Call before the end of a rank that made no step: its time since from_ns becomes OTHER instead of
 * startup. */
void ledger_untrained(struct ledger *l, uint64_t from_ns);
void ledger_end(struct ledger *l, uint64_t now_ns);
/* Sets the ideal step; may be called again with a better one. The first call moves the excess of
 * the first steps to PROGRAM_STARTUP. If observation began during training, it moves the time
 * before the first sign of training to UNOBSERVED. If the ideal comes before the first step, it
 * applies to all steps. */
void ledger_ideal(struct ledger *l, uint64_t ideal_ns, uint64_t mad_ns);

void ledger_view(const struct ledger *l, struct ledger_view *ret);
/* Returns GOODPUT only, which is cheaper than a view. */
uint64_t ledger_goodput(const struct ledger *l);
/* Extends a view to now_ns if nothing was booked since the view. The added time is unsettled. */
void ledger_view_idle(struct ledger_view *v, const struct excluded *a, uint64_t now_ns);
/* Writes the types of the custom events so far to ret (room for LEDGER_TYPES), LEDGER_REST first.
 * Returns their number. */
uint32_t ledger_types(const struct ledger *l, struct ledger_type *ret);
/* Returns true while every nanosecond is in exactly one bucket. */
bool ledger_check(const struct ledger *l);
/* Saves or restores *l. Restoring fails if the sum of the buckets is wrong. */
void ledger_archive(struct archive *a, struct ledger **l);

#endif
