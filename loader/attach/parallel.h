/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - runs a function for many items in parallel, where each call sleeps in the kernel:
 * closing a link waits for a grace period (24-44 ms), and many closed in parallel share one. */
#ifndef LOADER_PARALLEL_H
#define LOADER_PARALLEL_H

#include <stddef.h>

/* Handles item i; called in any thread. */
typedef void parallel_fn(void *ctx, size_t i);
/* Reports progress from the calling thread, now and then: `begun` items were started. */
typedef void parallel_progress_fn(void *ctx, size_t begun);

/* Calls one() for all items and returns when all are done. If no thread can be started, all calls
 * are made in the calling thread. progress may be NULL. */
void parallel_each(size_t count, parallel_fn *one, parallel_progress_fn *progress, void *ctx);

#endif
