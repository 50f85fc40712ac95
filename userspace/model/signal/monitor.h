/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.h - events of a job's own monitoring (torch.monitor).
 *
 * Reassembles events from their records, one for each entry, and keeps the last value of each
 * figure. A figure is one aggregation of a Stat: torch logs it as an entry "NAME.mean" of an event
 * "torch.monitor.Stat" (torch/csrc/monitor/counters.h). Other events are reported and not kept.
 *
 * Pure. No memory before the first event, 17 KiB at most. */
#ifndef MODEL_MONITOR_H
#define MODEL_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"

/* Events reassembled at once: records of several threads may interleave. */
#define MONITOR_OPEN   4
#define MONITOR_VALUES 64

/* Aggregations, named as torch does (aggregationName(), torch/csrc/monitor/counters.cpp). */
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
	uint64_t value; /* bits of the value; 0 for a text */
	char key[64];	/* escaped; unique within its event */
	char text[64];	/* escaped */
};

struct monitor_event {
	uint32_t tid;
	uint64_t begin_ns, end_ns; /* times of the event's first and last record */
	int64_t wall_ns;	   /* timestamp set by the job, UTC ns; 0: none */
	/* Number of entries according to the job, including entries that were not received. */
	uint32_t count;
	uint32_t next;	/* index of the next record */
	bool truncated; /* entries are missing, or a text was cut */
	char name[48];	/* escaped */
	struct monitor_entry entry[GP_MONITOR_MAX];
	uint32_t nentries;
};

struct monitor_value {
	/* Name of the Stat, escaped. */
	char name[64];
	enum monitor_aggregation aggregation;
	double value; /* as the job logged it: may be NaN or infinite */
	uint64_t at_ns;
};

struct monitor {
	struct monitor_event *open; /* at most MONITOR_OPEN */
	uint32_t nopen, open_cap;
	struct monitor_value *values; /* at most MONITOR_VALUES, in order of first appearance */
	uint32_t nvalues, values_cap;
	uint64_t events, truncated;
	uint64_t unkept; /* values not kept: no room for the Stat, or its key was cut */
};

/* Events that one record ends, in order: the previous event of its thread (or the oldest, if there
 * is no room), and its own event. */
struct monitor_events {
	struct monitor_event event[2];
	uint32_t count;
};

struct monitor *monitor_new(void); /* NULL: no memory */
void monitor_free(struct monitor *m);
/* Takes a record of GP_KIND_monitor. *ret: the events that are complete now, or cannot become
 * complete. Returns 0 or -ENOMEM, with *ret valid. */
int monitor_feed(struct monitor *m, const struct event *ev, struct monitor_events *ret);
/* Removes the oldest event begun before before_ns (CLOCK_MONOTONIC), complete or not. Returns false
 * when there is none. */
bool monitor_next(struct monitor *m, uint64_t before_ns, struct monitor_event *ret);
/* Saves or restores *m; NULL: there was no event. */
void monitor_archive(struct archive *a, struct monitor **m);

/* Converts the bits of a number. */
static inline double monitor_double(uint64_t bits)
{
	double value;

	__builtin_memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
