/* SPDX-License-Identifier: Apache-2.0 */
/* ahead.h - access to the result of loader_ahead(), for other parts of the loader. */
#ifndef LOADER_AHEAD_H
#define LOADER_AHEAD_H

#include <stdbool.h>

struct ahead; /* see loader_ahead() */
struct kernel_objects;
struct price;

/* Returns the loaded programs, which the caller owns from now on; NULL when called again, or when a
 * is NULL. */
struct kernel_objects *ahead_objects(struct ahead *a);
/* Returns the cost of a hit as measured ahead; false when a is NULL. */
bool ahead_price(const struct ahead *a, struct price *ret);

#endif
