/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_row.h - a disruption as a store and all outputs have it. Instants are UTC ns unless
 * marked, durations ns. */
#ifndef MODEL_DISRUPTION_ROW_H
#define MODEL_DISRUPTION_ROW_H

#include "userspace/model/job/job.h"

#define DISRUPTION_UNKNOWN INT64_MIN

struct disruption_row {
	int64_t id;	 /* in its store; 0: none */
	uint64_t number; /* 1, 2... within its job; 0: unknown */
	bool over, graceful, estimated;
	char cause[DISRUPTION_CAUSE_MAX], fault[48], sender_comm[16], how[80]; /* "": unknown */
	int rank;							       /* -1: unknown */
	uint32_t pid;	 /* 0: unknown, or of another node */
	int exit_code;	 /* -1: unknown, or ended by a signal */
	int signal;	 /* 0: none */
	uint32_t sender; /* 0: none, or unknown */
	int64_t at_ns;	 /* when it began; 0: unknown */
	/* DISRUPTION_UNKNOWN where it is not known, as for the times and steps below. */
	int64_t mono_ns;    /* at_ns of CLOCK_MONOTONIC; a store does not have it */
	int64_t resumed_ns; /* first step after it; 0: unknown, or none yet */
	int64_t step, resumed_step, starts;
	int64_t wasted_ns, recovery_ns, down_ns; /* unknown while it is not over */
	int64_t split_ns[BUCKET_COUNT];		 /* recovery_ns by bucket */
	struct scheduling scheduling;
};

#endif
