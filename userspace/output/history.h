/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - finds and opens the store that the options name. */
#ifndef OUTPUT_HISTORY_H
#define OUTPUT_HISTORY_H

#include <limits.h>

#include "userspace/option/option.h"
#include "userspace/store/store.h"

/* Returns 1: path is the store to write to, and its folder exists; 0: the options name no store;
 * -errno after logging one line. */
int history_path(const struct options *o, char path[PATH_MAX]);
/* Opens a store for reading or for adding notes. Returns 0, or -errno after logging one line. */
int history_open(struct store **ret, const struct options *o, enum store_mode mode);

#endif
