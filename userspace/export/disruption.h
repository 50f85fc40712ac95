/* SPDX-License-Identifier: Apache-2.0 */
/* disruption.h - writes a disruption as text, JSON or CSV, for all outputs. Pure. */
#ifndef EXPORT_DISRUPTION_H
#define EXPORT_DISRUPTION_H

#include <stddef.h>

#include "userspace/base/buffer.h"
#include "userspace/model/job/job.h"
#include "userspace/model/job/disruption_row.h"

/* Fills a row with a job's disruption. wall_ns: UTC minus CLOCK_MONOTONIC; 0: unknown. */
void disruption_of_job(struct disruption_row *ret, const struct job_disruption *d, int64_t wall_ns);
/* Writes "killed, signal 9 by bash", "exit, status 3", "Xid 79", "asked to end" to out; returns
 * out. */
const char *disruption_cause_text(char *out, size_t len, const struct disruption_row *r);
/* Appends the members of the disruption's JSON object, except rank and pid. */
void disruption_json(struct buffer *out, const struct disruption_row *r);
/* Appends the disruption as a JSON object in an array: rank, pid and the members. */
void disruption_json_object(struct buffer *out, const struct disruption_row *r);
/* Appends the disruption as cells of a CSV row, in the order of DISRUPTION_COLUMNS. */
#define DISRUPTION_COLUMNS                                                                         \
	"disruption,over,cause,fault,graceful,exit_code,signal,sender,sender_comm,at,at_ns,step,starts,resumed,resumed_step,wasted_ns,recovery_ns,down_ns,recovery,scheduling,estimated,how"
void disruption_csv(struct buffer *b, const struct disruption_row *r);
/* Appends the JSON member "scheduling": the parts in ns; {} if unknown. s may be NULL. */
void disruption_scheduling_json(struct buffer *out, const struct scheduling *s);

#endif
