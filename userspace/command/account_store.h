/* SPDX-License-Identifier: Apache-2.0 */
/* account_store.h - the jobs of a log into the store that --store names. */
#ifndef GP_ACCOUNT_STORE_H
#define GP_ACCOUNT_STORE_H

#include "userspace/command/account.h"
#include "userspace/option/option.h"

/* What is asked for goes with a store: 0; -EINVAL after one line. */
int account_store_fits(const struct options *o, const struct goodput_query *q);
/* All jobs, each as a whole or not at all; a line for each that is not. 0: all are there; -errno:
 * the first trouble. */
int account_store(struct account *a, const struct options *o);

#endif
