/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/number.h"

#define US 1000ull
#define S  1000000ull /* a second; spans are added in microseconds */

/* Number of slots for each width: as many as the longest window with this width needs, plus one
 * because a window begins in the middle of a slot, plus the slot in progress. */
#define WIDTHS	WINDOW_WIDTHS
#define THREES	22
#define MINUTES 62
#define HALVES	50
#define HOURS	170
#define SLOTS	(THREES + MINUTES + HALVES + HOURS)
#define COLUMNS WINDOW_COLUMNS

const uint64_t window_usual_ns[WINDOWS_MAX] = {3600000000000ull, 86400000000000ull,
					       604800000000000ull};

static const struct width {
	uint64_t us;
	/* number of slots of this width, and index of the first one in window.us */
	uint32_t slots, first;
} widths[WIDTHS] = {
	{3 * S, THREES, 0},
	{60 * S, MINUTES, THREES},
	{1800 * S, HALVES, THREES + MINUTES},
	{3600 * S, HOURS, THREES + MINUTES + HALVES},
};

struct window {
	uint64_t start_us;
	uint64_t newest[WIDTHS]; /* number of the newest slot of each width: time / width */
	uint64_t total_ns[COLUMNS];
	/* Each column has SLOTS slots, first those of the smallest width; NULL: the column never
	 * had time. */
	uint32_t *us[COLUMNS];
};

struct window *window_new(uint64_t start_ns)
{
	struct window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->start_us = start_ns / US;
	for (int i = 0; i < WIDTHS; i++)
		w->newest[i] = w->start_us / widths[i].us;
	return w;
}

void window_free(struct window *w)
{
	for (int b = 0; w && b < COLUMNS; b++)
		free(w->us[b]);
	free(w);
}

/* Returns the column of a span: custom events with a type have a column for each type, all others
 * one for each bucket. */
static int window_column_of(enum bucket b, uint32_t type)
{
	bool typed = b == BUCKET_CUSTOM && type != LEDGER_REST && type < LEDGER_TYPES;

	return typed ? (int)(BUCKET_COUNT + type - 1) : (int)b;
}

static bool window_has_column(struct window *w, int b)
{
	if (!w->us[b])
		w->us[b] = calloc(SLOTS, sizeof(*w->us[b]));
	return w->us[b];
}

struct window *window_copy(const struct window *w)
{
	struct window *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *w;
	memset(copy->us, 0, sizeof(copy->us));
	for (int b = 0; b < COLUMNS; b++) {
		if (!w->us[b])
			continue;
		if (!window_has_column(copy, b)) {
			window_free(copy);
			return NULL;
		}
		memcpy(copy->us[b], w->us[b], SLOTS * sizeof(*w->us[b]));
	}
	return copy;
}

void window_reach_back(struct window *w, uint64_t start_ns)
{
	if (start_ns / US < w->start_us)
		w->start_us = start_ns / US;
}

static uint32_t window_slot_of(int i, uint64_t number)
{
	return widths[i].first + (uint32_t)(number % widths[i].slots);
}

static uint32_t window_slot_us(const struct window *w, int b, uint32_t slot)
{
	return w->us[b] ? w->us[b][slot] : 0;
}

/* Returns the number of the oldest slot of width i that is kept. */
static uint64_t window_oldest_of(const struct window *w, int i)
{
	return w->newest[i] >= widths[i].slots ? w->newest[i] - widths[i].slots + 1 : 0;
}

static void window_make_room(struct window *w, int i, uint64_t number)
{
	uint64_t first = larger_of(w->newest[i] + 1,
				   number >= widths[i].slots ? number - widths[i].slots + 1 : 0);

	if (number <= w->newest[i])
		return;
	for (int b = 0; b < COLUMNS; b++) {
		for (uint64_t n = first; w->us[b] && n <= number; n++)
			w->us[b][window_slot_of(i, n)] = 0;
	}
	w->newest[i] = number;
}

/* Returns how much of slot `number` of width i lies between from_us and to_us (us). */
static uint64_t window_overlap_us(int i, uint64_t number, uint64_t from_us, uint64_t to_us)
{
	uint64_t begin_us = larger_of(number * widths[i].us, from_us);
	uint64_t end_us = smaller_of((number + 1) * widths[i].us, to_us);

	return more_than(end_us, begin_us);
}

static void window_width_add(struct window *w, int i, uint64_t from_us, uint64_t to_us, int b)
{
	uint64_t newest_us = w->newest[i] * widths[i].us, last, n;

	/* the usual case: within the newest slot */
	if (from_us >= newest_us && to_us <= newest_us + widths[i].us) {
		w->us[b][window_slot_of(i, w->newest[i])] += (uint32_t)(to_us - from_us);
		return;
	}
	last = (to_us - 1) / widths[i].us;
	window_make_room(w, i, last);
	for (n = larger_of(from_us / widths[i].us, window_oldest_of(w, i)); n <= last; n++)
		w->us[b][window_slot_of(i, n)] += (uint32_t)window_overlap_us(i, n, from_us, to_us);
}

static uint64_t window_slot_move(struct window *w, uint32_t slot, const struct ledger_span *s,
				 uint64_t most_us)
{
	int was = window_column_of(s->was, s->type), is = window_column_of(s->bucket, s->type);
	uint64_t moved_us = smaller_of(w->us[was][slot], most_us);

	w->us[was][slot] -= (uint32_t)moved_us;
	w->us[is][slot] += (uint32_t)moved_us;
	return moved_us;
}

/* Moves time from bucket to bucket in the slots of one width. If the bucket has time in several
 * slots of the span, it is unknown where the moved time is: the first or the last slot is used. */
static void window_width_move(struct window *w, int i, const struct ledger_span *s, uint64_t us)
{
	uint64_t from_us = s->from_ns / US, to_us = s->to_ns / US;
	uint64_t first = larger_of(from_us / widths[i].us, window_oldest_of(w, i));
	uint64_t last = smaller_of(to_us / widths[i].us, w->newest[i]), n;

	for (uint64_t k = 0; us && first <= last && k <= last - first; k++) {
		n = s->bucket == BUCKET_PROGRAM_STARTUP ? first + k : last - k;
		us -= window_slot_move(w, window_slot_of(i, n), s,
				       smaller_of(us, window_overlap_us(i, n, from_us, to_us)));
	}
}

int window_add(struct window *w, const struct ledger_span *s)
{
	uint64_t from_us = s->from_ns / US, to_us = s->to_ns / US;
	int is = window_column_of(s->bucket, s->type), was = window_column_of(s->was, s->type);

	if (s->bucket >= BUCKET_COUNT || s->to_ns < s->from_ns)
		return 0;
	/* the bucket never had time, so there is nothing to move */
	if (s->was < BUCKET_COUNT && !w->us[was])
		return 0;
	if (!window_has_column(w, is))
		return -ENOMEM;
	if (s->was < BUCKET_COUNT) {
		uint64_t ns = smaller_of(s->ns, w->total_ns[was]);

		w->total_ns[was] -= ns;
		w->total_ns[is] += ns;
		for (int i = 0; i < WIDTHS; i++)
			window_width_move(w, i, s, (ns + US / 2) / US);
		return 0;
	}
	w->total_ns[is] += s->to_ns - s->from_ns;
	for (int i = 0; to_us > from_us && i < WIDTHS; i++)
		window_width_add(w, i, from_us, to_us, is);
	return 0;
}

/* Removes left_us from the columns of a slot in which two processes overlap, in the order of
 * bucket_gives_way. */
static void window_give_way(uint32_t *us, uint64_t left_us)
{
	for (size_t i = 0; i < BUCKETS_GIVE_WAY + COLUMNS && left_us; i++) {
		size_t b = i < BUCKETS_GIVE_WAY ? (size_t)bucket_gives_way[i]
						: i - BUCKETS_GIVE_WAY;
		uint32_t part_us = (uint32_t)smaller_of(us[b], left_us);

		us[b] -= part_us;
		left_us -= part_us;
	}
}

static void window_width_merge(struct window *w, const struct window *other, int i,
			       uint64_t from_us, const uint32_t *then_us)
{
	uint64_t n = larger_of(from_us / widths[i].us, window_oldest_of(other, i));

	for (; n <= other->newest[i]; n++) {
		uint64_t begun_us = larger_of(n * widths[i].us, other->start_us);
		uint32_t more[COLUMNS];

		for (int b = 0; b < COLUMNS; b++)
			more[b] = window_slot_us(other, b, window_slot_of(i, n));
		for (int b = 0; then_us && n == from_us / widths[i].us && b < COLUMNS; b++)
			more[b] -= (uint32_t)smaller_of(more[b], then_us[b]);
		if (!then_us && from_us > begun_us)
			window_give_way(more, from_us - begun_us);
		window_make_room(w, i, n);
		for (int b = 0; b < COLUMNS; b++) {
			if (more[b])
				w->us[b][window_slot_of(i, n)] += more[b];
		}
	}
}

void window_edge(const struct window *w, uint64_t at_ns, struct window_edge *ret)
{
	for (int i = 0; i < WIDTHS; i++) {
		uint64_t n = at_ns / US / widths[i].us;

		bool kept = n >= window_oldest_of(w, i) && n <= w->newest[i];

		for (int b = 0; b < COLUMNS; b++)
			ret->us[i][b] = kept ? window_slot_us(w, b, window_slot_of(i, n)) : 0;
	}
}

void window_edge_archive(struct archive *a, struct window_edge *e)
{
	for (int i = 0; i < WIDTHS; i++)
		archive_field(a, e->us[i]);
}

int window_merge(struct window *w, const struct window *other, uint64_t from_ns,
		 const struct window_edge *then)
{
	for (int b = 0; b < COLUMNS; b++) {
		if (other->us[b] && !window_has_column(w, b))
			return -ENOMEM;
	}
	for (int i = 0; i < WIDTHS; i++)
		window_width_merge(w, other, i, from_ns / US, then ? then->us[i] : NULL);
	for (int b = 0; b < COLUMNS; b++)
		w->total_ns[b] += other->total_ns[b];
	return 0;
}

uint64_t window_total(const struct window *w, enum bucket b)
{
	uint64_t ns = w->total_ns[b];

	for (int i = BUCKET_COUNT; b == BUCKET_CUSTOM && i < COLUMNS; i++)
		ns += w->total_ns[i];
	return ns;
}

/* ---- view ------------------------------------------------------------------------------------ */

static int window_width_for(uint64_t length_us)
{
	int i = 0;

	while (i < WIDTHS - 1 && (widths[i].slots - 2) * widths[i].us < length_us)
		i++;
	return i;
}

static uint64_t window_column_sum(const struct window *w, int i, int b, uint64_t first)
{
	uint64_t us = 0;

	for (uint64_t n = first; w->us[b] && n <= w->newest[i]; n++)
		us += w->us[b][window_slot_of(i, n)];
	return us;
}

void window_view(const struct window *w, uint64_t now_ns, uint64_t length_ns, uint64_t hang_ns,
		 struct window_view *ret)
{
	uint64_t now_us = now_ns / US, length_us = length_ns / US, edge_us, sum_us = 0, n;
	int i = window_width_for(length_us);

	now_us = larger_of(now_us, w->start_us);
	edge_us = now_us > length_us ? (now_us - length_us) / widths[i].us * widths[i].us : 0;
	*ret = (struct window_view){.length_ns = length_ns, .whole = edge_us <= w->start_us};
	edge_us = larger_of(edge_us, w->start_us);
	n = larger_of(edge_us / widths[i].us, window_oldest_of(w, i));
	for (int b = 0; b < COLUMNS; b++) {
		uint64_t us = window_column_sum(w, i, b, n);

		ret->ns[b < BUCKET_COUNT ? b : BUCKET_CUSTOM] += us * US;
		if (b >= BUCKET_COUNT)
			ret->type_ns[b - BUCKET_COUNT + 1] = us * US;
		sum_us += us;
	}
	ret->from_ns = edge_us * US;
	ret->to_ns = larger_of(now_us, edge_us + sum_us) * US;
	ret->unsettled_ns = ret->to_ns - ret->from_ns - sum_us * US;
	hang_ns = smaller_of(hang_ns, ret->unsettled_ns);
	ret->unsettled_ns -= hang_ns;
	ret->ns[BUCKET_HANG] += hang_ns;
	ret->ns[BUCKET_OTHER] += ret->unsettled_ns;
}

uint64_t window_unbooked(const struct window *w, const struct excluded *a,
			 const struct ledger_view *l, uint64_t now_ns)
{
	uint64_t booked_ns = window_total(w, BUCKET_EXCLUDED), has_ns = l->ns[BUCKET_EXCLUDED];

	return more_than(has_ns, booked_ns) + exclusion_within(a, l->now_ns, now_ns);
}

void window_leave_out(struct window_view *v, uint64_t excluded_ns)
{
	excluded_ns = smaller_of(excluded_ns, v->unsettled_ns);
	v->ns[BUCKET_EXCLUDED] += excluded_ns;
	v->ns[BUCKET_OTHER] -= excluded_ns;
	v->unsettled_ns -= excluded_ns;
}

const char *window_part(const struct window_view *v, const struct type_names *names, uint32_t i,
			char out[LEDGER_NAME_MAX], uint64_t *ret_ns)
{
	uint32_t left = i - BUCKETS_EXPORTED;

	if (i < BUCKETS_EXPORTED) {
		*ret_ns = v->ns[i];
		for (uint32_t k = 1; i == BUCKET_CUSTOM && k < LEDGER_TYPES; k++)
			*ret_ns -= v->type_ns[k];
		return bucket_name[i];
	}
	for (uint32_t k = 1; k < LEDGER_TYPES; k++) {
		if (!v->type_ns[k] || left--)
			continue;
		*ret_ns = v->type_ns[k];
		snprintf(out, LEDGER_NAME_MAX, "%s.%s", bucket_name[BUCKET_CUSTOM], names->name[k]);
		return out;
	}
	return NULL;
}

const char *window_name(char out[16], uint64_t length_ns)
{
	static const struct {
		uint64_t s, least;
		char unit;
	} units[] = {{86400, 172800, 'd'}, {3600, 3600, 'h'}, {60, 60, 'm'}, {1, 0, 's'}};
	uint64_t s = length_ns / (US * S);
	size_t i = 0;

	while (s < units[i].least || s % units[i].s)
		i++;
	snprintf(out, 16, "%llu%c", (unsigned long long)(s / units[i].s), units[i].unit);
	return out;
}

void window_archive(struct archive *a, struct window **at)
{
	struct window *w = *at = archive_object(a, *at, sizeof(*w));

	if (!w)
		return;
	archive_fields(a, w, start_us, newest, total_ns);
	for (int b = 0; b < COLUMNS; b++) {
		w->us[b] = archive_object(a, w->us[b], SLOTS * sizeof(*w->us[b]));
		for (int i = 0; w->us[b] && i < SLOTS; i++)
			archive_field(a, w->us[b][i]);
	}
	for (int i = 0; i < WIDTHS; i++)
		archive_require(a, w->newest[i] <= UINT64_MAX / US / widths[i].us);
	for (int i = 0; i < WIDTHS; i++) /* the start cannot be after the newest slot */
		archive_require(a, w->start_us / widths[i].us <= w->newest[i]);
}
