/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/ahead.h"

#include <limits.h>
#include <stdlib.h>

#include "loader/attach/attach.h"
#include "loader/kernel/feature.h"
#include "loader/kernel/kernel.h"
#include "loader/loader.h"
#include "loader/budget/price.h"

struct ahead {
	struct kernel_objects *objects;
	struct price price;
};

struct ahead *loader_ahead(const char *state_dir)
{
	char dir[PATH_MAX];
	struct ahead *a = realpath(state_dir, dir) ? calloc(1, sizeof(*a)) : NULL;
	struct attach *links = NULL;
	struct kernel k = {0};

	if (!a)
		return NULL;
	a->objects = kernel_ahead(dir);
	if (!a->objects || attach_new(&links, feature_have(FEATURE_MULTI), NULL)) {
		loader_ahead_free(a);
		return NULL;
	}
	k.program[KERNEL_EMPTY] = kernel_ahead_empty(a->objects);
	price_measure(&a->price, &k, links);
	attach_free(links, false);
	return a;
}

void loader_ahead_free(struct ahead *a)
{
	if (!a)
		return;
	kernel_ahead_free(a->objects);
	free(a);
}

struct kernel_objects *ahead_objects(struct ahead *a)
{
	struct kernel_objects *o = a ? a->objects : NULL;

	if (a)
		a->objects = NULL;
	return o;
}

bool ahead_price(const struct ahead *a, struct price *ret)
{
	if (a)
		*ret = a->price;
	return a;
}
