/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of version 3 as a file of that version has them: what was released stays readable. */
#ifndef TESTS_UNIT_STORE_VERSION3_H
#define TESTS_UNIT_STORE_VERSION3_H

static const char version3[] =
	"CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE sessions (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, told INTEGER NOT NULL, "
	"version TEXT NOT NULL, command TEXT NOT NULL);"
	"CREATE TABLE jobs (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, uid "
	"INTEGER, state TEXT NOT NULL, first_ns INTEGER NOT NULL);"
	"CREATE TABLE runs (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, attempt INTEGER NOT NULL, boot_id "
	"TEXT NOT NULL, start_ns INTEGER NOT NULL, start_mono_ns INTEGER NOT NULL, end_ns INTEGER, "
	"end_mono_ns INTEGER, status INTEGER, perf_tag TEXT NOT NULL DEFAULT '', session_tag TEXT NOT NULL "
	"DEFAULT '', UNIQUE (job, attempt));"
	"CREATE TABLE ranks (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, job INTEGER NOT NULL, run "
	"INTEGER NOT NULL, session INTEGER NOT NULL, base BLOB NOT NULL, pid INTEGER NOT NULL, start_mono_ns "
	"INTEGER NOT NULL, start_ns INTEGER NOT NULL, rank INTEGER, world_size INTEGER, comm TEXT NOT NULL, "
	"command TEXT NOT NULL, tier TEXT NOT NULL, marker TEXT NOT NULL, ledger BLOB NOT NULL, steps "
	"INTEGER NOT NULL, sketch BLOB NOT NULL, until_ns INTEGER NOT NULL, end_ns INTEGER, end_mono_ns "
	"INTEGER, status INTEGER, max_step INTEGER NOT NULL DEFAULT 0, accelerators INTEGER);"
	"CREATE INDEX ranks_by_job ON ranks (job, kind);"
	"CREATE INDEX ranks_by_run ON ranks (run);"
	"CREATE INDEX ranks_by_process ON ranks (pid, start_mono_ns);"
	"CREATE TABLE minute_now (rank INTEGER PRIMARY KEY, minute INTEGER NOT NULL, until_ns INTEGER NOT "
	"NULL, ledger BLOB NOT NULL, steps INTEGER NOT NULL, sketch BLOB NOT NULL);"
	"CREATE TABLE minutes (rank INTEGER, minute INTEGER, until_ns INTEGER NOT NULL, ledger BLOB NOT "
	"NULL, steps INTEGER NOT NULL, sketch BLOB NOT NULL, PRIMARY KEY (rank, minute)) WITHOUT ROWID;"
	"CREATE TABLE disruptions (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, at_ns INTEGER NOT NULL, "
	"at_mono_ns INTEGER NOT NULL, cause TEXT NOT NULL, rank INTEGER, pid INTEGER, exit_code INTEGER, "
	"signal INTEGER, sender INTEGER, sender_comm TEXT NOT NULL, step INTEGER, resumed_ns INTEGER, "
	"resumed_step INTEGER, wasted_ns INTEGER, recovery_ns INTEGER, down_ns INTEGER, starts INTEGER, "
	"graceful INTEGER NOT NULL, estimated INTEGER NOT NULL, how TEXT NOT NULL, split BLOB NOT NULL, "
	"UNIQUE (job, at_mono_ns));"
	"CREATE INDEX disruptions_by_job ON disruptions (job, at_ns);"
	"CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, op TEXT NOT NULL, async "
	"INTEGER NOT NULL, closed INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, "
	"start_mono_ns INTEGER NOT NULL, step INTEGER, bytes INTEGER, files INTEGER NOT NULL, file TEXT NOT NULL);"
	"CREATE INDEX checkpoints_by_rank ON checkpoints (rank, start_ns);"
	"CREATE TABLE health (id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, kind TEXT NOT NULL, onset_ns "
	"INTEGER NOT NULL, onset_mono_ns INTEGER NOT NULL, size_ns INTEGER NOT NULL, over INTEGER NOT NULL, "
	"why TEXT NOT NULL, phase TEXT NOT NULL, evidence TEXT NOT NULL, UNIQUE (rank, kind, onset_mono_ns));"
	"CREATE TABLE marks (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, at_ns INTEGER NOT NULL, text TEXT NOT NULL);"
	"CREATE INDEX marks_by_job ON marks (job, at_ns);"
	"CREATE TABLE exclusions (id INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL, "
	"why TEXT NOT NULL);"
	"CREATE INDEX runs_by_perf_tag ON runs (perf_tag);";

#endif
