/* SPDX-License-Identifier: Apache-2.0 */
/* rank_monitor.c - reports events of a job's own monitoring (metrics that the job sends) as facts.
 * It does so for every process, as such events do not show that a process trains. */
#include "userspace/model/rank/rank_private.h"

/* Time (ns) to wait for the missing records of an event; usually they arrive microseconds later. */
#define MONITOR_WAIT_NS 1000000000ull

static void rank_monitor_report(struct rank *r, const struct monitor_event *ev)
{
	struct fact f = {.type = FACT_MONITOR, .monitor = ev};

	rank_fact(r, &f, ev->end_ns);
}

int rank_monitor(struct rank *r, const struct event *ev)
{
	struct monitor_events over;
	int err;

	if (!r->monitor)
		r->monitor = monitor_new();
	if (!r->monitor)
		return -ENOMEM;
	err = monitor_feed(r->monitor, ev, &over);
	for (uint32_t i = 0; i < over.count; i++)
		rank_monitor_report(r, &over.event[i]);
	return err;
}

static void rank_monitor_flush(struct rank *r, uint64_t before_ns)
{
	struct monitor_event over;

	while (monitor_next(r->monitor, before_ns, &over))
		rank_monitor_report(r, &over);
}

void rank_monitor_tick(struct rank *r, uint64_t now_ns)
{
	if (r->monitor && now_ns > MONITOR_WAIT_NS)
		rank_monitor_flush(r, now_ns - MONITOR_WAIT_NS);
}

void rank_monitor_close(struct rank *r)
{
	if (r->monitor)
		rank_monitor_flush(r, UINT64_MAX);
}

/* Orders values by name, then by aggregation, so that they are shown in the same order
 * everywhere. */
static int rank_monitor_compare_values(const void *a, const void *b)
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
	qsort(ret->monitor, ret->nmonitor, sizeof(*ret->monitor), rank_monitor_compare_values);
	return 0;
}
