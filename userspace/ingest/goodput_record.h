/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_record.h - what one log record of an instrumented job says (ml-goodput-measurement 0.2.3
 * and Orbax).
 *
 * Times are microseconds since the epoch: the records' own precision, so that sums are exact. A
 * record names one instant, checkpoints excepted, which tell a start and a duration when they are
 * over. */
#ifndef INGEST_GOODPUT_RECORD_H
#define INGEST_GOODPUT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum goodput_kind {
	GOODPUT_JOB_START,
	GOODPUT_JOB_END,
	GOODPUT_STEP, /* step `number` begins; it ends where the next one begins */
	GOODPUT_INIT_START,
	GOODPUT_INIT_END,
	GOODPUT_PREP_START,
	GOODPUT_PREP_END,
	GOODPUT_LOAD_START,
	GOODPUT_LOAD_END,
	GOODPUT_CUSTOM_START, /* `name`: its type, in capitals */
	GOODPUT_CUSTOM_END,
	GOODPUT_SLICES,		    /* a sample of `slices` */
	GOODPUT_ELASTIC_WAIT_START, /* `name`: its type as it was written */
	GOODPUT_ELASTIC_WAIT_END,
	GOODPUT_ELASTIC_REINIT_START,
	GOODPUT_ELASTIC_REINIT_END,
	GOODPUT_SAVE, /* Orbax: checkpoint of step `number`, from time_us on for duration_us */
	GOODPUT_RESTORE,
	GOODPUT_EMERGENCY_RESTORE,
	GOODPUT_KINDS
};

#define GOODPUT_TIME_MAX_US                                                                        \
	(1ll << 52) /* the year 2112; a later instant, or one before 0, is no time */
#define GOODPUT_UNKNOWN INT64_MIN

struct goodput_record {
	int64_t write_us; /* when it was written: the log's own word (`timestamp`, `_ts`), else the
			     first value of the record whose key contains "time", as the library
			     takes it; a record without any time: that of the one before */
	int64_t time_us;  /* what it tells of; GOODPUT_UNKNOWN: a checkpoint without a start */
	int64_t number;	  /* of the step; GOODPUT_UNKNOWN: a checkpoint that does not say */
	int64_t duration_us; /* of a checkpoint: what the trainer was blocked for; GOODPUT_UNKNOWN:
				null */
	uint32_t job, name;  /* numbers in the log's names (goodput_names.h) */
	uint32_t active, total, available; /* slices */
	uint8_t kind;
	bool persistent; /* a checkpoint to gs://, not to a local disk */
	bool partial;	 /* a checkpoint some of whose durations are null: the library takes no such
			    log */
	bool written; /* write_us is the log's own word: such records may be put into its order */
};

#endif
