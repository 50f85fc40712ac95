/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_record.h - one record of the log that an instrumented job writes
 * (ml-goodput-measurement 0.2.3 and Orbax).
 *
 * Times are microseconds since the epoch, the precision of the records, so that sums are exact.
 * A record describes one instant, except that a checkpoint record, written at the end, has a
 * start and a duration. */
#ifndef INGEST_GOODPUT_RECORD_H
#define INGEST_GOODPUT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum goodput_kind {
	GOODPUT_JOB_START,
	GOODPUT_JOB_END,
	GOODPUT_STEP, /* step `number` begins, which ends the step before */
	GOODPUT_INIT_START,
	GOODPUT_INIT_END,
	GOODPUT_PREP_START,
	GOODPUT_PREP_END,
	GOODPUT_LOAD_START,
	GOODPUT_LOAD_END,
	GOODPUT_CUSTOM_START, /* `name` is the type of the event, in capitals */
	GOODPUT_CUSTOM_END,
	GOODPUT_SLICES, /* numbers of active, total and available slices at an instant */
	GOODPUT_ELASTIC_WAIT_START, /* `name` is the type of the event, as logged */
	GOODPUT_ELASTIC_WAIT_END,
	GOODPUT_ELASTIC_REINIT_START,
	GOODPUT_ELASTIC_REINIT_END,
	GOODPUT_SAVE, /* Orbax: a checkpoint of step `number`, which began at time_us and took
			 duration_us */
	GOODPUT_RESTORE,
	GOODPUT_EMERGENCY_RESTORE,
	GOODPUT_KINDS
};

#define GOODPUT_TIME_MAX_US                                                                        \
	(1ll << 52) /* the year 2112; later times, and those before 1970, are invalid */
#define GOODPUT_UNKNOWN INT64_MIN

struct goodput_record {
	/* When the record was written: from the log (`timestamp` or `_ts`); otherwise the first
	 * value whose key contains "time", as in the goodput library; otherwise the write time of
	 * the previous record. */
	int64_t write_us;
	/* time of the event; GOODPUT_UNKNOWN: a checkpoint whose start was not logged */
	int64_t time_us;
	int64_t number; /* step number; GOODPUT_UNKNOWN: a checkpoint whose step was not logged */
	/* time that training waited for a checkpoint; GOODPUT_UNKNOWN: null in the log */
	int64_t duration_us;
	uint32_t job, name;		   /* numbers of names in goodput_names.h */
	uint32_t active, total, available; /* numbers of slices */
	uint8_t kind;
	bool persistent; /* the checkpoint was written to gs://, not to a local disk */
	/* some durations of the checkpoint are null, which the goodput library rejects */
	bool partial;
	bool written; /* write_us is in the log, so that the record can be sorted by it */
};

#endif
