/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h - computes the goodput of one job from the records of its log.
 *
 * There are two semantics. "library" gives the results of ml-goodput-measurement 0.2.3, including
 * its defects (listed in gp-bpf-account.1). "closed" puts every microsecond between the job's start
 * and now in exactly one bucket (closed.h, model/time/ledger.h).
 *
 * The answer depends only on the query and on the records so far, not on earlier questions or on
 * how records were grouped. Memory grows with events and with the steps that are not lost, not with
 * records. Pure; not thread-safe. */
#ifndef ACCOUNT_JOB_LOG_H
#define ACCOUNT_JOB_LOG_H

#include "userspace/ingest/goodput_record.h"
#include "userspace/account/log/answer.h"

struct goodput_log;
/* Makes an empty log. q is borrowed. scale_up(ctx, name) returns true if an elastic wait with this
 * name waits for more slices. NULL: no memory. */
struct goodput_log *goodput_log_new(const struct goodput_query *q,
				    bool (*scale_up)(void *ctx, uint32_t name), void *ctx);
void goodput_log_free(struct goodput_log *l);
/* Processes the next record of the job. Call in the order of the log. Returns 0 or -ENOMEM. */
int goodput_log_feed(struct goodput_log *l, const struct goodput_record *r);
/* Computes the answer to the query from the records so far. The caller frees *ret with
 * goodput_answer_free(). Returns 0 or -ENOMEM. */
int goodput_log_answer(struct goodput_log *l, struct goodput_answer *ret);

/* The functions that implement one semantics, library or closed. */
struct goodput_engine {
	void *(*create)(const struct goodput_query *q, bool (*scale_up)(void *, uint32_t),
			void *ctx);
	void (*destroy)(void *engine);
	int (*feed)(void *engine, const struct goodput_record *r);
	int (*answer)(void *engine, struct goodput_answer *ret);
};
extern const struct goodput_engine goodput_library, goodput_closed;

#endif
