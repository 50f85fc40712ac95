/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_row.h - a disruption in the form that the store and all outputs use. Times are UTC ns
 * unless marked otherwise; durations are in ns. */
#ifndef MODEL_DISRUPTION_ROW_H
#define MODEL_DISRUPTION_ROW_H

#include "userspace/model/job/job.h"

#define DISRUPTION_UNKNOWN INT64_MIN

struct disruption_row {
	int64_t id;	 /* id of the row in the store; 0: not from a store */
	uint64_t number; /* counts from 1 within the job; 0: unknown */
	bool over, graceful, estimated;
	char cause[DISRUPTION_CAUSE_MAX], fault[48], sender_comm[16], how[80]; /* "": unknown */
	int rank;							       /* -1: unknown */
	uint32_t pid;	 /* 0: unknown, or on another node */
	int exit_code;	 /* -1: unknown, or ended by a signal */
	int signal;	 /* 0: none */
	uint32_t sender; /* 0: none, or unknown */
	int64_t at_ns;	 /* start of the disruption; 0: unknown */
	/* DISRUPTION_UNKNOWN is the value of unknown fields from here on, except where noted. */
	int64_t mono_ns; /* at_ns in CLOCK_MONOTONIC; unknown if the row is from a store */
	/* start of the first step after the disruption; 0: none yet, or unknown */
	int64_t resumed_ns;
	int64_t step, resumed_step, starts;
	int64_t wasted_ns, recovery_ns, down_ns; /* unknown until the disruption is over */
	int64_t split_ns[BUCKET_COUNT];		 /* recovery_ns by bucket */
	struct scheduling scheduling;
};

#endif
