/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_entry.h - the jobs that are carried, CARRIER_JOBS at a time: one of which nothing is to
 * come gives way to another. Single-threaded. */
#ifndef WATCH_CARRIER_ENTRY_H
#define WATCH_CARRIER_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/job/carry.h"
#include "userspace/output/output.h"
#include "userspace/store/carry_map.h"
#include "userspace/watch/carrier.h"

struct entry { /* a job */
	struct carry_map_job who;
	bool read;	    /* to be read */
	uint64_t read_ns;   /* ... was asked for last; 0: never */
	bool known;	    /* had is what was read last: */
	struct carry had;   /* ... it is on the tape */
	uint64_t joined_ns; /* since when; 0: looked after */
	struct carry left;  /* what was left there last; attempt 0: nothing */
	uint64_t left_ns;   /* tried last */
	bool bad, refused;  /* that was told */
	uint64_t used_ns;   /* a process of it was told last */
};

struct entries {
	struct entry job[CARRIER_JOBS];
	uint32_t count;
	bool full;	  /* that was told */
	uint64_t room_ns; /* looked for last in vain; 0: there was some */
};

/* NULL: it has none. */
struct entry *entries_find(struct entries *es, const char *job, const char *uid);
/* Made where it is not there. asked: the one that is waited for, or NULL. NULL: there are too many,
 * after one line. */
struct entry *entries_of(struct entries *es, const struct output *out, const struct entry *asked,
			 const char *job, const char *uid);
/* The job is: nobody takes it up again. */
bool entry_over(const struct carry *own);

#endif
