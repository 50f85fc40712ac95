/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - the tables of the store, and migrations from older versions. Columns `_ns` are UTC
 * since 1970, `_mono_ns` CLOCK_MONOTONIC of the run's boot, others durations; NULL: unknown.
 *
 * `ledger` is a list of pairs (number in table names, signed ns), each a varint. A minute has two
 * to four pairs in 30 bytes; a separate table would take five times the space. `sketch` is step
 * times (sketch.h).
 *
 * A rank's ledger is the sum of ranks.ledger (its closed minutes) and minute_now.ledger (the
 * running minute). Running minutes are in a separate table, so that the write of each second
 * touches only two or three pages. A closed minute is written once, after the rank's other minutes.
 * If the time of a minute adds up to more than 60 s, the row covers all this time from its
 * start. */
#include "userspace/store/schema.h"

static const char first[] =
	"CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	/* A session is a live watch or a tape. `told`: number of the last fact of the session in
	 * the store; a continued session begins after it. */
	"CREATE TABLE sessions (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, told INTEGER NOT NULL,"
	" version TEXT NOT NULL, command TEXT NOT NULL);"
	"CREATE TABLE jobs (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
	" uid INTEGER, state TEXT NOT NULL, first_ns INTEGER NOT NULL);"
	"CREATE TABLE runs (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, attempt INTEGER NOT NULL,"
	" boot_id TEXT NOT NULL, start_ns INTEGER NOT NULL, start_mono_ns INTEGER NOT NULL,"
	" end_ns INTEGER, end_mono_ns INTEGER, status INTEGER, UNIQUE (job, attempt));"
	/* kind 1: the row is for the job itself, whose ledger covers all its runs; run and pid are
	 * 0. base: by how much the ledger of the session's model exceeds the ledger in this row. */
	"CREATE TABLE ranks (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, job INTEGER NOT NULL,"
	" run INTEGER NOT NULL, session INTEGER NOT NULL, base BLOB NOT NULL,"
	" pid INTEGER NOT NULL, start_mono_ns INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
	" rank INTEGER, world_size INTEGER, comm TEXT NOT NULL, command TEXT NOT NULL,"
	" tier TEXT NOT NULL, marker TEXT NOT NULL, ledger BLOB NOT NULL, steps INTEGER NOT NULL,"
	" sketch BLOB NOT NULL, until_ns INTEGER NOT NULL, end_ns INTEGER, end_mono_ns INTEGER, status INTEGER);"
	"CREATE INDEX ranks_by_job ON ranks (job, kind);"
	"CREATE INDEX ranks_by_run ON ranks (run);"
	"CREATE INDEX ranks_by_process ON ranks (pid, start_mono_ns);"
	"CREATE TABLE minute_now (rank INTEGER PRIMARY KEY, minute INTEGER NOT NULL,"
	" until_ns INTEGER NOT NULL, ledger BLOB NOT NULL, steps INTEGER NOT NULL, sketch BLOB NOT NULL);"
	"CREATE TABLE minutes (rank INTEGER, minute INTEGER, until_ns INTEGER NOT NULL,"
	" ledger BLOB NOT NULL, steps INTEGER NOT NULL, sketch BLOB NOT NULL,"
	" PRIMARY KEY (rank, minute)) WITHOUT ROWID;"
	/* resumed_ns NULL: the disruption is not over. split: recovery_ns by bucket. how: how
	 * resumed_step is known. */
	"CREATE TABLE disruptions (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, at_ns INTEGER NOT NULL,"
	" at_mono_ns INTEGER NOT NULL, cause TEXT NOT NULL, rank INTEGER, pid INTEGER, exit_code INTEGER,"
	" signal INTEGER, sender INTEGER, sender_comm TEXT NOT NULL, step INTEGER, resumed_ns INTEGER,"
	" resumed_step INTEGER, wasted_ns INTEGER, recovery_ns INTEGER, down_ns INTEGER, starts INTEGER,"
	" graceful INTEGER NOT NULL, estimated INTEGER NOT NULL, how TEXT NOT NULL, split BLOB NOT NULL,"
	" UNIQUE (job, at_mono_ns));"
	"CREATE INDEX disruptions_by_job ON disruptions (job, at_ns);"
	"CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, op TEXT NOT NULL,"
	" async INTEGER NOT NULL, closed INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
	" end_ns INTEGER NOT NULL, start_mono_ns INTEGER NOT NULL, step INTEGER, bytes INTEGER,"
	" files INTEGER NOT NULL, file TEXT NOT NULL);"
	"CREATE INDEX checkpoints_by_rank ON checkpoints (rank, start_ns);";

static const char second[] =
	"ALTER TABLE ranks ADD COLUMN max_step INTEGER NOT NULL DEFAULT 0;"
	"UPDATE ranks SET max_step = steps;"
	"CREATE TABLE health (id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, kind TEXT NOT NULL,"
	" onset_ns INTEGER NOT NULL, onset_mono_ns INTEGER NOT NULL, size_ns INTEGER NOT NULL,"
	" over INTEGER NOT NULL, why TEXT NOT NULL, phase TEXT NOT NULL, evidence TEXT NOT NULL,"
	" UNIQUE (rank, kind, onset_mono_ns));"
	"CREATE TABLE marks (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, at_ns INTEGER NOT NULL,"
	" text TEXT NOT NULL);"
	"CREATE INDEX marks_by_job ON marks (job, at_ns);"
	"CREATE TABLE exclusions (id INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL, why TEXT NOT NULL);";

/* perf_tag: runs with the same tag may be compared by speed. session_tag: runs with the same tag
 * are parts of one training. */
static const char third[] = "ALTER TABLE runs ADD COLUMN perf_tag TEXT NOT NULL DEFAULT '';"
			    "ALTER TABLE runs ADD COLUMN session_tag TEXT NOT NULL DEFAULT '';"
			    "ALTER TABLE ranks ADD COLUMN accelerators INTEGER;"
			    "CREATE INDEX runs_by_perf_tag ON runs (perf_tag);";

/* jobs: job_uid and the name identify the job, and are parts of its key (uid was never set).
 * carried: number of runs on other nodes, if the job's history came from there. In this case
 * all_falls and all_steps are the disruptions and steps of all runs, because this store has only
 * part of the rows. source: '' for observed jobs, 'log' for imported ones (import.h), whose
 * `_mono_ns` are UTC too.
 *
 * health: end_ns is when steps were fast again, for a recovery. checkpoints: for a restore, which
 * step the checkpoint contains, and how it is known. */
static const char fourth[] =
	"ALTER TABLE jobs ADD COLUMN job_uid TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN carried INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN all_falls INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN all_steps INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN source TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN imported_ns INTEGER;"
	"ALTER TABLE minute_now ADD COLUMN max_step INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE health ADD COLUMN end_ns INTEGER;"
	"ALTER TABLE checkpoints ADD COLUMN run_step INTEGER;"
	"ALTER TABLE checkpoints ADD COLUMN saved_step INTEGER;"
	"ALTER TABLE checkpoints ADD COLUMN known_by TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE checkpoints ADD COLUMN confidence REAL;"
	"ALTER TABLE checkpoints ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;";

/* model_run: number of the run in its job, as counted by the model of this session; NULL:
 * unknown. */
static const char fifth[] = "ALTER TABLE runs ADD COLUMN session INTEGER;"
			    "ALTER TABLE runs ADD COLUMN model_run INTEGER;";

/* ended_ns: when the session ended normally; NULL: it still runs, or was killed. */
static const char sixth[] = "ALTER TABLE sessions ADD COLUMN ended_ns INTEGER;";

/* held_ns: sum of the ledger; -1: a bucket is negative; 0: written by an older version. The CHECK
 * makes SQLite refuse a minute that has more time than lies between its start and until_ns. */
#define HELD                                                                                       \
	" ADD COLUMN held_ns INTEGER NOT NULL DEFAULT 0 CHECK (held_ns = 0 OR (held_ns > 0 AND"    \
	" held_ns <= until_ns - minute * 60000000000));"
static const char seventh[] = "ALTER TABLE minutes" HELD "ALTER TABLE minute_now" HELD;

/* causes: of a slowdown, what explains the time that it costs in each step (causes.h). */
static const char eighth[] = "ALTER TABLE health ADD COLUMN causes TEXT NOT NULL DEFAULT '';";

const char *const store_steps[STORE_VERSION] = {first, second, third,	fourth,
						fifth, sixth,  seventh, eighth};
