/* SPDX-License-Identifier: Apache-2.0 */
/* watch_kernel_log.h - what the kernel's log says of devices while we watch, as records. */
#ifndef WATCH_WATCH_KERNEL_LOG_H
#define WATCH_WATCH_KERNEL_LOG_H

#include "userspace/base/loop.h"
#include "userspace/output/journal.h"

struct watch_log;

/* Opens the log for the next watch_log_new(), which needs no privilege then. */
void watch_log_prepare(const char *root);
/* From the log's end on. root: where /dev is looked for. All borrowed. Where it may not be read (a
 * container has none) nothing is told of it, and that is said once. 0 or -ENOMEM. */
int watch_log_new(struct watch_log **ret, struct loop *l, struct journal *j, const char *root);
void watch_log_free(struct watch_log *w); /* NULL is fine */
/* Once a second. */
void watch_log_tick(struct watch_log *w);

#endif
