/* SPDX-License-Identifier: Apache-2.0 */
/* What the job says of itself: figures of torch.monitor, and ranges that it named. How many figures
 * there are is the job's to say: a page has PAGE_FIGURES of them, and tells how many it left out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

/* With all its labels a sample is 120 bytes or so: a tenth of the page that is allowed (design §9).
 */
#define PAGE_FIGURES 2048

/* As the job has it: no number is one of the things it can be. */
static void figure_value(struct buffer *out, double value)
{
	char text[32];

	if (!isfinite(value)) {
		buffer_printf(out, "} %s\n", isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buffer_printf(out, "} %s\n", text);
}

static void figures(struct page *p, const struct family *f, const struct rank_view *r)
{
	for (uint32_t i = 0; i < r->nmonitor; i++) {
		const struct monitor_value *v = &r->monitor[i];

		if (p->figures == PAGE_FIGURES) {
			p->figures_left_out++;
			continue;
		}
		p->figures++;
		metric_label(page_sample(p, f->name, r), "name", v->name);
		metric_label(p->out, "aggregation", monitor_aggregation_name[v->aggregation]);
		figure_value(p->out, v->value);
	}
}

static void left_out(struct page *p, const struct family *f)
{
	if (p->figures)
		page_plain(p, f, p->figures_left_out);
}

static void events(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->monitor_events)
		page_value_uint(p, page_sample(p, f->name, r), r->monitor_events);
}

static void truncated(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->monitor_events)
		page_value_uint(p, page_sample(p, f->name, r), r->monitor_truncated);
}

static void unkept(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->monitor_events)
		page_value_uint(p, page_sample(p, f->name, r), r->monitor_unkept);
}

/* The first names of a loop stay, so that a page that is full stays the same. */
static void ranges(struct page *p, const struct family *f, const struct rank_view *r,
		   const struct loop_view *l)
{
	for (uint32_t i = 0; i < l->ranges.nparts && p->range_samples < PAGE_FIGURES; i++) {
		p->range_samples++;
		metric_label(page_loop(p, f->name, r, l), "name", l->ranges.part[i].name);
		page_value_ns(p, p->out, l->ranges.part[i].ns);
	}
}

static const struct family monitor_families[] = {
	{"gpbpf_monitor_value", GAUGE, OF_RANK ", name, aggregation",
	 "Last value of a Stat of torch.monitor, as the job logged it.", .rank = figures},
	{"gpbpf_monitor_values_left_out", GAUGE, "", "Such values for which this page has no room.",
	 .all = left_out},
	{"gpbpf_monitor_events_total", COUNTER, OF_RANK,
	 "Events of torch.monitor, those of Stats included.", .rank = events},
	{"gpbpf_monitor_truncated_total", COUNTER, OF_RANK, "Those that were not told whole.",
	 .rank = truncated},
	{"gpbpf_monitor_unkept_total", COUNTER, OF_RANK,
	 "Values of Stats that were told and not kept: a process has room for 64.", .rank = unkept},
	{"gpbpf_step_range_seconds_total", COUNTER, OF_LOOP ", name",
	 "Host time inside steps in ranges that the job named, each without the ranges in it.",
	 .loop = ranges},
};
const struct family_list page_monitor_families = FAMILY_LIST(monitor_families);
