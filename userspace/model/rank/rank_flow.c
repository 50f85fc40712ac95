/* SPDX-License-Identifier: Apache-2.0 */
/* rank_flow.c - passes signals to the step finder, and decides which probes are needed to find
 * steps. */
#include "userspace/model/rank/rank_private.h"

/* If a process made no step in this time (ns) since observation began, no steps are expected of it
 * any more. The probes that may find steps are then not needed for it. */
#define LEARNING_NS 60000000000ull

#define OPERATORS (1ull << GP_ROLE_update_op | 1ull << GP_ROLE_list_op | 1ull << GP_ROLE_param_op)

int rank_find(struct rank *r, const struct signal *s)
{
	struct signal unseen;

	if (!s->traced || !r->member.env->probes->buffers_unseen)
		return step_finder_feed(r->finder, s);
	unseen = *s;
	unseen.traced = false;
	unseen.from = 0;
	unseen.unseen = true;
	return step_finder_feed(r->finder, &unseen);
}

/* ---- the probes that it needs ---------------------------------------------------------------- */

static uint64_t rank_flow_loop_roles(const struct step_state *st)
{
	static const uint64_t roles[] = {
		[BOUNDARY_REDUCER] = 1ull << GP_ROLE_reducer,
		[BOUNDARY_UPDATE_OP] = OPERATORS,
		[BOUNDARY_EXECUTE] = 1ull << GP_ROLE_execute | 1ull << GP_ROLE_graph_launch,
		[BOUNDARY_SYNC] = 1ull << GP_ROLE_sync,
		[BOUNDARY_COMPLETION] = 1ull << GP_ROLE_execute | 1ull << GP_ROLE_on_ready |
					1ull << GP_ROLE_completion,
	};

	return (size_t)st->boundary < sizeof(roles) / sizeof(roles[0]) ? roles[st->boundary] : 0;
}

/* Returns true if the probe that reports inputs of programs is needed. It is needed after the first
 * use of a device, because programs may run at any time from then on. */
static bool flow_matters(const struct rank *r, uint64_t now_ns, bool found)
{
	bool learns = r->member.accelerated && !found &&
		      now_ns < r->member.observed_ns + LEARNING_NS;

	return learns || (found && r->finder && step_finder_wants_flow(r->finder));
}

uint64_t rank_roles(const struct rank *r, uint64_t now_ns)
{
	static const uint64_t any = 1ull << GP_ROLE_reducer | OPERATORS | 1ull << GP_ROLE_execute |
				    1ull << GP_ROLE_graph_launch | 1ull << GP_ROLE_sync |
				    1ull << GP_ROLE_on_ready | 1ull << GP_ROLE_completion;
	const struct job_member *m = &r->member;
	uint64_t roles = 0;
	bool found = false;

	for (uint32_t i = 0; i < r->nloops; i++) {
		const struct step_state *st = &r->loops[i]->state;

		found |= st->state == STATE_LOCKED || st->state == STATE_SUSPECT;
		roles |= rank_flow_loop_roles(st);
	}
	if (r->finder && step_finder_wants_operators(r->finder))
		roles |= OPERATORS;
	if ((r->trainer || m->seen & 1ull << SIGNAL_EXECUTE) && !found &&
	    now_ns < m->observed_ns + LEARNING_NS)
		roles |= any;
	if (flow_matters(r, now_ns, found))
		roles |= 1ull << GP_ROLE_buffer_in;
	/* this probe shows which steps the gradient scaler skipped */
	if (m->seen & 1ull << SIGNAL_AMP)
		roles |= 1ull << GP_ROLE_amp_update;
	if (rank_work_wants(r))
		roles |= 1ull << GP_ROLE_operation;
	return roles;
}
