/* SPDX-License-Identifier: Apache-2.0 */
/* From a set of series to points that can go out. */
#include <stdlib.h>
#include <string.h>

#include "userspace/gcm/sender_private.h"

struct taking {
	struct series_set set; /* what it points to is the caller's, but for the items */
	bool *keep;
	uint64_t *key;
	uint64_t dropped[SENDER_DROP_COUNT];
};

static bool taking_open(struct taking *t, const struct series_set *set)
{
	size_t n = set->count ? set->count : 1;

	*t = (struct taking){.set = *set};
	t->set.item = malloc(n * sizeof(*set->item));
	t->keep = calloc(n, sizeof(*t->keep));
	t->key = calloc(n, sizeof(*t->key));
	if (!t->set.item || !t->keep || !t->key)
		return false;
	memcpy(t->set.item, set->item, set->count * sizeof(*set->item));
	return true;
}

static void taking_close(struct taking *t)
{
	free(t->set.item);
	free(t->keep);
	free(t->key);
}

static bool is_cumulative(const struct series *p)
{
	return p->row->kind == SERIES_CUMULATIVE && !p->row->library;
}

/* Behind others that wait: a backlog that gets points as fast as the service takes them never ends.
 * What is left out is in the next one, whose sum goes on. */
static bool too_dense(struct sender *s, const struct series *p, uint64_t key)
{
	int64_t end_ns = s->behind && is_cumulative(p) ? tracks_end_ns(s->tracks, key) : 0;

	return end_ns && p->end_ns - end_ns < 2 * (int64_t)s->opt.spacing_ms * NS_PER_MS;
}

static void choose(struct sender *s, struct taking *t, const struct series_set *set, bool *soon,
		   bool last)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);

	for (uint32_t i = 0; i < set->count; i++) {
		struct series *p = &t->set.item[i];
		enum track_verdict v;

		if (last && !soon[i])
			continue;
		t->key[i] = series_key(set, p, s->opt.prefix);
		v = tracks_ask(s->tracks, set, p, t->key[i], now_ms, last);
		if (v == TRACK_SOON && soon)
			soon[i] = true;
		else if (v == TRACK_UNFIT)
			t->dropped[SENDER_DROP_invalid]++;
		else if (v == TRACK_ROOM)
			t->dropped[SENDER_DROP_quota]++;
		else if (v != TRACK_FIT)
			t->dropped[v == TRACK_SOON ? SENDER_DROP_frequent : SENDER_DROP_older]++;
		else if (!series_fit(&t->set, p))
			t->dropped[SENDER_DROP_invalid]++;
		else if (too_dense(s, p, t->key[i]))
			t->dropped[SENDER_DROP_superseded]++;
		else
			t->keep[i] = true;
		/* At once, so that a series that is there twice is seen. */
		if (t->keep[i])
			tracks_note(s->tracks, set, p, set->item[i].start_ns, t->key[i], now_ms);
	}
}

/* What was held gives way to what is newer. */
static void supersede(struct sender *s, struct taking *t)
{
	struct table *newer = s->held.count ? table_new() : NULL;

	for (uint32_t i = 0; newer && i < t->set.count; i++) {
		if (t->keep[i])
			table_put(newer, t->key[i], t);
	}
	for (uint32_t i = 0; newer && i < s->held.count; i++) {
		struct parcel_point *p = &s->held.item[i];

		if (p->gone || !table_get(newer, p->key))
			continue;
		p->gone = true;
		t->dropped[p->cumulative ? p->cause : SENDER_DROP_superseded]++;
	}
	table_free(newer, NULL);
	parcel_sweep(&s->held);
}

static void render(struct sender *s, struct taking *t)
{
	struct parcel_piece piece[REQUEST_SERIES];
	struct request_item item[REQUEST_SERIES];
	uint32_t at = 0, n;

	while (request_next(&t->set, s->opt.prefix, t->keep, &at, &s->body, item, &n)) {
		if (parcel_split(s->body.data, s->body.len, piece, REQUEST_SERIES) != (int)n) {
			t->dropped[SENDER_DROP_invalid] += n;
			continue;
		}
		for (uint32_t i = 0; i < n; i++) {
			const struct series *p = &t->set.item[item[i].series];
			struct parcel_point point = {.key = t->key[item[i].series],
						     .end_ns = p->end_ns};

			point.cumulative = is_cumulative(p);
			point.cause = SENDER_DROP_unavailable;
			if (parcel_add(&s->held, &point, piece[i].text, piece[i].len))
				t->dropped[SENDER_DROP_unkept]++;
		}
	}
}

void sender_take(struct sender *s, const struct series_set *set, bool *soon, bool last)
{
	struct taking t;

	if (taking_open(&t, set)) {
		choose(s, &t, set, soon, last);
		supersede(s, &t);
		render(s, &t);
		for (int c = 0; c < SENDER_DROP_COUNT; c++)
			sender_count(s, (enum sender_drop)c, t.dropped[c],
				     c == SENDER_DROP_unavailable || c == SENDER_DROP_quota
					     ? s->stats.trouble
					     : "");
	} else {
		sender_count(s, SENDER_DROP_unkept, set->count, "no memory");
	}
	taking_close(&t);
}

int64_t sender_due_ns(struct sender *s, const struct series_set *set, const bool *soon)
{
	int64_t due_ns = 0, end_ns;

	for (uint32_t i = 0; i < set->count; i++) {
		if (!soon[i])
			continue;
		end_ns = tracks_end_ns(s->tracks, series_key(set, &set->item[i], s->opt.prefix)) +
			 s->opt.spacing_ms * NS_PER_MS;
		due_ns = end_ns > due_ns ? end_ns : due_ns;
	}
	return due_ns;
}
