/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_record.h - one record of the log that an instrumented job writes (ml-goodput-measurement
 * 0.2.3 and Orbax).
 *
 * Times are microseconds since the epoch, which is the precision of the log, so that sums are
 * exact. A record describes one instant. Only a checkpoint record, which is written at the end of
 * the checkpoint, has a start and a duration. */
#ifndef INGEST_GOODPUT_RECORD_H
#define INGEST_GOODPUT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum goodput_kind {
	GOODPUT_JOB_START,
	GOODPUT_JOB_END,
	GOODPUT_STEP, /* step `number` begins, and the previous step ends */
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
	/* Time at which the record was written, from the log (`timestamp` or `_ts`). If the log
	 * does not have it: the first value whose key contains "time", as in the goodput library,
	 * otherwise the write time of the previous record. */
	int64_t write_us;
	/* Time of the event; GOODPUT_UNKNOWN: the start of a checkpoint was not logged. */
	int64_t time_us;
	/* Number of the step; GOODPUT_UNKNOWN: the step of a checkpoint was not logged. */
	int64_t number;
	/* Time that training waited for a checkpoint; GOODPUT_UNKNOWN: it is null in the log. */
	int64_t duration_us;
	uint32_t job, name;		   /* numbers of the names, see goodput_names.h */
	uint32_t active, total, available; /* numbers of slices */
	uint8_t kind;
	bool persistent; /* the checkpoint was written to gs://; false: to a local disk */
	/* some durations of the checkpoint are null, which the goodput library rejects */
	bool partial;
	bool written; /* write_us was in the log, so records can be sorted by it */
};

#endif
