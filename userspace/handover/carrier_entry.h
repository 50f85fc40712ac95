/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_entry.h - the jobs whose history is handed over, at most CARRIER_JOBS: a finished one
 * makes room for another. Single-threaded. */
#ifndef HANDOVER_CARRIER_ENTRY_H
#define HANDOVER_CARRIER_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/job/carry.h"
#include "userspace/output/output.h"
#include "userspace/handover/carry_map.h"
#include "userspace/handover/carrier.h"

struct entry { /* a job */
	struct carry_map_job who;
	bool read;	    /* its history has to be read */
	uint64_t read_ns;   /* last time it was requested; 0: never */
	bool known;	    /* had was read successfully */
	struct carry had;   /* what was read; it is on the tape */
	uint64_t joined_ns; /* when it was written to the tape; 0: the result has been checked */
	struct carry left;  /* what was stored last; attempt 0: nothing */
	uint64_t left_ns;   /* last attempt to store */
	bool bad, refused;  /* the failure was logged */
	uint64_t used_ns;   /* last time a process of it was recorded */
};

struct entries {
	struct entry job[CARRIER_JOBS];
	uint32_t count;
	bool full;	  /* "too many jobs" was logged */
	uint64_t room_ns; /* last search for room that failed; 0: there was room */
};

/* Returns NULL if there is no entry. */
struct entry *entries_find(struct entries *es, const char *job, const char *uid);
/* Finds or makes an entry. asked: the one whose answer is awaited, or NULL. Returns NULL if there
 * are too many, after one line. */
struct entry *entries_of(struct entries *es, const struct output *out, const struct entry *asked,
			 const char *job, const char *uid);
/* Whether the job has ended for good. */
bool entry_over(const struct carry *own);

#endif
