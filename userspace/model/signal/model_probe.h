/* SPDX-License-Identifier: Apache-2.0 */
/* model_probe.h - the probes of a model: their definitions, the sites where they are attached,
 * their hits, and the cost of hits. */
#ifndef MODEL_MODEL_PROBE_H
#define MODEL_MODEL_PROBE_H

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/base/table.h"
#include "userspace/model/signal/device_code.h"

/* Upper bounds. Further probes have no definition; further sites are not listed. */
#define MODEL_PROBES	  4096
#define MODEL_ATTACH	  4096
#define MODEL_PROBE_CACHE 64

struct model_probe {
	struct gp_probe def;
	uint64_t hits, unsent, hit_cost_ns;
};

/* A site (function of a file) where a probe is, or may be, attached. */
struct attach_view {
	uint32_t probe;
	char id[48], runtime[16];
	uint16_t role, group;
	uint32_t flags;
	struct gp_attach at;
	uint64_t since_ns; /* time of attaching (CLOCK_MONOTONIC ns); 0: not attached */
	uint64_t hits;
	/* Hits that were counted and not sent: over a limit, removed by the budget, or not
	 * matched. */
	uint64_t unsent;
	/* how often the budget reduced the probe to counting or removed it */
	uint32_t given_up;
};

struct model_probes {
	struct device_codes codes; /* fault codes of calls */
	struct table *table;	   /* probe hash -> struct model_probe */
	struct model_probe *cache[MODEL_PROBE_CACHE];
	uint32_t cached[MODEL_PROBE_CACHE]; /* hash in this entry of the cache */
	struct attach_view *attach;
	uint32_t nattach, cap;
	bool buffers_unseen; /* at some site a probe of role buffer_in is missing or not sent */
	/* Bit per role: at some site the budget has reduced a probe of this role to counting, or
	 * removed it. */
	uint64_t roles_taken;
	/* At some site the budget removed a probe of a collective other than a send or a
	 * receive. */
	bool collectives_taken;
};

int model_probes_init(struct model_probes *ps); /* 0 or -ENOMEM */
void model_probes_clear(struct model_probes *ps);
/* Sets the definition of a probe hash. Returns 0 or -ENOMEM. */
int model_probe_define(struct model_probes *ps, uint32_t hash, const struct gp_probe *p);
/* Records that a site of a probe was attached or detached at now_ns. *ret_reported: the site, if
 * the budget removed the probe or gave it back; otherwise NULL. Returns 0 or -ENOMEM. */
int model_probe_attach(struct model_probes *ps, uint32_t hash, const struct gp_attach *a,
		       uint64_t now_ns, const struct attach_view **ret_reported);
/* Returns when the probe that was hit at hit_ns became active: the latest attach time of its sites
 * up to then. A site is reported a moment after it is attached, so if none is that old the first
 * site counts. 0: unknown. All times CLOCK_MONOTONIC ns. */
uint64_t model_probe_since(const struct model_probes *ps, uint32_t hash, uint64_t hit_ns);
/* Returns the definition and counts of a hash, NULL when unknown. */
struct model_probe *model_probe_find(struct model_probes *ps, uint32_t hash);
/* Copies the sites with their hits, in order of their first report. *ret is NULL when there are
 * none; the caller frees it. Returns 0 or -ENOMEM. */
int model_probes_view(const struct model_probes *ps, struct attach_view **ret);
void model_probes_archive(struct archive *a, struct model_probes *ps);

#endif
