/* SPDX-License-Identifier: Apache-2.0 */
/* account_store.h - the jobs of a log into the store that --store names. */
#ifndef COMMAND_ACCOUNT_STORE_H
#define COMMAND_ACCOUNT_STORE_H

#include "userspace/command/account.h"
#include "userspace/option/option.h"

/* Returns 0 if the options fit a store; -EINVAL after one line. */
int account_store_fits(const struct options *o, const struct goodput_query *q);
/* All jobs, each as a whole or not at all; a line for each that is not. 0: all are there; -errno:
 * the first trouble. */
int account_store(struct account *a, const struct options *o);

#endif
