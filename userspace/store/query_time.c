/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a span went, from minutes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/query_private.h"

/* A minute that holds more stands for a span of its own: time that was not observed, or minutes
 * that became one. Up to twice its length it is the jitter of when snapshots come. */
#define LONG_NS	   (2 * STORE_MINUTE_NS)
#define MINUTE_MAX (INT64_MAX / 2 / STORE_MINUTE_NS)

struct cuts { /* exclusions, in order */
	struct store_span *span;
	uint32_t count;
};

struct summing {
	struct store_span span;
	struct cuts away;
	struct store_totals *into;
};

int store_minutes(struct store *st, int64_t rank, const struct store_span *span,
		  store_minute_fn *fn, void *ctx)
{
	int64_t to = span_end(span) / STORE_MINUTE_NS + (span_end(span) % STORE_MINUTE_NS != 0);
	struct store_totals t;
	sqlite3_stmt *stmt;
	int err, more = 0;

	stmt = store_ask(
		st, &err,
		"SELECT minute, ledger, steps, sketch FROM minutes WHERE rank = ?1 AND minute < ?2"
		" UNION ALL SELECT minute, ledger, steps, sketch FROM minute_now WHERE rank = ?1 AND"
		" minute < ?2 ORDER BY minute",
		"ii", rank, to);
	while (stmt && !err && (more = store_row(stmt)) > 0) {
		int64_t minute = store_int(stmt, 0), from_ns, ns;

		if (minute < 0 || minute > MINUTE_MAX) /* none of ours */
			continue;
		from_ns = minute * STORE_MINUTE_NS;
		memset(&t, 0, sizeof(t));
		err = store_sums(st, stmt, 1, &t.sums);
		t.steps = (uint64_t)store_int(stmt, 2);
		err = err ? err : store_sketch(st, stmt, 3, &t.times);
		ns = sums_total(&t.sums);
		totals_leave_out(&t);
		ns = ns > INT64_MAX / 2 ? INT64_MAX / 2 : ns > LONG_NS ? ns : STORE_MINUTE_NS;
		if (!err && from_ns + ns > span->from_ns)
			err = fn(ctx, from_ns, from_ns + ns, &t);
		if (err)
			store_done(stmt);
	}
	return err ? err : more;
}

/* ---- exclusions
 * -------------------------------------------------------------------------------------- */

static int away_add(void *ctx, const struct store_note *n)
{
	struct cuts *a = ctx;
	struct store_span *last = a->count ? &a->span[a->count - 1] : NULL;

	if (last && n->at_ns <= last->to_ns) {
		last->to_ns = n->to_ns > last->to_ns ? n->to_ns : last->to_ns;
		return 0;
	}
	if (!a->span || a->count == STORE_EXCLUSIONS_MAX)
		return -E2BIG;
	a->span[a->count++] = (struct store_span){n->at_ns, n->to_ns};
	return 0;
}

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
	a = a > from ? a : from;
	b = b < to ? b : to;
	return b > a ? b - a : 0;
}

static int64_t cuts_within(const struct cuts *a, int64_t from, int64_t to)
{
	int64_t ns = 0;

	for (uint32_t i = 0; i < a->count; i++)
		ns += overlap(a->span[i].from_ns, a->span[i].to_ns, from, to);
	return ns;
}

/* ---- sums
 * -------------------------------------------------------------------------------------------- */

static void part_of(struct store_totals *t, double part)
{
	for (int i = 0; i < SUMS_SLOTS; i++)
		t->sums.ns[i] = (int64_t)((double)t->sums.ns[i] * part);
	t->steps = (uint64_t)((double)t->steps * part);
	t->excluded_ns = (uint64_t)((double)t->excluded_ns * part);
	t->estimated = true;
}

static int sum_minute(void *ctx, int64_t from_ns, int64_t to_ns, const struct store_totals *minute)
{
	struct summing *s = ctx;
	struct store_totals t = *minute;
	int64_t from, to, within, away;

	if (to_ns - from_ns <= LONG_NS) { /* as a whole, by where it begins */
		if (from_ns < s->span.from_ns - s->span.from_ns % STORE_MINUTE_NS ||
		    from_ns >= span_end(&s->span))
			return 0;
		if (cuts_within(&s->away, from_ns, to_ns)) {
			s->into->cut_ns += (uint64_t)sums_total(&t.sums);
			s->into->excluded_ns += (uint64_t)sums_total(&t.sums) + t.excluded_ns;
		} else {
			totals_add(s->into, &t);
		}
		return 0;
	}
	from = from_ns > s->span.from_ns ? from_ns : s->span.from_ns;
	to = to_ns < span_end(&s->span) ? to_ns : span_end(&s->span);
	within = overlap(from_ns, to_ns, from, to);
	away = cuts_within(&s->away, from, to);
	if (within - away < to_ns - from_ns)
		part_of(&t, (double)(within - away) / (double)(to_ns - from_ns));
	s->into->cut_ns += (uint64_t)away;
	s->into->excluded_ns += (uint64_t)away;
	totals_add(s->into, &t);
	return 0;
}

static int summing_begin(struct store *st, struct summing *s, const struct store_span *span,
			 bool exclude, struct store_totals *ret)
{
	memset(ret, 0, sizeof(*ret));
	*s = (struct summing){.span = *span, .into = ret};
	if (!exclude)
		return 0;
	s->away.span = calloc(STORE_EXCLUSIONS_MAX, sizeof(*s->away.span));
	return s->away.span ? store_exclusions(st, span, away_add, &s->away) : -ENOMEM;
}

int store_rank_totals(struct store *st, int64_t rank, const struct store_span *span, bool exclude,
		      struct store_totals *ret)
{
	struct store_totals t;
	struct summing s;
	int err = summing_begin(st, &s, span, exclude, &t);

	err = err ? err : store_minutes(st, rank, span, sum_minute, &s);
	free(s.away.span);
	if (!err)
		*ret = t;
	return err;
}

/* ---- a job
 * ------------------------------------------------------------------------------------------- */

struct job_sum {
	struct store *st;
	const struct store_span *span;
	bool exclude, whole;
	struct store_totals sum;
};

static int sum_run(void *ctx, const struct store_run *r)
{
	struct job_sum *j = ctx;
	struct store_totals t = r->totals;
	int err = 0;

	if (!j->whole)
		err = store_rank_totals(j->st, r->reference, j->span, j->exclude, &t);
	if (!err)
		totals_add(&j->sum, &t);
	return err;
}

/* Its own ledger, where it has one, instead of its ranks'. */
static int own_totals(struct store *st, int64_t job, struct job_sum *j)
{
	struct store_totals t;
	struct store_job whole;
	int64_t id;
	int err = store_number(st, &id, "SELECT id FROM ranks WHERE job = ? AND kind = 1", "i",
			       job);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (j->whole) {
		err = store_job_by_id(st, job, &whole);
		t = whole.totals;
	} else {
		err = store_rank_totals(st, id, j->span, j->exclude, &t);
	}
	if (err)
		return err;
	j->sum.sums = t.sums;
	j->sum.excluded_ns = t.excluded_ns;
	j->sum.cut_ns = t.cut_ns;
	j->sum.estimated |= t.estimated;
	return 0;
}

int store_job_totals(struct store *st, int64_t job, const struct store_span *span, bool exclude,
		     struct store_totals *ret)
{
	struct job_sum j = {.st = st, .span = span, .exclude = exclude};
	int64_t exclusions = 0;
	int err = 0;

	if (exclude)
		err = store_number(st, &exclusions, "SELECT count(*) FROM exclusions", "");
	j.whole = !span->from_ns && !span->to_ns && !exclusions;
	err = err ? err : store_runs(st, job, sum_run, &j);
	err = err ? err : own_totals(st, job, &j);
	if (!err)
		*ret = j.sum;
	return err;
}
