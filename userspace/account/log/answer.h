/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the questions that gp-bpf account can answer about a job's log (struct goodput_query),
 * and the answer. Times and percentages of answers are doubles; the engines compute with integers.
 * Badputs have the names and the order of the goodput library. */
#ifndef ACCOUNT_ANSWER_H
#define ACCOUNT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/job/disruption.h"
#include "userspace/account/log/history.h"

/* For each badput: its id, and the bucket of the model (model/time/ledger.h) that gives it name and
 * label. Bucket COUNT: no bucket corresponds to the badput, which is not part of the sum. */
#define GOODPUT_BADPUTS(X)                                                                         \
	X(INIT, ACCELERATOR_INIT)                                                                  \
	X(PREP, TRAINING_PREP)                                                                     \
	X(STARTUP, PROGRAM_STARTUP)                                                                \
	X(LOAD_SYNC, DATA_LOADING)                                                                 \
	X(LOAD_ASYNC, COUNT)                                                                       \
	X(SAVE, CHECKPOINT_SAVE)                                                                   \
	X(RESTORE, CHECKPOINT_RESTORE)                                                             \
	X(WASTED, WASTED)                                                                          \
	X(RECOVERY, RECOVERY)                                                                      \
	X(CUSTOM, CUSTOM) /* sum of all types; goodput_part.custom has the time of each type */    \
	X(OTHER, OTHER)                                                                            \
	X(SLICE_DOWN, SLICE_DOWN)                                                                  \
	X(SCALE_UP, SCALE_UP)                                                                      \
	X(REINIT, REINIT)                                                                          \
	X(HANG, HANG)		  /* only with --semantics closed */                               \
	X(UNOBSERVED, UNOBSERVED) /* only with --semantics closed */

enum goodput_badput {
#define X(id, bucket) BADPUT_##id,
	GOODPUT_BADPUTS(X)
#undef X
		BADPUTS
};
extern const enum bucket badput_bucket[BADPUTS];
/* Returns the name of a badput in the goodput library, a static text. */
const char *badput_name(int badput);

struct goodput_span { /* A time span in microseconds since the epoch; from_us <= to_us. */
	int64_t from_us, to_us;
};

enum goodput_semantics { GOODPUT_CLOSED, GOODPUT_LIBRARY };

struct goodput_query {
	enum goodput_semantics semantics;
	bool elastic;	  /* compute what the library's calculator for elastic jobs computes */
	int64_t ideal_us; /* ideal step time as configured; 0: compute it from the steps */
	/* Compute the answer for this instant; GOODPUT_UNKNOWN: the time of the last record. */
	int64_t now_us;
	const struct goodput_span *windows, *excludes;
	const int64_t *at_us;
	size_t window_count, exclude_count, at_count;
	bool history; /* also compute goodput_answer.history; only with --semantics closed */
};

struct goodput_custom {
	uint32_t name; /* number of the type's name (goodput_names.h) */
	double s, pct;
};

/* Goodput and badput of the whole job, of the whole job without excluded time, of a window, or up
 * to an instant. */
struct goodput_part {
	/* The requested window. For the whole job: from its start to the instant of the answer. */
	int64_t from_us, to_us;
	/* With --semantics library: text and type of the exception that the library would raise;
	 * NULL: none. With an exception, the numbers are those computed without the failed check.
	 * The text is static, and does not contain the window's times. */
	const char *error, *error_type;
	double goodput_pct, total_s, productive_s;
	double badput_s[BADPUTS], badput_pct[BADPUTS];
	uint32_t has_s, has_pct;       /* bit (1 << enum goodput_badput): the value is present */
	struct goodput_custom *custom; /* owned */
	size_t custom_count;
	int64_t max_productive_step, last_recorded_step;
	uint64_t disruptions;
	double residual_s;
	/* excluded time, and total time minus excluded time; valid if the query excludes time */
	double excluded_s, adjusted_s;
	bool has_ideal, has_deviation;
	double ideal_s, deviation_mean_s, deviation_cumulative_s, deviation_interval_s;
	bool has_slices;
	double stepping_efficiency, available_efficiency;
	/* With --semantics library, for a window: efficiencies in the time of the window in which
	 * the job ran. */
	double span_stepping, span_available;
};

/* Time of a step; arrays have the order in which steps were first recorded. */
struct goodput_step_time {
	int64_t number;
	double s;
};

/* Problems of a log that affect the numbers. Occurrences of each are counted. */
#define GOODPUT_WARNINGS(X) /* X(id, text after the count) */                                      \
	X(DUPLICATE, "records that repeat another")                                                \
	X(DISORDER, "records out of order of time")                                                \
	X(WRITERS, "steps reported by a second writer")                                            \
	X(GAPS, "steps without a record of their own")                                             \
	X(SKEW, "runs whose clock is behind that of the run before")                               \
	X(OPEN, "phases that have no end")                                                         \
	X(ORPHANS, "ends without a start")                                                         \
	X(NULLS, "checkpoints without a duration")                                                 \
	X(STALE_END, "job ends that later records disprove")                                       \
	X(NO_START, "jobs without a start record")                                                 \
	X(INSANE, "values that are impossible")                                                    \
	X(MERGED, "event types beyond those that are distinguished")                               \
	X(CROWDED, "events in one step, too many to keep their order")

enum goodput_warning {
#define X(id, words) WARN_##id,
	GOODPUT_WARNINGS(X)
#undef X
		WARNINGS
};
extern const char *const goodput_warning_words[WARNINGS];

struct goodput_answer {
	uint32_t job;	/* number of the job's name (goodput_names.h) */
	int64_t now_us; /* instant for which the answer is computed */
	bool ended;
	/* cumulative: result for the whole job; excluded: result for the whole job without the
	 * excluded time, valid if has_excluded */
	struct goodput_part cumulative, excluded;
	/* owned; one for each window and each instant of the query */
	struct goodput_part *windows, *at;
	size_t window_count, at_count;
	bool has_excluded;
	struct goodput_step_time *step_times, *deviations; /* owned */
	size_t step_time_count, deviation_count;
	/* Only with --semantics closed: the first DISRUPTIONS_KEPT disruptions, in order of time;
	 * owned. */
	struct disruption *disruptions;
	size_t disruption_count;
	struct goodput_history *history; /* owned; NULL: the query did not ask for it */
	uint64_t warnings[WARNINGS];
};

void goodput_answer_free(struct goodput_answer *a); /* frees the members of *a, not *a itself */

#endif
