/* SPDX-License-Identifier: Apache-2.0 */
/* watch_kernel_log.h - turns device faults in the kernel's log into records. */
#ifndef WATCH_WATCH_KERNEL_LOG_H
#define WATCH_WATCH_KERNEL_LOG_H

#include "userspace/base/loop.h"
#include "userspace/output/journal.h"

struct watch_log;

/* Opens the log for the next watch_log_new(), which then needs no privilege. */
void watch_log_prepare(const char *root);
/* Starts to read at the present end of the log. root: "", or the folder that contains dev. All
 * arguments are borrowed. If the log cannot be read (containers have none), no faults are recorded,
 * which is logged once. Returns 0 or -ENOMEM. */
int watch_log_new(struct watch_log **ret, struct loop *l, struct journal *j, const char *root);
void watch_log_free(struct watch_log *w); /* NULL is fine */
/* Reads new lines of the log. Call once a second. */
void watch_log_tick(struct watch_log *w);

#endif
