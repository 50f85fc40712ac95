/* SPDX-License-Identifier: Apache-2.0 */
/* rank_untold.c - calls that block or are collectives, and were not told: the budget had them
 * counted or took their probe away, or there were more than their row's bound. What is made of all
 * of them is not known then.
 *
 * A counter comes once a second and says who; that a probe was taken is told at once, but of whom
 * is not known: of all. Each step is known again once its calls are; a sum over steps lacks what
 * was not told.
 */
#include "userspace/model/rank.h"

/* Counters come every second: so long after one the next may be under way. */
#define COUNTED_NS 2000000000ull

static const struct {
	uint64_t roles;
	enum phase phase;
} blocking[RANK_UNTOLD] = {
	{1ull << GP_ROLE_sync, PHASE_SYNC},
	{1ull << GP_ROLE_collective, PHASE_COLLECTIVE},
	{1ull << GP_ROLE_copy | 1ull << GP_ROLE_copy_in | 1ull << GP_ROLE_copy_out |
		 1ull << GP_ROLE_buffer_in,
	 PHASE_TRANSFER},
};

void rank_untold(struct rank *r, const struct gp_probe *probe, uint64_t hits, uint64_t now_ns)
{
	if (probe->role == GP_ROLE_range_begin && !(probe->flags & GP_PROBE_ANON_RANGE))
		r->ranges_unsent += hits;
	if (probe->role == GP_ROLE_collective && !probe_between_two(probe->id))
		rank_untold_collectives(r);
	for (uint32_t i = 0; i < RANK_UNTOLD && probe->role < RANK_ROLES; i++) {
		if (blocking[i].roles & 1ull << probe->role)
			r->untold_ns[i] = now_ns;
	}
}

void rank_untold_collectives(struct rank *r)
{
	r->collectives.untold = true;
}

void rank_untold_step(struct rank *r, struct rank_loop *lp, struct fact_step *fs)
{
	uint32_t untold = 0;

	for (uint32_t i = 0; i < RANK_UNTOLD; i++) {
		bool counted = r->untold_ns[i] && fs->step.start_ns < r->untold_ns[i] + COUNTED_NS;

		if (counted || r->env->probes->roles_taken & blocking[i].roles)
			untold |= 1u << blocking[i].phase;
	}
	if (!untold)
		return;
	lp->phases_untold |= untold & fs->phases_known;
	lp->device_untold |= fs->device_known;
	fs->phases_known &= ~untold;
	fs->device_known = false;
}
