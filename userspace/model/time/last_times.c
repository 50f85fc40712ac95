/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/last_times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/base/number.h"

void last_times_free(struct last_times *l)
{
	free(l->ns);
	free(l->order);
}

static uint32_t last_times_held(uint64_t count)
{
	return smaller_of(count, LAST_TIMES);
}

/* Returns how many of the first n entries of l->order, which is sorted by time, come before the
 * time `ns` with index `place`. */
static uint32_t times_rank_of(const struct last_times *l, uint32_t n, uint64_t ns, uint32_t place)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2, other = l->order[middle];
		uint64_t other_ns = l->ns[other];

		if (other_ns < ns || (other_ns == ns && other < place))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void last_times_order_insert(struct last_times *l, uint32_t n, uint32_t place)
{
	uint32_t at = times_rank_of(l, n, l->ns[place], place);

	memmove(l->order + at + 1, l->order + at, (n - at) * sizeof(*l->order));
	l->order[at] = (uint16_t)place;
}

static void last_times_order_remove(struct last_times *l, uint32_t n, uint32_t place)
{
	uint32_t at = times_rank_of(l, n, l->ns[place], place);

	memmove(l->order + at, l->order + at + 1, (n - at - 1) * sizeof(*l->order));
}

static bool last_times_reserve(struct last_times *l, uint32_t need)
{
	uint16_t *order = grow_items(l->order, &l->order_cap, need, LAST_TIMES, sizeof(*order));
	uint64_t *ns;

	if (!order)
		return false;
	l->order = order;
	ns = grow_items(l->ns, &l->cap, need, LAST_TIMES, sizeof(*ns));
	if (!ns)
		return false;
	l->ns = ns;
	return true;
}

int last_times_add(struct last_times *l, uint64_t count, uint64_t ns)
{
	uint32_t n = last_times_held(count), place = (uint32_t)(count % LAST_TIMES);

	if (!last_times_reserve(l, last_times_held(count + 1)))
		return -ENOMEM;
	if (n == LAST_TIMES)
		last_times_order_remove(l, n--, place);
	l->ns[place] = ns;
	last_times_order_insert(l, n, place);
	return 0;
}

uint32_t last_times_sorted(const struct last_times *l, uint64_t count, uint32_t n, uint64_t *ret)
{
	uint32_t have = 0;

	for (uint32_t i = 0; i < last_times_held(count); i++) {
		ret[have] = l->ns[l->order[i]];
		/* keep the time only if it is one of the newest n */
		have += (count - 1 - l->order[i]) % LAST_TIMES < n;
	}
	return have;
}

void last_times_archive(struct archive *a, struct last_times *l, uint64_t count)
{
	uint32_t n = last_times_held(count);

	if (archive_reads(a)) {
		*l = (struct last_times){0};
		if (!n)
			return;
		l->ns = archive_alloc(a, n, sizeof(*l->ns));
		l->order = archive_alloc(a, n, sizeof(*l->order));
		if (!l->ns || !l->order) {
			last_times_free(l);
			*l = (struct last_times){0};
			return;
		}
		l->cap = l->order_cap = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		archive_field(a, l->ns[i]);
		if (archive_reads(a))
			last_times_order_insert(l, i, i);
	}
}
