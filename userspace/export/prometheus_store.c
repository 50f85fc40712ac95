/* SPDX-License-Identifier: Apache-2.0 */
/* The store of history: whether what is seen is kept. */
#include <inttypes.h>

#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

static const struct store_view *kept(const struct page *p)
{
	return p->s && p->s->store.kept ? &p->s->store : NULL;
}

static void plain(struct page *p, const struct family *f, uint64_t value)
{
	metric_name(p->out, f->name);
	buffer_printf(p->out, " %" PRIu64 "\n", value);
}

static void counted(struct page *p, const struct family *f, const char *label, const char *what,
		    uint64_t count)
{
	metric_label(page_sample(p, f->name, NULL), label, what);
	metric_value_uint(p->out, count);
}

static void up(struct page *p, const struct family *f)
{
	if (kept(p))
		plain(p, f, kept(p)->up);
}

static void transactions(struct page *p, const struct family *f)
{
	if (kept(p))
		plain(p, f, kept(p)->transactions);
}

static void failures(struct page *p, const struct family *f)
{
	const struct store_view *s = kept(p);

	for (uint32_t i = 0; s && i < s->nfailed; i++)
		counted(p, f, "cause", s->failed[i].cause, s->failed[i].count);
}

static void bytes(struct page *p, const struct family *f)
{
	if (kept(p) && kept(p)->bytes)
		plain(p, f, kept(p)->bytes);
}

static void last_success(struct page *p, const struct family *f)
{
	if (!kept(p) || kept(p)->last_ns <= 0)
		return;
	metric_name(p->out, f->name);
	buffer_printf(p->out, " %.3f\n", (double)kept(p)->last_ns / 1e9);
}

static void waiting(struct page *p, const struct family *f)
{
	if (kept(p))
		plain(p, f, kept(p)->waiting);
}

static void lost(struct page *p, const struct family *f)
{
	const struct store_view *s = kept(p);

	if (!s)
		return;
	counted(p, f, "what", "ranks", s->lost_ranks);
	counted(p, f, "what", "notes", s->lost_notes);
	counted(p, f, "what", "facts", s->lost_facts);
}

const struct family page_store_families[PAGE_STORE_FAMILIES] = {
	{"gpbpf_store_up", "gauge",
	 "1 where the last attempt to write the store worked, 0 where it did not; absent: none is kept.",
	 .all = up},
	{"gpbpf_store_transactions_total", "counter", "Transactions written to the store.",
	 .all = transactions},
	{"gpbpf_store_failures_total", "counter",
	 "Attempts to write the store that failed; what they had is kept in memory and tried again.",
	 .all = failures},
	{"gpbpf_store_bytes", "gauge", "Size of the store with its journal.", .all = bytes},
	{"gpbpf_store_last_success_timestamp_seconds", "gauge",
	 "When something was written to the store last.", .all = last_success},
	{"gpbpf_store_waiting_rows", "gauge",
	 "Rows (a minute of a rank each) in memory that are not written yet.", .all = waiting},
	{"gpbpf_store_lost_total", "counter",
	 "What memory had no room for while the store could not be written.", .all = lost},
};
