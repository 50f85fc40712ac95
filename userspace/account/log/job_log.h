/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h - goodput of one job from the records of its log, under one of two semantics. library:
 * the results of ml-goodput-measurement 0.2.3, including its defects (listed in
 * gp-bpf-account.1). closed: every microsecond between the job's start and now in exactly one
 * bucket, by model/time/ledger.h. Both depend only on the records fed so far and on the query;
 * batching, and asking in between, change nothing. Pure; not thread-safe. Memory grows with events
 * and with the steps that still count, not with records. */
#ifndef ACCOUNT_JOB_LOG_H
#define ACCOUNT_JOB_LOG_H

#include "userspace/ingest/goodput_record.h"
#include "userspace/account/log/answer.h"

struct goodput_log;
/* Makes a log; the query is kept by reference. scale_up(ctx, name) returns whether a type of
 * elastic wait is a wait for more slices; the caller owns the names. NULL: no memory. */
struct goodput_log *goodput_log_new(const struct goodput_query *q,
				    bool (*scale_up)(void *ctx, uint32_t name), void *ctx);
void goodput_log_free(struct goodput_log *l);
/* Processes the next record of this job, in the order of the log. Returns 0 or -ENOMEM. */
int goodput_log_feed(struct goodput_log *l, const struct goodput_record *r);
/* Answers the query from the records so far. Free *ret with goodput_answer_free(). Returns 0 or
 * -ENOMEM. */
int goodput_log_answer(struct goodput_log *l, struct goodput_answer *ret);

/* An implementation of one semantics. */
struct goodput_engine {
	void *(*create)(const struct goodput_query *q, bool (*scale_up)(void *, uint32_t),
			void *ctx);
	void (*destroy)(void *engine);
	int (*feed)(void *engine, const struct goodput_record *r);
	int (*answer)(void *engine, struct goodput_answer *ret);
};
extern const struct goodput_engine goodput_library, goodput_closed;

#endif
