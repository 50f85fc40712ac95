/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.h - the events of a job's own monitoring (torch.monitor): put together again from their
 * records, which come one for each entry, and the last value of each of its figures. Pure; nothing
 * until the first one, 17 KiB at most.
 *
 * A figure is one aggregation of a Stat: torch logs it as an entry "NAME.mean" of an event
 * "torch.monitor.Stat" (torch/csrc/monitor/counters.h). Other events are told and not kept.
 */
#ifndef MODEL_MONITOR_H
#define MODEL_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"

#define MONITOR_OPEN   4 /* events whose records come in between each other's, of threads */
#define MONITOR_VALUES 64

/* As torch names them (aggregationName(), torch/csrc/monitor/counters.cpp). */
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
	unsigned type;	/* GP_MONITOR_*, never NONE */
	uint64_t value; /* the bits of it; of a text 0 */
	char key[64];	/* escaped; no two of one event are the same */
	char text[64];	/* escaped */
};

struct monitor_event {
	uint32_t tid;
	uint64_t begin_ns, end_ns; /* its first and last record */
	int64_t wall_ns;	   /* as the job has it; 0: none */
	uint32_t count;		   /* of entries, as the job has it: what is not told is counted */
	uint32_t next;		   /* index of the record that is to come */
	bool truncated;		   /* it had more than is here, or something was cut */
	char name[48];		   /* escaped */
	struct monitor_entry entry[GP_MONITOR_MAX];
	uint32_t nentries;
};

struct monitor_value {
	char name[64]; /* of the Stat, escaped */
	enum monitor_aggregation aggregation;
	double value; /* anything, also no number and infinity: as the job has it */
	uint64_t at_ns;
};

struct monitor {
	struct monitor_event *open; /* MONITOR_OPEN at most */
	uint32_t nopen, open_cap;
	struct monitor_value *values; /* MONITOR_VALUES at most, in order of appearance */
	uint32_t nvalues, values_cap;
	uint64_t events, truncated;
	uint64_t unkept; /* values of Stats for which there was no room, or whose key was cut */
};

typedef void monitor_fn(void *ctx,
			const struct monitor_event *ev); /* ev is valid during the call only */

struct monitor *monitor_new(void); /* NULL: no memory */
void monitor_free(struct monitor *m);
/* A record of GP_KIND_monitor. Events are told when they are whole, or cannot be any more. 0 or
 * -ENOMEM. */
int monitor_feed(struct monitor *m, const struct event *ev, monitor_fn *tell, void *ctx);
/* What began before is told as it is. */
void monitor_flush(struct monitor *m, uint64_t before_ns, monitor_fn *tell, void *ctx);
void monitor_archive(struct archive *a, struct monitor **m); /* NULL: there is none */

static inline double monitor_double(uint64_t bits)
{
	double value;

	__builtin_memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
