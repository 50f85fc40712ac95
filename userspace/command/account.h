/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - the jobs of a log, each with its records, in order of appearance. Not thread-safe. */
#ifndef COMMAND_ACCOUNT_H
#define COMMAND_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"
#include "userspace/account/log/answer.h"
#include "userspace/report/account.h"

struct account;
/* q and names are kept by reference. only: the name of the one job that counts; NULL: all. */
struct account *account_new(const struct goodput_query *q, const struct goodput_names *names,
			    const char *only); /* NULL: no memory */
void account_free(struct account *a);
int account_feed(struct account *a, const struct goodput_record *r); /* -ENOMEM */
size_t account_jobs(const struct account *a);
/* Records of jobs that are not told apart any more (GOODPUT_NAMES_MORE): of no job. */
uint64_t account_refused(const struct account *a);
/* *ret_answer is the caller's to free with goodput_answer_free(); *ret_view refers to it.
 * -ENOMEM. */
int account_answer(struct account *a, size_t job, struct goodput_answer *ret_answer,
		   struct account_view *ret_view);

#endif
