/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/model/rank_monitor.h"

/* The records of one event are microseconds apart. */
#define MONITOR_WAIT_NS 1000000000ull

static void tell(void *ctx, const struct monitor_event *ev)
{
	struct fact f = {.type = FACT_MONITOR, .monitor = ev};

	rank_fact(ctx, &f, ev->end_ns);
}

int rank_monitor(struct rank *r, const struct event *ev)
{
	if (!r->monitor)
		r->monitor = monitor_new();
	return r->monitor ? monitor_feed(r->monitor, ev, tell, r) : -ENOMEM;
}

void rank_monitor_tick(struct rank *r, uint64_t now_ns)
{
	if (r->monitor && now_ns > MONITOR_WAIT_NS)
		monitor_flush(r->monitor, now_ns - MONITOR_WAIT_NS, tell, r);
}

void rank_monitor_close(struct rank *r)
{
	if (r->monitor)
		monitor_flush(r->monitor, UINT64_MAX, tell, r);
}

/* By name, then in the order of the aggregations: as people look for them, and the same in every
 * page. */
static int compare_values(const void *a, const void *b)
{
	const struct monitor_value *x = a, *y = b;
	int by_name = strcmp(x->name, y->name);

	return by_name ? by_name : (int)x->aggregation - (int)y->aggregation;
}

int rank_monitor_view(const struct rank *r, struct rank_view *ret)
{
	const struct monitor *m = r->monitor;

	if (!m)
		return 0;
	ret->monitor_events = m->events;
	ret->monitor_truncated = m->truncated;
	ret->monitor_unkept = m->unkept;
	if (!m->nvalues)
		return 0;
	ret->monitor = calloc(m->nvalues, sizeof(*ret->monitor));
	if (!ret->monitor)
		return -ENOMEM;
	memcpy(ret->monitor, m->values, m->nvalues * sizeof(*ret->monitor));
	ret->nmonitor = m->nvalues;
	qsort(ret->monitor, ret->nmonitor, sizeof(*ret->monitor), compare_values);
	return 0;
}
