/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - sums of time by bucket over any part of the last 7 days, in fixed memory.
 *
 * Time is divided into slots of four widths: 3 seconds for one minute back, minutes for an hour,
 * half hours for a day, hours for a week. A window begins at the edge of a slot of the finest width
 * that reaches back far enough: it is as long as requested, or longer by less than one slot; its
 * view contains the start. Edges of spans are rounded to a microsecond, so that slots add up
 * exactly. Time that a later event moves to another bucket is moved in its own slot.
 *
 * Pure. 1.2 KB (304 slots of 4 bytes) for each bucket and type of custom events that ever had time,
 * so 60 KB at most. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_WINDOW_H
#define MODEL_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/ledger.h"

#define WINDOWS_MAX	4
#define WINDOW_LEAST_NS 60000000000ull
#define WINDOW_MOST_NS	(7 * 86400000000000ull)

extern const uint64_t
	/* lengths of windows if the user sets none: an hour, a day, a week */
	window_usual_ns[WINDOWS_MAX];

struct window_view {
	uint64_t length_ns;	 /* requested length; 0: no window */
	uint64_t from_ns, to_ns; /* interval of the window; to_ns is now */
	/* the whole life of the rank or job is in the window, because it began less than length_ns
	 * ago */
	bool whole;
	uint64_t ns[BUCKET_COUNT]; /* time of each bucket; the sum is to_ns - from_ns */
	uint64_t unsettled_ns;	   /* part of OTHER that may still move to another bucket */
	/* Parts of BUCKET_CUSTOM, by number of the type; always 0 for LEDGER_REST. */
	uint64_t type_ns[LEDGER_TYPES];
};

struct window;
/* start_ns: start of the rank or job. Returns NULL when there is no memory. */
struct window *window_new(uint64_t start_ns);
void window_free(struct window *w);
struct window *window_copy(const struct window *w); /* NULL: no memory */
#define WINDOW_WIDTHS 4
/* A window has a column of times for each bucket and for each type of custom events. */
#define WINDOW_COLUMNS (BUCKET_COUNT + LEDGER_TYPES - 1)
/* Contents of the four slots (one of each width) that contain some instant, for window_merge(). */
struct window_edge {
	uint32_t us[WINDOW_WIDTHS][WINDOW_COLUMNS];
};
/* Copies the present contents of the slots that contain at_ns. */
void window_edge(const struct window *w, uint64_t at_ns, struct window_edge *ret);
void window_edge_archive(struct archive *a, struct window_edge *e);
/* Adds to w the times of window `other` after from_ns, the end of w. The slot of `other` that
 * contains from_ns also has times before from_ns, which w has already. then: those times, which are
 * not added. NULL: only their length is known; that much is subtracted from the slot's buckets,
 * startup first and progress last. Returns 0, or -ENOMEM: w is unchanged. */
int window_merge(struct window *w, const struct window *other, uint64_t from_ns,
		 const struct window_edge *then);
/* Moves the start of w back to start_ns. */
void window_reach_back(struct window *w, uint64_t start_ns);
/* Adds a span that a ledger settled or moved (ledger_trace()). Spans older than 7 days are ignored.
 * Returns 0, or -ENOMEM: w is unchanged. */
int window_add(struct window *w, const struct ledger_span *s);
/* Computes the window of length_ns that ends at now_ns. Time for which no span was added yet counts
 * as OTHER and unsettled, except hang_ns of it, which counts as HANG. */
void window_view(const struct window *w, uint64_t now_ns, uint64_t length_ns, uint64_t hang_ns,
		 struct window_view *ret);
/* Returns how much of the time without a span is excluded time: up to l->now_ns from ledger view l,
 * after that from *a. window_leave_out() subtracts the result from the unsettled time of a view. */
uint64_t window_unbooked(const struct window *w, const struct excluded *a,
			 const struct ledger_view *l, uint64_t now_ns);
void window_leave_out(struct window_view *v, uint64_t excluded_ns);
static inline uint64_t window_elapsed(const struct window_view *v)
{
	return v->to_ns - v->from_ns - v->ns[BUCKET_EXCLUDED];
}
/* Returns all time ever added to a bucket, less the time that was moved to another bucket. */
uint64_t window_total(const struct window *w, enum bucket b);
/* Iterates like ledger_part(). The times add up to window_elapsed(); types without time are
 * skipped. */
const char *window_part(const struct window_view *v, const struct type_names *names, uint32_t i,
			char out[LEDGER_NAME_MAX], uint64_t *ret_ns);
/* Writes the name of a window to out and returns out: "1h", "24h", "7d", "90s". */
const char *window_name(char out[16], uint64_t length_ns);
void window_archive(struct archive *a, struct window **w);

#endif
