/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_export.c - ways out: whether what is seen arrives where it is sent. */
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

static struct buffer *sample(struct page *p, const struct family *f, const struct export_view *e)
{
	metric_label(page_sample(p, f->name, NULL), "exporter", e->name);
	return p->out;
}

static void up(struct page *p, const struct family *f, const struct export_view *e)
{
	page_value_uint(p, sample(p, f, e), e->up);
}

static void sent(struct page *p, const struct family *f, const struct export_view *e)
{
	page_value_uint(p, sample(p, f, e), e->sent);
}

static void dropped(struct page *p, const struct family *f, const struct export_view *e)
{
	for (uint32_t i = 0; i < e->ndropped && i < EXPORT_CAUSES; i++) {
		metric_label(sample(p, f, e), "cause", e->dropped[i].cause);
		page_value_uint(p, p->out, e->dropped[i].count);
	}
}

static void superseded(struct page *p, const struct family *f, const struct export_view *e)
{
	page_value_uint(p, sample(p, f, e), e->superseded);
}

static void waiting(struct page *p, const struct family *f, const struct export_view *e)
{
	page_value_uint(p, sample(p, f, e), e->waiting);
}

static void waiting_bytes(struct page *p, const struct family *f, const struct export_view *e)
{
	page_value_uint(p, sample(p, f, e), e->waiting_bytes);
}

static void last_success(struct page *p, const struct family *f, const struct export_view *e)
{
	if (e->last_ns > 0)
		page_value_ns(p, sample(p, f, e), (uint64_t)e->last_ns);
}

static const struct family export_families[] = {
	{"gpbpf_export_up", GAUGE, "exporter",
	 "1 where the last attempt to send worked, 0 where it did not.", .way = up},
	{"gpbpf_export_sent_total", COUNTER, "exporter",
	 "Points, records or files that an exporter sent.", .way = sent, .anew = true},
	{"gpbpf_export_dropped_total", COUNTER, "exporter, cause",
	 "Those that it did not send, and will not.", .way = dropped, .anew = true},
	{"gpbpf_export_superseded_total", COUNTER, "exporter",
	 "Intervals that passed while an earlier write of the exporter still went on.",
	 .way = superseded, .anew = true},
	{"gpbpf_export_waiting", GAUGE, "exporter",
	 "Points, records or files that are kept to be sent later.", .way = waiting},
	{"gpbpf_export_waiting_bytes", GAUGE, "exporter", "Size of what is kept to be sent later.",
	 .way = waiting_bytes},
	{"gpbpf_export_last_success_timestamp_seconds", GAUGE, "exporter",
	 "When an exporter's last attempt worked.", .way = last_success},
};
const struct family_list page_export_families = FAMILY_LIST(export_families);
