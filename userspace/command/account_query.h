/* SPDX-License-Identifier: Apache-2.0 */
/* account_query.h - makes a query from the options of gp-bpf account. */
#ifndef COMMAND_ACCOUNT_QUERY_H
#define COMMAND_ACCOUNT_QUERY_H

#include "userspace/account/log/answer.h"
#include "userspace/option/option.h"

/* Makes the query. With `--now now`, query.now_us is GOODPUT_UNKNOWN and *ret_clock is true.
 * Returns 0; -EINVAL after logging one line; -ENOMEM. The caller frees *ret with
 * account_query_free(). */
int account_query_read(struct goodput_query *ret, const struct options *o, bool *ret_clock);
void account_query_free(struct goodput_query *q);

#endif
