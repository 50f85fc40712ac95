/* SPDX-License-Identifier: Apache-2.0 */
/* step_doubt.c - cases in which the number of a loop's steps cannot be known from outside: gives
 * the reason, and the --multiply that would correct it. A marker or --multiply chosen by the user
 * is never doubted. */
#include "userspace/model/step/step_private.h"

#include "userspace/base/number.h"

/* Steps are ambiguous if at least this many updates were not counted (step_finder.strays), and at
 * least one for every STRAYS counted updates. */
#define STRAYS 8
/* Steps are ambiguous if optimizers that had updated alone for a while came back at least this
 * often. */
#define STAGE_RETURNS 2
/* An inner loop trains several models within one step of the outer loop. Optimizers come from such
 * a loop if at least INNER_OPTIMIZERS were made, with fewer than INNER_UPDATES updates for each.
 * With more updates for each, models are trained one after another. */
#define INNER_OPTIMIZERS 4
#define INNER_UPDATES	 STEP_PERIOD

enum doubt {
	DOUBT_NONE,
	DOUBT_INNER,  /* an inner loop makes new optimizers */
	DOUBT_LIVES,  /* the updated parameters change every few updates, as with new optimizers */
	DOUBT_LEAD,   /* optimizers alternate; one of them updates more often */
	DOUBT_PHASES, /* optimizers alternate, each with several updates in a row */
	DOUBT_STAGES, /* optimizers alternate, each with many updates in a row */
	/* updates repeat with a period, but no batches show that a period is a step */
	DOUBT_PERIOD,
	DOUBT_ORDER,	/* updates have no fixed order */
	DOUBT_IDENTITY, /* optimizers of one class cannot be distinguished */
	DOUBT_STRAYS,	/* uncounted updates occur between the counted ones */
	DOUBT_BATCHES,	/* micro-batches look like steps */
};

/* Returns the average number of backward passes per step in the last steps. */
static uint64_t doubt_loop_backwards(const struct step_finder *sf, const struct candidate *l)
{
	const struct loop *lp = sf->loops[l->loop];
	uint32_t n = smaller_of(lp->nrecent, STEP_RECENT);
	uint64_t sum = 0, marks = sf->trackers[FAMILY_BACKWARD] ? l->marks : 0;

	for (uint32_t i = 0; i < n; i++)
		sum += lp->recent[i].backward;
	return n ? sum / n : marks ? sf->trackers[FAMILY_BACKWARD]->marks / marks : 0;
}

bool candidate_inner(const struct step_finder *sf, const struct candidate *l)
{
	return sf->optimizers >= INNER_OPTIMIZERS && l->tokens / sf->optimizers < INNER_UPDATES;
}

static enum doubt doubt_unit(const struct unit *u)
{
	if (!u->ambiguous)
		return DOUBT_NONE;
	if (u->by_class)
		return DOUBT_LIVES;
	if (u->lead)
		return DOUBT_LEAD;
	if (u->optimizers)
		return DOUBT_PHASES;
	return u->period > 1 ? DOUBT_PERIOD : DOUBT_ORDER;
}

/* Returns true if micro-batches may have been counted as steps: no update is visible, and the
 * family has as many marks as there are backward passes. */
static bool doubt_batches(const struct step_finder *sf, const struct candidate *l)
{
	switch (l->family) {
	case FAMILY_BACKWARD:
		return true;
	case FAMILY_ANON:
		return !anon_accumulates(sf);
	case FAMILY_REDUCER:
	case FAMILY_PARAM_OP:
		return doubt_loop_backwards(sf, l) < 2;
	default:
		return false;
	}
}

/* Returns true if several optimizers cannot be distinguished: all have one class, their parameters
 * are unknown, and no batches are seen. */
static bool doubt_identity(const struct step_finder *sf, const struct candidate *l)
{
	return l->family == FAMILY_RANGES && l->mode == CANDIDATE_LOCKED && l->unit.period == 1 &&
	       sf->backward && !sf->fetched && !l->unit.pattern[0].ident;
}

static enum doubt candidate_doubt(const struct step_finder *sf, const struct candidate *l)
{
	enum doubt d;

	if (sf->fixed || sf->config.multiply > 1 || l->family > FAMILY_BACKWARD)
		return l->unit.ambiguous ? DOUBT_ORDER : DOUBT_NONE;
	if (candidate_inner(sf, l))
		return DOUBT_INNER;
	d = doubt_unit(&l->unit);
	if (d != DOUBT_NONE)
		return d;
	if (l->family == FAMILY_UPDATE_OP && sf->strays >= STRAYS &&
	    STRAYS * sf->strays >= l->tokens)
		return DOUBT_STRAYS;
	if (l->returns >= STAGE_RETURNS)
		return DOUBT_STAGES;
	if (doubt_batches(sf, l))
		return DOUBT_BATCHES;
	return doubt_identity(sf, l) ? DOUBT_IDENTITY : DOUBT_NONE;
}

bool candidate_doubtful(const struct step_finder *sf, const struct candidate *l)
{
	return candidate_doubt(sf, l) != DOUBT_NONE;
}

static void doubt_reason_lead(const struct unit *u, char *out, size_t len)
{
	if (u->period)
		snprintf(
			out, len,
			"ambiguous: --multiply %u if %u updates make a step; %u optimizers take turns, only the %u by one optimizer count",
			u->period, u->period, u->optimizers, u->leads);
	else
		snprintf(
			out, len,
			"ambiguous: %u optimizers in no fixed order; each update of the most frequent one counts as a step",
			u->optimizers);
}

static const char *const doubt_text[] = {
	/* texts of the doubts whose text contains no number */
	[DOUBT_LIVES] =
		"ambiguous: --multiply N if N updates make a step; the updated parameters change every few updates; each update counts",
	[DOUBT_STAGES] =
		"ambiguous: --multiply N if N updates make a step; optimizers take turns, many updates each, all count",
	[DOUBT_ORDER] =
		"ambiguous: --multiply N if N updates make a step; they follow no fixed order, each counts",
	[DOUBT_IDENTITY] =
		"ambiguous: --multiply N if a step uses N optimizers; those of one class cannot be distinguished here",
	[DOUBT_STRAYS] =
		"ambiguous: no optimizer ranges; counting updates by their operators; others (SGD's?) in between are not counted",
};

bool candidate_doubt_reason(const struct step_finder *sf, const struct candidate *l, char *out,
			    size_t len)
{
	enum doubt d = candidate_doubt(sf, l);
	const struct unit *u = &l->unit;
	uint64_t each;

	if (d == DOUBT_NONE)
		return false;
	switch (d) {
	case DOUBT_INNER:
		each = (l->tokens + sf->optimizers / 2) / sf->optimizers;
		snprintf(
			out, len,
			"ambiguous: --multiply %llu, or a multiple, if so many updates make a step; an optimizer is made every %llu updates; each update counts",
			(unsigned long long)each, (unsigned long long)each);
		break;
	case DOUBT_LEAD:
		doubt_reason_lead(u, out, len);
		break;
	case DOUBT_PHASES:
		snprintf(
			out, len,
			"ambiguous: --multiply %u if one update of each optimizer makes a step, %u if the whole repeated sequence does; each update counts",
			u->optimizers, u->period);
		break;
	case DOUBT_PERIOD:
		snprintf(
			out, len,
			"ambiguous: --multiply %u if %u updates make a step; their order repeats, with %u fresh batches; each update counts",
			u->period, u->period, u->fresh);
		break;
	case DOUBT_BATCHES:
		snprintf(
			out, len,
			"ambiguous: --multiply N if a step takes N micro-batches; no optimizer ranges, counting %s",
			family_row[l->family].batches);
		break;
	default:
		snprintf(out, len, "%s", doubt_text[d]);
	}
	return true;
}
