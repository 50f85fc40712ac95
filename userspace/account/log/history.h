/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - a job's log as a timeline: what is kept of it beyond its answer (closed semantics).
 * Pieces add up to the answer's cumulative part, to the nanosecond. */
#ifndef ACCOUNT_HISTORY_H
#define ACCOUNT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/time/ledger.h"

struct goodput_piece { /* of time, settled; in order, without gaps; neighbours of one kind are
			* one */
	uint64_t from_ns, to_ns;
	uint32_t name; /* of BUCKET_CUSTOM: number in the log's names; LEDGER_REST */
	enum bucket bucket;
};

struct goodput_done { /* steps between two records */
	int64_t end_us;
	int64_t each_us; /* less marked time, on average; GOODPUT_UNKNOWN: not told */
	uint64_t count;
};

/* From a job_start to the last sign of life before the next one. A rewind in place is in it. */
struct goodput_run {
	int64_t from_us, until_us; /* runs do not overlap */
	int64_t max_step;	   /* that was done and still counts; 0: none */
	size_t first_done, dones;  /* its part of `done`, in order */
	size_t first_saved, saves; /* ... of `saved` */
	bool over;		   /* it is; else it goes on as far as the log knows */
	bool graceful;		   /* the log says that it ended */
};

struct goodput_saved { /* what copies tell of one checkpoint at one time is one */
	int64_t from_us, to_us;
	int64_t number; /* of its step; GOODPUT_UNKNOWN */
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

void goodput_history_free(struct goodput_history *h); /* what it owns, and itself; NULL is fine */

#endif
