/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/preload.h"

#include <limits.h>
#include <stdlib.h>

#include "loader/attach/attach.h"
#include "loader/kernel/feature.h"
#include "loader/kernel/kernel.h"
#include "loader/loader.h"
#include "loader/budget/hit_cost.h"

struct preload {
	struct kernel_objects *objects;
	struct hit_cost hit_cost;
};

struct preload *loader_preload(const char *state_dir)
{
	char dir[PATH_MAX];
	struct preload *a = realpath(state_dir, dir) ? calloc(1, sizeof(*a)) : NULL;
	struct attach *links = NULL;
	struct kernel k = {0};

	if (!a)
		return NULL;
	a->objects = kernel_preload(dir);
	if (!a->objects || attach_new(&links, feature_have(FEATURE_MULTI), NULL)) {
		loader_preload_free(a);
		return NULL;
	}
	k.program[KERNEL_EMPTY] = kernel_preload_empty(a->objects);
	hit_cost_measure(&a->hit_cost, &k, links);
	attach_free(links, false);
	return a;
}

void loader_preload_free(struct preload *a)
{
	if (!a)
		return;
	kernel_objects_free(a->objects);
	free(a);
}

struct kernel_objects *preload_objects(struct preload *a)
{
	struct kernel_objects *o = a ? a->objects : NULL;

	if (a)
		a->objects = NULL;
	return o;
}

bool preload_hit_cost(const struct preload *a, struct hit_cost *ret)
{
	if (a)
		*ret = a->hit_cost;
	return a;
}
