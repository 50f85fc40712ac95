/* SPDX-License-Identifier: Apache-2.0 */
/* ahead.h - what loader_ahead() made, for those who need it. */
#ifndef LOADER_AHEAD_H
#define LOADER_AHEAD_H

struct ahead; /* loader_ahead() */
struct attach;
struct kernel;
struct kernel_objects;
struct price;

/* The caller's from now on; NULL after the first time, or of no ahead. */
struct kernel_objects *ahead_objects(struct ahead *a);
/* As it was measured ahead; of no ahead it is measured now. */
void ahead_price(const struct ahead *a, struct price *ret, const struct kernel *k,
		 struct attach *at);

#endif
