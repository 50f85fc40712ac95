/* SPDX-License-Identifier: Apache-2.0 */
/* step_elect.c - chooses ("elects") the family of markers that makes steps. Step ranges are elected
 * as soon as there is one. Another family is elected only after several of its marks without a
 * range: in a job that accumulates over n batches, the first range comes after n backward
 * passes. */
#include "userspace/model/step/step_private.h"

#include <stddef.h>

#include "userspace/model/step/step_program.h"
#include "userspace/base/number.h"

/* A family is elected after this many marks of it without a mark of a more trusted family:
 * CYCLES_FIRST if no more trusted family was ever seen, CYCLES_AFTER if one was, CYCLES_SKIPS with
 * a gradient scaler, which often skips the first updates. */
#define CYCLES_FIRST 3
#define CYCLES_AFTER 8
#define CYCLES_SKIPS 24
/* Backward passes count as steps after this many without a mark of a more trusted family.
 * BACKWARDS_FIRST applies if no better marker was seen (so that accumulation over 32 batches does
 * not look like 32 steps), BACKWARDS_AFTER if updates were seen before. */
#define BACKWARDS_FIRST 33
#define BACKWARDS_AFTER 128
/* If updates were seen before: the number of backward passes without an update must also be at
 * least this many times the mean number of backward passes per update. */
#define BACKWARDS_EACH 4

static uint64_t step_elect_family_marks(const struct step_finder *sf, enum family f)
{
	return sf->trackers[f] ? sf->trackers[f]->marks : 0;
}

static uint64_t step_elect_family_last(const struct step_finder *sf, enum family f)
{
	return sf->trackers[f] ? sf->trackers[f]->last_seq : 0;
}

/* Returns the number of marks of family f since the last mark of a more trusted family. */
static uint64_t step_elect_family_cycles(const struct step_finder *sf, enum family f)
{
	return sf->trackers[f] ? sf->trackers[f]->since_better : 0;
}

static bool step_elect_better_seen(const struct step_finder *sf, enum family f)
{
	for (int b = 0; b < (int)f; b++) {
		if (step_elect_family_marks(sf, (enum family)b))
			return true;
	}
	return false;
}

/* Returns true if DDP's reducer runs for every micro-batch: operators show at most half as many
 * updates. */
static bool step_elect_updates_rarer(const struct step_finder *sf)
{
	uint64_t updates = step_elect_family_marks(sf, FAMILY_PARAM_OP);

	return updates >= CYCLES_FIRST &&
	       2 * updates <= step_elect_family_marks(sf, FAMILY_REDUCER);
}

static bool step_elect_operator_family(enum family f)
{
	return f == FAMILY_UPDATE_OP || f == FAMILY_PARAM_OP;
}

/* Returns true if operators showed updates at first and then none for many backward passes: the
 * optimizer was compiled. */
static bool step_elect_updates_silent(const struct step_finder *sf)
{
	uint64_t updates = step_elect_family_marks(sf, FAMILY_UPDATE_OP) +
			   step_elect_family_marks(sf, FAMILY_PARAM_OP),
		 since = step_elect_family_marks(sf, FAMILY_BACKWARD) - sf->operated_backwards;

	return updates && since >= CYCLES_AFTER &&
	       since > BACKWARDS_EACH * (sf->operated_backwards / updates);
}

/* Returns how many backward passes without an update are needed before backward passes count as
 * steps, in a process in which operators showed updates. */
static uint64_t step_elect_backwards_after(const struct step_finder *sf)
{
	uint64_t backwards = step_elect_family_marks(sf, FAMILY_BACKWARD),
		 updates = step_elect_family_marks(sf, FAMILY_UPDATE_OP) +
			   step_elect_family_marks(sf, FAMILY_PARAM_OP),
		 each = updates ? BACKWARDS_EACH * (backwards / updates) : 0;

	return larger_of(each, BACKWARDS_AFTER);
}

static uint64_t step_elect_cycles_needed(const struct step_finder *sf, enum family f)
{
	bool after = step_elect_better_seen(sf, f) || sf->updates_begun;
	bool each = f == FAMILY_BACKWARD;
	uint64_t backwards = step_elect_family_marks(sf, FAMILY_BACKWARD);

	if ((f == FAMILY_REDUCER || f == FAMILY_PARAM_OP) &&
	    backwards < 2 * step_elect_family_marks(sf, f))
		/* it is not known whether the family's marks are steps or micro-batches */
		each = true;
	/* If updates are missing, the gradient scaler skipped them. Even if it skips all updates,
	 * no other family may replace the one that shows updates: the job does not train then. */
	if (after && sf->amps)
		return UINT64_MAX;
	/* step_anon.c collects up to ANON_PASSES backward passes and makes marks of them at once,
	 * so ANON_PASSES marks may come from a single moment and prove nothing. */
	if (f == FAMILY_ANON && sf->elected == FAMILY_UPDATE_OP)
		return ANON_PASSES + CYCLES_AFTER;
	if (each)
		return after	  ? step_elect_backwards_after(sf)
		       : sf->amps ? 2 * BACKWARDS_FIRST
				  : BACKWARDS_FIRST;
	return after ? CYCLES_AFTER : sf->amps ? CYCLES_SKIPS : CYCLES_FIRST;
}

static bool step_elect_family_ready(const struct step_finder *sf, enum family f, bool final)
{
	uint64_t n = step_elect_family_cycles(sf, f);

	if (f != FAMILY_RANGES && !final && n < CYCLES_FIRST)
		return false;
	switch (f) {
	case FAMILY_RANGES:
		return step_elect_family_marks(sf, f) && sf->elected != FAMILY_RANGES &&
		       (sf->elected == FAMILY_NONE || n >= CYCLES_FIRST);
	case FAMILY_ZERO_GRAD:
	case FAMILY_ANON:
		break;
	/* Unnamed ranges are preferred to DDP's reducer, because ranges show the end of an update.
	 */
	case FAMILY_REDUCER:
		if (anon_backwards(sf) || step_elect_updates_rarer(sf))
			return false;
		break;
	case FAMILY_PARAM_OP:
		if (!sf->backward || anon_backwards(sf))
			return false;
		break;
	case FAMILY_UPDATE_OP:
		if (!sf->backward)
			return false;
		break;
	case FAMILY_BACKWARD:
		if (final && (!step_elect_better_seen(sf, f) ||
			      (!step_elect_better_seen(sf, FAMILY_UPDATE_OP) &&
			       step_elect_updates_silent(sf))))
			return n > 1;
		if (anon_backwards(sf))
			return false;
		break;
	default:
		return false;
	}
	if (final && step_elect_operator_family(f) && step_elect_updates_silent(sf))
		return false;
	if (final && !step_elect_better_seen(sf, f) && n)
		return true;
	if (sf->updates_open)
		return false;
	return n >= step_elect_cycles_needed(sf, f);
}

/* Frees memory that the families no longer need because steps are found. */
static void step_elect_families_spare(struct step_finder *sf)
{
	for (int f = 0; f < FAMILY_COUNT; f++) {
		for (uint32_t i = 0; sf->trackers[f] && i < sf->trackers[f]->ncandidates; i++) {
			struct candidate *l = sf->trackers[f]->candidates[i];

			if (!l->live && !candidate_hopes(sf, l))
				l->nheld = 0;
			candidate_spare(l);
		}
	}
}

/* A better family showed that the marks counted so far were not training: step numbers start again
 * at 1. */
static void step_elect_loop_begin(struct step_finder *sf)
{
	struct loop *lp = sf->loops[0];

	lp->number = lp->nrecent = lp->ambiguous = 0;
	lp->nmany = 0;
	lp->tainted = lp->waits = 0;
	if (sf->first_ns)
		lp->start_ns = sf->first_ns;
}

static void step_elect_family_elect(struct step_finder *sf, enum family f)
{
	struct tracker *t = sf->elected < FAMILY_COUNT ? sf->trackers[sf->elected] : NULL;

	if (t && step_unit(sf) != UNIT_STEP)
		step_elect_loop_begin(sf);
	if (f < FAMILY_EXECUTE) {
		exec_free(sf->exec);
		sf->exec = NULL;
	}
	if (f != FAMILY_SYNC) {
		free(sf->cycle);
		sf->cycle = NULL;
	}
	for (uint32_t i = 0; t && i < t->ncandidates; i++) {
		t->candidates[i]->live = false;
		candidate_forget(t->candidates[i]);
	}
	/* A more trusted family needs new marks before it can be elected. */
	for (int b = 0; b < (int)f; b++) {
		if (sf->trackers[b])
			sf->trackers[b]->since_better = 0;
	}
	sf->elected = f;
	t = sf->trackers[f];
	sf->nloops = larger_of(sf->nloops, t->ncandidates);
	for (uint32_t i = 0; i < t->ncandidates; i++) {
		t->candidates[i]->live = true;
		candidate_digest(sf, t->candidates[i]);
	}
	step_elect_families_spare(sf);
}

void step_take(struct step_finder *sf, enum family f)
{
	if (tracker_of(sf, f))
		step_elect_family_elect(sf, f);
}

/* Called when a more trusted family made a mark: drops the groups that less trusted families
 * hold. */
static void step_elect_families_forget(struct step_finder *sf, enum family better)
{
	for (int f = (int)better + 1; f < FAMILY_COUNT; f++) {
		struct tracker *t = sf->trackers[f];

		if (!t)
			continue;
		t->since_better = 0;
		if (sf->elected == (enum family)f)
			continue;
		for (uint32_t i = 0; i < t->ncandidates; i++)
			candidate_forget(t->candidates[i]);
	}
}

/* Makes the family's next mark of each thread count only hits from now on. */
static void step_elect_hits_forget(struct step_finder *sf, enum family f)
{
	for (uint32_t i = 0; i < sf->nthreads; i++)
		sf->threads[i].base[f] = sf->threads[i].hits;
}

void step_elect(struct step_finder *sf, bool final)
{
	if (sf->fixed)
		return;
	/* A mark of FAMILY_RANGES drops the groups that less trusted families hold. Marks of
	 * FAMILY_UPDATE_OP do the same if this family is elected. Marks of zero_grad and of other
	 * operators do not: these calls also occur near updates of another family. */
	if (step_elect_family_last(sf, FAMILY_RANGES) == sf->seq)
		step_elect_families_forget(sf, FAMILY_RANGES);
	else if (sf->elected == FAMILY_UPDATE_OP &&
		 step_elect_family_last(sf, FAMILY_UPDATE_OP) == sf->seq) {
		step_elect_families_forget(sf, FAMILY_UPDATE_OP);
		step_elect_hits_forget(sf, FAMILY_PARAM_OP);
	}
	for (int f = 0; f < FAMILY_COUNT; f++) {
		if (sf->trackers[f] && (int)sf->elected != f &&
		    step_elect_family_ready(sf, (enum family)f, final)) {
			if (sf->elected == FAMILY_NONE || f == FAMILY_RANGES ||
			    family_row[sf->elected].gives_way || f < (int)sf->elected)
				step_elect_family_elect(sf, (enum family)f);
			return;
		}
	}
}

void step_elect_probe(struct step_finder *sf, const struct signal *s)
{
	if (s->kind != SIGNAL_PROBE || sf->fixed || sf->elected != FAMILY_NONE || !sf->config.probe)
		return;
	sf->elected = FAMILY_PROBE;
	sf->fixed = true;
}
