/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.h - events that a job logs for its own monitoring (torch.monitor).
 *
 * An event arrives as one record for each of its entries; these functions put the events together,
 * and keep the last value of each figure. A figure is one aggregation of a Stat, which torch logs
 * as an entry "NAME.mean" of an event "torch.monitor.Stat" (torch/csrc/monitor/counters.h). Other
 * events are only reported. Memory: none before the first event, at most 17 KiB. */
#ifndef MODEL_MONITOR_H
#define MODEL_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"

/* MONITOR_OPEN: maximum number of incomplete events, because records of several threads may
 * alternate. MONITOR_VALUES: maximum number of figures that are kept. */
#define MONITOR_OPEN   4
#define MONITOR_VALUES 64

/* Aggregations of a Stat, with the names of torch (aggregationName(),
 * torch/csrc/monitor/counters.cpp). */
enum monitor_aggregation {
	MONITOR_VALUE,
	MONITOR_MEAN,
	MONITOR_COUNT,
	MONITOR_SUM,
	MONITOR_MAX,
	MONITOR_MIN,
	MONITOR_AGGREGATIONS
};
extern const char *const monitor_aggregation_name[MONITOR_AGGREGATIONS];

struct monitor_entry {
	unsigned type;	/* GP_MONITOR_*, never GP_MONITOR_NONE */
	uint64_t value; /* value as bits (see monitor_double()); 0 for a text */
	char key[64];	/* escaped; no two entries of an event have the same key */
	char text[64];	/* escaped */
};

struct monitor_event {
	uint32_t tid;
	uint64_t begin_ns, end_ns; /* times of the event's first and last record */
	int64_t wall_ns;	   /* timestamp that the job set, UTC ns; 0: none */
	/* Number of entries that the job logged. Some may not have been received. */
	uint32_t count;
	uint32_t next;	/* index of the entry that the next record should have */
	bool truncated; /* entries are missing, or a text was cut */
	char name[48];	/* escaped */
	struct monitor_entry entry[GP_MONITOR_MAX];
	uint32_t nentries;
};

struct monitor_value {
	/* Name of the Stat, escaped. */
	char name[64];
	enum monitor_aggregation aggregation;
	double value; /* as the job logged it, so it may be NaN or infinite */
	uint64_t at_ns;
};

struct monitor {
	struct monitor_event *open; /* at most MONITOR_OPEN */
	uint32_t nopen, open_cap;
	struct monitor_value *values; /* at most MONITOR_VALUES, in order of first appearance */
	uint32_t nvalues, values_cap;
	uint64_t events, truncated;
	/* number of values that were not kept, because there was no room for the Stat or its key
	 * was cut */
	uint64_t unkept;
};

/* Events that one record ends, in this order: the previous event of the record's thread, or, if
 * there is no room, the oldest event; then the event to which the record belongs. */
struct monitor_events {
	struct monitor_event event[2];
	uint32_t count;
};

struct monitor *monitor_new(void); /* NULL: no memory */
void monitor_free(struct monitor *m);
/* Processes a GP_KIND_monitor record. *ret: the events that are now complete, or that cannot become
 * complete any more. Returns 0 or -ENOMEM; *ret is valid in both cases. */
int monitor_feed(struct monitor *m, const struct event *ev, struct monitor_events *ret);
/* Removes the oldest event that began before before_ns (CLOCK_MONOTONIC), complete or not, and
 * returns true. Returns false if there is none. */
bool monitor_next(struct monitor *m, uint64_t before_ns, struct monitor_event *ret);
/* Saves or restores *m, which is NULL if there was no event. */
void monitor_archive(struct archive *a, struct monitor **m);

/* Converts the bits of an entry's value to a number. */
static inline double monitor_double(uint64_t bits)
{
	double value;

	__builtin_memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
