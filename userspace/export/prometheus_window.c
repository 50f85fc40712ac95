/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

/* ---- lasting slowdowns
 * --------------------------------------------------------------------------- */

/* One series a loop: its phase changes. */
void page_loop_slow(struct page *p, const struct family *f, const struct rank_view *r,
		    const struct loop_view *l)
{
	const struct change_view *c = &l->change;

	if (!c->known || !page_loop_known(l))
		return;
	page_loop(p, f->name, r, l);
	if (c->slow)
		metric_label(p->out, "phase", change_part_name(c->blame));
	page_value_uint(p, p->out, c->slow);
}

void page_loop_slow_ratio(struct page *p, const struct family *f, const struct rank_view *r,
			  const struct loop_view *l)
{
	const struct change_view *c = &l->change;

	if (c->known && c->slow && page_loop_known(l))
		page_value_real(p, page_loop(p, f->name, r, l),
				(double)c->after_ns / (double)c->before_ns);
}

void page_loop_slowdowns(struct page *p, const struct family *f, const struct rank_view *r,
			 const struct loop_view *l)
{
	page_value_uint(p, page_loop(p, f->name, r, l), l->change.count);
}

/* ---- step times of late
 * -------------------------------------------------------------------------- */

static void minute_sample(struct page *p, const struct family *f, const struct rank_view *r,
			  const struct loop_view *l, const char *percentile, uint64_t ns)
{
	/* "quantile" is a summary's, whose sums never fall. */
	metric_label(page_loop(p, f->name, r, l), "percentile", percentile);
	page_value_ns(p, p->out, ns);
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
	if (page_loop_known(l))
		page_value_uint(p, page_loop(p, f->name, r, l), l->late[0].count);
}

void page_loop_signed(struct page *p, const struct family *f, const struct rank_view *r,
		      const struct loop_view *l)
{
	if (page_loop_known(l) && l->time.ideal_ns)
		page_value_real(p, page_loop(p, f->name, r, l), l->time.signed_ns / 1e9);
}

/* ---- where the time went of late
 * ----------------------------------------------------------------- */

static uint64_t observed_ns(const struct window_view *w)
{
	return window_elapsed(w) - w->ns[BUCKET_UNOBSERVED];
}

/* Ranks wait for each other: their windows say what the job's do, which have outages too. */
void page_rank_window_goodput(struct page *p, const struct family *f, const struct rank_view *r)
{
	char name[16];

	for (int i = 0; r->trainer && !p->label_job && i < WINDOWS_MAX && r->windows[i].length_ns;
	     i++) {
		const struct window_view *w = &r->windows[i];

		if (!observed_ns(w))
			continue;
		metric_label(page_sample(p, f->name, r), "window", window_name(name, w->length_ns));
		page_value_real(p, p->out, (double)w->ns[BUCKET_GOODPUT] / (double)observed_ns(w));
	}
}

void page_rank_window_observed(struct page *p, const struct family *f, const struct rank_view *r)
{
	char name[16];

	for (int i = 0; r->trainer && !p->label_job && i < WINDOWS_MAX && r->windows[i].length_ns;
	     i++) {
		if (observed_ns(&r->windows[i]) >= r->windows[i].length_ns)
			continue;
		metric_label(page_sample(p, f->name, r), "window",
			     window_name(name, r->windows[i].length_ns));
		page_value_ns(p, p->out, observed_ns(&r->windows[i]));
	}
}
