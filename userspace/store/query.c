/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/store/causes.h"
#include "userspace/store/store_private.h"

static inline int64_t query_span_end(const struct store_span *span)
{
	return span->to_ns ? span->to_ns : INT64_MAX;
}

#define RANK_TOTALS                                                                                \
	" r.ledger, r.steps, r.sketch, coalesce(n.ledger, x''), coalesce(n.steps, 0),"             \
	" coalesce(n.sketch, x''), max(r.until_ns, coalesce(n.until_ns, 0))"
#define MAX_STEP "max(r.max_step, coalesce(n.max_step, 0))"
#define RANKS	 " FROM ranks AS r LEFT JOIN minute_now AS n ON n.rank = r.id"
/* SQL: orders the ranks of a run so that the first is its reference rank, whose ledger represents
 * the run. */
#define REFERENCE " ORDER BY r.rank IS NULL, r.rank, r.start_mono_ns, r.id"

/* Moves excluded time from the sums to t->excluded_ns. The store has a bucket for excluded time;
 * results of queries do not. */
static void query_totals_leave_out(struct store_totals *t)
{
	int64_t *ns = &t->sums.ns[BUCKET_EXCLUDED];

	t->excluded_ns += *ns > 0 ? (uint64_t)*ns : 0;
	*ns = 0;
}

/* Reads the sums of a rank: closed minutes plus the running minute. at: number of the first column
 * in stmt. */
static int query_totals_read(struct store *st, sqlite3_stmt *stmt, int at, struct store_totals *ret)
{
	struct sums now;
	struct sketch times;
	int err = store_sums(st, stmt, at, &ret->sums);

	err = err ? err : store_sketch(st, stmt, at + 2, &ret->times);
	err = err ? err : store_sums(st, stmt, at + 3, &now);
	err = err ? err : store_sketch(st, stmt, at + 5, &times);
	if (err)
		return err;
	ret->steps = (uint64_t)store_int(stmt, at + 1) + (uint64_t)store_int(stmt, at + 4);
	sums_add(&ret->sums, &now);
	query_totals_leave_out(ret);
	sketch_merge(&ret->times, &times);
	return 0;
}

static void query_totals_add(struct store_totals *into, const struct store_totals *more)
{
	sums_add(&into->sums, &more->sums);
	into->steps += more->steps;
	sketch_merge(&into->times, &more->times);
	into->excluded_ns += more->excluded_ns;
	into->cut_ns += more->cut_ns;
	into->estimated |= more->estimated;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int query_rank_read(struct store *st, sqlite3_stmt *stmt, struct store_rank *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->id = store_int(stmt, 0);
	ret->pid = (uint32_t)store_int(stmt, 1);
	ret->rank = (int)store_int_or(stmt, 2, -1);
	ret->world_size = (int)store_int_or(stmt, 3, -1);
	ret->start_ns = store_int(stmt, 4);
	ret->end_ns = store_int(stmt, 5);
	ret->status = (int)store_int_or(stmt, 6, 0);
	store_text(stmt, 7, ret->comm, sizeof(ret->comm));
	store_text(stmt, 8, ret->command, sizeof(ret->command));
	store_text(stmt, 9, ret->tier, sizeof(ret->tier));
	store_text(stmt, 10, ret->marker, sizeof(ret->marker));
	ret->max_step = (uint64_t)store_int(stmt, 11);
	ret->accelerators = (uint32_t)store_int_or(stmt, 12, 0);
	ret->last_ns = store_int(stmt, 19);
	return query_totals_read(st, stmt, 13, &ret->totals);
}

int store_ranks(struct store *st, int64_t run, store_rank_fn *fn, void *ctx)
{
	struct store_rank r;
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(
		st, &err,
		"SELECT r.id, pid, r.rank, world_size, start_ns, end_ns, status, comm, command, tier, marker, " MAX_STEP
		", accelerators," RANK_TOTALS RANKS " WHERE run = ?" REFERENCE,
		"i", run);
	while (store_next(stmt, &err)) {
		err = query_rank_read(st, stmt, &r);
		err = err ? err : fn(ctx, &r);
	}
	return err;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int query_take_reference(void *ctx, const struct store_rank *r)
{
	struct store_run *run = ctx;

	if (!run->ranks++) {
		run->reference = r->id;
		run->totals = r->totals;
	}
	if (r->last_ns > run->last_ns)
		run->last_ns = r->last_ns;
	return 0;
}

static int query_run_read(struct store *st, int64_t id, struct store_run *ret)
{
	sqlite3_stmt *stmt;
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->id = id;
	stmt = store_find(
		st, &err,
		"SELECT attempt, boot_id, start_ns, end_ns, status, perf_tag, session_tag FROM runs WHERE id = ?",
		"i", id);
	if (!stmt)
		return err;
	ret->attempt = (uint32_t)store_int(stmt, 0);
	store_text(stmt, 1, ret->boot_id, sizeof(ret->boot_id));
	ret->start_ns = store_int(stmt, 2);
	ret->end_ns = store_int(stmt, 3);
	ret->status = (int)store_int_or(stmt, 4, 0);
	store_text(stmt, 5, ret->perf_tag, sizeof(ret->perf_tag));
	store_text(stmt, 6, ret->session_tag, sizeof(ret->session_tag));
	store_done(stmt);
	return store_ranks(st, id, query_take_reference, ret);
}

int store_runs(struct store *st, int64_t job, store_run_fn *fn, void *ctx)
{
	struct store_run run;
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(st, &err, "SELECT id FROM runs WHERE job = ? ORDER BY attempt", "i", job);
	while (store_next(stmt, &err)) {
		err = query_run_read(st, store_int(stmt, 0), &run);
		err = err ? err : fn(ctx, &run);
	}
	return err;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int query_take_run(void *ctx, const struct store_run *r)
{
	struct store_job *j = ctx;

	j->runs++;
	query_totals_add(&j->totals, &r->totals);
	return 0;
}

/* Reads the ledger of the job as a whole, if the store has one. */
static int query_own_sums(struct store *st, int64_t job, struct store_totals *ret)
{
	struct store_totals t = {0};
	sqlite3_stmt *stmt;
	int err;

	stmt = store_find(st, &err, "SELECT" RANK_TOTALS RANKS " WHERE job = ? AND kind = 1", "i",
			  job);
	if (!stmt)
		return err == -ENOENT ? 0 : err;
	err = query_totals_read(st, stmt, 0, &t);
	store_done(stmt);
	if (!err) {
		ret->sums = t.sums;
		ret->excluded_ns = t.excluded_ns;
	}
	return err;
}

int store_watched(const struct store_job *j, int64_t now_ns)
{
	if (j->logged || (strcmp(j->state, "running") != 0 && strcmp(j->state, "down") != 0))
		return -1;
	return j->watched_ns >= now_ns - STORE_UNSEEN_NS;
}

int store_job_by_id(struct store *st, int64_t id, struct store_job *ret)
{
	uint64_t all_disruptions, steps;
	uint32_t attempts;
	sqlite3_stmt *stmt;
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->id = id;
	stmt = store_find(
		st, &err,
		"SELECT key, name, first_ns, state, (SELECT max(max(r.until_ns, coalesce(n.until_ns, 0)))" RANKS
		" WHERE r.job = jobs.id), (SELECT count(*) FROM ranks WHERE job = jobs.id AND kind = 0),"
		" (SELECT count(*) FROM ranks WHERE job = jobs.id AND kind = 0 AND end_ns IS NULL),"
		" (SELECT count(*) FROM disruptions WHERE job = jobs.id), (SELECT count(*) FROM checkpoints AS c"
		" JOIN ranks AS r ON r.id = c.rank WHERE r.job = jobs.id AND op = 'save'), (SELECT max(" MAX_STEP
		")" RANKS " WHERE r.job = jobs.id), source = 'log', imported_ns, job_uid, carried,"
		" all_falls, all_steps, (SELECT max(attempt) FROM runs WHERE job = jobs.id),"
		" (SELECT max(max(r.until_ns, coalesce(n.until_ns, 0)))" RANKS
		" LEFT JOIN sessions AS s ON s.id = r.session WHERE r.job = jobs.id AND s.ended_ns IS NULL)"
		" FROM jobs WHERE id = ?",
		"i", id);
	if (!stmt)
		return err;
	store_text(stmt, 0, ret->key, sizeof(ret->key));
	store_text(stmt, 1, ret->name, sizeof(ret->name));
	ret->first_ns = store_int(stmt, 2);
	store_text(stmt, 3, ret->state, sizeof(ret->state));
	ret->last_ns = store_int_or(stmt, 4, ret->first_ns);
	ret->ranks = (uint32_t)store_int(stmt, 5);
	ret->alive = (uint32_t)store_int(stmt, 6);
	ret->disruptions = (uint64_t)store_int(stmt, 7);
	ret->checkpoints = (uint64_t)store_int(stmt, 8);
	ret->max_step = (uint64_t)store_int_or(stmt, 9, 0);
	ret->logged = store_int_or(stmt, 10, 0);
	ret->imported_ns = store_int(stmt, 11);
	store_text(stmt, 12, ret->uid, sizeof(ret->uid));
	ret->carried = (uint32_t)store_int(stmt, 13);
	all_disruptions = (uint64_t)store_int(stmt, 14);
	steps = (uint64_t)store_int(stmt, 15);
	attempts = (uint32_t)store_int_or(stmt, 16, 0);
	ret->watched_ns = store_int_or(stmt, 17, 0);
	store_done(stmt);
	err = store_runs(st, id, query_take_run, ret);
	/* If the job also had runs on other nodes, the store has only the runs of this node. So use
	 * the counts in the job's row where they are larger. */
	if (ret->carried) {
		ret->runs = ret->runs > attempts ? ret->runs : attempts;
		ret->disruptions = ret->disruptions > all_disruptions ? ret->disruptions
								      : all_disruptions;
		ret->totals.steps = ret->totals.steps > steps ? ret->totals.steps : steps;
	}
	return err ? err : query_own_sums(st, id, &ret->totals);
}

int store_jobs(struct store *st, const struct store_span *span, store_job_fn *fn, void *ctx)
{
	struct store_job *j = malloc(sizeof(*j));
	sqlite3_stmt *stmt;
	int err;

	if (!j)
		return -ENOMEM;
	stmt = store_ask(
		st, &err,
		"SELECT jobs.id FROM jobs JOIN ranks AS r ON r.job = jobs.id LEFT JOIN "
		"minute_now AS n ON n.rank = r.id GROUP BY jobs.id HAVING"
		" min(r.start_ns) < ? AND max(max(r.until_ns, coalesce(n.until_ns, 0))) >= ?"
		" ORDER BY max(max(r.until_ns, coalesce(n.until_ns, 0))) DESC, jobs.id DESC",
		"ii", span->to_ns ? span->to_ns : INT64_MAX, span->from_ns);
	while (store_next(stmt, &err)) {
		err = store_job_by_id(st, store_int(stmt, 0), j);
		err = err ? err : fn(ctx, j);
	}
	free(j);
	return err;
}

int store_job(struct store *st, const char *name, struct store_job *ret)
{
	int64_t id;
	int err = store_number(
		st, &id,
		"SELECT jobs.id FROM jobs LEFT JOIN runs ON runs.job = jobs.id WHERE key = ?1 OR"
		" jobs.name = ?1 OR CAST(jobs.id AS TEXT) = ?1 ORDER BY jobs.name = ?1 DESC,"
		" runs.start_ns DESC LIMIT 1",
		"t", name);

	return err ? err : store_job_by_id(st, id, ret);
}

const char *store_bucket(const struct store *st, uint32_t slot)
{
	return slot < st->names.count ? st->names.name[slot] : NULL;
}

/* ---- where the time of a span went, from minutes --------------------------------------------- */

/* A row that covers more than this (ns) is longer than a minute: unobserved time, or merged
 * minutes. Up to twice the length of a minute is normal, because snapshots come irregularly. */
#define LONG_NS	   (2 * STORE_MINUTE_NS)
#define MINUTE_MAX (INT64_MAX / 2 / STORE_MINUTE_NS)

struct summing {
	struct store_span span;
	struct store_cuts away;
	struct store_totals *into;
};

int store_minutes(struct store *st, int64_t rank, const struct store_span *span,
		  store_minute_fn *fn, void *ctx)
{
	int64_t to = query_span_end(span) / STORE_MINUTE_NS +
		     (query_span_end(span) % STORE_MINUTE_NS != 0);
	struct store_totals t;
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(
		st, &err,
		"SELECT minute, ledger, steps, sketch FROM minutes WHERE rank = ?1 AND minute < ?2"
		" UNION ALL SELECT minute, ledger, steps, sketch FROM minute_now WHERE rank = ?1 AND"
		" minute < ?2 ORDER BY minute",
		"ii", rank, to);
	while (store_next(stmt, &err)) {
		int64_t minute = store_int(stmt, 0), from_ns, ns;

		/* skip invalid minutes, which only another program can have written */
		if (minute < 0 || minute > MINUTE_MAX)
			continue;
		from_ns = minute * STORE_MINUTE_NS;
		memset(&t, 0, sizeof(t));
		err = store_sums(st, stmt, 1, &t.sums);
		t.steps = (uint64_t)store_int(stmt, 2);
		err = err ? err : store_sketch(st, stmt, 3, &t.times);
		ns = sums_total(&t.sums);
		query_totals_leave_out(&t);
		ns = ns > INT64_MAX / 2 ? INT64_MAX / 2 : ns > LONG_NS ? ns : STORE_MINUTE_NS;
		if (!err && from_ns + ns > span->from_ns)
			err = fn(ctx, from_ns, from_ns + ns, &t);
	}
	return err;
}

/* ---- exclusions ------------------------------------------------------------------------------ */

static int query_exclusion_add(void *ctx, const struct store_note *n)
{
	struct store_cuts *a = ctx;
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

static int64_t query_overlap_ns(int64_t a, int64_t b, int64_t from, int64_t to)
{
	a = a > from ? a : from;
	b = b < to ? b : to;
	return b > a ? b - a : 0;
}

int store_cuts_load(struct store *st, const struct store_span *span, struct store_cuts *ret)
{
	*ret = (struct store_cuts){.span = calloc(STORE_EXCLUSIONS_MAX, sizeof(*ret->span))};
	return ret->span ? store_exclusions(st, span, query_exclusion_add, ret) : -ENOMEM;
}

int64_t store_cuts_within(const struct store_cuts *a, int64_t from, int64_t to)
{
	int64_t ns = 0;

	for (uint32_t i = 0; i < a->count; i++)
		ns += query_overlap_ns(a->span[i].from_ns, a->span[i].to_ns, from, to);
	return ns;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void query_totals_scale(struct store_totals *t, double part)
{
	for (int i = 0; i < SUMS_SLOTS; i++)
		t->sums.ns[i] = (int64_t)((double)t->sums.ns[i] * part);
	t->steps = (uint64_t)((double)t->steps * part);
	t->excluded_ns = (uint64_t)((double)t->excluded_ns * part);
	t->estimated = true;
}

static int query_sum_minute(void *ctx, int64_t from_ns, int64_t to_ns,
			    const struct store_totals *minute)
{
	struct summing *s = ctx;
	struct store_totals t = *minute;
	int64_t from, to, within, away;

	/* A row of normal length counts completely or not at all: it counts if it begins in the
	 * span. */
	if (to_ns - from_ns <= LONG_NS) {
		if (from_ns < s->span.from_ns - s->span.from_ns % STORE_MINUTE_NS ||
		    from_ns >= query_span_end(&s->span))
			return 0;
		if (store_cuts_within(&s->away, from_ns, to_ns)) {
			s->into->cut_ns += (uint64_t)sums_total(&t.sums);
			s->into->excluded_ns += (uint64_t)sums_total(&t.sums) + t.excluded_ns;
		} else {
			query_totals_add(s->into, &t);
		}
		return 0;
	}
	from = from_ns > s->span.from_ns ? from_ns : s->span.from_ns;
	to = to_ns < query_span_end(&s->span) ? to_ns : query_span_end(&s->span);
	within = query_overlap_ns(from_ns, to_ns, from, to);
	away = store_cuts_within(&s->away, from, to);
	if (within - away < to_ns - from_ns)
		query_totals_scale(&t, (double)(within - away) / (double)(to_ns - from_ns));
	s->into->cut_ns += (uint64_t)away;
	s->into->excluded_ns += (uint64_t)away;
	query_totals_add(s->into, &t);
	return 0;
}

int store_rank_totals(struct store *st, int64_t rank, const struct store_span *span, bool exclude,
		      struct store_totals *ret)
{
	struct store_totals t = {0};
	struct summing s = {.span = *span, .into = &t};
	int err = exclude ? store_cuts_load(st, span, &s.away) : 0;

	err = err ? err : store_minutes(st, rank, span, query_sum_minute, &s);
	free(s.away.span);
	if (!err)
		*ret = t;
	return err;
}

/* ---- a job ----------------------------------------------------------------------------------- */

struct job_sum {
	struct store *st;
	const struct store_span *span;
	bool exclude, whole;
	struct store_totals sum;
};

static int query_sum_run(void *ctx, const struct store_run *r)
{
	struct job_sum *j = ctx;
	struct store_totals t = r->totals;
	int err = 0;

	if (!j->whole)
		err = store_rank_totals(j->st, r->reference, j->span, j->exclude, &t);
	if (!err)
		query_totals_add(&j->sum, &t);
	return err;
}

/* Replaces the sum over the ranks by the ledger of the job as a whole, if the store has one. */
static int query_own_totals(struct store *st, int64_t job, struct job_sum *j)
{
	struct store_totals t = {0};
	int64_t id;
	int err = store_number(st, &id, "SELECT id FROM ranks WHERE job = ? AND kind = 1", "i",
			       job);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = j->whole ? query_own_sums(st, job, &t)
		       : store_rank_totals(st, id, j->span, j->exclude, &t);
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
	err = err ? err : store_runs(st, job, query_sum_run, &j);
	err = err ? err : query_own_totals(st, job, &j);
	if (!err)
		*ret = j.sum;
	return err;
}

/* ---- events of a job ------------------------------------------------------------------------- */

/* Limits a value from the file, which may be arbitrary, so that a sum over all buckets cannot
 * overflow. */
static int64_t query_bounded_ns(int64_t ns)
{
	const int64_t most = INT64_MAX / 256;

	return ns > most ? most : ns < -most ? -most : ns;
}

static int query_disruption_read(struct store *st, sqlite3_stmt *stmt, store_disruption_fn *fn,
				 void *ctx)
{
	struct disruption_row d = {
		.id = store_int(stmt, 0),
		.at_ns = store_int_or(stmt, 1, 0),
		.mono_ns = DISRUPTION_UNKNOWN,
		.rank = (int)store_int_or(stmt, 3, -1),
		.pid = (uint32_t)store_int_or(stmt, 4, 0),
		.exit_code = (int)store_int_or(stmt, 5, -1),
		.signal = (int)store_int_or(stmt, 6, 0),
		.sender = (uint32_t)store_int_or(stmt, 7, 0),
		.step = store_int(stmt, 9),
		.over = store_int(stmt, 10) != STORE_NONE,
		.resumed_ns = store_int_or(stmt, 10, 0),
		.resumed_step = store_int(stmt, 11),
		.wasted_ns = store_int(stmt, 12),
		.recovery_ns = store_int(stmt, 13),
		.down_ns = store_int(stmt, 14),
		.starts = store_int(stmt, 15),
		.graceful = store_int_or(stmt, 16, 0),
		.estimated = store_int_or(stmt, 17, 0),
	};
	struct sums split;
	int err = store_sums(st, stmt, 19, &split);

	store_text(stmt, 2, d.cause, sizeof(d.cause));
	store_text(stmt, 8, d.sender_comm, sizeof(d.sender_comm));
	store_text(stmt, 18, d.how, sizeof(d.how));
	for (int i = 0; !err && i < SUMS_SLOTS; i++)
		d.split_ns[i < BUCKET_COUNT ? i : BUCKET_CUSTOM] += query_bounded_ns(split.ns[i]);
	return err ? err : fn(ctx, &d);
}

int store_disruptions(struct store *st, int64_t job, const struct store_span *span,
		      store_disruption_fn *fn, void *ctx)
{
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(
		st, &err,
		"SELECT id, at_ns, cause, rank, pid, exit_code, signal, sender, sender_comm, step,"
		" resumed_ns, resumed_step, wasted_ns, recovery_ns, down_ns, starts, graceful,"
		" estimated, how, split FROM disruptions WHERE job = ? AND at_ns >= ? AND at_ns < ? ORDER BY at_ns, id",
		"iii", job, span->from_ns, query_span_end(span));
	while (store_next(stmt, &err))
		err = query_disruption_read(st, stmt, fn, ctx);
	return err;
}

static int query_checkpoint_read(sqlite3_stmt *stmt, store_checkpoint_fn *fn, void *ctx)
{
	struct store_checkpoint c = {
		.start_ns = store_int(stmt, 0),
		.end_ns = store_int(stmt, 1),
		.step = store_int(stmt, 2),
		.bytes = store_int(stmt, 3),
		.restore = store_int(stmt, 4),
		.async = store_int(stmt, 5),
		.closed = store_int(stmt, 6),
		.files = (uint32_t)store_int(stmt, 7),
		.rank = (int)store_int_or(stmt, 8, -1),
		.run_step = store_int(stmt, 10),
		.saved_step = store_int(stmt, 11),
		.confidence = store_real(stmt, 13),
		.estimated = store_int_or(stmt, 14, 0),
	};

	store_text(stmt, 9, c.file, sizeof(c.file));
	store_text(stmt, 12, c.known_by, sizeof(c.known_by));
	return fn(ctx, &c);
}

int store_checkpoints(struct store *st, int64_t job, const struct store_span *span,
		      store_checkpoint_fn *fn, void *ctx)
{
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(
		st, &err,
		"SELECT c.start_ns, c.end_ns, step, bytes, op = 'restore', async, closed, files,"
		" r.rank, file, run_step, saved_step, known_by, confidence, estimated FROM"
		" checkpoints AS c JOIN ranks AS r ON r.id = c.rank WHERE r.job = "
		"? AND c.start_ns >= ? AND c.start_ns < ? ORDER BY c.start_ns, c.id",
		"iii", job, span->from_ns, query_span_end(span));
	while (store_next(stmt, &err))
		err = query_checkpoint_read(stmt, fn, ctx);
	return err;
}

static int query_health_read(sqlite3_stmt *stmt, store_health_fn *fn, void *ctx)
{
	struct store_health h = {
		.onset_ns = store_int(stmt, 1),
		.size_ns = (uint64_t)store_int(stmt, 2),
		.over = store_int(stmt, 3),
		.rank = (int)store_int_or(stmt, 4, -1),
	};
	const char *causes;

	h.at_ns = store_int_or(stmt, 8, h.onset_ns);
	store_text(stmt, 0, h.kind, sizeof(h.kind));
	store_text(stmt, 5, h.why, sizeof(h.why));
	store_text(stmt, 6, h.phase, sizeof(h.phase));
	store_text(stmt, 7, h.evidence, sizeof(h.evidence));
	causes = (const char *)sqlite3_column_text(stmt, 9);
	if (causes)
		causes_read(&h.causes, causes, (size_t)sqlite3_column_bytes(stmt, 9));
	return fn(ctx, &h);
}

int store_healths(struct store *st, int64_t job, const struct store_span *span, store_health_fn *fn,
		  void *ctx)
{
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(
		st, &err,
		"SELECT h.kind, onset_ns, size_ns, over, r.rank, why, phase, evidence, h.end_ns, h.causes"
		" FROM health"
		" AS h JOIN ranks AS r ON r.id = h.rank WHERE r.job = ? AND coalesce(h.end_ns, onset_ns) >= ?"
		" AND coalesce(h.end_ns, onset_ns) < ? ORDER BY coalesce(h.end_ns, onset_ns), h.id",
		"iii", job, span->from_ns, query_span_end(span));
	while (store_next(stmt, &err))
		err = query_health_read(stmt, fn, ctx);
	return err;
}

/* ---- marks and exclusions of users ----------------------------------------------------------- */

static int query_notes_read(sqlite3_stmt *stmt, int err, store_note_fn *fn, void *ctx)
{
	while (store_next(stmt, &err)) {
		struct store_note n = {
			.id = store_int(stmt, 0),
			.at_ns = store_int(stmt, 1),
			.to_ns = store_int(stmt, 2),
			.job = store_int_or(stmt, 3, 0),
		};

		store_text(stmt, 4, n.text, sizeof(n.text));
		err = fn(ctx, &n);
	}
	return err;
}

int store_marks(struct store *st, int64_t job, const struct store_span *span, store_note_fn *fn,
		void *ctx)
{
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(
		st, &err,
		"SELECT id, at_ns, NULL, job, text FROM marks WHERE (job = ?1 OR ?1 = 0) AND"
		" at_ns >= ?2 AND at_ns < ?3 ORDER BY at_ns, id",
		"iii", job, span->from_ns, query_span_end(span));
	return query_notes_read(stmt, err, fn, ctx);
}

int store_exclusions(struct store *st, const struct store_span *span, store_note_fn *fn, void *ctx)
{
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(
		st, &err,
		"SELECT id, from_ns, to_ns, NULL, why FROM exclusions WHERE to_ns > ? AND from_ns < ?"
		" ORDER BY from_ns, id",
		"ii", span->from_ns, query_span_end(span));
	return query_notes_read(stmt, err, fn, ctx);
}

/* Copies a text from the user for storing: shortened, and with special characters escaped, because
 * it is shown to others. */
static void query_escape(char out[256], const char *text)
{
	log_escape(out, 256, text, strlen(text));
}

int store_mark(struct store *st, int64_t job, int64_t at_ns, const char *text)
{
	char own[256];

	query_escape(own, text);
	return store_run(st, "INSERT INTO marks (job, at_ns, text) VALUES (?, ?, ?)", "iit", job,
			 at_ns, own);
}

int store_exclude(struct store *st, int64_t from_ns, int64_t to_ns, const char *why)
{
	char own[256];

	if (to_ns <= from_ns)
		return -EINVAL;
	query_escape(own, why);
	return store_run(st, "INSERT INTO exclusions (from_ns, to_ns, why) VALUES (?, ?, ?)", "iit",
			 from_ns, to_ns, own);
}

static int query_removed(struct store *st, int err)
{
	return err ? err : sqlite3_changes(st->sql) ? 0 : -ENOENT;
}

int store_unmark(struct store *st, int64_t id)
{
	return query_removed(st, store_run(st, "DELETE FROM marks WHERE id = ?", "i", id));
}

int store_include(struct store *st, int64_t id)
{
	return query_removed(st, store_run(st, "DELETE FROM exclusions WHERE id = ?", "i", id));
}

/* Adds an exclusion for this connection only: a temporary table with a copy of the stored
 * exclusions replaces the stored table. */
int store_exclude_here(struct store *st, int64_t from_ns, int64_t to_ns, const char *why)
{
	int err = store_exec(st, "PRAGMA temp_store = MEMORY");

	err = err ? err
		  : store_exec(
			    st,
			    "CREATE TEMP TABLE IF NOT EXISTS exclusions AS SELECT * FROM main.exclusions");
	return err ? err : store_exclude(st, from_ns, to_ns, why);
}
