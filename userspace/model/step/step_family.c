/* SPDX-License-Identifier: Apache-2.0 */
/* step_family.c - the table of marker families with their properties, and functions that depend on
 * the family. */
#include "userspace/model/step/step_private.h"

#include "userspace/model/step/step_program.h"
#include "userspace/base/number.h"

/* Step times are device times if at least WAIT_SHARE percent of the last 32 steps, and at least
 * WAIT_STEPS steps, waited for the device. */
#define WAIT_STEPS 8
#define WAIT_SHARE 90

const struct family_row family_row[FAMILY_COUNT + 1] = {
	[FAMILY_RANGES] = {BOUNDARY_UPDATE_EXIT, TIER_A, "Optimizer.step", .grouped = true,
			   .gives_way = true},
	[FAMILY_ZERO_GRAD] =
		{BOUNDARY_ZERO_GRAD, TIER_A, "Optimizer.zero_grad",
		 "optimizer steps show no ranges (compiled?): counting zero_grad after a backward",
		 .apart = true},
	[FAMILY_UPDATE_OP] =
		{BOUNDARY_UPDATE_OP, TIER_A, "optimizer operator",
		 "no optimizer ranges: counting updates by their operators; loading, evaluation count as goodput",
		 .grouped = true, .gives_way = true},
	[FAMILY_ANON] =
		{BOUNDARY_BACKWARD, TIER_B, "unnamed ranges",
		 "unnamed ranges: a backward pass is a step; loading, evaluation count as goodput",
		 .batches = "backward passes"},
	[FAMILY_REDUCER] = {BOUNDARY_REDUCER, TIER_A, "Reducer.finalize_backward",
			    "no optimizer ranges: counting synchronised backward passes",
			    "synchronised backward passes", .grouped = true},
	[FAMILY_PARAM_OP] = {BOUNDARY_UPDATE_OP, TIER_B, "parameter update",
			     "no optimizer ranges: counting updates of a parameter",
			     "updates of a parameter", .grouped = true},
	[FAMILY_BACKWARD] = {BOUNDARY_BACKWARD, TIER_B, "Engine.execute", NULL, "backward passes",
			     .apart = true},
	[FAMILY_EXECUTE] = {BOUNDARY_EXECUTE, TIER_B, "execute", .apart = true},
	[FAMILY_SYNC] = {BOUNDARY_SYNC, TIER_B, "sync", .apart = true},
	[FAMILY_PROBE] = {BOUNDARY_PROBE, TIER_B, "probe", .apart = true},
	[FAMILY_NONE] = {.marker = ""},
};

enum step_boundary step_boundary_of(const struct step_finder *sf, enum family f)
{
	if (f == FAMILY_EXECUTE && sf->exec && sf->exec->completes)
		return BOUNDARY_COMPLETION;
	return family_row[f].boundary;
}

enum step_series step_series_of(const struct step_finder *sf, const struct loop *lp, enum family f)
{
	enum step_boundary b = step_boundary_of(sf, f);
	uint32_t n = smaller_of(lp->nrecent, 32);
	uint32_t last = n < 32 ? (1u << n) - 1 : UINT32_MAX;

	if (b == BOUNDARY_COMPLETION || b == BOUNDARY_SYNC)
		return SERIES_SYNC;
	if (n >= WAIT_STEPS &&
	    100u * (uint32_t)__builtin_popcount(lp->waits & last) >= WAIT_SHARE * n)
		return SERIES_SYNC;
	return b == BOUNDARY_EXECUTE ? SERIES_RATE : SERIES_HOST;
}

enum step_unit step_unit(const struct step_finder *sf)
{
	if (sf->fixed || (sf->elected != FAMILY_EXECUTE && sf->elected != FAMILY_SYNC))
		return UNIT_STEP;
	if (sf->elected == FAMILY_SYNC)
		return UNIT_CYCLE;
	return sf->exec ? exec_unit(sf->exec) : UNIT_EXECUTION;
}

struct tracker *tracker_of(struct step_finder *sf, enum family f)
{
	if (!sf->trackers[f])
		sf->trackers[f] = calloc(1, sizeof(*sf->trackers[f]));
	if (!sf->trackers[f])
		sf->error = -ENOMEM;
	return sf->trackers[f];
}

bool anon_backwards(const struct step_finder *sf)
{
	for (uint32_t i = 0; sf->anonymous && i < sf->nthreads; i++) {
		if (sf->anon[i] && sf->anon[i]->backwards)
			return true;
	}
	return false;
}

bool anon_accumulates(const struct step_finder *sf)
{
	for (uint32_t i = 0; i < sf->nthreads; i++) {
		if (sf->anon[i] && sf->anon[i]->accumulates)
			return true;
	}
	return false;
}
