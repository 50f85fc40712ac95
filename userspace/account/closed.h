/* SPDX-License-Identifier: Apache-2.0 */
/* closed.h - the rules of the closed semantics: where the time of an instrumented job went.
 *
 * Every microsecond from the job's start to now is in exactly one bucket of model/ledger, which
 * live jobs use, too. The answer is a function of the records: they are kept, and settled from left
 * to right by a new ledger when somebody asks.
 *
 * Time.  The job starts with its first job_start; without one, with its first record (NO_START).
 * Now is the query's, else the last record's. A job_end counts if nothing comes after it: then the
 * job is over. Else it is stale (STALE_END). Before the first start and after the end nothing is
 * counted. A now before the last record cuts off what is later; what is known from there is used. A
 * time further than CLOSED_LEAP_US from the record before is believed when CLOSED_HELD records in a
 * row agree on it; a first record that stands alone is the one that was wrong. Others are ignored
 * (INSANE), as are negative step numbers and checkpoints of more than that.
 *
 * Runs.  A job_start begins a run (another within a second of it is another host's: WRITERS). A
 * record is of the run in which it came, or of an earlier one where it is older than the run.
 * Within a run, order is that of the records' times. A step number n that the run is past, later in
 * time than all others, is a rewind in place: a run without a start. An exact repeat is none
 * (DUPLICATE), nor what a second host tells of a step within CLOSED_WRITERS_US or half a step of
 * the first (WRITERS). A late step is put in its place (DISORDER), or dropped if there is none.
 * Steps >= n of earlier runs no longer count when a run begins with n: from the instant when n
 * first began to the last sign of life of the run that lost them, all is WASTED, checkpoints and
 * loads included. Where n was not recorded, that instant lies on the line between its neighbours.
 * Where n is beyond the last step, that step was done: it is credited with what the steps of its
 * run took on average, and never with more than the gap. Numbers that are missing inside a run were
 * not logged: a stretch stands for as many steps (GAPS).
 *
 * Disruption.  A run with steps after which another run follows. Failed boots are part of the one
 * that they follow (`starts`). After a job_end it is graceful. RECOVERY: from the last sign of
 * life, or the end of the credited step, to the last job_start before the first step that follows
 * (or, before that, to the last one). In place: from the last sign of training (steps, loads,
 * saves, events) to the first of another kind, or to the step. Boots that fail before the first
 * step of the job interrupt nothing: no disruption, what they did keeps its bucket, from their last
 * sign of life to the next start is RECOVERY. A run whose clock is behind (SKEW) cannot claim time
 * that is settled: what overlaps is the older run's.
 *
 * Phases.  From start to end, inside steps, too. A start without an end (OPEN) is dropped if
 * another start follows; else it lasts as long as its run, or until now, but until the next step at
 * most: what is told of blocks the trainer. Ends without a start are ORPHANS. A checkpoint is
 * [start, start + duration]; several hosts' and places' copies count where they overlap once;
 * without a duration (NULLS) it is not counted; without a start it ends when it was written, if the
 * log says when that was, else it begins at the one instant that the record names. Its end is a
 * sign of life. Of custom events at one instant the one begun last has the time. All other time up
 * to a run's first step is PROGRAM_STARTUP, and so is what its first steps take beyond the ideal;
 * the step in flight, and what a step takes beyond max(10 ideal, 1 s), is OTHER.
 *
 * Hang.  Silence inside a run, or at the end of the log, beyond model/hang's limit by the p99 of
 * the job's steps (30 min before the third step and while a phase is open), and beyond three ideal
 * steps; as often as a record stands for steps. Silence that a new start ends is RECOVERY, since
 * nobody can say when the run died.
 *
 * Steps.  Their time is that between records, less marked time, divided by how many they stand for.
 * Ideal and deviation are of all that count, at any length; of fewer than 32, those that a run
 * began with are left out of the ideal. A window is what of it the job lived through.
 * DATA_LOADING_ASYNC is 0: a load is told by the thread that trains, so it waits.
 */
#ifndef ACCOUNT_CLOSED_H
#define ACCOUNT_CLOSED_H

#include "userspace/account/job_log.h"

#define CLOSED_LEAP_US	  (30ll * 86400 * 1000000)
#define CLOSED_WRITERS_US 1000000

#endif
