/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - reports how many hits the kernel side did not send, because a row or a name exceeded its
 * limit per second or the row is only counted. Also removes unused names from the kernel's table of
 * names. */
#ifndef LOADER_RATE_H
#define LOADER_RATE_H

#include "loader/kernel/kernel.h"
#include "loader/loader.h"
#include "loader/probe/rows.h"

struct rates;

/* After a takeover of the kernel side, starts from the counts that the predecessor committed.
 * Returns 0 or -errno. */
int rates_new(struct rates **ret, const struct kernel *k, const struct rows *rows);
void rates_free(struct rates *r);

/* Reports unsent hits by process and probe since the last call. If the begin of a range was not
 * sent, its end was not sent either, and is reported as an unsent hit of the row for range ends.
 * Also removes names not used recently. */
void rates_sample(struct rates *r, loader_count_fn *count, void *ctx);
/* Like rates_sample(), but for one process, and without removing names. */
void rates_sample_process(struct rates *r, pid_t pid, loader_count_fn *count, void *ctx);
/* See counts_commit() and counts_resume(). */
void rates_commit(struct rates *r);
void rates_resume(struct rates *r, pid_t pid, const struct gp_counter *last);
/* Call when a process is gone. Its unsent hits that were not sampled yet are never reported. */
void rates_forget(struct rates *r, pid_t pid);

#endif
