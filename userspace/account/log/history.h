/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - the timeline of a job, from its log with --semantics closed. Its pieces add up to
 * goodput_answer.cumulative, to the nanosecond. */
#ifndef ACCOUNT_HISTORY_H
#define ACCOUNT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/time/ledger.h"

/* A stretch of time in one bucket. Pieces are in order and without gaps; neighbours have different
 * buckets or names. */
struct goodput_piece {
	uint64_t from_ns, to_ns;
	/* in BUCKET_CUSTOM: number of the type's name (goodput_names.h), or LEDGER_REST */
	uint32_t name;
	enum bucket bucket;
};

struct goodput_done { /* the steps between two step records */
	int64_t end_us;
	/* average time of one of these steps, without logged phases such as checkpoints;
	 * GOODPUT_UNKNOWN: not known */
	int64_t each_us;
	uint64_t count;
};

/* A run lasts from a job_start to the last sign of life before the next job_start. It also
 * continues when the job goes back to an earlier step without a job_start. */
struct goodput_run {
	int64_t from_us, until_us; /* runs do not overlap */
	/* Last completed step that was not repeated by a later run; 0: none. */
	int64_t max_step;
	size_t first_done, dones;  /* index and number of the run's elements of `done` */
	size_t first_saved, saves; /* index and number of the run's elements of `saved` */
	/* the run has ended; false: it was still running at the end of the log */
	bool over;
	bool graceful; /* the run ended with a job_end */
};

struct goodput_saved { /* a checkpoint; copies that were written at the same time are one */
	int64_t from_us, to_us;
	int64_t number; /* step of the checkpoint; GOODPUT_UNKNOWN: not logged */
	uint32_t copies;
	bool restore;
};

struct goodput_history {
	struct goodput_piece *pieces;
	struct goodput_done *done;
	struct goodput_run *runs;
	struct goodput_saved *saved;
	size_t npieces, ndone, nruns, nsaved;
};

/* Returns the index of the first of n pieces that ends after at_ns; n: there is none. */
size_t goodput_piece_at(const struct goodput_piece *pieces, size_t n, uint64_t at_ns);

void goodput_history_free(struct goodput_history *h); /* frees h and its members; h may be NULL */

#endif
