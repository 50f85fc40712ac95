/* SPDX-License-Identifier: Apache-2.0 */
/* disruption.h - a disruption as all outputs show it, filled from the model or from a store. Pure.
 *
 * Instants are UTC ns unless marked, durations ns. DISRUPTION_UNKNOWN marks an unknown number. */
#ifndef EXPORT_DISRUPTION_H
#define EXPORT_DISRUPTION_H

#include <stddef.h>

#include "userspace/base/buffer.h"
#include "userspace/model/job/job.h"
#include "userspace/store/query.h"

#define DISRUPTION_UNKNOWN STORE_NONE

struct disruption_row {
	uint64_t number; /* 1, 2... within its job; 0: unknown */
	bool over, graceful, estimated;
	char cause[DISRUPTION_CAUSE_MAX], fault[48], sender_comm[16], how[80]; /* "": unknown */
	int rank;							       /* -1: unknown */
	uint32_t pid;	    /* 0: unknown, or of another node */
	int exit_code;	    /* -1: unknown, or ended by a signal */
	int signal;	    /* 0: none */
	uint32_t sender;    /* 0: none, or unknown */
	int64_t at_ns;	    /* when it began; 0: unknown */
	int64_t mono_ns;    /* the same, CLOCK_MONOTONIC; a store does not know it */
	int64_t resumed_ns; /* first step after it; 0: unknown, or none yet */
	int64_t step, resumed_step, starts;
	int64_t wasted_ns, recovery_ns, down_ns; /* unknown while it is not over */
	int64_t split_ns[BUCKET_COUNT];		 /* recovery_ns by bucket */
	struct scheduling scheduling;
};

/* wall_ns: UTC less CLOCK_MONOTONIC; 0: unknown. */
void disruption_of_job(struct disruption_row *ret, const struct job_disruption *d, int64_t wall_ns);
void disruption_of_store(struct disruption_row *ret, const struct store_disruption *d);

/* Writes "killed, signal 9 by bash", "exit, status 3", "Xid 79", "asked to end" to out; returns
 * out. */
const char *disruption_cause_text(char *out, size_t len, const struct disruption_row *r);
/* Appends the members of an object, except rank and pid. */
void disruption_json(struct buffer *out, const struct disruption_row *r);
/* Appends an element of an array: rank, pid and the members. */
void disruption_json_object(struct buffer *out, const struct disruption_row *r);
/* Appends the cells of a table's row; DISRUPTION_COLUMNS are their names. */
#define DISRUPTION_COLUMNS                                                                         \
	"disruption,over,cause,fault,graceful,exit_code,signal,sender,sender_comm,at,at_ns,step,starts,resumed,resumed_step,wasted_ns,recovery_ns,down_ns,recovery,scheduling,estimated,how"
void disruption_csv(struct buffer *b, const struct disruption_row *r);
/* Appends "scheduling": its parts in ns; {} if unknown. s may be NULL. */
void disruption_scheduling_json(struct buffer *out, const struct scheduling *s);

#endif
