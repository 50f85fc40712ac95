/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - a job's log as a timeline (closed semantics). The pieces add up to the answer's
 * cumulative part, to the nanosecond. */
#ifndef ACCOUNT_HISTORY_H
#define ACCOUNT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/time/ledger.h"

/* A piece of settled time; pieces are in order and without gaps, and neighbours differ in kind. */
struct goodput_piece {
	uint64_t from_ns, to_ns;
	uint32_t name; /* for BUCKET_CUSTOM: index in the log's names, or LEDGER_REST */
	enum bucket bucket;
};

struct goodput_done { /* steps between two records */
	int64_t end_us;
	int64_t each_us; /* average time of a step, without marked time; GOODPUT_UNKNOWN: unknown */
	uint64_t count;
};

/* A run: from a job_start to the last sign of life before the next one, including rewinds in
 * place. */
struct goodput_run {
	int64_t from_us, until_us; /* runs do not overlap */
	int64_t max_step;	   /* last step done that still counts; 0: none */
	size_t first_done, dones;  /* the run's part of `done`, in order */
	size_t first_saved, saves; /* the run's part of `saved` */
	/* the run is over; otherwise it continues as far as the log shows */
	bool over;
	bool graceful; /* the log reports its end */
};

struct goodput_saved { /* a checkpoint; copies of it at the same time are merged */
	int64_t from_us, to_us;
	int64_t number; /* step of the checkpoint; GOODPUT_UNKNOWN */
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

/* Returns the first of n pieces that ends after at_ns; n: none. */
size_t goodput_piece_at(const struct goodput_piece *pieces, size_t n, uint64_t at_ns);

void goodput_history_free(struct goodput_history *h); /* frees h and what h owns; h may be NULL */

#endif
