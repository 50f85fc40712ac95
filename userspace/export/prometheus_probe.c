/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of probes: what they hit, where they are, what was given up. */
#include <string.h>

#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"
#include "userspace/ingest/event.h"

int page_attach_order(const void *a, const void *b)
{
	const struct attach_view *x = *(const struct attach_view *const *)a;
	const struct attach_view *y = *(const struct attach_view *const *)b;
	int order = strncmp(x->id, y->id, sizeof(x->id));

	return order ? order : strncmp(x->at.library, y->at.library, sizeof(x->at.library));
}

/* Hits are known by probe, not by library: rows of one probe that is in several say the same
 * number. */
static void probe_hits(struct page *p, const struct family *f)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < p->nattach; i++) {
		const struct attach_view *a = p->attach[i];

		hits = a->hits > hits ? a->hits : hits;
		if (i + 1 < p->nattach && !strcmp(a->id, p->attach[i + 1]->id))
			continue;
		metric_label(page_sample(p, f->name, NULL), "probe", a->id);
		page_value_uint(p, p->out, hits);
		hits = 0;
	}
}

static void probe_unsent(struct page *p, const struct family *f)
{
	for (size_t i = 0; i < p->nattach; i++) {
		const struct attach_view *a = p->attach[i];

		if (a->flags & GP_PROBE_COUNTED || (i && !strcmp(a->id, p->attach[i - 1]->id)))
			continue;
		metric_label(page_sample(p, f->name, NULL), "probe", a->id);
		page_value_uint(p, p->out, a->unsent);
	}
}

static void probe_states(struct page *p, const struct family *f)
{
	uint64_t n[GP_GROUP_fault + 1][GP_ATTACH_given_up + 1] = {0};

	for (size_t i = 0; i < p->nattach; i++)
		if (p->attach[i]->group <= GP_GROUP_fault &&
		    p->attach[i]->at.state <= GP_ATTACH_given_up)
			n[p->attach[i]->group][p->attach[i]->at.state]++;
	for (int g = 0; p->nattach && g <= GP_GROUP_fault; g++) {
		for (int st = GP_ATTACH_attached; st <= GP_ATTACH_given_up; st++) {
			metric_label(page_sample(p, f->name, NULL), "group",
				     event_group_name((unsigned)g));
			metric_label(p->out, "state", event_attach_state_name((unsigned)st));
			page_value_uint(p, p->out, n[g][st]);
		}
	}
}

/* Two copies of a library can have one name (two containers): attached anywhere counts. */
static void probe_attached(struct page *p, const struct family *f)
{
	bool attached = false, meant = false;

	for (size_t i = 0; i < p->nattach; i++) {
		const struct attach_view *a = p->attach[i];

		attached |= a->at.state == GP_ATTACH_attached;
		meant |= a->at.state != GP_ATTACH_absent;
		if (i + 1 < p->nattach && !page_attach_order(&p->attach[i], &p->attach[i + 1]))
			continue;
		if (meant) {
			metric_label(page_sample(p, f->name, NULL), "probe", a->id);
			metric_label(p->out, "library", a->at.library);
			page_value_uint(p, p->out, attached);
		}
		attached = meant = false;
	}
}

static const struct family probe_families[] = {
	{"gpbpf_probe_hits_total", COUNTER, "probe", "Hits of a probe.", .all = probe_hits},
	{"gpbpf_probe_unsent_total", COUNTER, "probe",
	 "Hits that were counted and not sent: over a bound, or over the budget of overhead.",
	 .all = probe_unsent},
	{"gpbpf_probes", GAUGE, "group, state", "Places of probes by group and state.",
	 .all = probe_states},
	{"gpbpf_probe_attached", GAUGE, "probe, library",
	 "1 where a probe is attached, 0 where it could not be.", .all = probe_attached},
};
const struct family_list page_probe_families = FAMILY_LIST(probe_families);
