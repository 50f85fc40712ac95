/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, runs, ranks. Where the time went: query_time.c; what happened: query_event.c. */
#include "userspace/store/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/query_private.h"

#define RANK_TOTALS                                                                                \
	" r.ledger, r.steps, r.sketch, coalesce(n.ledger, x''), coalesce(n.steps, 0),"             \
	" coalesce(n.sketch, x''), max(r.until_ns, coalesce(n.until_ns, 0))"
#define MAX_STEP "max(r.max_step, coalesce(n.max_step, 0))"
#define RANKS	 " FROM ranks AS r LEFT JOIN minute_now AS n ON n.rank = r.id"
/* The one whose ledger stands for the run's (design, 6). */
#define REFERENCE " ORDER BY r.rank IS NULL, r.rank, r.start_mono_ns, r.id"

void totals_leave_out(struct store_totals *t)
{
	int64_t *ns = &t->sums.ns[BUCKET_EXCLUDED];

	t->excluded_ns += *ns > 0 ? (uint64_t)*ns : 0;
	*ns = 0;
}

/* Closed minutes, and the one that runs. */
static int totals_read(struct store *st, sqlite3_stmt *stmt, int at, struct store_totals *ret)
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
	totals_leave_out(ret);
	sketch_merge(&ret->times, &times);
	return 0;
}

void totals_add(struct store_totals *into, const struct store_totals *more)
{
	sums_add(&into->sums, &more->sums);
	into->steps += more->steps;
	sketch_merge(&into->times, &more->times);
	into->excluded_ns += more->excluded_ns;
	into->cut_ns += more->cut_ns;
	into->estimated |= more->estimated;
}

/* ---- ranks
 * ------------------------------------------------------------------------------------------- */

static int rank_read(struct store *st, sqlite3_stmt *stmt, struct store_rank *ret)
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
	return totals_read(st, stmt, 13, &ret->totals);
}

int store_ranks(struct store *st, int64_t run, store_rank_fn *fn, void *ctx)
{
	struct store_rank r;
	sqlite3_stmt *stmt;
	int err, more = 0;

	stmt = store_ask(
		st, &err,
		"SELECT r.id, pid, r.rank, world_size, start_ns, end_ns, status, comm, command, tier,"
		" marker, " MAX_STEP ", accelerators," RANK_TOTALS RANKS " WHERE run = ?" REFERENCE,
		"i", run);
	while (stmt && !err && (more = store_row(stmt)) > 0) {
		err = rank_read(st, stmt, &r);
		err = err ? err : fn(ctx, &r);
		if (err)
			store_done(stmt);
	}
	return err ? err : more;
}

/* ---- runs
 * -------------------------------------------------------------------------------------------- */

static int take_reference(void *ctx, const struct store_rank *r)
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

/* A statement is asked again while it lists: what it lists is taken out of it first. */
struct list {
	int64_t *id;
	size_t count, room;
};

static int list_add(struct list *l, int64_t id)
{
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		int64_t *more = reallocarray(l->id, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->id = more;
		l->room = room;
	}
	l->id[l->count++] = id;
	return 0;
}

static int list_read(sqlite3_stmt *stmt, struct list *l)
{
	int err = 0, more = 0;

	while (!err && (more = store_row(stmt)) > 0) {
		err = list_add(l, store_int(stmt, 0));
		if (err)
			store_done(stmt);
	}
	return err ? err : more;
}

static int run_read(struct store *st, int64_t id, struct store_run *ret)
{
	sqlite3_stmt *stmt;
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->id = id;
	stmt = store_ask(
		st, &err,
		"SELECT attempt, boot_id, start_ns, end_ns, status, perf_tag, session_tag FROM runs "
		"WHERE id = ?",
		"i", id);
	if (!stmt)
		return err;
	err = store_row(stmt);
	if (err != 1)
		return err ? err : -ENOENT;
	ret->attempt = (uint32_t)store_int(stmt, 0);
	store_text(stmt, 1, ret->boot_id, sizeof(ret->boot_id));
	ret->start_ns = store_int(stmt, 2);
	ret->end_ns = store_int(stmt, 3);
	ret->status = (int)store_int_or(stmt, 4, 0);
	store_text(stmt, 5, ret->perf_tag, sizeof(ret->perf_tag));
	store_text(stmt, 6, ret->session_tag, sizeof(ret->session_tag));
	store_done(stmt);
	return store_ranks(st, id, take_reference, ret);
}

int store_runs(struct store *st, int64_t job, store_run_fn *fn, void *ctx)
{
	struct list l = {0};
	struct store_run run;
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(st, &err, "SELECT id FROM runs WHERE job = ? ORDER BY attempt", "i", job);
	err = stmt ? list_read(stmt, &l) : err;
	for (size_t i = 0; !err && i < l.count; i++) {
		err = run_read(st, l.id[i], &run);
		err = err ? err : fn(ctx, &run);
	}
	free(l.id);
	return err;
}

/* ---- jobs
 * -------------------------------------------------------------------------------------------- */

static int take_run(void *ctx, const struct store_run *r)
{
	struct store_job *j = ctx;

	j->runs++;
	totals_add(&j->totals, &r->totals);
	return 0;
}

/* Of the job's own ledger, where it has one. */
static int own_sums(struct store *st, int64_t job, struct store_totals *ret)
{
	struct store_totals t = {0};
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(st, &err, "SELECT" RANK_TOTALS RANKS " WHERE job = ? AND kind = 1", "i",
			 job);
	if (!stmt)
		return err;
	err = store_row(stmt);
	if (err != 1)
		return err;
	err = totals_read(st, stmt, 0, &t);
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
	uint64_t falls, steps;
	uint32_t attempts;
	sqlite3_stmt *stmt;
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->id = id;
	stmt = store_ask(
		st, &err,
		"SELECT key, name, first_ns, state, (SELECT max(max(r.until_ns, coalesce(n.until_ns, "
		"0)))" RANKS
		" WHERE r.job = jobs.id), (SELECT count(*) FROM ranks WHERE job = jobs.id AND kind = 0),"
		" (SELECT count(*) FROM ranks WHERE job = jobs.id AND kind = 0 AND end_ns IS NULL),"
		" (SELECT count(*) FROM disruptions WHERE job = jobs.id), (SELECT count(*) FROM checkpoints "
		"AS c"
		" JOIN ranks AS r ON r.id = c.rank WHERE r.job = jobs.id AND op = 'save'), (SELECT"
		" max(" MAX_STEP ")" RANKS
		" WHERE r.job = jobs.id), source = 'log', imported_ns, job_uid, "
		"carried,"
		" all_falls, all_steps, (SELECT max(attempt) FROM runs WHERE job = jobs.id),"
		" (SELECT max(max(r.until_ns, coalesce(n.until_ns, 0)))" RANKS
		" LEFT JOIN sessions AS s ON s.id = r.session WHERE r.job = jobs.id AND s.ended_ns IS NULL)"
		" FROM jobs WHERE id = ?",
		"i", id);
	if (!stmt)
		return err;
	err = store_row(stmt);
	if (err != 1)
		return err ? err : -ENOENT;
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
	falls = (uint64_t)store_int(stmt, 14);
	steps = (uint64_t)store_int(stmt, 15);
	attempts = (uint32_t)store_int_or(stmt, 16, 0);
	ret->watched_ns = store_int_or(stmt, 17, 0);
	store_done(stmt);
	err = store_runs(st, id, take_run, ret);
	if (ret->carried) { /* rows know of this node alone */
		ret->runs = ret->runs > attempts ? ret->runs : attempts;
		ret->disruptions = ret->disruptions > falls ? ret->disruptions : falls;
		ret->totals.steps = ret->totals.steps > steps ? ret->totals.steps : steps;
	}
	return err ? err : own_sums(st, id, &ret->totals);
}

int store_jobs(struct store *st, const struct store_span *span, store_job_fn *fn, void *ctx)
{
	struct store_job *j = malloc(sizeof(*j));
	struct list l = {0};
	sqlite3_stmt *stmt;
	int err = -ENOMEM;

	stmt = j ? store_ask(
			   st, &err,
			   "SELECT jobs.id FROM jobs JOIN ranks AS r ON r.job = jobs.id LEFT JOIN "
			   "minute_now AS n ON n.rank = r.id GROUP BY jobs.id HAVING"
			   " min(r.start_ns) < ? AND max(max(r.until_ns, coalesce(n.until_ns, 0))) >= ?"
			   " ORDER BY max(max(r.until_ns, coalesce(n.until_ns, 0))) DESC, jobs.id DESC",
			   "ii", span->to_ns ? span->to_ns : INT64_MAX, span->from_ns)
		 : NULL;
	err = stmt ? list_read(stmt, &l) : err;
	for (size_t i = 0; !err && i < l.count; i++) {
		err = store_job_by_id(st, l.id[i], j);
		err = err ? err : fn(ctx, j);
	}
	free(l.id);
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
