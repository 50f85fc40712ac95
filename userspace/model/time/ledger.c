/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - books intervals of time to buckets. Intervals stay pending until the time is settled:
 * then each nanosecond goes to the bucket with the highest priority. */
#include "userspace/model/time/ledger_private.h"

#include <errno.h>

#include "userspace/base/number.h"

const char *const bucket_name[BUCKET_COUNT] = {
#define X(id, name, label, word, use) [BUCKET_##id] = name,
	LEDGER_BUCKETS(X)
#undef X
};

const char *const bucket_label[BUCKET_COUNT] = {
#define X(id, name, label, word, use) [BUCKET_##id] = label,
	LEDGER_BUCKETS(X)
#undef X
};

const char *const bucket_word[BUCKET_COUNT] = {
#define X(id, name, label, word, use) [BUCKET_##id] = word,
	LEDGER_BUCKETS(X)
#undef X
};

const unsigned char bucket_use[BUCKET_COUNT] = {
#define X(id, name, label, word, use) [BUCKET_##id] = use,
	LEDGER_BUCKETS(X)
#undef X
};

const enum bucket bucket_gives_way[BUCKETS_GIVE_WAY] = {
	BUCKET_UNOBSERVED,    BUCKET_PROGRAM_STARTUP, BUCKET_ACCELERATOR_INIT,
	BUCKET_TRAINING_PREP, BUCKET_OTHER,
};

struct ledger *ledger_new(uint64_t start_ns, uint64_t observed_ns)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->keep = LEDGER_PENDING;
	l->start_ns = start_ns;
	l->settled_ns = l->now_ns = larger_of(observed_ns, start_ns);
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

void ledger_keep(struct ledger *l, uint32_t pending)
{
	l->keep = pending;
}

/* ---- trace ----------------------------------------------------------------------------------- */

static void ledger_report(struct ledger *l, enum bucket b, uint32_t type, uint64_t from_ns,
			  uint64_t to_ns)
{
	struct ledger_span s = {
		.from_ns = from_ns,
		.to_ns = to_ns,
		.bucket = b,
		.was = BUCKET_COUNT,
		.ns = to_ns - from_ns,
		.type = b == BUCKET_CUSTOM ? l->types[type].name : LEDGER_REST,
	};

	if (l->trace && to_ns > from_ns)
		l->trace(l->trace_ctx, &s);
}

void ledger_trace(struct ledger *l, ledger_trace_fn fn, void *ctx)
{
	l->trace = fn;
	l->trace_ctx = ctx;
}

static void ledger_unseen(struct ledger *l, uint64_t from_ns, uint64_t to_ns)
{
	while (from_ns < to_ns) {
		uint64_t next_ns = to_ns;
		enum bucket b = exclusion_at(l->excluded, from_ns, &next_ns) ? BUCKET_EXCLUDED
									     : BUCKET_UNOBSERVED;

		l->ns[b] += next_ns - from_ns;
		ledger_report(l, b, 0, from_ns, next_ns);
		from_ns = next_ns;
	}
}

void ledger_exclude(struct ledger *l, const struct excluded *a)
{
	uint64_t unseen_ns = l->settled_ns - l->start_ns,
		 excluded_ns = exclusion_within(a, l->start_ns, l->settled_ns);

	l->excluded = a;
	if (l->ns[BUCKET_UNOBSERVED] != unseen_ns)
		return;
	l->ns[BUCKET_UNOBSERVED] -= excluded_ns;
	l->ns[BUCKET_EXCLUDED] += excluded_ns;
}

uint64_t ledger_reach_back(struct ledger *l, uint64_t start_ns)
{
	uint64_t more_ns = l->start_ns - start_ns;

	if (start_ns >= l->start_ns)
		return 0;
	ledger_unseen(l, start_ns, l->start_ns);
	l->start_ns = start_ns;
	l->attached = true;
	ledger_assert(l);
	return more_ns;
}

/* ---- settling -------------------------------------------------------------------------------- */

enum bucket ledger_owner(const struct ledger *l, uint64_t at_ns, enum bucket rest, uint64_t *to_ns,
			 uint32_t *ret_type)
{
	if (exclusion_at(l->excluded, at_ns, to_ns))
		return BUCKET_EXCLUDED;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct interval *p = &l->pending[i];

		if (p->from_ns > at_ns) {
			*to_ns = smaller_of(p->from_ns, *to_ns);
			break;
		}
		if (p->to_ns <= at_ns)
			continue;
		/* Intervals are sorted by start, so a later custom event is nested in an earlier
		 * one and has priority. */
		if (p->bucket < rest || (p->bucket == BUCKET_CUSTOM && rest == BUCKET_CUSTOM)) {
			rest = p->bucket;
			*ret_type = p->type;
		}
		*to_ns = smaller_of(p->to_ns, *to_ns);
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

static void ledger_book(struct ledger *l, enum bucket b, uint32_t type, uint64_t to_ns)
{
	uint64_t from_ns = l->settled_ns;

	l->ns[b] += to_ns - from_ns;
	if (b == BUCKET_CUSTOM)
		l->types[type].ns += to_ns - from_ns;
	l->settled_ns = to_ns;
	if (l->trace)
		ledger_report(l, b, type, from_ns, to_ns);
}

static void ledger_share(struct ledger *l, uint64_t to_ns, struct share *s)
{
	uint64_t head_ns = take_up_to(&s->head_ns, to_ns - l->settled_ns);
	uint64_t body_ns;

	if (head_ns)
		ledger_book(l, s->head, 0, l->settled_ns + head_ns);
	body_ns = take_up_to(&s->body_ns, to_ns - l->settled_ns);
	if (body_ns)
		ledger_book(l, BUCKET_GOODPUT, 0, l->settled_ns + body_ns);
	if (to_ns > l->settled_ns)
		ledger_book(l, s->tail, 0, to_ns);
}

void ledger_settle(struct ledger *l, uint64_t to_ns, enum bucket rest, const struct share *share)
{
	struct share left = share ? *share : (struct share){0};

	while (l->settled_ns < to_ns) {
		uint64_t next_ns = to_ns;
		uint32_t type = 0;
		enum bucket b = ledger_owner(l, l->settled_ns, rest, &next_ns, &type);

		if (share && b == rest)
			ledger_share(l, next_ns, &left);
		else
			ledger_book(l, b, type, next_ns);
	}
	if (l->now_ns < l->settled_ns)
		l->now_ns = l->settled_ns;
	ledger_forget(l);
}

void ledger_move(struct ledger *l, enum bucket was, enum bucket to, const struct early *where)
{
	uint64_t ns = smaller_of(where->ns, l->ns[was]);
	struct ledger_span s = {where->from_ns, where->to_ns, to, was, ns, LEDGER_REST};

	l->ns[was] -= ns;
	l->ns[to] += ns;
	if (l->trace && ns)
		l->trace(l->trace_ctx, &s);
}

void ledger_advance(struct ledger *l, uint64_t now_ns)
{
	if (now_ns > l->now_ns && !l->ended)
		l->now_ns = now_ns;
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* Merges pairs of adjacent intervals of the same bucket into one of their total length. Sums remain
 * exact, positions shift a little. */
static void ledger_coarsen(struct ledger *l)
{
	uint32_t kept = 0;
	bool joined = true;

	for (uint32_t i = 0; i < l->count; i++) {
		struct interval *last = kept ? &l->pending[kept - 1] : NULL, *p = &l->pending[i];

		if (last && !joined && last->bucket == p->bucket && last->type == p->type) {
			if (p->from_ns < last->to_ns)
				last->to_ns = larger_of(p->to_ns, last->to_ns);
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
	uint32_t cap = l->cap ? 2 * l->cap : LEDGER_PENDING_MIN;
	struct interval *pending;

	if (l->count < l->cap)
		return 0;
	if (l->cap >= l->keep) {
		ledger_coarsen(l);
		/* Intervals of alternating buckets cannot be merged. Then the oldest half is
		 * settled at once. */
		if (l->count > l->keep / 4 * 3) {
			l->coarse += l->count / 2;
			ledger_settle(l, l->pending[l->count / 2].from_ns, ledger_rest(l), NULL);
		}
		/* no interval could be merged or settled: drop the last one */
		if (l->count == l->cap) {
			l->late_ns += l->pending[l->count - 1].to_ns -
				      l->pending[l->count - 1].from_ns;
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

/* Extends a pending interval of the hang instead of adding one, as a hang is booked every second.
 * Returns false if there is no such interval. */
static bool ledger_grow(struct ledger *l, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = l->count; i-- > 0;) {
		struct interval *p = &l->pending[i];

		if (p->bucket != BUCKET_HANG || from_ns < p->from_ns || from_ns > p->to_ns)
			continue;
		p->to_ns = larger_of(to_ns, p->to_ns);
		ledger_advance(l, to_ns);
		return true;
	}
	return false;
}

static int ledger_claim(struct ledger *l, enum bucket b, uint32_t type, uint64_t from_ns,
			uint64_t to_ns)
{
	uint32_t i;
	int err = ledger_room(l);

	if (err)
		return err;
	if (from_ns < l->settled_ns) {
		uint64_t edge_ns = smaller_of(to_ns, l->settled_ns);

		l->late_ns += more_than(edge_ns, from_ns);
		from_ns = l->settled_ns;
	}
	if (to_ns <= from_ns)
		return 0;
	ledger_advance(l, to_ns);
	for (i = l->count; i && l->pending[i - 1].from_ns > from_ns; i--)
		l->pending[i] = l->pending[i - 1];
	l->pending[i] = (struct interval){from_ns, to_ns, b, type};
	l->count++;
	ledger_assert(l);
	return 0;
}

int ledger_interval(struct ledger *l, enum bucket b, uint64_t from_ns, uint64_t to_ns)
{
	if (b == BUCKET_CUSTOM)
		return ledger_custom(l, LEDGER_REST, from_ns, to_ns);
	if (b >= BUCKET_GOODPUT || l->ended)
		return 0;
	l->hung |= b == BUCKET_HANG;
	if (b == BUCKET_HANG && ledger_grow(l, from_ns, to_ns))
		return 0;
	return ledger_claim(l, b, 0, from_ns, to_ns);
}

int ledger_custom(struct ledger *l, uint32_t name, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t i = 1;

	if (l->ended)
		return 0;
	l->ntypes += !l->ntypes;
	while (i < l->ntypes && l->types[i].name != name)
		i++;
	if (name == LEDGER_REST || i == LEDGER_TYPES)
		i = 0;
	else if (i == l->ntypes)
		l->types[l->ntypes++].name = name;
	return ledger_claim(l, BUCKET_CUSTOM, i, from_ns, to_ns);
}
