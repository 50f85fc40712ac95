/* SPDX-License-Identifier: Apache-2.0 */
/* watch_kernel_log.h - reads the kernel's log (/dev/kmsg) and records device faults that are
 * reported in it. */
#ifndef WATCH_WATCH_KERNEL_LOG_H
#define WATCH_WATCH_KERNEL_LOG_H

#include "userspace/base/loop.h"
#include "userspace/output/journal.h"

struct watch_log;

/* Opens the log for the next watch_log_new(), which then needs no privilege. */
void watch_log_prepare(const char *root);
/* Starts to read the log at its present end. root: "", or the folder that contains dev. All
 * arguments are borrowed. If the log cannot be read (as in containers), this is logged once and no
 * faults are recorded. Returns 0 or -ENOMEM. */
int watch_log_new(struct watch_log **ret, struct loop *l, struct journal *j, const char *root);
void watch_log_free(struct watch_log *w); /* NULL is fine */
/* Reads new lines of the log. Call once a second. */
void watch_log_tick(struct watch_log *w);

#endif
