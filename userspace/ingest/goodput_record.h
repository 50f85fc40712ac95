/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_record.h - one log record of an instrumented job (ml-goodput-measurement 0.2.3 and
 * Orbax).
 *
 * Times are microseconds since the epoch: the precision of the records, so that sums are exact. A
 * record describes one instant; a checkpoint record, written at its end, has a start and a
 * duration. */
#ifndef INGEST_GOODPUT_RECORD_H
#define INGEST_GOODPUT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum goodput_kind {
	GOODPUT_JOB_START,
	GOODPUT_JOB_END,
	GOODPUT_STEP, /* step `number` begins, and the step before it ends */
	GOODPUT_INIT_START,
	GOODPUT_INIT_END,
	GOODPUT_PREP_START,
	GOODPUT_PREP_END,
	GOODPUT_LOAD_START,
	GOODPUT_LOAD_END,
	GOODPUT_CUSTOM_START, /* `name`: type of the event, in capitals */
	GOODPUT_CUSTOM_END,
	GOODPUT_SLICES,		    /* a sample of `slices` */
	GOODPUT_ELASTIC_WAIT_START, /* `name`: type of the event, as written */
	GOODPUT_ELASTIC_WAIT_END,
	GOODPUT_ELASTIC_REINIT_START,
	GOODPUT_ELASTIC_REINIT_END,
	GOODPUT_SAVE, /* Orbax: checkpoint of step `number`, from time_us for duration_us */
	GOODPUT_RESTORE,
	GOODPUT_EMERGENCY_RESTORE,
	GOODPUT_KINDS
};

#define GOODPUT_TIME_MAX_US                                                                        \
	(1ll << 52) /* the year 2112; later instants, and those before 0, are invalid */
#define GOODPUT_UNKNOWN INT64_MIN

struct goodput_record {
	/* When the record was written: from the log (`timestamp`, `_ts`), else the first value
	 * whose key contains "time", as in the library, else the write time of the record
	 * before. */
	int64_t write_us;
	int64_t time_us; /* time of the event; GOODPUT_UNKNOWN: a checkpoint without a start */
	int64_t number;	 /* number of the step; GOODPUT_UNKNOWN: a checkpoint without a step */
	/* Time that the trainer waited for a checkpoint; GOODPUT_UNKNOWN: null. */
	int64_t duration_us;
	uint32_t job, name;		   /* numbers in the log's names (goodput_names.h) */
	uint32_t active, total, available; /* numbers of slices */
	uint8_t kind;
	bool persistent; /* a checkpoint to gs://, not to a local disk */
	bool partial; /* some durations of a checkpoint are null: the library refuses such a log */
	bool written; /* write_us is from the log itself: the record may be sorted by it */
};

#endif
