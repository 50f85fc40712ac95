/* SPDX-License-Identifier: Apache-2.0 */
/* The store of history: whether what is seen is kept. */
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

static const struct store_view *kept(const struct page *p)
{
	return p->s && p->s->store.kept ? &p->s->store : NULL;
}

static void counted(struct page *p, const struct family *f, const char *label, const char *what,
		    uint64_t count)
{
	metric_label(page_sample(p, f->name, NULL), label, what);
	page_value_uint(p, p->out, count);
}

static void up(struct page *p, const struct family *f)
{
	if (kept(p))
		page_plain(p, f, kept(p)->up);
}

static void transactions(struct page *p, const struct family *f)
{
	if (kept(p))
		page_plain(p, f, kept(p)->transactions);
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
		page_plain(p, f, kept(p)->bytes);
}

static void last_success(struct page *p, const struct family *f)
{
	if (kept(p) && kept(p)->last_ns > 0)
		page_plain_real(p, f, (double)kept(p)->last_ns / 1e9, 3);
}

static void waiting(struct page *p, const struct family *f)
{
	if (kept(p))
		page_plain(p, f, kept(p)->waiting);
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

static const struct family store_families[] = {
	{"gpbpf_store_up", GAUGE, "",
	 "1 where the last attempt to write the store worked, 0 where it did not; absent: none is kept.",
	 .all = up},
	{"gpbpf_store_transactions_total", COUNTER, "", "Transactions written to the store.",
	 .all = transactions, .anew = true},
	{"gpbpf_store_failures_total", COUNTER, "cause",
	 "Attempts to write the store that failed; what they had is kept in memory and tried again.",
	 .all = failures, .anew = true},
	{"gpbpf_store_bytes", GAUGE, "", "Size of the store with its journal.", .all = bytes},
	{"gpbpf_store_last_success_timestamp_seconds", GAUGE, "",
	 "When something was written to the store last.", .all = last_success},
	{"gpbpf_store_waiting_rows", GAUGE, "",
	 "Rows (a minute of a rank each) in memory that are not written yet.", .all = waiting},
	{"gpbpf_store_lost_total", COUNTER, "what",
	 "What memory had no room for while the store could not be written.", .all = lost,
	 .anew = true},
};
const struct family_list page_store_families = FAMILY_LIST(store_families);
