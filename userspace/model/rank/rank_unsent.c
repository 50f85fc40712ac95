/* SPDX-License-Identifier: Apache-2.0 */
/* rank_unsent.c - keeps track of which figures are unknown because blocking calls or collectives
 * were not sent. This happens if the overhead budget switched their probe to counting or removed
 * it, or if they exceeded the limit of their probe row.
 *
 * A record with the number of unsent calls comes once a second and names the process. The removal
 * of a probe is reported at once and without a process, so it applies to all processes. The figures
 * of a step are known again when its calls are sent; sums over all steps lack the unsent calls. */
#include "userspace/model/rank/rank_private.h"

/* Time (ns) for which figures are unknown after a record of unsent calls; such records come every
 * second. */
#define COUNTED_NS 2000000000ull

static const struct {
	uint64_t roles;
	enum phase phase;
} blocking[RANK_UNSENT] = {
	{1ull << GP_ROLE_sync, PHASE_SYNC},
	{1ull << GP_ROLE_collective, PHASE_COLLECTIVE},
	{1ull << GP_ROLE_copy | 1ull << GP_ROLE_copy_in | 1ull << GP_ROLE_copy_out |
		 1ull << GP_ROLE_buffer_in,
	 PHASE_TRANSFER},
};

void rank_unsent(struct rank *r, uint32_t hash, const struct gp_probe *probe, uint64_t hits,
		 uint64_t now_ns)
{
	if (probe->role == GP_ROLE_range_begin && !(probe->flags & GP_PROBE_ANON_RANGE))
		r->ranges_unsent += hits;
	if (probe->role == GP_ROLE_operation)
		rank_work_unsent(r, hash);
	if (probe->role == GP_ROLE_collective && !(probe->flags & GP_PROBE_PAIR))
		rank_unsent_collectives(r);
	for (uint32_t i = 0; i < RANK_UNSENT && probe->role < RANK_ROLES; i++) {
		if (blocking[i].roles & 1ull << probe->role)
			r->unsent_ns[i] = now_ns;
	}
}

void rank_unsent_collectives(struct rank *r)
{
	r->collectives.unsent = true;
}

void rank_unsent_step(struct rank *r, struct rank_loop *lp, struct fact_step *fs)
{
	uint32_t unsent = 0;

	for (uint32_t i = 0; i < RANK_UNSENT; i++) {
		bool counted = r->unsent_ns[i] && fs->step.start_ns < r->unsent_ns[i] + COUNTED_NS;

		if (counted || r->member.env->probes->roles_taken & blocking[i].roles)
			unsent |= 1u << blocking[i].phase;
	}
	if (!unsent)
		return;
	lp->phases_unsent |= unsent & fs->phases_known;
	lp->device_unsent |= fs->device_known;
	fs->phases_known &= ~unsent;
	fs->device_known = false;
}
