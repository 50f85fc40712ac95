/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/import.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/hash.h"
#include "userspace/base/log.h"
#include "userspace/ingest/goodput_record.h"
#include "userspace/store/intake.h"
#include "userspace/store/query.h"
#include "userspace/store/store_private.h"
#include "userspace/store/write.h"

struct import {
	struct store *st;
	const struct store_import *in;
	const struct goodput_history *history;
	struct {
		uint32_t name, slot;
		/* slot in struct sums for each type of custom event in the log */
	} slots[LEDGER_TYPES + 1];
	uint32_t nslots;
	int64_t job, session;
};

/* ---- a history cut into minutes -------------------------------------------------------------- */

#define MINUTE_NS (uint64_t) STORE_MINUTE_NS

struct minuting {
	struct import *im;
	int64_t rank;
	const struct goodput_done *done;
	size_t left;
	struct intake_minute m;
	bool open;
	struct store_totals *sum;
	int err;
};

/* ---- names ----------------------------------------------------------------------------------- */

static uint32_t import_minute_slot_of(const struct import *im, const struct goodput_piece *p)
{
	if (p->bucket != BUCKET_CUSTOM)
		return p->bucket;
	for (uint32_t i = 0; i < im->nslots; i++)
		if (im->slots[i].name == p->name)
			return im->slots[i].slot;
	return BUCKET_CUSTOM;
}

/* Finds or adds a slot of struct sums for each name of a bucket in the log. Call outside of a
 * transaction. */
static int import_names(struct import *im)
{
	const struct goodput_history *h = im->history;
	char type[LEDGER_TYPE_MAX], name[SUMS_NAME_MAX];
	int err = 0;

	for (size_t i = 0; !err && i < h->npieces && im->nslots < LEDGER_TYPES; i++) {
		const struct goodput_piece *p = &h->pieces[i];
		const char *text;
		uint32_t slot;

		if (p->bucket != BUCKET_CUSTOM || p->name == LEDGER_REST ||
		    import_minute_slot_of(im, p) != BUCKET_CUSTOM)
			continue;
		text = goodput_name(im->in->names, p->name);
		log_escape(type, sizeof(type), text, strlen(text));
		sum_name_of_type(name, type);
		err = store_slot(im->st, name, &slot);
		im->slots[im->nslots].name = p->name;
		im->slots[im->nslots++].slot = slot;
	}
	return err;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool import_piece_clip(const struct goodput_piece *p, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = p->from_ns > *from_ns ? p->from_ns : *from_ns;
	*to_ns = p->to_ns < *to_ns ? p->to_ns : *to_ns;
	return *from_ns < *to_ns;
}

/* Computes the time by bucket in [from_ns, to_ns) of the log. */
static void import_sums(const struct import *im, uint64_t from_ns, uint64_t to_ns, struct sums *ret)
{
	const struct goodput_history *h = im->history;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = goodput_piece_at(h->pieces, h->npieces, from_ns); i < h->npieces; i++) {
		uint64_t a_ns = from_ns, b_ns = to_ns;

		if (!import_piece_clip(&h->pieces[i], &a_ns, &b_ns))
			break;
		ret->ns[import_minute_slot_of(im, &h->pieces[i])] += (int64_t)(b_ns - a_ns);
	}
}

/* ---- minutes --------------------------------------------------------------------------------- */

static void import_minute_end(struct minuting *mi)
{
	if (!mi->open || mi->err)
		return;
	mi->err = write_minute(mi->im->st, mi->rank, &mi->m);
	sums_add(&mi->sum->sums, &mi->m.sums);
	mi->sum->steps += mi->m.steps;
	sketch_merge(&mi->sum->times, &mi->m.times);
	mi->open = false;
}

static void import_minute_of(struct minuting *mi, uint64_t at_ns)
{
	int64_t minute = (int64_t)(at_ns / MINUTE_NS);

	if (mi->open && mi->m.minute == minute)
		return;
	import_minute_end(mi);
	memset(&mi->m, 0, sizeof(mi->m));
	mi->m.minute = minute;
	mi->m.until_ns = (int64_t)at_ns;
	mi->open = true;
}

static void import_steps_until(struct minuting *mi, uint64_t to_ns)
{
	for (; mi->left && (mi->done->end_us <= 0 || (uint64_t)mi->done->end_us * 1000 <= to_ns);
	     mi->done++, mi->left--) {
		mi->m.steps += mi->done->count;
		if (mi->done->each_us != GOODPUT_UNKNOWN)
			sketch_add(&mi->m.times,
				   mi->done->each_us > 0 ? (uint64_t)mi->done->each_us * 1000 : 0);
	}
}

static void import_piece_add(struct minuting *mi, uint32_t slot, uint64_t from_ns, uint64_t to_ns)
{
	while (from_ns < to_ns && !mi->err) {
		uint64_t end_ns = (from_ns / MINUTE_NS + 1) * MINUTE_NS;
		bool coarse = !(from_ns % MINUTE_NS) && to_ns - from_ns >= IMPORT_COARSE_NS;

		if (coarse)
			end_ns = to_ns - to_ns % MINUTE_NS;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		import_minute_of(mi, from_ns);
		mi->m.sums.ns[slot] += (int64_t)(end_ns - from_ns);
		mi->m.until_ns = (int64_t)end_ns;
		import_steps_until(mi, end_ns);
		if (coarse)
			import_minute_end(mi);
		from_ns = end_ns;
	}
}

/* Writes the minutes of a rank in [from_ns, to_ns). done: the n steps that ended in this time.
 * *ret: the sum of the minutes. */
static int import_minutes(struct import *im, int64_t rank, uint64_t from_ns, uint64_t to_ns,
			  const struct goodput_done *done, size_t n, struct store_totals *ret)
{
	struct minuting mi = {.im = im, .rank = rank, .done = done, .left = n, .sum = ret};
	const struct goodput_history *h = im->history;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = goodput_piece_at(h->pieces, h->npieces, from_ns); i < h->npieces && !mi.err;
	     i++) {
		uint64_t a_ns = from_ns, b_ns = to_ns;

		if (!import_piece_clip(&h->pieces[i], &a_ns, &b_ns))
			break;
		import_piece_add(&mi, import_minute_slot_of(im, &h->pieces[i]), a_ns, b_ns);
	}
	/* The run has steps but no time, because its clock was behind that of the previous run:
	 * write the steps in one minute. */
	if (mi.left && !mi.open)
		import_minute_of(&mi, to_ns);
	import_steps_until(&mi, UINT64_MAX);
	import_minute_end(&mi);
	return mi.err;
}

#define KEY_MAX 64
/* Exit status stored for ranks that did not end gracefully: a log does not contain it. */
#define STATUS_GONE (-1)

static int64_t import_ns(int64_t us)
{
	return us > 0 ? us * 1000 : 0;
}

static int64_t import_step_or_null(int64_t step)
{
	return step == GOODPUT_UNKNOWN || step < 0 ? STORE_NULL : step;
}

/* ---- logs that were imported before ---------------------------------------------------------- */

/* Writes the key of a job, made of its name and its start. Returns the length of the beginning that
 * depends only on the name. */
static int import_key_of(const struct import *im, const char *name, char key[KEY_MAX])
{
	int part = snprintf(key, KEY_MAX, "log/%016llx/",
			    (unsigned long long)hash_bytes(HASH_START, name, strlen(name)));

	snprintf(key + part, (size_t)(KEY_MAX - part), "%lld",
		 (long long)im->history->pieces[0].from_ns / 1000);
	return part;
}

static int import_rows_remove(struct import *im, int64_t job)
{
	static const char *const rows[] = {
		"DELETE FROM minutes WHERE rank IN (SELECT id FROM ranks WHERE job = ?)",
		"DELETE FROM checkpoints WHERE rank IN (SELECT id FROM ranks WHERE job = ?)",
		"DELETE FROM ranks WHERE job = ?",
		"DELETE FROM runs WHERE job = ?",
		"DELETE FROM disruptions WHERE job = ?",
	};

	return STORE_RUN_ALL(im->st, rows, job);
}

/* Removes a stored job that is contained in the log being imported. If it is the first such job,
 * its number is reused for the imported job. */
static int import_part_remove(struct import *im, int64_t job)
{
	static const char *const rows[] = {
		"UPDATE marks SET job = ?2 WHERE job = ?1",
		"DELETE FROM jobs WHERE id = ?1",
	};
	int err = import_rows_remove(im, job);

	if (!im->job) {
		im->job = job;
		return err;
	}
	return err ? err : STORE_RUN_ALL(im->st, rows, job, im->job);
}

/* Finds the next imported job with the same name and with a number above *id. Returns 1: found; 0:
 * there is none; -errno. */
static int import_next_known(struct import *im, const char *key, int part, int64_t *id,
			     struct store_span *ret)
{
	char name[KEY_MAX];
	sqlite3_stmt *stmt;
	int err;

	snprintf(name, sizeof(name), "%.*s", part, key);
	stmt = store_find(
		im->st, &err,
		"SELECT id, first_ns, (SELECT max(until_ns) FROM ranks WHERE job = jobs.id) FROM jobs"
		" WHERE id > ?1 AND source = 'log' AND substr(key, 1, length(?2)) = ?2 ORDER BY id LIMIT 1",
		"it", *id, name);
	if (!stmt)
		return err == -ENOENT ? 0 : err;
	*id = store_int(stmt, 0);
	ret->from_ns = store_int(stmt, 1);
	ret->to_ns = store_int_or(stmt, 2, ret->from_ns);
	store_done(stmt);
	return 1;
}

/* Compares the runs of a stored job that began before before_ns with the runs of the log. missing:
 * number of runs that the log does not have; had: number of runs that both have. */
static int import_runs_beside(struct import *im, int64_t job, int64_t before_ns, size_t *missing,
			      size_t *had)
{
	const struct goodput_history *h = im->history;
	sqlite3_stmt *stmt;
	size_t next = 0;
	int err;

	*missing = *had = 0;
	stmt = store_ask(
		im->st, &err,
		"SELECT start_ns FROM runs WHERE job = ? AND start_ns < ? ORDER BY start_ns", "ii",
		job, before_ns);
	while (store_next(stmt, &err)) {
		int64_t start_ns = store_int(stmt, 0);

		while (next < h->nruns && import_ns(h->runs[next].from_us) < start_ns)
			next++;
		if (next < h->nruns && import_ns(h->runs[next].from_us) == start_ns) {
			next++;
			++*had;
		} else {
			++*missing;
		}
	}
	return err;
}

/* Decides what happens with a stored job that overlaps the log in time. If the log contains all of
 * the job, the job is replaced. If the job contains all of the log, the log is not imported.
 * Otherwise returns -EEXIST. */
static int import_known_fate(struct import *im, int64_t job, const struct store_span *is,
			     const struct store_span *log, enum store_imported *ret)
{
	bool longer = log->from_ns <= is->from_ns && is->to_ns <= log->to_ns;
	size_t missing, had;
	int err = import_runs_beside(im, job, longer ? INT64_MAX : log->to_ns, &missing, &had);

	if (err)
		return err;
	if (missing)
		return -EEXIST;
	if (longer) {
		*ret = STORE_IMPORT_REPLACED;
		return import_part_remove(im, job);
	}
	if (log->from_ns != is->from_ns || log->to_ns > is->to_ns || had < im->history->nruns)
		return -EEXIST;
	*ret = STORE_IMPORT_KNOWN;
	return 0;
}

static int import_known_find(struct import *im, const char *key, int part, enum store_imported *ret)
{
	const struct goodput_history *h = im->history;
	const struct store_span log = {(int64_t)h->pieces[0].from_ns,
				       (int64_t)h->pieces[h->npieces - 1].to_ns};
	struct store_span is = {0};
	int64_t id = 0;
	int more, err = 0;

	while (!err && (more = import_next_known(im, key, part, &id, &is)) > 0) {
		/* Equal starts count as an overlap, even if the log or the job is a single
		 * instant. */
		if (log.from_ns == is.from_ns || (is.from_ns < log.to_ns && log.from_ns < is.to_ns))
			err = import_known_fate(im, id, &is, &log, ret);
		if (!err && *ret == STORE_IMPORT_KNOWN) {
			im->job = id;
			return 0;
		}
	}
	return err ? err : more;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int import_job_put(struct import *im, const char *key, const char *name)
{
	const struct goodput_history *h = im->history;
	int64_t first_ns = (int64_t)h->pieces[0].from_ns;
	const char *state = im->in->answer->ended ? "ended" : "";
	int err;

	err = store_run(
		im->st,
		"INSERT INTO sessions (key, told, version, command) VALUES (?, 0, '" GP_VERSION
		"', ?) ON CONFLICT (key) DO UPDATE SET version = excluded.version, command = excluded.command",
		"tt", key, im->in->command);
	err = err ? err
		  : store_number(im->st, &im->session, "SELECT id FROM sessions WHERE key = ?", "t",
				 key);
	if (err)
		return err;
	if (im->job)
		return store_run(
			im->st,
			"UPDATE jobs SET key = ?, state = ?, first_ns = ?, imported_ns = ? WHERE id = ?",
			"ttiii", key, state, first_ns, im->in->now_ns, im->job);
	err = store_run(
		im->st,
		"INSERT INTO jobs (key, name, state, first_ns, source, imported_ns) VALUES (?, ?, ?, ?, 'log', ?)",
		"tttii", key, name, state, first_ns, im->in->now_ns);
	im->job = sqlite3_last_insert_rowid(im->st->sql);
	return err;
}

/* Writes the rows of a run and its rank. If run is NULL, writes the row of the job itself. */
static int import_rank_put(struct import *im, const struct goodput_run *run, int64_t *ret_id)
{
	const struct goodput_history *h = im->history;
	int64_t from_ns = run ? import_ns(run->from_us) : (int64_t)h->pieces[0].from_ns;
	int64_t to_ns = run ? import_ns(run->until_us) : (int64_t)h->pieces[h->npieces - 1].to_ns;
	/* If the clock was set back, a run may have more steps than the answer counts: limit its
	 * last step. */
	int64_t most = im->in->answer->cumulative.max_productive_step;
	int64_t max_step = run && run->max_step < most ? run->max_step : most, run_id = 0;
	struct intake_rank r = {.about = {.job = !run,
					  .rank = -1,
					  .world_size = -1,
					  .start_ns = from_ns,
					  .start_mono_ns = (uint64_t)from_ns,
					  .until_ns = to_ns,
					  .ended = run && run->over,
					  .end_ns = to_ns,
					  .end_mono_ns = (uint64_t)to_ns,
					  .status = run && run->graceful ? 0 : STATUS_GONE,
					  .max_step = (uint64_t)max_step}};
	struct store_totals t;
	int err = run ? write_run_make(im->st, im->job, "", &r.about, &run_id) : 0;

	err = err ? err : write_rank_make(im->st, im->session, im->job, run_id, &r.about, &r.id);
	if (err)
		return err;
	err = import_minutes(im, r.id, (uint64_t)from_ns, (uint64_t)to_ns,
			     run ? h->done + run->first_done : NULL, run ? run->dones : 0, &t);
	r.closed = t.sums;
	r.closed_steps = t.steps;
	r.closed_times = t.times;
	*ret_id = r.id;
	return err ? err : write_about(im->st, &r);
}

static int import_saved_put(struct import *im, const struct goodput_saved *s, int64_t rank)
{
	int64_t number = import_step_or_null(s->number);

	return store_run(
		im->st,
		"INSERT INTO checkpoints (rank, op, async, closed, start_ns, end_ns, start_mono_ns, step,"
		" files, file, saved_step, known_by) VALUES (?, ?, 0, 1, ?, ?, ?, ?, ?, '', ?, ?)",
		"itiiiIiIt", rank, s->restore ? "restore" : "save", import_ns(s->from_us),
		import_ns(s->to_us), import_ns(s->from_us), s->restore ? STORE_NULL : number,
		(int64_t)s->copies, s->restore ? number : STORE_NULL,
		s->restore && number != STORE_NULL ? "log" : "");
}

static int import_run_put(struct import *im, const struct goodput_run *run)
{
	int64_t rank;
	int err = import_rank_put(im, run, &rank);

	for (size_t i = 0; !err && i < run->saves; i++)
		err = import_saved_put(im, &im->history->saved[run->first_saved + i], rank);
	return err;
}

/* Writes a disruption. A log has no monotonic times: the disruption's number in the log is stored
 * instead, to distinguish disruptions with the same UTC time. */
static int import_disruption_put(struct import *im, const struct disruption *d, size_t number)
{
	int64_t resumed_ns = d->resumed_ns ? (int64_t)d->resumed_ns : STORE_NULL;
	bool over = d->resumed_ns;
	struct sums split;

	import_sums(im, d->at_ns, d->at_ns + d->recovery_ns, &split);
	return store_run(
		im->st,
		"INSERT INTO disruptions (job, at_ns, at_mono_ns, cause, sender_comm, step, resumed_ns,"
		" resumed_step, wasted_ns, recovery_ns, down_ns, starts, graceful, estimated, how, split)"
		" VALUES (?, ?, ?, 'unknown', '', ?, ?, ?, ?, ?, ?, ?, ?, 0, 'log', ?)",
		"iiiIIIIIIIis", im->job, (int64_t)d->at_ns, (int64_t)number,
		import_step_or_null(d->step), resumed_ns, import_step_or_null(d->resumed_step),
		over ? (int64_t)d->wasted_ns : STORE_NULL,
		over ? (int64_t)d->recovery_ns : STORE_NULL,
		over ? (int64_t)d->down_ns : STORE_NULL, over ? (int64_t)d->starts : STORE_NULL,
		(int64_t)d->graceful, &split);
}

static int import_rows_put(struct import *im, const char *key, const char *name)
{
	const struct goodput_answer *a = im->in->answer;
	int64_t whole;
	int err = import_job_put(im, key, name);

	err = err ? err : import_rank_put(im, NULL, &whole);
	for (size_t i = 0; !err && i < im->history->nruns; i++)
		err = import_run_put(im, &im->history->runs[i]);
	for (size_t i = 0; !err && i < a->disruption_count; i++)
		err = import_disruption_put(im, &a->disruptions[i], i + 1);
	return err;
}

int store_import(struct store *st, const struct store_import *in, enum store_imported *ret,
		 int64_t *ret_job)
{
	struct import im = {.st = st, .in = in, .history = in->answer->history};
	const char *name = goodput_name(in->names, in->answer->job);
	enum store_imported fate = STORE_IMPORT_NEW;
	char key[KEY_MAX];
	int err, part;

	if (!im.history || !im.history->npieces)
		return -ENODATA;
	part = import_key_of(&im, name, key);
	err = import_names(&im);
	err = err ? err : store_exec(st, "BEGIN IMMEDIATE");
	if (err)
		return err;
	err = import_known_find(&im, key, part, &fate);
	if (!err && fate != STORE_IMPORT_KNOWN)
		err = import_rows_put(&im, key, name);
	if (!err && fate != STORE_IMPORT_KNOWN)
		err = store_exec(st, "COMMIT");
	if (!sqlite3_get_autocommit(st->sql))
		store_exec(st, "ROLLBACK");
	if (!err) {
		*ret = fate;
		*ret_job = im.job;
	}
	return err;
}
