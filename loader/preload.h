/* SPDX-License-Identifier: Apache-2.0 */
/* preload.h - access to the result of loader_preload(), for other parts of the loader. */
#ifndef LOADER_PRELOAD_H
#define LOADER_PRELOAD_H

#include <stdbool.h>

struct preload; /* see loader_preload() */
struct kernel_objects;
struct hit_cost;

/* Returns the loaded programs; the caller has to free them. Returns NULL when called again, or when
 * a is NULL. */
struct kernel_objects *preload_objects(struct preload *a);
/* Returns the cost of a hit as measured by loader_preload(); false when a is NULL. */
bool preload_hit_cost(const struct preload *a, struct hit_cost *ret);

#endif
