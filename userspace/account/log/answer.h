/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the question about a job's log, and the answer (gp-bpf account). Only here times are
 * seconds and percent as doubles; engines add integers. Names of badput are those of the goodput
 * library, in its order. */
#ifndef ACCOUNT_ANSWER_H
#define ACCOUNT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/job/disruption.h"
#include "userspace/account/log/history.h"

/* For each badput: its id, and the bucket of the model that gives its name and label. COUNT: in no
 * bucket, and not part of the sum. */
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
	X(CUSTOM, CUSTOM) /* sum of all types; `custom` has each type */                           \
	X(OTHER, OTHER)                                                                            \
	X(SLICE_DOWN, SLICE_DOWN)                                                                  \
	X(SCALE_UP, SCALE_UP)                                                                      \
	X(REINIT, REINIT)                                                                          \
	X(HANG, HANG)		  /* closed semantics only */                                      \
	X(UNOBSERVED, UNOBSERVED) /* closed semantics only */

enum goodput_badput {
#define X(id, bucket) BADPUT_##id,
	GOODPUT_BADPUTS(X)
#undef X
		BADPUTS
};
extern const enum bucket badput_bucket[BADPUTS];
/* Returns the badput's name in the goodput library, static text. */
const char *badput_name(int badput);

struct goodput_span { /* since 1970, microseconds; from <= to */
	int64_t from_us, to_us;
};

enum goodput_semantics { GOODPUT_CLOSED, GOODPUT_LIBRARY };

struct goodput_query {
	enum goodput_semantics semantics;
	bool elastic;	  /* use the library's elastic calculator */
	int64_t ideal_us; /* configured ideal step time; 0: compute it */
	int64_t now_us;	  /* GOODPUT_UNKNOWN: time of the last record */
	const struct goodput_span *windows, *excludes;
	const int64_t *at_us;
	size_t window_count, exclude_count, at_count;
	bool history; /* fill `history`; only with --semantics closed */
};

struct goodput_custom {
	uint32_t name; /* index in the log's names */
	double s, pct;
};

/* Values for the whole job, for a window, for the time without exclusions, or at an instant. */
struct goodput_part {
	/* the requested window; cumulative: start of the job and the requested instant */
	int64_t from_us, to_us;
	/* In library semantics, text and type of the exception that the library raises; the numbers
	 * are then computed without the check that failed. NULL: the library gives these numbers.
	 * Static text, without the times. */
	const char *error, *error_type;
	double goodput_pct, total_s, productive_s;
	double badput_s[BADPUTS], badput_pct[BADPUTS];
	uint32_t has_s, has_pct; /* bits 1 << enum goodput_badput of the values that are present */
	struct goodput_custom *custom; /* owned */
	size_t custom_count;
	int64_t max_productive_step, last_recorded_step;
	uint64_t disruptions;
	double residual_s;
	double excluded_s, adjusted_s; /* valid if there are exclusions */
	bool has_ideal, has_deviation;
	double ideal_s, deviation_mean_s, deviation_cumulative_s, deviation_interval_s;
	bool has_slices;
	double stepping_efficiency, available_efficiency;
	/* In library semantics, for a window: over the part of the window in which the job ran,
	 * like its other numbers. */
	double span_stepping, span_available;
};

struct goodput_step_time { /* in order of first appearance */
	int64_t number;
	double s;
};

/* Conditions to be known to readers of the numbers; each is counted. */
#define GOODPUT_WARNINGS(X) /* id, words after the count */                                        \
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
	uint32_t job;	/* index in the log's names */
	int64_t now_us; /* instant of the answer */
	bool ended;
	struct goodput_part cumulative, excluded; /* excluded: valid if there are exclusions */
	struct goodput_part *windows, *at;	  /* owned, as many as were requested */
	size_t window_count, at_count;
	bool has_excluded;
	struct goodput_step_time *step_times, *deviations; /* owned */
	size_t step_time_count, deviation_count;
	/* owned; closed semantics; the first DISRUPTIONS_KEPT, in order of time */
	struct disruption *disruptions;
	size_t disruption_count;
	struct goodput_history *history; /* owned; if it was requested */
	uint64_t warnings[WARNINGS];
};

void goodput_answer_free(struct goodput_answer *a); /* frees the members of *a, not *a itself */

#endif
