/* SPDX-License-Identifier: Apache-2.0 */
/* What happened to a job, and what people noted. */
#include <errno.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/store/query_private.h"

static int disruption_read(struct store *st, sqlite3_stmt *stmt, store_disruption_fn *fn, void *ctx)
{
	struct store_disruption d = {
		.id = store_int(stmt, 0),
		.at_ns = store_int(stmt, 1),
		.rank = (int)store_int_or(stmt, 3, -1),
		.pid = (uint32_t)store_int_or(stmt, 4, 0),
		.exit_code = (int)store_int_or(stmt, 5, -1),
		.signal = (int)store_int_or(stmt, 6, 0),
		.sender = (uint32_t)store_int_or(stmt, 7, 0),
		.step = store_int(stmt, 9),
		.resumed_ns = store_int(stmt, 10),
		.resumed_step = store_int(stmt, 11),
		.wasted_ns = store_int(stmt, 12),
		.recovery_ns = store_int(stmt, 13),
		.down_ns = store_int(stmt, 14),
		.starts = store_int(stmt, 15),
		.graceful = store_int_or(stmt, 16, 0),
		.estimated = store_int_or(stmt, 17, 0),
	};
	int err = store_sums(st, stmt, 19, &d.split);

	store_text(stmt, 2, d.cause, sizeof(d.cause));
	store_text(stmt, 8, d.sender_comm, sizeof(d.sender_comm));
	store_text(stmt, 18, d.how, sizeof(d.how));
	return err ? err : fn(ctx, &d);
}

int store_disruptions(struct store *st, int64_t job, const struct store_span *span,
		      store_disruption_fn *fn, void *ctx)
{
	sqlite3_stmt *stmt;
	int err, more = 0;

	stmt = store_ask(
		st, &err,
		"SELECT id, at_ns, cause, rank, pid, exit_code, signal, sender, sender_comm, step,"
		" resumed_ns, resumed_step, wasted_ns, recovery_ns, down_ns, starts, graceful,"
		" estimated, how, split FROM disruptions WHERE job = ? AND at_ns >= ? AND at_ns < ?"
		" ORDER BY at_ns, id",
		"iii", job, span->from_ns, span_end(span));
	while (stmt && !err && (more = store_row(stmt)) > 0) {
		err = disruption_read(st, stmt, fn, ctx);
		if (err)
			store_done(stmt);
	}
	return err ? err : more;
}

static int checkpoint_read(sqlite3_stmt *stmt, store_checkpoint_fn *fn, void *ctx)
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
	int err, more = 0;

	stmt = store_ask(
		st, &err,
		"SELECT c.start_ns, c.end_ns, step, bytes, op = 'restore', async, closed, files,"
		" r.rank, file, run_step, saved_step, known_by, confidence, estimated FROM"
		" checkpoints AS c JOIN ranks AS r ON r.id = c.rank WHERE r.job = "
		"? AND c.start_ns >= ? AND c.start_ns < ? ORDER BY"
		" c.start_ns, c.id",
		"iii", job, span->from_ns, span_end(span));
	while (stmt && !err && (more = store_row(stmt)) > 0) {
		err = checkpoint_read(stmt, fn, ctx);
		if (err)
			store_done(stmt);
	}
	return err ? err : more;
}

static int health_read(sqlite3_stmt *stmt, store_health_fn *fn, void *ctx)
{
	struct store_health h = {
		.onset_ns = store_int(stmt, 1),
		.size_ns = (uint64_t)store_int(stmt, 2),
		.over = store_int(stmt, 3),
		.rank = (int)store_int_or(stmt, 4, -1),
	};

	h.at_ns = store_int_or(stmt, 8, h.onset_ns);
	store_text(stmt, 0, h.kind, sizeof(h.kind));
	store_text(stmt, 5, h.why, sizeof(h.why));
	store_text(stmt, 6, h.phase, sizeof(h.phase));
	store_text(stmt, 7, h.evidence, sizeof(h.evidence));
	return fn(ctx, &h);
}

int store_healths(struct store *st, int64_t job, const struct store_span *span, store_health_fn *fn,
		  void *ctx)
{
	sqlite3_stmt *stmt;
	int err, more = 0;

	stmt = store_ask(
		st, &err,
		"SELECT h.kind, onset_ns, size_ns, over, r.rank, why, phase, evidence, h.end_ns FROM health"
		" AS h JOIN ranks AS r ON r.id = h.rank WHERE r.job = ? AND coalesce(h.end_ns, onset_ns) >= ?"
		" AND coalesce(h.end_ns, onset_ns) < ? ORDER BY coalesce(h.end_ns, onset_ns), h.id",
		"iii", job, span->from_ns, span_end(span));
	while (stmt && !err && (more = store_row(stmt)) > 0) {
		err = health_read(stmt, fn, ctx);
		if (err)
			store_done(stmt);
	}
	return err ? err : more;
}

/* ---- notes
 * ------------------------------------------------------------------------------------------- */

static int notes_read(sqlite3_stmt *stmt, store_note_fn *fn, void *ctx)
{
	int err = 0, more = 0;

	while (!err && (more = store_row(stmt)) > 0) {
		struct store_note n = {
			.id = store_int(stmt, 0),
			.at_ns = store_int(stmt, 1),
			.to_ns = store_int(stmt, 2),
			.job = store_int_or(stmt, 3, 0),
		};

		store_text(stmt, 4, n.text, sizeof(n.text));
		err = fn(ctx, &n);
		if (err)
			store_done(stmt);
	}
	return err ? err : more;
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
		"iii", job, span->from_ns, span_end(span));
	return stmt ? notes_read(stmt, fn, ctx) : err;
}

int store_exclusions(struct store *st, const struct store_span *span, store_note_fn *fn, void *ctx)
{
	sqlite3_stmt *stmt;
	int err;

	stmt = store_ask(
		st, &err,
		"SELECT id, from_ns, to_ns, NULL, why FROM exclusions WHERE to_ns > ? AND from_ns < ?"
		" ORDER BY from_ns, id",
		"ii", span->from_ns, span_end(span));
	return stmt ? notes_read(stmt, fn, ctx) : err;
}

/* What people write is shown to others, and bounded as what a job writes. */
static void said(char out[256], const char *text)
{
	log_escape(out, 256, text, strlen(text));
}

int store_mark(struct store *st, int64_t job, int64_t at_ns, const char *text)
{
	char own[256];

	said(own, text);
	return store_run(st, "INSERT INTO marks (job, at_ns, text) VALUES (?, ?, ?)", "iit", job,
			 at_ns, own);
}

int store_exclude(struct store *st, int64_t from_ns, int64_t to_ns, const char *why)
{
	char own[256];

	if (to_ns <= from_ns)
		return -EINVAL;
	said(own, why);
	return store_run(st, "INSERT INTO exclusions (from_ns, to_ns, why) VALUES (?, ?, ?)", "iit",
			 from_ns, to_ns, own);
}

static int removed(struct store *st, int err)
{
	return err ? err : sqlite3_changes(st->sql) ? 0 : -ENOENT;
}

int store_unmark(struct store *st, int64_t id)
{
	return removed(st, store_run(st, "DELETE FROM marks WHERE id = ?", "i", id));
}

int store_include(struct store *st, int64_t id)
{
	return removed(st, store_run(st, "DELETE FROM exclusions WHERE id = ?", "i", id));
}

/* A temporary table hides the one of that name: every question finds both theirs and ours there. */
int store_exclude_here(struct store *st, int64_t from_ns, int64_t to_ns, const char *why)
{
	int err = store_exec(st, "PRAGMA temp_store = MEMORY");

	err = err ? err
		  : store_exec(
			    st,
			    "CREATE TEMP TABLE IF NOT EXISTS exclusions AS SELECT * FROM main.exclusions");
	return err ? err : store_exclude(st, from_ns, to_ns, why);
}
