/* SPDX-License-Identifier: Apache-2.0 */
/* account_query.h - what the options of gp-bpf account ask for. */
#ifndef COMMAND_ACCOUNT_QUERY_H
#define COMMAND_ACCOUNT_QUERY_H

#include "userspace/account/log/answer.h"
#include "userspace/option/option.h"

/* What *ret refers to is the caller's to free with account_query_free(). --now now is
 * GOODPUT_UNKNOWN and *ret_clock. -EINVAL after one line, -ENOMEM. */
int account_query_read(struct goodput_query *ret, const struct options *o, bool *ret_clock);
void account_query_free(struct goodput_query *q);

#endif
