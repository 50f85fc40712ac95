/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PENDING_MIN   16
#define EARLY_MAX     64 /* steps whose goodput may still be moved: the ideal is known long before */
#define STARTUP_STEPS 5	 /* at most so many first steps have an excess that is startup (design §6) */
#define MIDWAY_NS     1000000000ull /* seen by a late comer before the first step: not startup */
#define SLOW_FACTOR   10	    /* times the ideal ... */
#define SLOW_MIN_NS   1000000000ull /* ... or this: what a step takes beyond the larger is OTHER */

const char *const bucket_name[BUCKET_COUNT] = {
#define X(id, name, label) [BUCKET_##id] = name,
	LEDGER_BUCKETS(X)
#undef X
};

const char *const bucket_label[BUCKET_COUNT] = {
#define X(id, name, label) [BUCKET_##id] = label,
	LEDGER_BUCKETS(X)
#undef X
};

struct interval {
	uint64_t from_ns, to_ns;
	enum bucket bucket;
};

struct ledger {
	uint64_t start_ns, settled_ns, now_ns; /* start <= settled <= now */
	uint64_t ns[BUCKET_COUNT];	       /* of what is settled */
	uint64_t late_ns, coarse;
	uint64_t steps, max_step;
	uint64_t ideal_ns;	      /* 0: not known */
	uint64_t lead_ns;	      /* booked as startup before the first step */
	uint64_t early_ns[EARLY_MAX]; /* goodput of the first steps, until the ideal is known */
	uint32_t early;
	bool attached; /* the process ran before we watched */
	bool final;    /* first steps are settled: goodput only grows from here on */
	bool ended;
	bool hung;		  /* a hang was told of */
	struct interval *pending; /* by from_ns */
	uint32_t count, cap;
};

struct ledger *ledger_new(uint64_t start_ns, uint64_t observed_ns)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->start_ns = start_ns;
	l->settled_ns = l->now_ns = observed_ns > start_ns ? observed_ns : start_ns;
	l->ns[BUCKET_UNOBSERVED] = l->settled_ns - start_ns;
	l->attached = l->settled_ns > start_ns;
	return l;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	free(l->pending);
	free(l);
}

#ifdef GP_LEDGER_ABORT
#define ledger_assert(l)                                                                                     \
	do {                                                                                                 \
		if (!ledger_check(l))                                                                        \
			abort();                                                                             \
	} while (0)
#else
#define ledger_assert(l) ((void)(l))
#endif

void ledger_reach_back(struct ledger *l, uint64_t start_ns)
{
	if (start_ns >= l->start_ns)
		return;
	l->ns[BUCKET_UNOBSERVED] += l->start_ns - start_ns;
	l->start_ns = start_ns;
	l->attached = true;
	ledger_assert(l);
}

/* ---- settling ------------------------------------------------------------------------------------ */

/* Whose is the instant at_ns, and until when nothing changes. */
static enum bucket ledger_owner(const struct ledger *l, uint64_t at_ns, enum bucket rest, uint64_t *to_ns)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const struct interval *p = &l->pending[i];

		if (p->from_ns > at_ns) {
			*to_ns = p->from_ns < *to_ns ? p->from_ns : *to_ns;
			break;
		}
		if (p->to_ns <= at_ns)
			continue;
		rest = p->bucket < rest ? p->bucket : rest;
		*to_ns = p->to_ns < *to_ns ? p->to_ns : *to_ns;
	}
	return rest;
}

static void ledger_forget(struct ledger *l)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		if (l->pending[i].to_ns > l->settled_ns)
			l->pending[kept++] = l->pending[i];
	}
	l->count = kept;
}

/* Settles up to to_ns; what no interval claims goes to rest. Returns how much that was. */
static uint64_t ledger_settle(struct ledger *l, uint64_t to_ns, enum bucket rest)
{
	uint64_t before = l->ns[rest];

	while (l->settled_ns < to_ns) {
		uint64_t next_ns = to_ns;
		enum bucket b = ledger_owner(l, l->settled_ns, rest, &next_ns);

		l->ns[b] += next_ns - l->settled_ns;
		l->settled_ns = next_ns;
	}
	if (l->now_ns < l->settled_ns)
		l->now_ns = l->settled_ns;
	ledger_forget(l);
	return l->ns[rest] - before;
}

static void ledger_move(struct ledger *l, enum bucket from, enum bucket to, uint64_t ns)
{
	l->ns[from] -= ns;
	l->ns[to] += ns;
}

/* What lies outside of steps and is not claimed. */
static enum bucket ledger_rest(const struct ledger *l)
{
	return l->steps ? BUCKET_OTHER : BUCKET_PROGRAM_STARTUP;
}

/* ---- intervals ----------------------------------------------------------------------------------- */

/* Neighbours of one bucket become one of the same length: sums stay, places shift a little. */
static void ledger_coarsen(struct ledger *l)
{
	uint32_t kept = 0;
	bool joined = true;

	for (uint32_t i = 0; i < l->count; i++) {
		struct interval *last = kept ? &l->pending[kept - 1] : NULL, *p = &l->pending[i];

		if (last && !joined && last->bucket == p->bucket) {
			if (p->from_ns < last->to_ns)
				last->to_ns = p->to_ns > last->to_ns ? p->to_ns : last->to_ns;
			else
				last->to_ns += p->to_ns - p->from_ns;
			joined = true;
			l->coarse++;
			continue;
		}
		l->pending[kept++] = *p;
		joined = false;
	}
	l->count = kept;
}

static int ledger_room(struct ledger *l)
{
	uint32_t cap = l->cap ? 2 * l->cap : PENDING_MIN;
	struct interval *pending;

	if (l->count < l->cap)
		return 0;
	if (l->cap == LEDGER_PENDING) {
		ledger_coarsen(l);
		/* Buckets that take turns cannot be joined: the oldest half is settled as it stands. */
		if (l->count > LEDGER_PENDING / 4 * 3)
			ledger_settle(l, l->pending[l->count / 2].from_ns, ledger_rest(l));
		if (l->count == l->cap) { /* all of them still open: the last one gives way */
			l->late_ns += l->pending[l->count - 1].to_ns - l->pending[l->count - 1].from_ns;
			l->count--;
		}
		return 0;
	}
	pending = realloc(l->pending, cap * sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	l->pending = pending;
	l->cap = cap;
	return 0;
}

/* A hang is told of second by second: it goes on where it was. */
static bool ledger_grow(struct ledger *l, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = l->count; i-- > 0;) {
		struct interval *p = &l->pending[i];

		if (p->bucket != BUCKET_HANG || from_ns < p->from_ns || from_ns > p->to_ns)
			continue;
		p->to_ns = to_ns > p->to_ns ? to_ns : p->to_ns;
		ledger_advance(l, to_ns);
		return true;
	}
	return false;
}

int ledger_interval(struct ledger *l, enum bucket b, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t i;
	int err;

	if (b >= BUCKET_GOODPUT || l->ended)
		return 0;
	l->hung |= b == BUCKET_HANG;
	if (b == BUCKET_HANG && ledger_grow(l, from_ns, to_ns))
		return 0;
	err = ledger_room(l);
	if (err)
		return err;
	if (from_ns < l->settled_ns) {
		uint64_t edge_ns = to_ns < l->settled_ns ? to_ns : l->settled_ns;

		l->late_ns += edge_ns > from_ns ? edge_ns - from_ns : 0;
		from_ns = l->settled_ns;
	}
	if (to_ns <= from_ns)
		return 0;
	ledger_advance(l, to_ns);
	for (i = l->count; i && l->pending[i - 1].from_ns > from_ns; i--)
		l->pending[i] = l->pending[i - 1];
	l->pending[i] = (struct interval){from_ns, to_ns, b};
	l->count++;
	ledger_assert(l);
	return 0;
}

/* ---- steps --------------------------------------------------------------------------------------- */

static uint64_t ledger_limit(const struct ledger *l)
{
	uint64_t limit_ns = SLOW_FACTOR * l->ideal_ns;

	return limit_ns > SLOW_MIN_NS ? limit_ns : SLOW_MIN_NS;
}

static void ledger_slow(struct ledger *l, uint64_t ns)
{
	if (ns > ledger_limit(l))
		ledger_move(l, BUCKET_GOODPUT, BUCKET_OTHER, ns - ledger_limit(l));
}

/* Steps may be missing from one in which records were lost: what it took beyond a step is not known. */
static void ledger_torn(struct ledger *l, uint64_t ns)
{
	if (ns > SLOW_FACTOR * l->ideal_ns)
		ledger_move(l, BUCKET_GOODPUT, BUCKET_UNOBSERVED, ns - SLOW_FACTOR * l->ideal_ns);
}

int ledger_step(struct ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t number, bool torn)
{
	uint64_t ns;

	if (l->ended)
		return 0;
	if (from_ns > l->settled_ns)
		ledger_settle(l, from_ns, ledger_rest(l));
	if (!l->steps)
		l->lead_ns = l->ns[BUCKET_PROGRAM_STARTUP];
	ns = ledger_settle(l, to_ns, BUCKET_GOODPUT);
	l->steps++;
	if (number > l->max_step)
		l->max_step = number;
	if (l->final && torn)
		ledger_torn(l, ns);
	else if (l->final)
		ledger_slow(l, ns);
	else if (l->early < EARLY_MAX)
		l->early_ns[l->early++] = ns;
	ledger_assert(l);
	return 0;
}

/* Attached in the middle of training: the time before the first sign of it is no startup. */
static bool ledger_midway(const struct ledger *l)
{
	uint64_t limit_ns = 2 * l->ideal_ns > MIDWAY_NS ? 2 * l->ideal_ns : MIDWAY_NS;

	return l->attached && l->lead_ns <= limit_ns;
}

static void ledger_first_steps(struct ledger *l, uint64_t mad_ns)
{
	uint32_t i = 0;

	if (ledger_midway(l)) {
		ledger_move(l, BUCKET_PROGRAM_STARTUP, BUCKET_UNOBSERVED, l->lead_ns);
	} else {
		for (; i < l->early && i < STARTUP_STEPS; i++) {
			if (l->early_ns[i] <= l->ideal_ns + 3 * mad_ns)
				break;
			ledger_move(l, BUCKET_GOODPUT, BUCKET_PROGRAM_STARTUP, l->early_ns[i] - l->ideal_ns);
		}
	}
	for (; i < l->early; i++)
		ledger_slow(l, l->early_ns[i]);
}

void ledger_ideal(struct ledger *l, uint64_t ideal_ns, uint64_t mad_ns)
{
	if (!ideal_ns || l->ended)
		return;
	l->ideal_ns = ideal_ns;
	if (!l->final && l->steps) {
		l->final = true;
		ledger_first_steps(l, mad_ns);
	}
	ledger_assert(l);
}

void ledger_advance(struct ledger *l, uint64_t now_ns)
{
	if (now_ns > l->now_ns && !l->ended)
		l->now_ns = now_ns;
}

void ledger_end(struct ledger *l, uint64_t now_ns)
{
	if (l->ended)
		return;
	ledger_advance(l, now_ns);
	ledger_settle(l, l->now_ns, ledger_rest(l));
	l->final = true;
	l->ended = true;
	ledger_assert(l);
}

/* ---- what is known ------------------------------------------------------------------------------- */

/* What of the unsettled time is a hang's: that is known before the step around it is. */
static uint64_t ledger_hang(const struct ledger *l)
{
	uint64_t at_ns = l->settled_ns, sum_ns = 0;

	while (l->hung && at_ns < l->now_ns) {
		uint64_t next_ns = l->now_ns;

		if (ledger_owner(l, at_ns, BUCKET_OTHER, &next_ns) == BUCKET_HANG)
			sum_ns += next_ns - at_ns;
		at_ns = next_ns;
	}
	return sum_ns;
}

void ledger_view(const struct ledger *l, struct ledger_view *ret)
{
	uint64_t hang_ns = ledger_hang(l);

	*ret = (struct ledger_view){
		.start_ns = l->start_ns,
		.now_ns = l->now_ns,
		.unsettled_ns = l->now_ns - l->settled_ns - hang_ns,
		.productive_gross_ns = l->final ? l->ns[BUCKET_GOODPUT] : 0,
		.steps = l->steps,
		.max_step = l->max_step,
		.late_ns = l->late_ns,
		.merged = l->coarse,
		.ended = l->ended,
	};
	memcpy(ret->ns, l->ns, sizeof(ret->ns));
	ret->ns[BUCKET_HANG] += hang_ns;
	ret->ns[BUCKET_OTHER] += ret->unsettled_ns;
}

bool ledger_check(const struct ledger *l)
{
	uint64_t sum_ns = 0;

	for (int i = 0; i < BUCKET_COUNT; i++)
		sum_ns += l->ns[i];
	return sum_ns == l->settled_ns - l->start_ns && l->settled_ns <= l->now_ns;
}

/* ---- state --------------------------------------------------------------------------------------- */

static void pending_archive(struct archive *a, struct ledger *l)
{
	archive_count(a, &l->count, LEDGER_PENDING, sizeof(*l->pending));
	if (archive_reads(a) && l->count) {
		for (l->cap = PENDING_MIN; l->cap < l->count; l->cap *= 2)
			;
		l->pending = archive_alloc(a, l->cap, sizeof(*l->pending));
		l->count = l->pending ? l->count : 0;
	}
	for (uint32_t i = 0; i < l->count; i++) {
		struct interval *p = &l->pending[i];

		archive_number(a, &p->from_ns);
		archive_number(a, &p->to_ns);
		archive_below(a, &p->bucket, BUCKET_GOODPUT);
		archive_require(a, !i || p[-1].from_ns <= p->from_ns);
		archive_require(a,
				p->from_ns < p->to_ns && p->to_ns > l->settled_ns && p->to_ns <= l->now_ns);
	}
}

void ledger_archive(struct archive *a, struct ledger **at)
{
	struct ledger *l = *at = archive_object(a, *at, sizeof(*l));

	if (!l)
		return;
	archive_number(a, &l->start_ns);
	archive_number(a, &l->settled_ns);
	archive_number(a, &l->now_ns);
	archive_numbers(a, l->ns);
	archive_number(a, &l->late_ns);
	archive_number(a, &l->coarse);
	archive_number(a, &l->steps);
	archive_number(a, &l->max_step);
	archive_number(a, &l->ideal_ns);
	archive_number(a, &l->lead_ns);
	archive_below(a, &l->early, EARLY_MAX + 1);
	for (uint32_t i = 0; i < l->early; i++)
		archive_number(a, &l->early_ns[i]);
	archive_number(a, &l->attached);
	archive_number(a, &l->final);
	archive_number(a, &l->ended);
	archive_number(a, &l->hung);
	archive_require(a, l->start_ns <= l->settled_ns && ledger_check(l));
	pending_archive(a, l);
}
