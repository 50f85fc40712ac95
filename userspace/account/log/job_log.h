/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h - goodput of one job by the records of its log, under one of two semantics.
 *
 * library: what ml-goodput-measurement 0.2.3 answers, defects included (facts in gp-bpf.8,
 * "ACCOUNT"). closed: every microsecond between the job's start and now in exactly one bucket, by
 * model/time/ledger.h. Both are functions of the records fed so far and of the query: batching, and
 * asking in between, change nothing. Pure; memory grows with the steps that still count and with
 * events, not with records. */
#ifndef ACCOUNT_JOB_LOG_H
#define ACCOUNT_JOB_LOG_H

#include "userspace/ingest/goodput_record.h"
#include "userspace/account/log/answer.h"

struct goodput_log;
/* The query is kept by reference. scale_up(ctx, name) tells whether a type of elastic wait is one
 * for more slices: names are the caller's. NULL: no memory. */
struct goodput_log *goodput_log_new(const struct goodput_query *q,
				    bool (*scale_up)(void *ctx, uint32_t name), void *ctx);
void goodput_log_free(struct goodput_log *l);
/* Records of this job alone, in order. -ENOMEM. */
int goodput_log_feed(struct goodput_log *l, const struct goodput_record *r);
/* As of the records fed. *ret is the caller's to free with goodput_answer_free(). -ENOMEM. */
int goodput_log_answer(struct goodput_log *l, struct goodput_answer *ret);

/* The engines behind it; each has the same three calls. */
struct goodput_engine {
	void *(*create)(const struct goodput_query *q, bool (*scale_up)(void *, uint32_t),
			void *ctx);
	void (*destroy)(void *engine);
	int (*feed)(void *engine, const struct goodput_record *r);
	int (*answer)(void *engine, struct goodput_answer *ret);
};
extern const struct goodput_engine goodput_library, goodput_closed;

#endif
