/* SPDX-License-Identifier: Apache-2.0 */
/* account_store.h - writes the jobs of a log into the store named by --store. */
#ifndef COMMAND_ACCOUNT_STORE_H
#define COMMAND_ACCOUNT_STORE_H

#include "userspace/command/account.h"
#include "userspace/option/option.h"

/* Checks that the options can be used with --store. Returns 0; -EINVAL after logging one line. */
int account_store_fits(const struct options *o, const struct goodput_query *q);
/* Writes all jobs to the store, each as a whole or not at all, and logs one line for each job.
 * Returns 0 if all were written, otherwise the -errno of the first failure. */
int account_store(struct account *a, const struct options *o);

#endif
