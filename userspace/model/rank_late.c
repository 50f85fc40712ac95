/* SPDX-License-Identifier: Apache-2.0 */
/* rank_late.c - of a process that is watched from its start: was it at its steps before they could
 * be seen?
 *
 * A library is probed some ten milliseconds after it is mapped, and what was done with it before is
 * not seen. When it was mapped nobody tells. But who steps at once when the probes come may have
 * done so before: its first step ended less than LATE_NS after them, or less than two steps (the
 * one that ran then is not whole, and where steps end by the next one's beginning one more is
 * gone). Frameworks are at work for longer than LONGEST_NS between the two, and a process that runs
 * its program with the probes already there missed nothing.
 */
#include "userspace/model/rank.h"

#include <stdio.h>
#include <string.h>

#define LATE_NS	   50000000ull
#define LONGEST_NS 250000000ull

void rank_late_hit(struct rank *r, uint32_t role, uint32_t probe)
{
	if (role < RANK_ROLES)
		r->shown[role] = probe;
}

/* Of what ends these steps, by the role of its probe. 0: none that was hit. */
static uint32_t late_probe(const struct rank *r, enum step_boundary boundary)
{
	static const uint8_t role[BOUNDARY_COUNT] = {
		[BOUNDARY_UPDATE_EXIT] = GP_ROLE_range_begin,
		[BOUNDARY_ZERO_GRAD] = GP_ROLE_range_begin,
		[BOUNDARY_BACKWARD] = GP_ROLE_backward,
		[BOUNDARY_REDUCER] = GP_ROLE_reducer,
		[BOUNDARY_UPDATE_OP] = GP_ROLE_update_op,
		[BOUNDARY_EXECUTE] = GP_ROLE_execute,
		[BOUNDARY_SYNC] = GP_ROLE_sync,
		[BOUNDARY_COMPLETION] = GP_ROLE_execute,
	};
	uint32_t probe = r->shown[role[boundary]];

	if (boundary == BOUNDARY_PROBE)
		return r->env->step.probe;
	return !probe && role[boundary] == GP_ROLE_execute ? r->shown[GP_ROLE_graph_launch] : probe;
}

void rank_late_step(struct rank *r, struct rank_loop *lp, const struct step *s)
{
	uint32_t probe = late_probe(r, s->boundary);
	uint64_t gap_ns, step_ns, since_ns;

	if (!lp->steps) {
		lp->first_ns = s->end_ns;
		lp->probed_late = false;
	}
	if (lp->steps != 1 || !r->from_start || !probe || s->end_ns < lp->first_ns)
		return;
	since_ns = model_probe_since(r->env->probes, probe, lp->first_ns);
	if (since_ns <= r->start_ns)
		return;
	gap_ns = lp->first_ns > since_ns ? lp->first_ns - since_ns : 0;
	step_ns = s->end_ns - lp->first_ns;
	lp->probed_late = gap_ns < LATE_NS || (gap_ns < LONGEST_NS && gap_ns < 2 * step_ns);
}

void rank_late_state(const struct rank_loop *lp, struct step_state *st)
{
	static const char note[] =
		"probes came when it may have been at work: steps may be missing";
	size_t len = strlen(st->reason);

	st->late = lp->probed_late && !st->since_attach && st->tier != TIER_NONE;
	if (!st->late)
		return;
	st->since_attach = true;
	if (len + sizeof(note) + 2 <= sizeof(st->reason))
		snprintf(st->reason + len, sizeof(st->reason) - len, "%s%s", len ? "; " : "", note);
}
