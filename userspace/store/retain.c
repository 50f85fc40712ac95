/* SPDX-License-Identifier: Apache-2.0 */
/* retain.c - removes old data from the store. Data beyond the age limit is removed completely. If
 * the file is too large, the oldest minutes are removed first (the row of their rank keeps the
 * sums), then whole runs, the oldest first. */
#include <errno.h>
#include <stdio.h>

#include "userspace/store/store_private.h"
#include "userspace/store/write.h"

#define ROUNDS 64
/* To shrink the file, the time that it covers is divided into SLICES, and each round removes the
 * oldest slice. A call does at most ROUNDS rounds and returns up to PAGES_FREED pages to the file
 * system. */
#define SLICES	    16
#define PAGES_FREED 4096
/* If the row of a rank without an end was not written for this long (ns), the rank counts as ended:
 * rows of running ranks are written every second. */
#define UNSEEN_NS 3600000000000

/* SQL: jobs imported at the time in parameter 2 or later. They are kept, because their age counts
 * from the import, not from the run. */
#define YOUNG "(SELECT id FROM jobs WHERE imported_ns >= ?2)"
#define NONE  INT64_MAX

/* Removes minutes before before_ns, except those of jobs imported at young_ns or later (NONE: no
 * exception). Deletes rank by rank, because the minutes of a rank are neighbours in the file. */
static int retain_minutes_before(struct store *st, int64_t before_ns, int64_t young_ns)
{
	int err = store_exec(st, "BEGIN IMMEDIATE");

	if (err)
		return err;
	err = store_run(
		st,
		"DELETE FROM minutes WHERE (rank, minute) IN (SELECT m.rank, m.minute FROM ranks JOIN"
		" minutes AS m ON m.rank = ranks.id AND m.minute < ?1 WHERE ranks.job NOT IN " YOUNG
		")",
		"ii", before_ns / STORE_MINUTE_NS, young_ns);
	return store_commit(st, err);
}

/* Removes runs with all their rows if each of their ranks was last seen before before_ns. */
static int retain_runs_before(struct store *st, int64_t before_ns, int64_t young_ns)
{
	static const char *const steps[] = {
		"DELETE FROM minutes WHERE rank IN (SELECT id FROM ranks WHERE run IN gone)",
		"DELETE FROM minute_now WHERE rank IN (SELECT id FROM ranks WHERE run IN gone)",
		"DELETE FROM checkpoints WHERE rank IN (SELECT id FROM ranks WHERE run IN gone)",
		"DELETE FROM health WHERE rank IN (SELECT id FROM ranks WHERE run IN gone)",
		"DELETE FROM ranks WHERE run IN gone",
		"DELETE FROM runs WHERE id IN gone",
		"DELETE FROM marks WHERE job NOT IN (SELECT job FROM runs)",
		"DELETE FROM disruptions WHERE job NOT IN (SELECT job FROM runs)",
		"DELETE FROM minutes WHERE rank IN (SELECT id FROM ranks WHERE kind = 1 AND job NOT IN (SELECT job FROM runs))",
		"DELETE FROM minute_now WHERE rank IN (SELECT id FROM ranks WHERE kind = 1 AND job NOT IN (SELECT job FROM runs))",
		"DELETE FROM ranks WHERE kind = 1 AND job NOT IN (SELECT job FROM runs)",
		"DELETE FROM jobs WHERE id NOT IN (SELECT job FROM runs)",
		"DELETE FROM sessions WHERE id NOT IN (SELECT session FROM ranks) AND id < (SELECT max(id) FROM sessions)",
		"DELETE FROM temp.gone",
	};
	int err = store_exec(st, "CREATE TEMP TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY)");

	err = err ? err : store_exec(st, "BEGIN IMMEDIATE");
	if (err)
		return err;
	err = store_run(
		st,
		"INSERT INTO temp.gone SELECT id FROM runs WHERE NOT EXISTS (SELECT 1 FROM ranks LEFT"
		" JOIN minute_now AS n ON n.rank = ranks.id WHERE run = runs.id AND"
		" max(ranks.until_ns, coalesce(n.until_ns, 0)) >= ?1) AND job NOT IN " YOUNG,
		"ii", before_ns, young_ns);
	err = err ? err : STORE_RUN_ALL(st, steps, 0);
	return store_commit(st, err);
}

static int retain_by_age(struct store *st, int64_t before_ns)
{
	static const char *const rows[] = {
		"DELETE FROM checkpoints WHERE end_ns < ?1 AND rank NOT IN (SELECT id FROM ranks WHERE job IN " YOUNG
		")",
		"DELETE FROM health WHERE onset_ns + size_ns < ?1",
		"DELETE FROM exclusions WHERE to_ns < ?1",
		"DELETE FROM disruptions WHERE at_ns < ?1 AND job NOT IN " YOUNG,
		"DELETE FROM marks WHERE at_ns < ?1 AND job NOT IN " YOUNG,
	};
	int err = retain_minutes_before(st, before_ns, before_ns);

	err = err ? err : STORE_RUN_ALL(st, rows, before_ns, before_ns);
	return err ? err : retain_runs_before(st, before_ns, before_ns);
}

static int retain_used_bytes(struct store *st, uint64_t *ret_bytes)
{
	int64_t pages = 0, unused = 0, size = 0;
	int err = store_number(st, &pages, "PRAGMA page_count", "");

	err = err ? err : store_number(st, &unused, "PRAGMA freelist_count", "");
	err = err ? err : store_number(st, &size, "PRAGMA page_size", "");
	*ret_bytes = (uint64_t)((pages - unused) * size);
	return err;
}

/* Removes the oldest minutes, or the oldest ended run if there are no minutes. Sets *ret_gone to
 * false if there is no such run either. */
static int retain_oldest_go(struct store *st, int64_t now_ns, bool *ret_gone)
{
	int64_t oldest = 0;
	int err;

	*ret_gone = true;
	err = store_number(st, &oldest,
			   "SELECT min(minute) FROM minutes HAVING min(minute) IS NOT NULL", "");
	if (!err) {
		oldest *= STORE_MINUTE_NS;
		return retain_minutes_before(
			st, oldest + (now_ns - oldest) / SLICES + 2 * STORE_MINUTE_NS, NONE);
	}
	if (err != -ENOENT)
		return err;
	err = store_number(
		st, &oldest,
		"SELECT max(max(ranks.until_ns, coalesce(n.until_ns, 0))) AS seen, count(*) AS had,"
		" count(end_ns) AS ended FROM ranks LEFT JOIN minute_now AS n ON n.rank = ranks.id"
		" WHERE kind = 0 GROUP BY run HAVING ended = had OR seen < ? ORDER BY 1 LIMIT 1",
		"i", now_ns - UNSEEN_NS);
	*ret_gone = !err;
	return err == -ENOENT ? 0 : err ? err : retain_runs_before(st, oldest + 1, NONE);
}

int store_retain(struct store *st, int64_t now_ns, int64_t keep_ns, uint64_t size_bytes)
{
	char vacuum[64];
	uint64_t bytes = 0;
	bool gone = true;
	int err = keep_ns ? retain_by_age(st, now_ns - keep_ns) : 0;

	for (int i = 0; !err && gone && size_bytes && i < ROUNDS; i++) {
		err = retain_used_bytes(st, &bytes);
		if (err || bytes <= size_bytes)
			break;
		err = retain_oldest_go(st, now_ns, &gone);
	}
	snprintf(vacuum, sizeof(vacuum), "PRAGMA incremental_vacuum(%d)", PAGES_FREED);
	return err ? err : store_exec(st, vacuum);
}
