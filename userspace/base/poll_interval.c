/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/poll_interval.h"

bool poll_interval_changes(struct poll_interval *p, uint64_t now_ns, bool busy)
{
	uint64_t was_ns = p->period_ns;

	if (busy)
		p->busy_ns = now_ns;
	p->period_ns = now_ns - p->busy_ns < p->calm_ns ? p->often_ns : p->seldom_ns;
	return p->period_ns != was_ns;
}
