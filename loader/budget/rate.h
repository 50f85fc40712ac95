/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - hits that the kernel side did not send, because a row or a name was over its bound or
 * the row is only counted; and removal of unused names from the kernel's table of names. */
#ifndef LOADER_RATE_H
#define LOADER_RATE_H

#include "loader/kernel/kernel.h"
#include "loader/loader.h"
#include "loader/probe/rows.h"

struct rates;

/* Continues from what a predecessor reported last. Hits that were not sent before the first of
 * several predecessors started are never reported. Returns 0 or -errno. */
int rates_new(struct rates **ret, const struct kernel *k, const struct rows *rows);
void rates_free(struct rates *r);

/* Reports hits by process and probe since the last call. The end of a range that was not sent was
 * not sent either: it is reported as a hit of the row that ends ranges of the runtime. Also removes
 * names not used recently. */
void rates_sample(struct rates *r, loader_count_fn *count, void *ctx);
/* The same for one process. */
void rates_sample_process(struct rates *r, pid_t pid, loader_count_fn *count, void *ctx);
/* See counts_commit() and counts_resume(). */
void rates_commit(struct rates *r);
void rates_resume(struct rates *r, pid_t pid, const struct gp_counter *last);
/* The process is gone: what was not sampled yet is never reported. */
void rates_forget(struct rates *r, pid_t pid);

#endif
