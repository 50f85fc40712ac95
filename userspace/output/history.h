/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - the store that the options name. */
#ifndef OUTPUT_HISTORY_H
#define OUTPUT_HISTORY_H

#include <limits.h>

#include "userspace/option/option.h"
#include "userspace/store/store.h"

/* 1: path is the store to write to, and its folder is there; 0: none is kept; -errno after one
 * line. */
int history_path(const struct options *o, char path[PATH_MAX]);
/* The one to look into, or to note in. -errno after one line. */
int history_open(struct store **ret, const struct options *o, enum store_mode mode);

#endif
