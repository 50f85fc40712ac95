/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - where the time went of late: sums by bucket over any of the last 7 days, in fixed
 * memory.
 *
 * Time is cut by the clock into slots, in three widths: minutes for an hour back, half hours for a
 * day, hours for a week. A window begins at the edge of a slot of the finest width that reaches so
 * far back: it is as long as asked for or longer by less than one slot, and says where it begins.
 * Edges of what is added are rounded to a microsecond, so that slots add up exactly. What a later
 * event moves to another bucket is moved where it lies. Pure. A KiB and 130 bytes for each bucket
 * that there ever was time of, so 22 KiB at most.
 */
#ifndef MODEL_WINDOW_H
#define MODEL_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/ledger.h"

#define WINDOWS_MAX	4
#define WINDOW_LEAST_NS 60000000000ull
#define WINDOW_MOST_NS	(7 * 86400000000000ull)

extern const uint64_t window_usual_ns[WINDOWS_MAX]; /* where nobody asks for others; 0: no more */

struct window_view {
	uint64_t length_ns;		/* asked for; 0: no window */
	uint64_t from_ns, to_ns;	/* what it holds; to: now */
	bool whole;			/* all there is: it began less than that ago */
	uint64_t ns[BUCKET_COUNT];	/* add up to to - from */
	uint64_t unsettled_ns;		/* part of OTHER that may still be claimed */
	uint64_t type_ns[LEDGER_TYPES]; /* of BUCKET_CUSTOM: of the type of that number;
					 * LEDGER_REST: nothing
					 */
};

struct window;
struct window *window_new(uint64_t start_ns); /* the first instant there is; NULL: no memory */
void window_free(struct window *w);
struct window *window_copy(const struct window *w); /* NULL: no memory */
#define WINDOW_WIDTHS 3
#define WINDOW_COLUMNS                                                                             \
	(BUCKET_COUNT + LEDGER_TYPES - 1) /* buckets, then types of custom events                  \
					   */
struct window_edge { /* of the slots that hold an instant: what was in them then */
	uint32_t us[WINDOW_WIDTHS][WINDOW_COLUMNS];
};
void window_edge(const struct window *w, uint64_t at_ns, struct window_edge *ret);
void window_edge_archive(struct archive *a, struct window_edge *e);
/* What other has from from_ns on, where w ends: of the slot that holds from_ns without what other
 * had in it then, or, where that is not known (NULL), its boot gives way first and its progress
 * last. 0, or -ENOMEM: w is as it was. */
int window_merge(struct window *w, const struct window *other, uint64_t from_ns,
		 const struct window_edge *then);
/* It began earlier. */
void window_reach_back(struct window *w, uint64_t start_ns);
/* A piece of time, or one that turns out to be another bucket's; those beyond the last 7 days are
 * passed over. 0, or -ENOMEM: w is as it was, the piece is time that was not added. */
int window_add(struct window *w, const struct ledger_span *s);
/* Time until now_ns that was not added is OTHER and unsettled, but for hang_ns of it. */
void window_view(const struct window *w, uint64_t now_ns, uint64_t length_ns, uint64_t hang_ns,
		 struct window_view *ret);
/* What of the time that was not added is left out: what a ledger (that w is of) has of it until its
 * now_ns, and what comes after that. window_leave_out() takes it from the unsettled. */
uint64_t window_unbooked(const struct window *w, const struct away *a, const struct ledger_view *l,
			 uint64_t now_ns);
void window_leave_out(struct window_view *v, uint64_t away_ns);
static inline uint64_t window_elapsed(const struct window_view *v)
{
	return v->to_ns - v->from_ns - v->ns[BUCKET_EXCLUDED];
}
/* All that was ever added to a bucket, less what was moved from it. */
uint64_t window_total(const struct window *w, enum bucket b);
/* As ledger_part(): its time by name, of i = 0, 1... until NULL, what adds up to window_elapsed();
 * types that have none are left out. */
const char *window_part(const struct window_view *v, const struct type_names *names, uint32_t i,
			char out[LEDGER_NAME_MAX], uint64_t *ret_ns);
/* "1h", "24h", "7d", "90s" */
const char *window_name(char out[16], uint64_t length_ns);
void window_archive(struct archive *a, struct window **w);

#endif
