/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of each series, so that its next point is one that the service takes.
 * Contract: google/monitoring/v3/common.proto, TimeInterval: the end of a point is later than that
 * of the point before it; a cumulative one has the same start, or, after its value fell, a later
 * start than the end before. */
#include <errno.h>
#include <stdlib.h>

#include "userspace/gcm/sender_private.h"

#define CROWDED                                                                                    \
	SERIES_SET_MAX /* more than can be written at once: of some nothing comes any more */
#define CROWDED_MS (10 * 60 * 1000) /* without a point, where there are so many */
#define GAUGE_MS                                                                                   \
	(60 * 1000) /* of a point that has no start all that counts is the one before it           \
		     */

struct track {
	int64_t told_start_ns;	  /* as the set says */
	int64_t start_ns, end_ns; /* of the last point */
	double value;		  /* of a cumulative one; a count, of a distribution */
	uint64_t seen_ms, sent_ms;
	uint64_t fit_ms; /* not before */
	uint8_t unfit;	 /* enum track_verdict, until then */
	bool restart;
};

struct tracks {
	struct table *table;
	int64_t spacing_ns;
	bool moved;
};

struct tracks *tracks_new(uint32_t spacing_ms)
{
	struct tracks *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->spacing_ns = spacing_ms * NS_PER_MS;
	t->table = table_new();
	if (t->table)
		return t;
	free(t);
	return NULL;
}

void tracks_free(struct tracks *t)
{
	if (!t)
		return;
	table_free(t->table, free);
	free(t);
}

/* What may not fall. */
static double value_of(const struct series_set *set, const struct series *p)
{
	switch (p->row->value) {
	case SERIES_INT64:
		return (double)p->value.i64;
	case SERIES_DOUBLE:
		return p->value.real;
	case SERIES_DISTRIBUTION:
		return p->value.distribution < set->ndistributions
			       ? (double)set->distribution[p->value.distribution].count
			       : 0;
	default:
		return 0;
	}
}

/* The start of a point that follows another one of its series. */
static int64_t start_after(const struct track *k, const struct series_set *set,
			   const struct series *p)
{
	int64_t least = k->end_ns + NS_PER_MS;

	if (p->start_ns >= k->told_start_ns + SERIES_CLOCK_NS && p->start_ns > k->start_ns)
		return p->start_ns > least ? p->start_ns : least;
	/* An older job's count takes the place of a newer one's. */
	if (p->start_ns <= k->told_start_ns - SERIES_CLOCK_NS)
		return least;
	return k->restart || value_of(set, p) < k->value ? least : k->start_ns;
}

enum track_verdict tracks_ask(struct tracks *t, const struct series_set *set, struct series *p,
			      uint64_t key, uint64_t now_ms, bool last)
{
	struct track *k = table_get(t->table, key);

	if (k && k->end_ns > p->end_ns + TRACKS_AHEAD_NS) {
		*k = (struct track){.seen_ms = k->seen_ms, .fit_ms = k->fit_ms, .unfit = k->unfit};
		t->moved = true;
	}
	if (k && now_ms < k->fit_ms)
		return (enum track_verdict)k->unfit;
	if (k && p->end_ns < k->end_ns + t->spacing_ns) {
		if (!last)
			return p->end_ns < k->end_ns + NS_PER_MS ? TRACK_PAST : TRACK_SOON;
		p->end_ns = k->end_ns + t->spacing_ns;
	}
	if (p->row->kind == SERIES_GAUGE)
		return TRACK_FIT;
	if (k)
		p->start_ns = start_after(k, set, p);
	if (p->start_ns >= p->end_ns)
		p->start_ns = k ? k->end_ns + NS_PER_MS : p->end_ns - NS_PER_MS;
	return TRACK_FIT;
}

/* NULL: no room. */
static struct track *track_of(struct tracks *t, uint64_t key)
{
	struct track *k = table_get(t->table, key);

	if (k || table_count(t->table) == TRACKS_MAX)
		return k;
	k = calloc(1, sizeof(*k));
	if (k && !table_put(t->table, key, k))
		return k;
	free(k);
	return NULL;
}

void tracks_note(struct tracks *t, const struct series_set *set, const struct series *p,
		 int64_t told_start_ns, uint64_t key, uint64_t now_ms)
{
	struct track *k = track_of(t, key);

	if (!k)
		return;
	t->moved |= k->start_ns != p->start_ns || !k->end_ns;
	*k = (struct track){.told_start_ns = told_start_ns,
			    .start_ns = p->start_ns,
			    .end_ns = p->end_ns,
			    .value = value_of(set, p),
			    .seen_ms = now_ms,
			    .sent_ms = k->sent_ms,
			    .fit_ms = k->fit_ms,
			    .unfit = k->unfit};
}

void tracks_restart(struct tracks *t, uint64_t key)
{
	struct track *k = table_get(t->table, key);

	if (k)
		k->restart = true;
}

void tracks_refused(struct tracks *t, uint64_t key, enum track_verdict why, uint64_t now_ms)
{
	struct track *k = table_get(t->table, key);

	if (!k)
		return;
	k->fit_ms = now_ms + TRACKS_REFUSED_MS;
	k->unfit = (uint8_t)why;
}

uint64_t tracks_sent_ms(const struct tracks *t, uint64_t key)
{
	const struct track *k = table_get(t->table, key);

	return k ? k->sent_ms : 0;
}

int64_t tracks_end_ns(const struct tracks *t, uint64_t key)
{
	const struct track *k = table_get(t->table, key);

	return k ? k->end_ns : 0;
}

void tracks_sent(struct tracks *t, uint64_t key, uint64_t now_ms)
{
	struct track *k = table_get(t->table, key);

	if (k)
		k->sent_ms = now_ms;
}

void tracks_prune(struct tracks *t, uint64_t now_ms)
{
	uint64_t age_ms = table_count(t->table) > CROWDED ? CROWDED_MS : SENDER_KEEP_S * 1000ull,
		 key;
	struct track *k;

	for (size_t i = 0; (k = table_next(t->table, &i, &key));) {
		if (now_ms > k->seen_ms + (k->start_ns ? age_ms : GAUGE_MS) && now_ms >= k->fit_ms)
			free(table_take(t->table, key));
	}
}

bool tracks_next(const struct tracks *t, size_t *at, struct track_record *ret)
{
	uint64_t key;
	const struct track *k = table_next(t->table, at, &key);

	if (!k)
		return false;
	*ret = (struct track_record){key, k->told_start_ns, k->start_ns, k->end_ns, k->value};
	return true;
}

int tracks_put(struct tracks *t, const struct track_record *r, uint64_t now_ms)
{
	struct track *k = track_of(t, r->key);

	if (!k)
		return table_count(t->table) == TRACKS_MAX ? -ENOSPC : -ENOMEM;
	*k = (struct track){.told_start_ns = r->told_start_ns,
			    .start_ns = r->start_ns,
			    .end_ns = r->end_ns,
			    .value = r->value,
			    .seen_ms = now_ms};
	return 0;
}

bool tracks_moved(struct tracks *t)
{
	bool moved = t->moved;

	t->moved = false;
	return moved;
}
