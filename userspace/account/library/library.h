/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - computes exactly what the calculators of ml-goodput-measurement 0.2.3 (the goodput
 * library) compute from a log. The engine for --semantics library (job_log.h) is built from these
 * functions.
 *
 * Times are ticks of 2^-30 s. The library adds differences of times in seconds, as doubles. Between
 * 2004 and 2038 these are multiples of 2^-22 s, and therefore whole numbers of ticks, so sums and
 * comparisons equal the library's to the last bit.
 *
 * A calculator keeps the steps that can still change the answer, because a custom event may be
 * logged late: those of the open segment, and those of closed segments while they are fewer than
 * LIBRARY_CLOSED_MAX in all. Of older steps it keeps sums. */
#ifndef ACCOUNT_LIBRARY_H
#define ACCOUNT_LIBRARY_H

#include "userspace/account/log/answer.h"
#include "userspace/account/library/cover.h"
#include "userspace/account/library/dict.h"
#include "userspace/ingest/goodput_record.h"

#define LIBRARY_CLOSED_MAX (1u << 20)

static inline int64_t library_ticks(int64_t us)
{
	us = us > GOODPUT_TIME_MAX_US ? GOODPUT_TIME_MAX_US : us < 0 ? 0 : us;
	return (int64_t)((double)us / 1e6 * (double)(1 << 30)); /* the product is exact: only the
								   division by 1e6 rounds */
}

static inline double library_seconds(goodput_wide ticks)
{
	return (double)ticks / (double)(1 << 30);
}

/* A sequence of steps that ends when a step number is repeated (a rewind). */
struct library_segment {
	/* in the order of the log; key: number of the step, value: its time in ticks */
	struct goodput_entry *steps;
	size_t count;
	int64_t boundary; /* number of the repeated step, which ended the segment */
};

/* Returns true if step i - 1 of a segment is productive: the next record has the next step number,
 * and this number is not beyond the boundary. */
static inline bool library_is_pair(const struct library_segment *s, size_t i)
{
	return s->steps[i].key <= s->boundary && s->steps[i].key - 1 == s->steps[i - 1].key;
}

/* Sums over the steps of segments, in total and by type of custom event. */
struct library_sums {
	double productive_s, startup_s;
	goodput_wide wasted, excluded;
	/* any: at least one segment was counted; any_pair: at least one of these segments has a
	 * productive step */
	bool any, any_pair;
	int64_t max_productive, max_of_all;
	/* Seconds of custom events. Key: number of the type's name. */
	struct goodput_dict custom;
};

struct library_phase {
	int64_t start; /* when the open phase started; GOODPUT_UNKNOWN: no phase is open */
	goodput_wide sum;
	struct goodput_range *spans; /* all phases; kept only if the calculation is elastic */
	size_t count, room;
};

struct library_mean { /* duration and number of the checkpoints of one step */
	double sum_s;
	uint64_t count;
};

/* Position of a step's mean in `means`, by step: places[0] for local checkpoints, places[1] for
 * persistent ones. */
struct library_saves {
	struct goodput_dict places[2];
	struct library_mean *means;
	size_t count, room;
};

struct library_slices {
	int64_t at, order;
	double active, available, total;
};

/* Sums without the excluded time. The goodput library computes them separately from the sums of all
 * time. */
struct library_exclusion {
	struct goodput_cover cover; /* the excluded spans in ticks, merged */
	goodput_wide init, prep, load, load_sync, recovery, excluded;
	bool any, sync, has_sync, has_recovery;
	struct library_sums folded;
	struct goodput_dict times; /* step times in seconds without excluded time, by step */
};

struct library_calc {
	bool elastic; /* use the rules of the goodput library's calculator for elastic jobs */
	bool (*scale_up)(void *ctx, uint32_t name);
	void *ctx;
	struct goodput_dict steps; /* time of each step of the open segment, in ticks */
	struct library_segment *closed;
	size_t closed_count, closed_room, closed_steps;
	struct library_sums folded;
	int64_t folded_until; /* time of the latest step that was replaced by sums */
	int64_t first_start, last_start, end, first_start_us;
	struct library_phase init, prep, reinit;
	int64_t load_start;
	/* last_load: duration of the last load, which the library adds again at a disruption */
	goodput_wide load, load_sync, last_load;
	bool has_last_load, sync, has_sync, has_recovery;
	/* [0]: time with fewer slices than requested; [1]: time of waiting for more slices */
	goodput_wide recovery, waits[2];
	bool has_wait[2];
	struct goodput_dict open_customs,
		/* By name: start of the open event; GOODPUT_UNKNOWN: no event is open. */
		open_waits;
	struct goodput_range *customs;
	size_t custom_count, custom_room;
	struct library_saves saves, restores;
	uint64_t nulls, late_customs, orphans, reopened, merged;
	struct library_slices *slices;
	size_t slice_count, slice_room;
	uint64_t disruptions, records, step_records;
	/* number and time of the previous step record; GOODPUT_UNKNOWN: there is none */
	int64_t last_step, last_step_time;
	struct goodput_dict times; /* step times in seconds, by step */
	bool keep_times;
	struct library_exclusion *exclusion; /* owned; NULL: none */
};

struct library_calc *library_calc_new(const struct goodput_query *q,
				      bool (*scale_up)(void *, uint32_t), void *ctx,
				      bool keep_times);
/* Makes the calculator compute a second answer, from which these spans are excluded. Returns 0 or
 * -ENOMEM. */
int library_calc_exclude(struct library_calc *c, const struct goodput_span *spans, size_t count);
void library_calc_free(struct library_calc *c);
int library_calc_feed(struct library_calc *c, const struct goodput_record *r); /* -ENOMEM */

/* Add the sums of segments to s. library_segments_excluding() excludes the time of c->exclusion,
 * and sets `times` to the step times without that time. Return 0, or -ENOMEM, after which s is
 * invalid. */
int library_segments(const struct library_calc *c, const struct library_segment *segments,
		     size_t count, struct library_sums *s);
int library_segments_excluding(const struct library_calc *c, const struct library_segment *segments,
			       size_t count, struct library_sums *s, struct goodput_dict *times);
void library_sums_free(struct library_sums *s);
int library_sums_copy(const struct library_sums *from, struct library_sums *ret); /* -ENOMEM */

/* Result of a calculation before it is checked against the job's total time. Times are in
 * seconds. */
struct library_raw {
	double productive_s, badput_s[BADPUTS];
	uint32_t has;
	struct goodput_custom *custom; /* owned */
	size_t custom_count;
	int64_t max_productive_step, last_recorded_step;
	uint64_t disruptions;
	/* A duration in the log is null, for which the library raises an exception. */
	bool nulls;
};

int library_raw(const struct library_calc *c, struct library_raw *ret); /* -ENOMEM */
int library_raw_copy(const struct library_raw *from, struct library_raw *ret);
void library_raw_free(struct library_raw *r);

/* library_total_s() returns the job's total time in seconds at now_us; 0: the job has no start.
 * library_part() converts raw to a part and takes ownership of raw->custom. It sets the values in
 * raw to 0 that the library sets to 0, and counts them in *insane. */
double library_total_s(const struct library_calc *c, int64_t now_us);
void library_part(struct library_raw *raw, double total_s, bool elastic, struct goodput_part *ret,
		  uint64_t *insane);
int library_part_excluded(const struct library_calc *c, const struct goodput_query *q,
			  double total_s, struct goodput_part *ret, uint64_t *insane);
/* Computes the ideal step time and the deviations of the step times from it. *ret_deviations: array
 * with one value for each time; may be NULL. */
int library_deviation(const struct goodput_dict *times, const struct goodput_query *q,
		      bool is_signed, struct goodput_part *part,
		      struct goodput_step_time **ret_deviations);

/* Sets in part which share of the slices was used in [from, to]. Returns 0 or -ENOMEM. */
int library_efficiency(const struct library_calc *c, int64_t from, int64_t to,
		       struct goodput_part *part);

#endif
