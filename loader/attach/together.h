/* SPDX-License-Identifier: Apache-2.0 */
/* together.h - runs a function for many items in parallel, where each call sleeps in the kernel:
 * closing a link waits for a grace period (24-44 ms), and many closed in parallel share one. */
#ifndef LOADER_TOGETHER_H
#define LOADER_TOGETHER_H

#include <stddef.h>

/* Handles item i; called in any thread. */
typedef void together_fn(void *ctx, size_t i);
/* Reports progress from the calling thread, now and then: `begun` items were started. */
typedef void together_tell_fn(void *ctx, size_t begun);

/* Calls one() for all items and returns when all are done. Uses only this thread where no others
 * can be started. tell may be NULL. */
void together(size_t count, together_fn *one, together_tell_fn *tell, void *ctx);

#endif
