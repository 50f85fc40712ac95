/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_row.h - a disruption as the store and all outputs represent it. Instants are UTC ns
 * unless marked, durations ns. */
#ifndef MODEL_DISRUPTION_ROW_H
#define MODEL_DISRUPTION_ROW_H

#include "userspace/model/job/job.h"

#define DISRUPTION_UNKNOWN INT64_MIN

struct disruption_row {
	int64_t id;	 /* id in the store; 0: none */
	uint64_t number; /* 1, 2... within the job; 0: unknown */
	bool over, graceful, estimated;
	char cause[DISRUPTION_CAUSE_MAX], fault[48], sender_comm[16], how[80]; /* "": unknown */
	int rank;							       /* -1: unknown */
	uint32_t pid;	 /* 0: unknown, or on another node */
	int exit_code;	 /* -1: unknown, or ended by a signal */
	int signal;	 /* 0: none */
	uint32_t sender; /* 0: none, or unknown */
	int64_t at_ns;	 /* start of the disruption; 0: unknown */
	/* The fields below are DISRUPTION_UNKNOWN if unknown, except where noted. */
	int64_t mono_ns; /* at_ns of CLOCK_MONOTONIC; a store does not have it */
	/* start of the first step after the disruption; 0: unknown, or none yet */
	int64_t resumed_ns;
	int64_t step, resumed_step, starts;
	int64_t wasted_ns, recovery_ns, down_ns; /* unknown until the disruption is over */
	int64_t split_ns[BUCKET_COUNT];		 /* recovery_ns by bucket */
	struct scheduling scheduling;
};

#endif
