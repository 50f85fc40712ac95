/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - hits that the kernel side did not send, because a row or a name was over its bound or
 * the row is counted only; and room in its table of names. */
#ifndef LOADER_RATE_H
#define LOADER_RATE_H

#include "loader/kernel.h"
#include "loader/loader.h"
#include "loader/rows.h"

struct rates;

/* Goes on from what a predecessor told last; what was not sent before the first of them came is
 * never told.
 */
int rates_new(struct rates **ret, const struct kernel *k, const struct rows *rows);
void rates_free(struct rates *r);

/* By process and probe, since the last call. A range that was not sent has an end that was not
 * either: it is told as a hit of the row that ends the runtime's ranges. Names that nobody used
 * lately are forgotten. */
void rates_sample(struct rates *r, loader_count_fn *count, void *ctx);
/* Those of one process. */
void rates_sample_process(struct rates *r, pid_t pid, loader_count_fn *count, void *ctx);
/* As counts_commit() and counts_resume(). */
void rates_commit(struct rates *r);
void rates_resume(struct rates *r, pid_t pid, const struct gp_counter *last);
/* The process is gone: what it has not been asked for is never told. */
void rates_forget(struct rates *r, pid_t pid);

#endif
