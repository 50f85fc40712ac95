/* SPDX-License-Identifier: Apache-2.0 */
/* together.h - the same thing done to many, where each sleeps in the kernel: closing a link waits
 * for a grace period of its own (24-44 ms), and waiting together takes one. */
#ifndef LOADER_TOGETHER_H
#define LOADER_TOGETHER_H

#include <stddef.h>

/* Item i, in any thread. */
typedef void together_fn(void *ctx, size_t i);
/* In the calling thread, now and then: so many have been begun. */
typedef void together_tell_fn(void *ctx, size_t begun);

/* Returns when all is done; by this thread alone where others cannot be had. tell may be NULL. */
void together(size_t count, together_fn *one, together_tell_fn *tell, void *ctx);

#endif
