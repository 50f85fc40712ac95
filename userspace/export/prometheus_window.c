/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

/* ---- lasting slowdowns --------------------------------------------------------------------------- */

/* One series a loop: its phase changes. */
void page_loop_slow(struct page *p, const struct family *f, const struct rank_view *r,
		    const struct loop_view *l)
{
	const struct change_view *c = &l->change;

	if (!c->known || !page_loop_known(l))
		return;
	metric_label(page_loop(p, f->name, r, l), "phase", c->slow ? change_part_name(c->blame) : "");
	metric_value_uint(p->out, c->slow);
}

void page_loop_slow_ratio(struct page *p, const struct family *f, const struct rank_view *r,
			  const struct loop_view *l)
{
	const struct change_view *c = &l->change;

	if (!c->known || !page_loop_known(l))
		return;
	metric_value_real(page_loop(p, f->name, r, l),
			  c->slow ? (double)c->after_ns / (double)c->before_ns : 1);
}

void page_loop_slowdowns(struct page *p, const struct family *f, const struct rank_view *r,
			 const struct loop_view *l)
{
	metric_value_uint(page_loop(p, f->name, r, l), l->change.count);
}
