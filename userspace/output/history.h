/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - finds and opens the store of job history that the options name (--store). */
#ifndef OUTPUT_HISTORY_H
#define OUTPUT_HISTORY_H

#include <limits.h>

#include "userspace/option/option.h"
#include "userspace/store/store.h"

/* Gets the path of the store to write to, and makes its folder. Returns 1; 0: the options name no
 * store, path is not set; -errno after logging the reason. */
int history_path(const struct options *o, char path[PATH_MAX]);
/* Opens a store for reading or for adding notes. Returns 0, or -errno after logging the reason. */
int history_open(struct store **ret, const struct options *o, enum store_mode mode);

#endif
