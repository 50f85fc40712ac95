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

/* ---- step times of late -------------------------------------------------------------------------- */

static void minute_sample(struct page *p, const struct family *f, const struct rank_view *r,
			  const struct loop_view *l, const char *percentile, uint64_t ns)
{
	metric_label(page_loop(p, f->name, r, l), "window", "1m");
	metric_label(p->out, "percentile", percentile); /* "quantile" is a summary's, whose sums never fall */
	metric_value_ns(p->out, ns);
}

void page_loop_minute(struct page *p, const struct family *f, const struct rank_view *r,
		      const struct loop_view *l)
{
	const struct times_view *t = &l->late[0];

	if (!page_loop_known(l) || !t->count)
		return;
	minute_sample(p, f, r, l, "50", t->p50_ns);
	minute_sample(p, f, r, l, "95", t->p95_ns);
	minute_sample(p, f, r, l, "99", t->p99_ns);
}

void page_loop_minute_steps(struct page *p, const struct family *f, const struct rank_view *r,
			    const struct loop_view *l)
{
	if (!page_loop_known(l))
		return;
	metric_label(page_loop(p, f->name, r, l), "window", "1m");
	metric_value_uint(p->out, l->late[0].count);
}

void page_loop_signed(struct page *p, const struct family *f, const struct rank_view *r,
		      const struct loop_view *l)
{
	if (page_loop_known(l) && l->time.ideal_ns)
		metric_value_real(page_loop(p, f->name, r, l), l->time.signed_ns / 1e9);
}

/* ---- where the time went of late ----------------------------------------------------------------- */

static uint64_t observed_ns(const struct window_view *w)
{
	return window_elapsed(w) - w->ns[BUCKET_UNOBSERVED];
}

void page_rank_window_goodput(struct page *p, const struct family *f, const struct rank_view *r)
{
	char name[16];

	for (int i = 0; r->trainer && i < WINDOWS_MAX && r->windows[i].length_ns; i++) {
		const struct window_view *w = &r->windows[i];

		if (!observed_ns(w))
			continue;
		metric_label(page_sample(p, f->name, r), "window", window_name(name, w->length_ns));
		metric_value_real(p->out, (double)w->ns[BUCKET_GOODPUT] / (double)observed_ns(w));
	}
}

void page_rank_window_observed(struct page *p, const struct family *f, const struct rank_view *r)
{
	char name[16];

	for (int i = 0; r->trainer && i < WINDOWS_MAX && r->windows[i].length_ns; i++) {
		metric_label(page_sample(p, f->name, r), "window",
			     window_name(name, r->windows[i].length_ns));
		metric_value_ns(p->out, observed_ns(&r->windows[i]));
	}
}
