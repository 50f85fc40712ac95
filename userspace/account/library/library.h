/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - computes what the calculators of ml-goodput-measurement 0.2.3 compute from a log, in
 * parts from which the library engine (job_log.h) is built. Times are ticks of 2^-30 s. The library
 * adds differences of doubles since the epoch, which are multiples of 2^-22 s between 2004 and
 * 2038; in ticks each is a whole number, so sums and comparisons equal the library's to the last
 * bit. A calculator keeps the steps that may still change the answer: those of the open segment,
 * and of closed ones while they are fewer than CLOSED_MAX in all (a custom event may arrive late);
 * of older ones it keeps sums. */
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
	return (int64_t)((double)us / 1e6 *
			 (double)(1 << 30)); /* exact, apart from rounding of the quotient */
}

static inline double library_seconds(goodput_wide ticks)
{
	return (double)ticks / (double)(1 << 30);
}

struct library_segment {	     /* steps from one rewind to the next */
	struct goodput_entry *steps; /* number, ticks; in order */
	size_t count;
	int64_t boundary; /* the step number whose repetition ended the segment */
};

/* Returns true if step i - 1 of a segment was followed by the next number, up to the boundary: then
 * the step is productive. */
static inline bool library_is_pair(const struct library_segment *s, size_t i)
{
	return s->steps[i].key <= s->boundary && s->steps[i].key - 1 == s->steps[i - 1].key;
}

/* Sums over segments, in total and by custom type. */
struct library_sums {
	double productive_s, startup_s;
	goodput_wide wasted, excluded;
	bool any, any_pair; /* any: a segment counts; any_pair: a segment has a productive step */
	int64_t max_productive, max_of_all;
	struct goodput_dict custom; /* by name of the custom type, in seconds */
};

struct library_phase {
	int64_t start; /* GOODPUT_UNKNOWN: no phase is open */
	goodput_wide sum;
	struct goodput_range *spans; /* for the elastic calculator */
	size_t count, room;
};

struct library_mean { /* mean of the checkpoints of one step */
	double sum_s;
	uint64_t count;
};

struct library_saves { /* checkpoints by step, for each of the two localities */
	struct goodput_dict places[2];
	struct library_mean *means;
	size_t count, room;
};

struct library_slices {
	int64_t at, order;
	double active, available, total;
};

/* Exclusions have a separate path in the library, with its own sums. */
struct library_exclusion {
	struct goodput_cover cover; /* merged, ticks */
	goodput_wide init, prep, load, load_sync, recovery, excluded;
	bool any, sync, has_sync, has_recovery;
	struct library_sums folded;
	struct goodput_dict times; /* adjusted step times by step, in seconds */
};

struct library_calc {
	bool elastic;
	bool (*scale_up)(void *ctx, uint32_t name);
	void *ctx;
	struct goodput_dict steps; /* of the open segment: ticks */
	struct library_segment *closed;
	size_t closed_count, closed_room, closed_steps;
	struct library_sums folded;
	int64_t folded_until; /* latest step that is only kept in sums */
	int64_t first_start, last_start, end, first_start_us;
	struct library_phase init, prep, reinit;
	int64_t load_start;
	/* last_load: the last load, which the library may add once more */
	goodput_wide load, load_sync, last_load;
	bool has_last_load, sync, has_sync, has_recovery;
	goodput_wide recovery, waits[2]; /* slice down, scale up */
	bool has_wait[2];
	struct goodput_dict open_customs,
		open_waits; /* by name: start, or GOODPUT_UNKNOWN when the wait is over */
	struct goodput_range *customs;
	size_t custom_count, custom_room;
	struct library_saves saves, restores;
	uint64_t nulls, late_customs, orphans, reopened, merged;
	struct library_slices *slices;
	size_t slice_count, slice_room;
	uint64_t disruptions, records, step_records;
	int64_t last_step, last_step_time; /* of the previous record; GOODPUT_UNKNOWN: none */
	struct goodput_dict times;	   /* step times: seconds */
	bool keep_times;
	struct library_exclusion *exclusion; /* owned; NULL: none */
};

struct library_calc *library_calc_new(const struct goodput_query *q,
				      bool (*scale_up)(void *, uint32_t), void *ctx,
				      bool keep_times);
/* Makes the calculator also compute its answer without these spans. Returns 0 or -ENOMEM. */
int library_calc_exclude(struct library_calc *c, const struct goodput_span *spans, size_t count);
void library_calc_free(struct library_calc *c);
int library_calc_feed(struct library_calc *c, const struct goodput_record *r); /* -ENOMEM */

/* Adds the sums of the segments to s; library_segments_excluding(): by the library's path for
 * exclusions, with adjusted step times. Returns 0 or -ENOMEM; then s is invalid. */
int library_segments(const struct library_calc *c, const struct library_segment *segments,
		     size_t count, struct library_sums *s);
int library_segments_excluding(const struct library_calc *c, const struct library_segment *segments,
			       size_t count, struct library_sums *s, struct goodput_dict *times);
void library_sums_free(struct library_sums *s);
int library_sums_copy(const struct library_sums *from, struct library_sums *ret); /* -ENOMEM */

/* A calculation without the job's total time; in seconds. */
struct library_raw {
	double productive_s, badput_s[BADPUTS];
	uint32_t has;
	struct goodput_custom *custom; /* owned */
	size_t custom_count;
	int64_t max_productive_step, last_recorded_step;
	uint64_t disruptions;
	bool nulls; /* the library would raise an exception */
};

int library_raw(const struct library_calc *c, struct library_raw *ret); /* -ENOMEM */
int library_raw_copy(const struct library_raw *from, struct library_raw *ret);
void library_raw_free(struct library_raw *r);

/* library_total_s() returns the job's total at now_us (0: no start). library_part() makes a part
 * from raw and a total; values that the library sets to 0 are set to 0 in raw, too, and counted. It
 * takes over raw's custom. */
double library_total_s(const struct library_calc *c, int64_t now_us);
void library_part(struct library_raw *raw, double total_s, bool elastic, struct goodput_part *ret,
		  uint64_t *insane);
int library_part_excluded(const struct library_calc *c, const struct goodput_query *q,
			  double total_s, struct goodput_part *ret, uint64_t *insane);
/* Computes ideal and deviations for part. *ret_deviations: one value for each time; may be NULL. */
int library_deviation(const struct goodput_dict *times, const struct goodput_query *q,
		      bool is_signed, struct goodput_part *part,
		      struct goodput_step_time **ret_deviations);

/* Computes for part how well slices were used in [from, to]. Returns 0 or -ENOMEM. */
int library_efficiency(const struct library_calc *c, int64_t from, int64_t to,
		       struct goodput_part *part);

#endif
