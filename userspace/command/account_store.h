/* SPDX-License-Identifier: Apache-2.0 */
/* account_store.h - writes the jobs of a log into the store named by --store. */
#ifndef COMMAND_ACCOUNT_STORE_H
#define COMMAND_ACCOUNT_STORE_H

#include "userspace/command/account.h"
#include "userspace/option/option.h"

/* Returns 0 if the options fit a store; -EINVAL after one line. */
int account_store_fits(const struct options *o, const struct goodput_query *q);
/* Writes all jobs; a job is written as a whole or not at all, then with one logged line. Returns 0
 * if all were written, else the -errno of the first failure. */
int account_store(struct account *a, const struct options *o);

#endif
