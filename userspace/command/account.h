/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - collects the records of a log by job, for gp-bpf account. Jobs are in order of
 * appearance. Not thread-safe. */
#ifndef COMMAND_ACCOUNT_H
#define COMMAND_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"
#include "userspace/account/log/answer.h"
#include "userspace/report/account.h"

struct account;
/* q and names must stay valid while the account is used. only: name of the job whose records are
 * used; NULL: all jobs. Returns NULL if there is no memory. */
struct account *account_new(const struct goodput_query *q, const struct goodput_names *names,
			    const char *only);
void account_free(struct account *a);
int account_feed(struct account *a, const struct goodput_record *r); /* 0 or -ENOMEM */
size_t account_jobs(const struct account *a);
/* Returns the number of records that were ignored because the log has too many names to distinguish
 * jobs (GOODPUT_NAMES_MORE). */
uint64_t account_refused(const struct account *a);
/* Computes the goodput of one job. *ret_view refers to *ret_answer, which the caller frees with
 * goodput_answer_free(). Returns 0 or -ENOMEM. */
int account_answer(struct account *a, size_t job, struct goodput_answer *ret_answer,
		   struct account_view *ret_view);

#endif
