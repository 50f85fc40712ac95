/* SPDX-License-Identifier: Apache-2.0 */
/* model_probe.h - the probes that a model knows: their definitions, the sites where they are
 * attached, how often they were hit, and the cost of a hit. */
#ifndef MODEL_MODEL_PROBE_H
#define MODEL_MODEL_PROBE_H

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/base/table.h"
#include "userspace/model/signal/device_code.h"
#include "userspace/model/signal/operation.h"

/* Limits. Probes beyond MODEL_PROBES have no definition, and sites beyond MODEL_ATTACH are not
 * listed. MODEL_PROBE_CACHE is the number of entries of a cache for lookups by hash. */
#define MODEL_PROBES	  4096
#define MODEL_ATTACH	  4096
#define MODEL_PROBE_CACHE 64

struct model_probe {
	struct gp_probe def;
	uint64_t hits, unsent, hit_cost_ns;
	struct formula *formula; /* operations of a call; NULL: none */
};

/* A site: a function in a file where a probe is attached or may be attached. */
struct attach_view {
	uint32_t probe;
	char id[48], runtime[16];
	uint16_t role, group;
	uint32_t flags;
	struct gp_attach at;
	uint64_t since_ns; /* time when it was attached (ns, CLOCK_MONOTONIC); 0: not attached */
	uint64_t hits;
	/* Number of hits that were counted but not sent: their number was limited, the overhead
	 * budget removed the probe, or no matching rule selected them. */
	uint64_t unsent;
	/* How often the probe was reduced to counting, or detached, because of the overhead
	 * budget. */
	uint32_t given_up;
};

struct model_probes {
	struct device_codes codes; /* return codes of calls that report a fault */
	struct table *table;	   /* maps a probe's hash to its struct model_probe */
	struct model_probe *cache[MODEL_PROBE_CACHE];
	/* Hash of the probe in each entry of `cache`. */
	uint32_t cached[MODEL_PROBE_CACHE];
	struct attach_view *attach;
	uint32_t nattach, cap;
	/* at some site a probe of writes by the host (role buffer_in) is missing or only counts */
	bool buffers_unseen;
	/* One bit per role: set if, at any site, a probe of this role was reduced to counting, or
	 * detached, because of the overhead budget. */
	uint64_t roles_taken;
	/* At some site a probe of a collective was detached because of the overhead budget. Probes
	 * of sends and receives are ignored. */
	bool collectives_taken;
};

int model_probes_init(struct model_probes *ps); /* 0 or -ENOMEM */
void model_probes_clear(struct model_probes *ps);
/* Sets the definition of the probe with this hash. Returns 0 or -ENOMEM. */
int model_probe_define(struct model_probes *ps, uint32_t hash, const struct gp_probe *p);
/* Sets the formula of a probe that is defined; one that is wrong counts as none. Returns 0 or
 * -ENOMEM. */
int model_probe_formula(struct model_probes *ps, uint32_t hash, const struct gp_formula *f);
/* Returns the formula of a probe, or NULL. */
const struct formula *model_probe_formula_find(const struct model_probes *ps, uint32_t hash);
/* Records that a probe was attached to or detached from a site at now_ns. *ret_reported: the site,
 * if the overhead budget detached the probe or allowed it again, else NULL. Returns 0 or
 * -ENOMEM. */
int model_probe_attach(struct model_probes *ps, uint32_t hash, const struct gp_attach *a,
		       uint64_t now_ns, const struct attach_view **ret_reported);
/* Returns the latest time (ns, CLOCK_MONOTONIC) up to hit_ns at which a site of the probe was
 * attached; 0: unknown. If the sites were only reported after hit_ns, returns the earliest time,
 * because the report of a site follows the attach. */
uint64_t model_probe_since(const struct model_probes *ps, uint32_t hash, uint64_t hit_ns);
/* Returns definition and counts of the probe with this hash, or NULL. */
struct model_probe *model_probe_find(struct model_probes *ps, uint32_t hash);
/* Copies all sites with their hits to *ret, in the order in which they were reported first. The
 * caller frees *ret; it is NULL if there are none. Returns 0 or -ENOMEM. */
int model_probes_view(const struct model_probes *ps, struct attach_view **ret);
void model_probes_archive(struct archive *a, struct model_probes *ps);

#endif
