/* SPDX-License-Identifier: Apache-2.0 */
/* model_probe.h - what probe hashes mean, where they are attached, how often they hit and what that
 * costs. */
#ifndef MODEL_PROBE_H
#define MODEL_PROBE_H

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/base/table.h"
#include "userspace/model/snapshot.h"

#define MODEL_PROBES	  4096 /* told apart; what further ones mean is not known */
#define MODEL_ATTACH	  4096 /* places of probes that are told apart */
#define MODEL_PROBE_CACHE 64

struct model_probe {
	struct gp_probe def;
	uint64_t hits, unsent, price_ns;
};

struct model_probes {
	struct table *table; /* hash -> struct model_probe */
	struct model_probe *cache[MODEL_PROBE_CACHE];
	uint32_t cached[MODEL_PROBE_CACHE]; /* hash in this place */
	struct attach_view *attach;
	uint32_t nattach, cap;
	bool buffers_unseen;	/* somewhere a probe of role buffer_in is not there, or not told */
	uint64_t roles_taken;	/* bit per role: somewhere the budget has a probe of it counted, or
				   took it */
	bool collectives_taken; /* ... took one that counts as a collective */
};

int model_probes_init(struct model_probes *ps); /* 0 or -ENOMEM */
void model_probes_clear(struct model_probes *ps);
int model_probe_define(struct model_probes *ps, uint32_t hash, const struct gp_probe *p);
/* *ret_told: the budget took it or gave it back; NULL: it did not. */
int model_probe_attach(struct model_probes *ps, uint32_t hash, const struct gp_attach *a,
		       uint64_t now_ns, const struct attach_view **ret_told);
/* When the probe came that had a hit at hit_ns: of its places the last one to get it by then; as it
 * is told a moment later than it is so, else the first. 0: not known. */
uint64_t model_probe_since(const struct model_probes *ps, uint32_t hash, uint64_t hit_ns);
struct model_probe *model_probe_find(struct model_probes *ps, uint32_t hash); /* NULL: unknown */
/* A copy in order of first report, with hits; *ret NULL when there is none. 0 or -ENOMEM. */
int model_probes_view(const struct model_probes *ps, struct attach_view **ret);
bool probe_between_two(const char *id); /* of a collective's role, but a send or a receive */
void model_probes_archive(struct archive *a, struct model_probes *ps);

#endif
