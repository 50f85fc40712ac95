/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/model/time/time_class.h"
#include "userspace/base/number.h"

#define FINE	 4  /* A slot's histogram has 2^FINE classes for each power of two. */
#define OCTAVES	 10 /* powers of two that a slot's histogram covers */
#define CLASSES	 (OCTAVES << FINE)
#define BELOW	 (3 << FINE) /* a slot begins this many classes below the class of its first time */
#define EXACT	 (2u << FINE)
#define ALL	 (EXACT + ((64 - FINE - 1) << FINE))
#define MINUTE_N 7 /* slots kept for one minute: six of 10 s, and the one in progress */
#define TEN_N	 11
#define SLOTS	 (MINUTE_N + TEN_N)

const uint64_t recent_clock_ns[RECENT_CLOCKS] = {60000000000ull, 600000000000ull};

static const struct clock {
	uint64_t slot_ns;
	uint32_t slots, first;
} clocks[RECENT_CLOCKS] = {
	{10000000000ull, MINUTE_N, 0},
	{60000000000ull, TEN_N, MINUTE_N},
};

struct slot {
	uint64_t number; /* time / slot_ns + 1; 0: the slot is empty */
	uint64_t sum_ns, count;
	/* number of the lowest class (range of times) that this slot counts */
	uint32_t lowest;
	/* Only some classes of the slot are allocated: index of the first, and their number. Both
	 * are multiples of 2^FINE. */
	uint16_t from, n;
	uint32_t *counts;
};

struct recent {
	struct slot slots[SLOTS];
};

struct recent *recent_new(void)
{
	return calloc(1, sizeof(struct recent));
}

void recent_free(struct recent *r)
{
	for (int i = 0; r && i < SLOTS; i++)
		free(r->slots[i].counts);
	free(r);
}

/* Extends the allocated classes so that they include from..to, in steps of 2^FINE; keeps the
 * counts. */
static bool recent_slot_reach(struct slot *s, uint32_t from, uint32_t to)
{
	uint32_t octave = 1u << FINE, n, *counts;

	from = (s->n && s->from < from ? s->from : from) / octave * octave;
	to = s->n && s->from + s->n > to ? s->from + s->n : to / octave * octave + octave;
	n = to - from;
	counts = calloc(n, sizeof(*counts));
	if (!counts)
		return false;
	if (s->n)
		memcpy(counts + (s->from - from), s->counts, s->n * sizeof(*counts));
	free(s->counts);
	s->counts = counts;
	s->from = (uint16_t)from;
	s->n = (uint16_t)n;
	return true;
}

static bool recent_slot_count(struct slot *s, uint32_t class, uint32_t count)
{
	if ((class < s->from || class - s->from >= s->n) && !recent_slot_reach(s, class, class))
		return false;
	s->counts[class - s->from] += count;
	return true;
}

/* Makes room for a time below all classes of the slot: its classes begin lower, and the highest
 * ones are merged. */
static bool recent_slot_lower(struct slot *s, uint32_t class)
{
	uint32_t by = s->lowest - class;
	struct slot lower = *s;

	lower.counts = NULL;
	lower.lowest = class;
	lower.from = lower.n = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t at = s->from + i < CLASSES - 1 && by < CLASSES - 1 - (s->from + i)
				      ? s->from + i + by
				      : CLASSES - 1;

		if (s->counts[i] && !recent_slot_count(&lower, at, s->counts[i])) {
			free(lower.counts);
			return false;
		}
	}
	free(s->counts);
	*s = lower;
	return true;
}

/* Begins a slot. Its allocated classes are kept, as its times are likely to be similar. */
static void recent_slot_begin(struct slot *s, uint64_t number, uint32_t lowest)
{
	if (s->n)
		memset(s->counts, 0, s->n * sizeof(*s->counts));
	s->number = number;
	s->lowest = lowest;
	s->sum_ns = s->count = 0;
}

static bool recent_slot_add(struct slot *s, uint64_t number, uint64_t step_ns)
{
	uint32_t class = time_class(step_ns, FINE), low = more_than(class, BELOW);

	if (s->number != number)
		recent_slot_begin(s, number, low);
	if (class < s->lowest && !recent_slot_lower(s, low))
		return false;
	if (!recent_slot_count(s, class - s->lowest < CLASSES ? class - s->lowest : CLASSES - 1, 1))
		return false;
	s->sum_ns += step_ns;
	s->count++;
	return true;
}

int recent_add(struct recent *r, uint64_t end_ns, uint64_t step_ns)
{
	bool all = true;

	for (int i = 0; i < RECENT_CLOCKS; i++) {
		const struct clock *c = &clocks[i];
		uint64_t number = end_ns / c->slot_ns;

		all &= recent_slot_add(&r->slots[c->first + number % c->slots], number + 1,
				       step_ns);
	}
	return all ? 0 : -ENOMEM;
}

static uint64_t recent_quantile(const uint64_t *all, uint64_t count, unsigned percent)
{
	/* the time with this rank is the quantile; ranks count from 1 */
	uint64_t rank = (count * percent + 99) / 100, seen = 0;
	uint32_t i = 0;

	for (; i < ALL - 1; i++) {
		seen += all[i];
		if (seen >= rank)
			break;
	}
	return time_class_middle(i, FINE);
}

static void recent_clock_view(const struct recent *r, const struct clock *c, uint64_t now_ns,
			      struct times_view *ret)
{
	uint64_t newest = now_ns / c->slot_ns + 1, all[ALL] = {0};
	double sum_ns = 0;

	*ret = (struct times_view){0};
	for (uint32_t k = 0; k < c->slots; k++) {
		const struct slot *s = &r->slots[c->first + k];

		if (!s->number || s->number > newest || newest - s->number >= c->slots)
			continue;
		for (uint32_t i = 0; i < s->n && s->lowest + s->from + i < ALL; i++)
			all[s->lowest + s->from + i] += s->counts[i];
		ret->count += s->count;
		sum_ns += (double)s->sum_ns;
	}
	if (!ret->count)
		return;
	ret->mean_ns = sum_ns / (double)ret->count;
	ret->p50_ns = recent_quantile(all, ret->count, 50);
	ret->p95_ns = recent_quantile(all, ret->count, 95);
	ret->p99_ns = recent_quantile(all, ret->count, 99);
}

void recent_view(const struct recent *r, uint64_t now_ns, struct times_view ret[RECENT_CLOCKS])
{
	for (int i = 0; i < RECENT_CLOCKS; i++)
		recent_clock_view(r, &clocks[i], now_ns, &ret[i]);
}

void recent_archive(struct archive *a, struct recent **at)
{
	struct recent *r = *at = archive_object(a, *at, sizeof(*r));

	if (!r)
		return;
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &r->slots[i];

		archive_field(a, s->number);
		if (!s->number)
			continue;
		archive_fields(a, s, from, n, sum_ns, count);
		archive_below(a, &s->lowest, ALL);
		if (archive_reads(a)) {
			archive_require(a, s->from + s->n <= CLASSES);
			s->counts = s->n && !a->error ? archive_alloc(a, s->n, sizeof(*s->counts))
						      : NULL;
			s->n = s->counts ? s->n : 0;
		}
		for (uint32_t k = 0; k < s->n; k++)
			archive_field(a, s->counts[k]);
	}
}
