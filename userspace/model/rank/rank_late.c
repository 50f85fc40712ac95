/* SPDX-License-Identifier: Apache-2.0 */
/* rank_late.c - decides whether steps of a process may have been missed, even if it was watched
 * from its start.
 *
 * A library is probed some ten milliseconds after it is mapped; calls before that are not seen, and
 * the time of mapping is unknown. If the first step ends less than LATE_NS, or less than two steps,
 * after the probes were attached, there may have been steps before: the step in progress at that
 * time is incomplete, and if steps end where the next one begins, one more is lost. Nothing was
 * missed if the program ran after the probes were attached, or if more than LONGEST_NS passed,
 * because frameworks take longer from loading the library to the first step.
 *
 * Later, too, lost records may have been ends of steps. If records were lost between the ends of
 * two steps, and the time between these is not that of one step, the numbers of all later steps may
 * be too low. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/number.h"

#define LATE_NS	    50000000ull
#define LONGEST_NS  250000000ull
#define USUAL_STEPS 8 /* number of steps after which the usual time between steps is known */
/* Upper bound of the confidence in the steps of a loop if some steps may be missing. */
#define UNDERCOUNTED 0.9

void rank_late_hit(struct rank *r, uint32_t role, uint32_t probe)
{
	if (role < RANK_ROLES)
		r->shown[role] = probe;
}

/* Returns the hash of the probe that was hit last among the probes that end steps at this boundary;
 * 0: none was hit. */
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

	if (boundary == BOUNDARY_UPDATE_OP && !probe)
		probe = r->shown[GP_ROLE_param_op];
	if (boundary == BOUNDARY_PROBE)
		return r->member.env->step.probe;
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
	since_ns = model_probe_since(r->member.env->probes, probe, lp->first_ns);
	if (since_ns <= r->member.start_ns)
		return;
	gap_ns = more_than(lp->first_ns, since_ns);
	step_ns = s->end_ns - lp->first_ns;
	lp->probed_late = gap_ns < LATE_NS || (gap_ns < LONGEST_NS && gap_ns < 2 * step_ns);
}

static bool rank_late_too_long(const struct rank_loop *lp, uint64_t ns)
{
	return lp->steps < USUAL_STEPS || !lp->ideal_ns || ns > lp->ideal_ns + lp->ideal_ns / 2;
}

/* Returns true if parts of a step were seen (a backward pass, for example). In this case lost
 * records may have been steps, even if no step was found yet. */
static bool rank_late_steps_begun(const struct rank *r)
{
	const uint64_t parts = 1ull << SIGNAL_BACKWARD | 1ull << SIGNAL_REDUCER |
			       1ull << SIGNAL_UPDATE_BEGIN | 1ull << SIGNAL_UPDATE_OP |
			       1ull << SIGNAL_ZERO_GRAD_BEGIN;

	return r->member.seen & parts || (r->finder && step_finder_trains(r->finder));
}

/* Records that records of the kernel side were lost. The loss is noticed only when the ring is
 * read, so steps before and after it may have been reported already. */
void rank_late_hole(struct rank *r, uint64_t now_ns)
{
	for (uint32_t i = 0; i < r->nloops; i++) {
		struct rank_loop *lp = r->loops[i];

		lp->hole_ns = lp->steps || (!i && rank_late_steps_begun(r)) ? now_ns : 0;
		for (int k = 0; k < RANK_SPANS; k++)
			lp->undercounted |= lp->span_ns[k] &&
					    rank_late_too_long(lp, lp->span_ns[k]);
	}
}

void rank_late_tick(struct rank *r)
{
	for (uint32_t i = 0; i < r->nloops; i++) {
		uint64_t *span_ns = r->loops[i]->span_ns;

		memmove(span_ns + 1, span_ns, (RANK_SPANS - 1) * sizeof(*span_ns));
		span_ns[0] = 0;
	}
}

void rank_late_flag(struct rank_loop *lp, struct step *s)
{
	uint64_t ns = lp->steps && s->end_ns > lp->last_end_ns ? s->end_ns - lp->last_end_ns : 0;

	lp->span_ns[0] = larger_of(ns, lp->span_ns[0]);
	if (lp->hole_ns && s->end_ns >= lp->hole_ns) {
		lp->undercounted |= rank_late_too_long(lp, ns);
		lp->hole_ns = 0;
	}
	if (lp->undercounted)
		s->flags |= STEP_undercounted;
}

static void rank_late_reason_add(struct step_state *st, const char *note)
{
	size_t len = strlen(st->reason);

	if (len + strlen(note) + 3 <= sizeof(st->reason))
		snprintf(st->reason + len, sizeof(st->reason) - len, "%s%s", len ? "; " : "", note);
}

void rank_late_state(const struct rank_loop *lp, struct step_state *st)
{
	st->undercounted = lp->undercounted && st->tier != TIER_NONE;
	if (st->undercounted) {
		st->confidence = st->confidence < UNDERCOUNTED ? st->confidence : UNDERCOUNTED;
		rank_late_reason_add(st, "records were lost: step numbers may be too low");
	}
	st->late = lp->probed_late && !st->since_attach && st->tier != TIER_NONE;
	if (!st->late)
		return;
	st->since_attach = true;
	rank_late_reason_add(st, "probes were attached late: steps may be missing");
}
