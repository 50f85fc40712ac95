/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/write.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/store/causes.h"
#include "userspace/store/store_private.h"

/* Start times of the same process may differ by up to this (ns), because /proc has ticks of 10
 * ms. */
#define START_SLACK_NS 20000000ll
/* A minute may contain up to this much more time (ns) than it lasts, because the clock was
 * adjusted. A larger excess is a bug. */
#define OVERFULL_NS 1000000000ll

/* ---- session --------------------------------------------------------------------------------- */

int write_session(struct store *st, const struct write_session *s, int64_t *ret_id)
{
	int err = store_run(
		st,
		"INSERT INTO sessions (key, told, version, command) VALUES (?, 0, ?, ?)"
		" ON CONFLICT (key) DO UPDATE SET ended_ns = NULL WHERE ended_ns IS NOT NULL",
		"ttt", s->key, s->version, s->command);

	return err ? err
		   : store_number(st, ret_id, "SELECT id FROM sessions WHERE key = ?", "t", s->key);
}

int write_last_fact(struct store *st, const struct write_session *s, uint64_t last_fact)
{
	return store_run(st, "UPDATE sessions SET told = max(told, ?) WHERE key = ?", "it",
			 (int64_t)last_fact, s->key);
}

int write_session_ended(struct store *st, const struct write_session *s, int64_t now_ns)
{
	return store_run(st, "UPDATE sessions SET ended_ns = ? WHERE key = ?", "it", now_ns,
			 s->key);
}

/* ---- the place of a rank in the store -------------------------------------------------------- */

#define MINUTE "SELECT minute, until_ns, ledger, steps, sketch FROM "

/* Reads a minute from a row selected with MINUTE. */
static int write_minute_read(struct store *st, sqlite3_stmt *stmt, struct intake_minute *ret)
{
	int err;

	*ret = (struct intake_minute){.minute = store_int(stmt, 0),
				      .until_ns = store_int(stmt, 1),
				      .steps = (uint64_t)store_int(stmt, 3)};
	err = store_sums(st, stmt, 2, &ret->sums);
	return err ? err : store_sketch(st, stmt, 4, &ret->times);
}

/* Reads the only row of a statement of store_find(). Returns 1; 0 if there is no row, and *ret is
 * unchanged; -errno. */
static int write_minute_take(struct store *st, sqlite3_stmt *stmt, int err,
			     struct intake_minute *ret)
{
	if (!stmt)
		return err == -ENOENT ? 0 : err;
	err = write_minute_read(st, stmt, ret);
	store_done(stmt);
	return err ? err : 1;
}

static int write_running_read(struct store *st, int64_t rank, struct intake_minute *ret)
{
	sqlite3_stmt *stmt;
	int err;

	stmt = store_find(st, &err, MINUTE "minute_now WHERE rank = ?", "i", rank);
	err = write_minute_take(st, stmt, err, ret);
	return err < 0 ? err : 0;
}

#define PLACE "SELECT ranks.id, ranks.session, ledger, steps, sketch, until_ns, base, run,"

/* Finds the row of a rank, which is one process running one program. If gp-bpf attached late, it
 * knows the start of the process but not of its program: the row of the last program of this
 * process is used. */
static sqlite3_stmt *write_place_ask(struct store *st, const char *boot_id,
				     const struct intake_about *a, int *ret_err)
{
	int64_t start = (int64_t)a->start_mono_ns, until = start + (a->until_ns - a->start_ns);

	if (a->job)
		return store_find(
			st, ret_err,
			PLACE " state IN ('ended', 'over') FROM ranks JOIN jobs ON jobs.id = job"
			      " WHERE kind = 1 AND key = ?",
			"t", a->key);
	return store_find(
		st, ret_err,
		PLACE
		" ranks.end_ns IS NOT NULL FROM ranks JOIN runs ON runs.id = run WHERE pid = ?"
		" AND ranks.start_mono_ns >= ? AND ranks.start_mono_ns < max(?, ?) AND boot_id = ?"
		" ORDER BY ranks.id DESC LIMIT 1",
		"iiiit", (int64_t)a->pid, start - START_SLACK_NS, start + START_SLACK_NS, until,
		boot_id);
}

/* Computes the sums of a rank from its minutes. Used if the stored sums are damaged. */
static int write_place_rebuild(struct store *st, struct intake_place *p)
{
	struct intake_minute m;
	sqlite3_stmt *stmt;
	int err;

	memset(&p->closed, 0, sizeof(p->closed));
	memset(&p->closed_times, 0, sizeof(p->closed_times));
	p->closed_steps = 0;
	stmt = store_ask(st, &err, MINUTE "minutes WHERE rank = ?", "i", p->id);
	while (store_next(stmt, &err)) {
		err = write_minute_read(st, stmt, &m);
		sums_add(&p->closed, &m.sums);
		sketch_merge(&p->closed_times, &m.times);
		p->closed_steps += m.steps;
	}
	return err;
}

/* Records in the run's row that the model of this session continues the run, and the number that
 * the model gave it. */
static int write_run_claim(struct store *st, int64_t session, int64_t run,
			   const struct intake_about *a)
{
	return !a->run ? 0
		       : store_run(st, "UPDATE runs SET session = ?, model_run = ? WHERE id = ?",
				   "iii", session, (int64_t)a->run, run);
}

/* Finds the row of a rank and makes it part of this session. Returns 1; 0: the store does not have
 * the rank; -errno. *ret must be zeroed. */
static int write_place_find(struct store *st, int64_t session, const char *boot_id,
			    const struct intake_about *a, struct intake_place *ret)
{
	uint64_t unreadable = st->unreadable, before;
	sqlite3_stmt *stmt;
	int64_t until_ns, run;
	int err;

	stmt = write_place_ask(st, boot_id, a, &err);
	if (!stmt)
		return err == -ENOENT ? 0 : err;
	ret->id = store_int(stmt, 0);
	ret->gone_on = store_int(stmt, 1) == session;
	ret->closed_steps = (uint64_t)store_int(stmt, 3);
	run = store_int(stmt, 7);
	ret->ended = store_int(stmt, 8);
	err = store_sums(st, stmt, 2, &ret->closed);
	err = err ? err : store_sketch(st, stmt, 4, &ret->closed_times);
	before = st->unreadable;
	err = err ? err : store_sums(st, stmt, 6, &ret->base);
	/* If the base (the part of the model's ledger that is not added to the store) is damaged,
	 * it is not known which part is stored already: treat the ledger as a new one. */
	ret->gone_on &= st->unreadable == before;
	until_ns = store_int(stmt, 5);
	store_done(stmt);
	if (!err && st->unreadable != unreadable)
		err = write_place_rebuild(st, ret);
	ret->until_ns = sums_total(&ret->closed) ? until_ns : 0;
	err = err ? err : write_running_read(st, ret->id, &ret->running);
	err = err ? err
		  : store_run(st, "UPDATE ranks SET session = ? WHERE id = ?", "ii", session,
			      ret->id);
	err = err ? err : write_run_claim(st, session, run, a);
	return err ? err : 1;
}

static int write_job_make(struct store *st, const struct intake_about *a, int64_t *ret_id)
{
	int err = store_run(
		st,
		"INSERT INTO jobs (key, name, state, first_ns) VALUES (?, ?, ?, ?)"
		" ON CONFLICT (key) DO UPDATE SET first_ns = min(first_ns, excluded.first_ns)",
		"ttti", a->key, a->title, a->state, a->start_ns);

	return err ? err
		   : store_number(st, ret_id, "SELECT id FROM jobs WHERE key = ?", "t", a->key);
}

/* Finds a run by the number that the model of this session gave it; skips runs that have ended,
 * because a model that forgot a job counts its runs from 1 again. Returns 0, -ENOENT if there is no
 * such run, or -errno. */
static int write_run_numbered(struct store *st, int64_t session, int64_t job,
			      const struct intake_about *a, int64_t *ret_id)
{
	return !a->run ? -ENOENT
		       : store_number(
				 st, ret_id,
				 "SELECT id FROM runs WHERE job = ? AND session = ? AND model_run = ? AND"
				 " (end_mono_ns IS NULL OR end_mono_ns > ?) ORDER BY attempt DESC LIMIT 1",
				 "iiii", job, session, (int64_t)a->run, (int64_t)a->start_mono_ns);
}

/* Finds the stored run to which the first rank of a run in this session belongs: the last run of
 * the job, if an earlier session wrote it, none of its ranks ended before this rank began, and none
 * has the same rank number. Returns -ENOENT if there is no such run. */
static int write_run_find(struct store *st, int64_t session, int64_t job, const char *boot_id,
			  const struct intake_about *a, int64_t *ret_id)
{
	return store_number(
		st, ret_id,
		"SELECT id FROM (SELECT id, boot_id, session FROM runs WHERE job = ? ORDER BY attempt DESC"
		" LIMIT 1) AS last WHERE boot_id = ? AND (? = 0 OR last.session IS NOT ?) AND NOT EXISTS"
		" (SELECT 1 FROM ranks WHERE run = last.id AND (end_mono_ns <= ? OR rank = ?))",
		"itiiiI", job, boot_id, (int64_t)a->run, session, (int64_t)a->start_mono_ns,
		a->rank < 0 ? STORE_NULL : (int64_t)a->rank);
}

/* Checks the ends of ranks that are not written yet. Returns -ENOENT if a rank of this run ended
 * before this rank began, otherwise 0 or -errno. */
static int write_run_goes_on(struct store *st, int64_t run, const struct intake_about *a,
			     const struct write_ended *ended, uint32_t nended)
{
	int64_t of;
	int err = 0;

	for (uint32_t i = 0; !err && i < nended; i++) {
		if (ended[i].end_mono_ns > a->start_mono_ns)
			continue;
		err = store_number(st, &of, "SELECT run FROM ranks WHERE id = ?", "i",
				   ended[i].rank);
		if (!err && of == run)
			return -ENOENT;
	}
	return err == -ENOENT ? 0 : err;
}

int write_run_make(struct store *st, int64_t job, const char *boot_id, const struct intake_about *a,
		   int64_t *ret_id)
{
	int err = store_run(
		st,
		"INSERT INTO runs (job, attempt, boot_id, start_ns, start_mono_ns, perf_tag,"
		" session_tag) SELECT ?, max(coalesce(max(attempt), 0), ?) + 1, ?, ?, ?, ?, ? FROM runs WHERE job = ?",
		"iitiitti", job, (int64_t)a->carried, boot_id, a->start_ns,
		(int64_t)a->start_mono_ns, a->perf_tag, a->session_tag, job);

	if (!err)
		*ret_id = sqlite3_last_insert_rowid(st->sql);
	return err;
}

static int64_t write_or_null(bool known, int64_t v)
{
	return known ? v : STORE_NULL;
}

int write_rank_make(struct store *st, int64_t session, int64_t job, int64_t run,
		    const struct intake_about *a, int64_t *ret_id)
{
	static const struct sums nothing;
	static const struct sketch never;
	int err;

	/* Another rank joins the run, so the run has not ended. The start of the run is that of its
	 * earliest rank. */
	err = store_run(
		st,
		"UPDATE runs SET end_ns = NULL, end_mono_ns = NULL, status = NULL,"
		" start_ns = min(start_ns, ?), start_mono_ns = min(start_mono_ns, ?) WHERE id = ?",
		"iii", a->start_ns, (int64_t)a->start_mono_ns, run);
	err = err ? err
		  : store_run(
			    st,
			    "INSERT INTO ranks (kind, job, run, session, base, pid, start_mono_ns, start_ns,"
			    " rank, world_size, comm, command, tier, marker, ledger, steps, sketch, until_ns,"
			    " end_ns, end_mono_ns) VALUES (?, ?, ?, ?, x'', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
			    "iiiiiiiIIttttskiII", (int64_t)a->job, job, run, session,
			    (int64_t)a->pid, (int64_t)a->start_mono_ns, a->start_ns,
			    write_or_null(a->rank >= 0, a->rank),
			    write_or_null(a->world_size >= 0, a->world_size), a->comm, a->command,
			    a->tier, a->marker, &nothing, &never, a->until_ns,
			    write_or_null(a->ended, a->end_ns),
			    write_or_null(a->ended, (int64_t)a->end_mono_ns));
	if (!err)
		*ret_id = sqlite3_last_insert_rowid(st->sql);
	return err;
}

int write_place(struct store *st, int64_t session, const char *boot_id,
		const struct intake_about *a, const struct write_ended *ended, uint32_t nended,
		struct intake_place *ret)
{
	int64_t job, run;
	int err;

	memset(ret, 0, sizeof(*ret));
	err = write_place_find(st, session, boot_id, a, ret);
	if (err)
		return err < 0 ? err : 0;
	err = write_job_make(st, a, &job);
	if (err || a->job)
		return err ? err : write_rank_make(st, session, job, 0, a, &ret->id);
	err = write_run_numbered(st, session, job, a, &run);
	if (err == -ENOENT) {
		err = write_run_find(st, session, job, boot_id, a, &run);
		err = err ? err : write_run_goes_on(st, run, a, ended, nended);
	}
	if (err == -ENOENT)
		err = write_run_make(st, job, boot_id, a, &run);
	err = err ? err : write_run_claim(st, session, run, a);
	return err ? err : write_rank_make(st, session, job, run, a, &ret->id);
}

/* ---- minutes --------------------------------------------------------------------------------- */

/* Logs the first minute whose buckets contain more time than the minute lasted. If the minute is
 * not merged from several parts, this is a bug of gp-bpf. */
static void write_minute_overfull(struct store *st, int64_t rank, const struct intake_minute *m,
				  int64_t more_ns)
{
	if (m->joined || more_ns < OVERFULL_NS)
		return;
	if (!st->overfull++)
		log_warn(
			"%s: minute %lld of rank %lld contains %lld ms more than it lasted, and was stored as longer; this is a bug of gp-bpf, please report it",
			st->path, (long long)m->minute, (long long)rank,
			(long long)(more_ns / 1000000));
#ifdef GP_LEDGER_ABORT
	abort();
#endif
}

/* Corrects a minute that breaks the rules after an error, so that no bucket is negative and the
 * minute lasts at least as long as the sum of its buckets. Returns that sum. */
static int64_t write_minute_sane(struct store *st, int64_t rank, struct intake_minute *m)
{
	int64_t total_ns = sums_total(&m->sums), end_ns;

	for (int i = 0; i < SUMS_SLOTS; i++) {
		for (int k = 0; m->sums.ns[i] < 0 && k < SUMS_SLOTS; k++) {
			int64_t ns = m->sums.ns[k] < -m->sums.ns[i] ? m->sums.ns[k]
								    : -m->sums.ns[i];

			if (ns <= 0)
				continue;
			m->sums.ns[k] -= ns;
			m->sums.ns[i] += ns;
		}
	}
	if (total_ns < 0) {
		memset(&m->sums, 0, sizeof(m->sums));
		total_ns = 0;
	}
	if (!__builtin_mul_overflow(m->minute, STORE_MINUTE_NS, &end_ns) &&
	    !__builtin_add_overflow(end_ns, total_ns, &end_ns) && m->until_ns < end_ns) {
		if (total_ns) /* without time there is no excess: only the end is corrected */
			write_minute_overfull(st, rank, m, end_ns - m->until_ns);
		m->until_ns = end_ns;
	}
	return total_ns;
}

static int write_minute_merge(struct store *st, int64_t rank, struct intake_minute *m)
{
	struct intake_minute had = {0};
	sqlite3_stmt *stmt;
	int err;

	stmt = store_find(st, &err, MINUTE "minutes WHERE rank = ? AND minute = ?", "ii", rank,
			  m->minute);
	err = write_minute_take(st, stmt, err, &had);
	if (err != 1)
		return err;
	/* if time is subtracted, the minute ends at m->until_ns, which may be earlier than the
	 * stored end */
	if (sums_total(&m->sums) >= 0)
		m->until_ns = had.until_ns > m->until_ns ? had.until_ns : m->until_ns;
	m->steps += had.steps;
	sums_add(&m->sums, &had.sums);
	sketch_merge(&m->times, &had.times);
	return 0;
}

static int write_minute_update(struct store *st, int64_t rank, struct intake_minute *m)
{
	int64_t held_ns;

	m->joined = true; /* the minute is now the sum of several parts */
	held_ns = write_minute_sane(st, rank, m);
	return store_run(
		st,
		"UPDATE minutes SET until_ns = ?, ledger = ?, steps = ?, sketch = ?, held_ns = ?"
		" WHERE rank = ? AND minute = ?",
		"isikiii", m->until_ns, &m->sums, (int64_t)m->steps, &m->times, held_ns, rank,
		m->minute);
}

/* Writes a closed minute. If its row exists already (the clock was set back, or stored time is
 * subtracted), the minute is added to the stored one. */
int write_minute(struct store *st, int64_t rank, const struct intake_minute *closed)
{
	static const struct sums nothing;
	struct intake_minute m = *closed, new = *closed;
	int64_t held_ns = write_minute_sane(st, rank, &new);
	int err = store_run(
		st,
		"INSERT INTO minutes (rank, minute, until_ns, ledger, steps, sketch, held_ns)"
		" VALUES (?, ?, ?, ?, ?, ?, ?)",
		"iiisiki", rank, m.minute, new.until_ns, &new.sums, (int64_t)m.steps, &m.times,
		held_ns);

	if (err != -EEXIST)
		return err;
	err = write_minute_merge(st, rank, &m);
	if (!err && !m.steps && !memcmp(&m.sums, &nothing, sizeof(nothing)))
		return store_run(st, "DELETE FROM minutes WHERE rank = ? AND minute = ?", "ii",
				 rank, m.minute);
	return err ? err : write_minute_update(st, rank, &m);
}

/* Reads the minute that follows (up) or precedes the minute *m of the rank into *m. Returns 1; 0 if
 * there is none; -errno. */
static int write_minute_next(struct store *st, int64_t rank, bool up, struct intake_minute *m)
{
	sqlite3_stmt *stmt;
	int err;

	stmt = store_find(
		st, &err,
		up ? MINUTE "minutes WHERE rank = ? AND minute > ? ORDER BY minute LIMIT 1"
		   : MINUTE "minutes WHERE rank = ? AND minute < ? ORDER BY minute DESC LIMIT 1",
		"ii", rank, m->minute);
	return write_minute_take(st, stmt, err, m);
}

/* Limit of minutes in which time to move is searched: more than a month. */
#define MOVES_MOST 50000

static int write_moves(struct store *st, int64_t rank, const struct intake_minute *moves)
{
	bool up = moves->first;
	struct intake_minute m = {.minute = up ? moves->minute - 1 : INT64_MAX};
	int64_t left_ns = sums_total(&moves->sums);
	struct sums gains = moves->sums;
	int err = 1;

	for (int i = 0, k = 0; left_ns > 0 && i < MOVES_MOST; i++) {
		err = write_minute_next(st, rank, up, &m);
		/* The minutes from moves->minute on have too little time in bucket `was`, because
		 * minutes were merged with earlier ones: continue with earlier minutes. */
		if (!err && up) {
			up = false;
			m.minute = moves->minute;
			continue;
		}
		if (err != 1)
			return err;
		if (m.sums.ns[moves->was] <= 0)
			continue;
		for (int64_t ns; m.sums.ns[moves->was] > 0 && left_ns > 0; left_ns -= ns) {
			while (gains.ns[k] <= 0)
				k++;
			ns = gains.ns[k] < m.sums.ns[moves->was] ? gains.ns[k]
								 : m.sums.ns[moves->was];
			gains.ns[k] -= ns;
			m.sums.ns[moves->was] -= ns;
			m.sums.ns[k] += ns;
		}
		err = write_minute_update(st, rank, &m);
		if (err)
			return err;
	}
	return 0;
}

static int write_running_write(struct store *st, const struct intake_rank *r)
{
	struct intake_minute m = r->running;
	int64_t held_ns = write_minute_sane(st, r->id, &m);

	if (!r->runs)
		return store_run(st, "DELETE FROM minute_now WHERE rank = ?", "i", r->id);
	return store_run(
		st,
		"INSERT OR REPLACE INTO minute_now (rank, minute, until_ns, ledger, steps, sketch,"
		" max_step, held_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		"iiisikii", r->id, m.minute, m.until_ns, &m.sums, (int64_t)m.steps, &m.times,
		(int64_t)r->about.max_step, held_ns);
}

int write_about(struct store *st, const struct intake_rank *r)
{
	const struct intake_about *a = &r->about;
	int err;

	err = store_run(
		st,
		"UPDATE ranks SET rank = ?, world_size = ?, tier = ?, marker = ?, ledger = ?,"
		" steps = ?, sketch = ?, max_step = ?, until_ns = ?, end_ns = ?, end_mono_ns = ?,"
		" status = ?, accelerators = ? WHERE id = ?",
		"IIttsikiiIIIIi", write_or_null(a->rank >= 0, a->rank),
		write_or_null(a->world_size >= 0, a->world_size), a->tier, a->marker, &r->closed,
		(int64_t)r->closed_steps, &r->closed_times, (int64_t)a->max_step, a->until_ns,
		write_or_null(a->ended, a->end_ns),
		write_or_null(a->ended, (int64_t)a->end_mono_ns),
		write_or_null(a->ended, a->status), write_or_null(a->accelerators, a->accelerators),
		r->id);
	if (err || !a->ended)
		return err;
	return store_run(
		st,
		"UPDATE runs SET end_ns = (SELECT max(end_ns) FROM ranks WHERE run = runs.id),"
		" end_mono_ns = (SELECT max(end_mono_ns) FROM ranks WHERE run = runs.id), status ="
		" coalesce((SELECT status FROM ranks WHERE run = runs.id AND status <> 0 ORDER BY"
		" end_mono_ns LIMIT 1), 0) WHERE id = (SELECT run FROM ranks WHERE id = ?) AND NOT"
		" EXISTS (SELECT 1 FROM ranks WHERE run = runs.id AND end_ns IS NULL)",
		"i", r->id);
}

static int write_job_write(struct store *st, const struct intake_rank *r)
{
	return store_run(
		st,
		"UPDATE jobs SET state = ?1, name = ?2, job_uid = ?4, carried = max(carried, ?5), all_falls = max(all_falls,"
		" ?6), all_steps = max(all_steps, ?7) WHERE id = (SELECT job FROM ranks WHERE id = ?3) AND (state <> ?1 OR"
		" name <> ?2 OR job_uid <> ?4 OR carried < ?5 OR all_falls < ?6 OR all_steps < ?7)",
		"ttitiii", r->about.state, r->about.title, r->id, r->about.uid,
		(int64_t)r->about.carried, (int64_t)r->about.disruptions, (int64_t)r->about.steps);
}

static int write_start_write(struct store *st, const struct intake_rank *r)
{
	const struct intake_about *a = &r->about;
	int err = store_run(st, "UPDATE ranks SET start_ns = ?, start_mono_ns = ? WHERE id = ?",
			    "iii", a->start_ns, (int64_t)a->start_mono_ns, r->id);

	return err ? err
		   : store_run(
			     st,
			     "UPDATE runs SET start_ns = min(start_ns, ?), start_mono_ns ="
			     " min(start_mono_ns, ?) WHERE id = (SELECT run FROM ranks WHERE id = ?)",
			     "iii", a->start_ns, (int64_t)a->start_mono_ns, r->id);
}

int write_rank(struct store *st, const struct intake_rank *r, const struct intake_minute *closed,
	       uint32_t n)
{
	int err = write_running_write(st, r);

	if (!err && r->about.job)
		err = write_job_write(st, r);
	if (!err && r->rebasing)
		err = store_run(st, "UPDATE ranks SET base = ? WHERE id = ?", "si", &r->base,
				r->id);
	if (!err && r->earlying)
		err = write_start_write(st, r);
	for (uint32_t i = 0; !err && i < n; i++)
		err = closed[i].moves ? write_moves(st, r->id, &closed[i])
				      : write_minute(st, r->id, &closed[i]);
	return err || (!n && !r->about.ended) ? err : write_about(st, r);
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Converts a time of CLOCK_MONOTONIC to UTC, by the UTC time of the note. Accurate for times close
 * to the note. */
static int64_t write_wall_ns(const struct intake_note *n, uint64_t mono_ns)
{
	return n->real_ns - (int64_t)(n->mono_ns - mono_ns);
}

static int64_t write_step_or_null(int64_t step)
{
	return step == DISRUPTION_NO_STEP ? STORE_NULL : step;
}

static int write_disruption_write(struct store *st, const struct intake_note *n, int64_t job_rank)
{
	const struct job_disruption *f = &n->disruption;
	const struct disruption *d = &f->d;
	const struct job_cause *why = &f->why;
	struct sums split = {0};

	for (int b = 0; b < BUCKET_COUNT; b++)
		split.ns[b] = (int64_t)f->split_ns[b];
	return store_run(
		st,
		"INSERT OR REPLACE INTO disruptions (job, at_ns, at_mono_ns, cause, rank, pid,"
		" exit_code, signal, sender, sender_comm, step, resumed_ns, resumed_step, wasted_ns,"
		" recovery_ns, down_ns, starts, graceful, estimated, how, split) SELECT job, ?, ?, ?, ?,"
		" ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM ranks WHERE id = ?",
		"iitIIIIItIIIIIIIiitsi", write_wall_ns(n, d->at_ns), (int64_t)d->at_ns,
		disruption_cause_name[why->cause], write_or_null(why->rank >= 0, why->rank),
		write_or_null(why->pid, why->pid),
		write_or_null(why->exit_code >= 0, why->exit_code),
		write_or_null(why->signal, why->signal), write_or_null(why->sender, why->sender),
		why->sender_comm, write_step_or_null(d->step),
		write_or_null(d->resumed_ns, write_wall_ns(n, d->resumed_ns)),
		write_step_or_null(d->resumed_step), write_or_null(f->over, (int64_t)d->wasted_ns),
		write_or_null(d->recovery_ns, (int64_t)d->recovery_ns),
		write_or_null(f->over, (int64_t)d->down_ns),
		write_or_null(f->over, (int64_t)d->starts), (int64_t)d->graceful,
		(int64_t)f->estimated, n->text, &split, job_rank);
}

static int write_checkpoint_write(struct store *st, const struct intake_note *n, int64_t rank)
{
	const struct fact_checkpoint *c = &n->checkpoint;
	const struct checkpoint_match *m = &n->match;

	return store_run(
		st,
		"INSERT INTO checkpoints (rank, op, async, closed, start_ns, end_ns, start_mono_ns,"
		" step, bytes, files, file, run_step, saved_step, known_by, confidence, estimated)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		"itiiiiiIIitIItri", rank, c->restore ? "restore" : "save", (int64_t)c->async,
		(int64_t)c->closed, write_wall_ns(n, c->start_ns), write_wall_ns(n, c->end_ns),
		(int64_t)c->start_ns, write_or_null(c->step, (int64_t)c->step),
		write_or_null(c->bytes, (int64_t)c->bytes), (int64_t)c->files, n->text,
		write_or_null(c->run_step, (int64_t)c->run_step),
		write_or_null(m->how && m->step, (int64_t)m->step),
		m->how ? checkpoint_how_name[m->how] : "", m->how ? m->confidence : NAN,
		(int64_t)(m->how ? checkpoint_estimated(m) : c->estimated));
}

static int write_health_write(struct store *st, const struct intake_note *n, int64_t rank)
{
	const struct fact_health *h = &n->health;
	char causes[CAUSES_TEXT_MAX];

	return store_run(
		st,
		"INSERT INTO health (rank, kind, onset_ns, onset_mono_ns, size_ns, over, why, phase,"
		" evidence, end_ns, causes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (rank, kind,"
		" onset_mono_ns) DO UPDATE SET size_ns = excluded.size_ns, over = excluded.over, why"
		" = excluded.why, phase = excluded.phase, evidence = excluded.evidence, end_ns = excluded.end_ns,"
		" causes = excluded.causes",
		"itiiiitttIt", rank, h->kind, write_wall_ns(n, h->onset_ns), (int64_t)h->onset_ns,
		(int64_t)h->size_ns, (int64_t)h->over, h->why, n->text, n->words,
		write_or_null(h->end_ns, write_wall_ns(n, h->end_ns)),
		causes_write(causes, &n->causes));
}

int write_note(struct store *st, const struct intake_note *n, int64_t rank)
{
	switch (n->type) {
	case FACT_DISRUPTION:
		return write_disruption_write(st, n, rank);
	case FACT_CHECKPOINT:
		return write_checkpoint_write(st, n, rank);
	default:
		return write_health_write(st, n, rank);
	}
}

/* ---- a job that was renamed: moves its data from its former key
 * ------------------------------- */

struct ledger { /* of a job, as stored */
	struct intake_place place;
	struct sums had; /* sum of the closed minutes and the running minute */
	int64_t start_ns, until_ns;
};

/* Reads the stored ledger of a job as a whole. Returns 1; 0: the job has none; -errno. */
static int write_ledger_find(struct store *st, int64_t session, const struct intake_about *a,
			     struct ledger *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	err = write_place_find(st, session, "", a, &ret->place);
	if (err != 1)
		return err;
	ret->had = ret->place.closed;
	sums_add(&ret->had, &ret->place.running.sums);
	ret->until_ns = ret->place.running.until_ns ? ret->place.running.until_ns
						    : ret->place.until_ns;
	err = store_number(st, &ret->start_ns, "SELECT start_ns FROM ranks WHERE id = ?", "i",
			   ret->place.id);
	return err ? err : 1;
}

static int write_minutes_delete(struct store *st, int64_t rank)
{
	static const char *const rows[] = {
		"DELETE FROM minutes WHERE rank = ?",
		"DELETE FROM minute_now WHERE rank = ?",
		"DELETE FROM ranks WHERE id = ?",
	};

	return STORE_RUN_ALL(st, rows, rank);
}

/* Moves the minutes of one rank to another rank. If both ranks have the same minute, the times of
 * both are added. */
static int write_minutes_move(struct store *st, int64_t from, int64_t to)
{
	struct intake_minute m;
	sqlite3_stmt *stmt;
	int err;

	err = store_run(st, "UPDATE OR IGNORE minutes SET rank = ? WHERE rank = ?", "ii", to, from);
	if (err)
		return err;
	stmt = store_ask(st, &err, MINUTE "minutes WHERE rank = ?", "i", from);
	while (store_next(stmt, &err)) {
		err = write_minute_read(st, stmt, &m);
		err = err ? err : write_minute(st, to, &m);
	}
	return err;
}

/* Appends ledger `from` to ledger `to`. Time between the two ledgers is unobserved, unless the job
 * was over. */
static int write_ledger_append(struct store *st, struct ledger *from, struct ledger *to)
{
	static const char *const running[] = {
		"DELETE FROM minute_now WHERE rank = ?1",
		"UPDATE minute_now SET rank = ?1 WHERE rank = ?2",
	};
	struct intake_minute gap = {.minute = to->until_ns / STORE_MINUTE_NS,
				    .until_ns = from->start_ns};
	struct sums base = from->place.base;
	struct intake_place *p = &to->place;
	int err = 0;

	if (p->running.until_ns)
		err = write_minute(st, p->id, &p->running);
	if (!p->ended && to->until_ns)
		gap.sums.ns[BUCKET_UNOBSERVED] = from->start_ns - to->until_ns;
	if (!err && gap.sums.ns[BUCKET_UNOBSERVED])
		err = write_minute(st, p->id, &gap);
	err = err ? err : write_minutes_move(st, from->place.id, p->id);
	err = err ? err : STORE_RUN_ALL(st, running, p->id, from->place.id);
	sums_add(&to->had, &gap.sums);
	sums_take(&base, &to->had);
	sums_add(&to->had, &from->place.closed);
	p->closed_steps += p->running.steps + from->place.closed_steps;
	sketch_merge(&p->closed_times, &p->running.times);
	sketch_merge(&p->closed_times, &from->place.closed_times);
	return err ? err
		   : store_run(
			     st,
			     "UPDATE ranks SET ledger = ?, steps = ?, sketch = ?, base = ?, until_ns ="
			     " max(until_ns, ?), max_step = max(max_step, (SELECT max_step FROM ranks AS f"
			     " WHERE f.id = ?)) WHERE id = ?",
			     "siksiii", &to->had, (int64_t)p->closed_steps, &p->closed_times, &base,
			     from->place.until_ns > to->until_ns ? from->place.until_ns
								 : to->until_ns,
			     from->place.id, p->id);
}

/* Merges the ledgers that a job has under its former and its current key. If they overlap in time,
 * another gp-bpf wrote the ledger of the current key; then intake_place() counts the common time
 * once. */
static int write_ledgers_merge(struct store *st, int64_t session, const struct intake_about *a,
			       const struct intake_about *was)
{
	struct ledger from, to;
	int err = write_ledger_find(st, session, a, &to);

	if (err == 1)
		err = write_ledger_find(st, session, was, &from);
	if (err != 1)
		return err;
	if (from.start_ns < to.until_ns)
		err = store_run(st, "UPDATE ranks SET session = 0 WHERE id = ?", "i", to.place.id);
	else
		err = write_ledger_append(st, &from, &to);
	return err ? err : write_minutes_delete(st, from.place.id);
}

/* Moves the rows of one job to another job. The moved runs are numbered after the runs of the other
 * job. */
static int write_rows_move(struct store *st, int64_t from, int64_t to)
{
	static const char *const rows[] = {
		"UPDATE runs SET job = ?2, attempt = attempt + ?3 WHERE job = ?1",
		"UPDATE ranks SET job = ?2 WHERE job = ?1",
		"UPDATE OR REPLACE disruptions SET job = ?2 WHERE job = ?1",
		"UPDATE marks SET job = ?2 WHERE job = ?1",
		"UPDATE jobs SET first_ns = min(first_ns, (SELECT first_ns FROM jobs WHERE id = ?1)) WHERE id = ?2",
		"DELETE FROM jobs WHERE id = ?1",
	};
	int64_t attempts;
	int err = store_number(st, &attempts,
			       "SELECT coalesce(max(attempt), 0) FROM runs WHERE job = ?", "i", to);

	return err ? err : STORE_RUN_ALL(st, rows, from, to, attempts);
}

static int write_former_move(struct store *st, int64_t session, const struct intake_about *a,
			     const char *key)
{
	struct intake_about was = *a;
	int64_t from, to;
	int err;

	err = store_number(
		st, &from,
		"SELECT jobs.id FROM jobs JOIN ranks ON job = jobs.id WHERE key = ? AND kind = 1"
		" AND session = ? AND source = ''",
		"ti", key, session);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = store_number(st, &to, "SELECT id FROM jobs WHERE key = ?", "t", a->key);
	if (err == -ENOENT)
		return store_run(st, "UPDATE jobs SET key = ?, name = ?, job_uid = ? WHERE id = ?",
				 "ttti", a->key, a->title, a->uid, from);
	snprintf(was.key, sizeof(was.key), "%s", key);
	err = err ? err : write_ledgers_merge(st, session, a, &was);
	return err ? err : write_rows_move(st, from, to);
}

int write_former_names(struct store *st, int64_t session, const struct intake_about *a)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < a->nformer_names; i++)
		err = write_former_move(st, session, a, a->former[i]);
	return err;
}
