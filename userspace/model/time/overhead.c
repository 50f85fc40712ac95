/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/overhead.h"

void overhead_add(struct overhead *o, unsigned group, uint64_t cost_ns)
{
	o->sum.all_ns += cost_ns;
	if (group == GP_GROUP_marker)
		o->sum.marker_ns += cost_ns;
}

void overhead_lost(struct overhead *o, uint64_t hits, uint64_t lost)
{
	double share = hits ? (double)lost / (double)hits : 0;

	o->sum.all_ns += (uint64_t)(share * (double)o->sum.all_ns);
	o->sum.marker_ns += (uint64_t)(share * (double)o->sum.marker_ns);
}

void overhead_tick(struct overhead *o, uint64_t now_ns)
{
	uint64_t place = o->ticks++ % OVERHEAD_TICKS;

	o->then[place] = o->sum;
	o->ts_ns[place] = now_ns;
}

/* The view ends at the last tick: the cost of later hits is reported after the next tick. */
void overhead_view(const struct overhead *o, struct overhead_view *ret)
{
	uint64_t last = (o->ticks + OVERHEAD_TICKS - 1) % OVERHEAD_TICKS;
	uint64_t first = o->ticks < OVERHEAD_TICKS ? 0 : o->ticks % OVERHEAD_TICKS;

	*ret = (struct overhead_view){.sum = o->sum};
	if (o->ticks < 2)
		return;
	ret->recent.all_ns = o->then[last].all_ns - o->then[first].all_ns;
	ret->recent.marker_ns = o->then[last].marker_ns - o->then[first].marker_ns;
	ret->recent_ns = o->ts_ns[last] - o->ts_ns[first];
}

void overhead_archive(struct archive *a, struct overhead *o)
{
	archive_fields(a, o, sum.all_ns, sum.marker_ns);
	for (int i = 0; i < OVERHEAD_TICKS; i++)
		archive_fields(a, &o->then[i], all_ns, marker_ns);
	archive_fields(a, o, ts_ns, ticks);
}
