/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose name became known late: what the store has of it by its former key. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/store_private.h"
#include "userspace/store/write_private.h"

#define MINUTE_NS 60000000000ll

struct ledger { /* of a job, as the store has it */
	struct intake_place place;
	struct sums had; /* closed minutes, and the one that runs */
	int64_t start_ns, until_ns;
};

/* 1, 0: it has none, -errno. */
static int ledger_find(struct store *st, int64_t session, const struct intake_about *a,
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

static int minutes_drop(struct store *st, int64_t rank)
{
	int err = store_run(st, "DELETE FROM minutes WHERE rank = ?", "i", rank);

	err = err ? err : store_run(st, "DELETE FROM minute_now WHERE rank = ?", "i", rank);
	return err ? err : store_run(st, "DELETE FROM ranks WHERE id = ?", "i", rank);
}

/* A minute that both have is one. */
static int minutes_move(struct store *st, int64_t from, int64_t to)
{
	struct intake_minute m;
	sqlite3_stmt *stmt;
	int err, more = 0;

	err = store_run(st, "UPDATE OR IGNORE minutes SET rank = ? WHERE rank = ?", "ii", to, from);
	if (err)
		return err;
	stmt = store_ask(
		st, &err,
		"SELECT minute, until_ns, ledger, steps, sketch FROM minutes WHERE rank = ?", "i",
		from);
	while (stmt && !err && (more = store_row(stmt)) > 0) {
		memset(&m, 0, sizeof(m));
		m.minute = store_int(stmt, 0);
		m.until_ns = store_int(stmt, 1);
		m.steps = (uint64_t)store_int(stmt, 3);
		err = store_sums(st, stmt, 2, &m.sums);
		err = err ? err : store_sketch(st, stmt, 4, &m.times);
		err = err ? err : write_minute(st, to, &m);
		if (err)
			store_done(stmt);
	}
	return err ? err : more;
}

/* Behind what there is: what lies between is not observed, unless the job was over. */
static int ledger_append(struct store *st, struct ledger *from, struct ledger *to)
{
	struct intake_minute gap = {.minute = to->until_ns / MINUTE_NS, .until_ns = from->start_ns};
	struct sums base = from->place.base;
	struct intake_place *p = &to->place;
	int err = 0;

	if (p->running.until_ns)
		err = write_minute(st, p->id, &p->running);
	if (!p->ended && to->until_ns)
		gap.sums.ns[BUCKET_UNOBSERVED] = from->start_ns - to->until_ns;
	if (!err && gap.sums.ns[BUCKET_UNOBSERVED])
		err = write_minute(st, p->id, &gap);
	err = err ? err : minutes_move(st, from->place.id, p->id);
	err = err ? err : store_run(st, "DELETE FROM minute_now WHERE rank = ?", "i", p->id);
	err = err ? err
		  : store_run(st, "UPDATE minute_now SET rank = ? WHERE rank = ?", "ii", p->id,
			      from->place.id);
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

/* Where somebody else told of the job meanwhile, what both saw counts as it is stored
 * (intake_place()). */
static int ledgers_merge(struct store *st, int64_t session, const struct intake_about *a,
			 const struct intake_about *was)
{
	struct ledger from, to;
	int err = ledger_find(st, session, a, &to);

	if (err == 1)
		err = ledger_find(st, session, was, &from);
	if (err != 1)
		return err;
	if (from.start_ns < to.until_ns)
		err = store_run(st, "UPDATE ranks SET session = 0 WHERE id = ?", "i", to.place.id);
	else
		err = ledger_append(st, &from, &to);
	return err ? err : minutes_drop(st, from.place.id);
}

/* Its runs come after those that there are. */
static int rows_move(struct store *st, int64_t from, int64_t to)
{
	int64_t attempts;
	int err = store_number(st, &attempts,
			       "SELECT coalesce(max(attempt), 0) FROM runs WHERE job = ?", "i", to);

	err = err ? err
		  : store_run(st, "UPDATE runs SET job = ?, attempt = attempt + ? WHERE job = ?",
			      "iii", to, attempts, from);
	err = err ? err : store_run(st, "UPDATE ranks SET job = ? WHERE job = ?", "ii", to, from);
	err = err ? err
		  : store_run(st, "UPDATE OR REPLACE disruptions SET job = ? WHERE job = ?", "ii",
			      to, from);
	err = err ? err : store_run(st, "UPDATE marks SET job = ? WHERE job = ?", "ii", to, from);
	err = err ? err
		  : store_run(
			    st,
			    "UPDATE jobs SET first_ns = min(first_ns, (SELECT first_ns FROM jobs WHERE id ="
			    " ?)) WHERE id = ?",
			    "ii", from, to);
	return err ? err : store_run(st, "DELETE FROM jobs WHERE id = ?", "i", from);
}

static int former_move(struct store *st, int64_t session, const struct intake_about *a,
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
	err = err ? err : ledgers_merge(st, session, a, &was);
	return err ? err : rows_move(st, from, to);
}

int write_formers(struct store *st, int64_t session, const struct intake_about *a)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < a->nformers; i++)
		err = former_move(st, session, a, a->former[i]);
	return err;
}
