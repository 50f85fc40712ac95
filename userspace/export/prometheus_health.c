/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

static void rank_faults(struct page *p, const struct family *f, const struct rank_view *r)
{
	for (int i = 0; i < FAULT_COUNT; i++) {
		if (!r->faults[i])
			continue;
		metric_label(page_sample(p, f->name, r), "kind", fault_name[i]);
		page_value_uint(p, p->out, r->faults[i]);
	}
}

static void rank_wait(struct page *p, const struct family *f, const struct rank_view *r)
{
	uint64_t wait_ns = 0;
	bool known = false;

	for (uint32_t i = 0; i < r->nloops; i++) {
		known |= r->loops[i].device_known;
		wait_ns += r->loops[i].wait_ns;
	}
	if (known)
		page_value_ns(p, page_sample(p, f->name, r), wait_ns);
}

/* Of who can be compared with others. */
static bool compared(const struct rank_view *r)
{
	return r->straggle.count || (r->world_size > 1 && r->nloops && r->loops[0].device_known);
}

/* One series a rank: its phase changes. */
static void rank_straggler(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (!compared(r))
		return;
	page_sample(p, f->name, r);
	if (r->straggle.now)
		metric_label(p->out, "phase", r->straggle.phase);
	page_value_uint(p, p->out, r->straggle.now);
}

static void rank_straggles(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (compared(r))
		page_value_uint(p, page_sample(p, f->name, r), r->straggle.count);
}

static const struct family health_families[] = {
	{"gpbpf_faults_total", COUNTER, OF_RANK ", kind",
	 "Errors that calls of a device or communicator returned, or the kernel's log told; those after the "
	 "first too.",
	 .rank = rank_faults},
	{"gpbpf_collective_wait_seconds_total", COUNTER, OF_RANK,
	 "Time inside steps blocked where other ranks may be waited for: in collectives, on the device, in "
	 "copies to the host. Who waits least is who the others wait for.",
	 .rank = rank_wait},
	{"gpbpf_straggler", GAUGE, OF_RANK ", phase",
	 "1 while the other ranks of this node wait for this one, step after step; phase: what it does "
	 "longer "
	 "than they.",
	 .rank = rank_straggler},
	{"gpbpf_straggles_total", COUNTER, OF_RANK,
	 "How often a rank became one that the others wait for.", .rank = rank_straggles},
};
const struct family_list page_health_families = FAMILY_LIST(health_families);
