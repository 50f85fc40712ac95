/* SPDX-License-Identifier: Apache-2.0 */
/* step_state.c - the state of a training loop, and its description for users. */
#include "userspace/base/plural.h"
#include "userspace/base/number.h"
#include "userspace/model/step/step_private.h"

#include <math.h>
#include <stddef.h>

#include "userspace/model/step/step_program.h"

/* A loop is in state "suspect" if it made no step for SILENT_NS, and for SILENT_STEPS times its
 * median step time. */
#define SILENT_NS    30000000000ull
#define SILENT_STEPS 10
/* Confidence in steps of tier B after enough steps; in steps of tier A it is 1. */
#define CONFIDENCE_B 0.95
/* Number of steps of tier B after which the confidence reaches CONFIDENCE_B. */
#define CONFIDENT_STEPS 8
/* The confidence is multiplied by this if steps are ambiguous. */
#define AMBIGUOUS 0.8

const char *const tier_name[TIER_COUNT] = {[TIER_NONE] = "", [TIER_A] = "A", [TIER_B] = "B"};

const char *const boundary_name[] = {
	[BOUNDARY_NONE] = "none",
	[BOUNDARY_UPDATE_EXIT] = "update_exit",
	[BOUNDARY_ZERO_GRAD] = "zero_grad",
	[BOUNDARY_BACKWARD] = "backward",
	[BOUNDARY_REDUCER] = "reducer",
	[BOUNDARY_UPDATE_OP] = "update_op",
	[BOUNDARY_EXECUTE] = "execute",
	[BOUNDARY_SYNC] = "sync",
	[BOUNDARY_COMPLETION] = "completion",
	[BOUNDARY_PROBE] = "probe",
};

const char *const unit_name[] = {
	[UNIT_STEP] = "step", [UNIT_EXECUTION] = "execution", [UNIT_CYCLE] = "cycle"};
const char *const series_name[] = {
	[SERIES_HOST] = "host", [SERIES_SYNC] = "sync", [SERIES_RATE] = "rate"};

const char *const step_state_name[] = {
	[STATE_IDLE] = "idle",	   [STATE_STARTING] = "starting", [STATE_LEARNING] = "learning",
	[STATE_LOCKED] = "locked", [STATE_SUSPECT] = "suspect",	  [STATE_ENDED] = "ended",
};

static struct candidate *state_candidate(struct step_finder *sf, uint32_t loop)
{
	struct tracker *t = sf->elected < FAMILY_COUNT ? sf->trackers[sf->elected] : NULL;

	return t && loop < t->ncandidates ? t->candidates[loop] : NULL;
}

static int state_compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t state_loop_median(struct loop *lp)
{
	uint64_t ns[STEP_RECENT];
	uint32_t n = smaller_of(lp->nrecent, STEP_RECENT);

	if (!n)
		return 0;
	memcpy(ns, lp->recent_ns, n * sizeof(*ns));
	qsort(ns, n, sizeof(*ns), state_compare_ns);
	return ns[n / 2];
}

/* Returns true if the loop was silent for too long. Compares the median step time last, because the
 * median takes longer to compute. */
static bool state_loop_silent(const struct step_finder *sf, struct loop *lp)
{
	uint64_t since_ns = silence_ns(sf, lp->start_ns);

	return lp->nrecent && since_ns >= SILENT_NS &&
	       since_ns / SILENT_STEPS >= state_loop_median(lp);
}

/* Returns true if all hits of a step are known: it did not begin before the observation, and no
 * record was lost in it. back: 0 for the last step, 1 for the one before. */
static bool step_is_whole(const struct loop *lp, uint32_t back, bool first_counts)
{
	return back + 1 < lp->nrecent ? back >= 32 || !(lp->tainted >> back & 1) : first_counts;
}

static void state_ratio_add(char *out, size_t cap, const struct loop *lp, bool first_counts,
			    const char *name, size_t field)
{
	uint32_t n = smaller_of(lp->nrecent, STEP_RECENT), whole = 0;
	size_t len = strlen(out);
	const char *space = len ? " " : "";
	uint64_t sum = 0, any = 0;
	bool constant = true;

	for (uint32_t i = 0; i < n; i++) {
		const struct hits *h = &lp->recent[(lp->nrecent - 1 - i) % STEP_RECENT];
		uint64_t hits = *(const uint64_t *)((const char *)h + field);

		if (!step_is_whole(lp, i, first_counts))
			continue;
		any = whole++ ? any : hits;
		constant &= hits == any;
		sum += hits;
	}
	if (!sum)
		return;
	if (constant)
		snprintf(out + len, cap - len, "%s%s:%llu", space, name, (unsigned long long)any);
	else
		snprintf(out + len, cap - len, "%s%s:%.1f", space, name, (double)sum / whole);
}

static void state_ratios(const struct loop *lp, bool from_start, struct step_state *st)
{
	bool first = from_start && lp->nrecent == 1;
	size_t cap = sizeof(st->ratios);

	state_ratio_add(st->ratios, cap, lp, first, "backward", offsetof(struct hits, backward));
	state_ratio_add(st->ratios, cap, lp, first, "fetch", offsetof(struct hits, fetch));
	state_ratio_add(st->ratios, cap, lp, first, "zero_grad", offsetof(struct hits, zero_grad));
	state_ratio_add(st->ratios, cap, lp, first, "reducer", offsetof(struct hits, reducer));
}

static bool state_classes_without_step(const struct step_finder *sf)
{
	for (int i = 0; i < 32; i++) {
		if (sf->zero_grad_class[i] & ~sf->step_class[i])
			return true;
	}
	return false;
}

/* Returns the name of the elected marker as shown to users. If the user named a probe, returns the
 * id of that probe. */
static const char *state_marker_name(const struct step_finder *sf)
{
	if (sf->elected == FAMILY_PROBE && *sf->config.probe_id)
		return sf->config.probe_id;
	if (sf->elected == FAMILY_SYNC && sf->cycle && *sf->cycle->probe)
		return sf->cycle->probe;
	return family_row[sf->elected].marker;
}

static void state_marker(const struct step_finder *sf, const struct loop *lp, struct step_state *st)
{
	size_t len;

	snprintf(st->marker, sizeof(st->marker), "%s", state_marker_name(sf));
	len = strlen(st->marker);
	if (*lp->name)
		snprintf(st->marker + len, sizeof(st->marker) - len, "#%s", lp->name);
}

/* Describes a marker that the user chose. gp-bpf does not check whether each hit of it is a
 * step. */
static void state_reason_fixed(const struct step_finder *sf, struct step_state *st)
{
	size_t len = sizeof(st->reason);

	if (sf->elected == FAMILY_PROBE)
		snprintf(st->reason, len,
			 "chosen by hand: every hit of %s is a step, whatever it runs",
			 state_marker_name(sf));
	else if (sf->elected == FAMILY_EXECUTE)
		snprintf(st->reason, len,
			 "chosen by hand: every execution is a step, whatever it runs");
	else if (sf->elected == FAMILY_SYNC)
		snprintf(st->reason, len,
			 "chosen by hand: every wait is a step, whatever it waits for");
	else
		snprintf(st->reason, len, "the marker was chosen by hand");
}

static void state_reason_cycle(const struct step_finder *sf, struct step_state *st)
{
	snprintf(st->reason, sizeof(st->reason),
		 "blocking waits in cycles: name what ends a step with --marker %s",
		 state_marker_name(sf));
}

static const char *state_family_reason(const struct step_finder *sf)
{
	if (sf->elected == FAMILY_RANGES && state_classes_without_step(sf))
		return "an optimizer is zeroed but shows no step (perhaps compiled): its updates are not counted";
	if (sf->elected == FAMILY_ANON && anon_accumulates(sf))
		return "unnamed ranges: steps by their order; loading, evaluation count as goodput";
	return family_row[sf->elected].why;
}

static void state_reason_locked(const struct step_finder *sf, const struct loop *lp,
				const struct candidate *l, struct step_state *st)
{
	const char *why = state_family_reason(sf);

	if (candidate_doubt_reason(sf, l, st->reason, sizeof(st->reason)))
		return;
	if (lp->ambiguous)
		snprintf(
			st->reason, sizeof(st->reason),
			"ambiguous: how many updates make a step was not known in %llu of %llu steps",
			(unsigned long long)lp->ambiguous, (unsigned long long)lp->number);
	else if (sf->fixed && sf->elected != FAMILY_RANGES)
		state_reason_fixed(sf, st);
	else if (sf->elected == FAMILY_SYNC)
		state_reason_cycle(sf, st);
	else if (why)
		snprintf(st->reason, sizeof(st->reason), "%s", why);
	else if (l->regrouped)
		snprintf(
			st->reason, sizeof(st->reason),
			"the order of updates changed: updates are grouped into steps anew since then");
	else if (sf->amps && !sf->skips && sf->trackers[FAMILY_UPDATE_OP])
		snprintf(st->reason, sizeof(st->reason),
			 "gradient scaler with a fused optimizer: skipped updates cannot be seen");
	else if (sf->optimizers == 1 && sf->optimizer_after && sf->nloops == 1 && !sf->fixed)
		snprintf(
			st->reason, sizeof(st->reason),
			"an optimizer was made after some %llu steps: these count, too, even if they were a search",
			(unsigned long long)sf->optimizer_after);
}

static void state_reason(struct step_finder *sf, const struct loop *lp, const struct candidate *l,
			 struct step_state *st)
{
	switch (st->state) {
	case STATE_IDLE:
		snprintf(st->reason, sizeof(st->reason), "no sign of training yet");
		break;
	case STATE_STARTING:
		snprintf(st->reason, sizeof(st->reason),
			 "batches are loaded; no backward pass yet");
		break;
	case STATE_LEARNING:
		if (sf->exec && sf->elected >= FAMILY_EXECUTE)
			snprintf(st->reason, sizeof(st->reason),
				 "compiled programs run; which one ends a step is not known yet");
		else if (l)
			snprintf(st->reason, sizeof(st->reason),
				 "%u update%s seen; their order is not known yet",
				 l->nheld + l->open, plural(l->nheld + l->open));
		else
			snprintf(st->reason, sizeof(st->reason),
				 "backward passes seen; what ends a step is not known yet");
		break;
	case STATE_SUSPECT:
		snprintf(st->reason, sizeof(st->reason), "no step for a long time");
		break;
	case STATE_ENDED:
		if (l && l->mode == CANDIDATE_LOCKED)
			state_reason_locked(sf, lp, l, st);
		else if (!l && sf->fetched && !sf->backward && !sf->updates_begun && !sf->exec)
			snprintf(
				st->reason, sizeof(st->reason),
				"batches were loaded and no backward pass or optimizer was seen: inference has no steps");
		break;
	case STATE_LOCKED:
		state_reason_locked(sf, lp, l, st);
		break;
	}
}

static enum step_phase_state state_phase(struct step_finder *sf, struct loop *lp,
					 const struct candidate *l)
{
	if (sf->ended)
		return STATE_ENDED;
	if (state_loop_silent(sf, lp))
		return STATE_SUSPECT;
	if (l && (l->mode != CANDIDATE_LEARNING || lp->nrecent))
		return STATE_LOCKED;
	if (sf->backward || sf->updates_begun || sf->exec || l)
		return STATE_LEARNING;
	return sf->fetched || sf->zero_grad ? STATE_STARTING : STATE_IDLE;
}

/* Returns the confidence in a loop's steps, from 0 to 1. Steps of tier B have a lower confidence
 * unless the user chose the marker. */
static double state_confidence(const struct step_finder *sf, const struct loop *lp,
			       const struct candidate *l, enum step_tier tier)
{
	uint32_t n = smaller_of(lp->nrecent, 32);
	double c = 1;

	if (!l || !lp->nrecent)
		return 0;
	if (tier != TIER_A && !sf->fixed) {
		c = CONFIDENCE_B;
		if (sf->exec && sf->elected == FAMILY_EXECUTE)
			c *= exec_doubt(sf->exec);
		if (lp->nrecent < CONFIDENT_STEPS)
			c *= (double)lp->nrecent / CONFIDENT_STEPS;
	}
	if (candidate_doubtful(sf, l))
		c *= AMBIGUOUS;
	else if (lp->ambiguous && lp->number)
		c *= 1 - (1 - AMBIGUOUS) * fmin(1, (double)lp->ambiguous / (double)lp->number);
	return c * (1 - (double)__builtin_popcount(lp->tainted) / n);
}

/* Returns true if the states differ in something worth a report. Counts and ratios are not
 * compared, because they change all the time. */
static bool state_differs(const struct step_state *a, const struct step_state *b)
{
	return a->state != b->state || a->tier != b->tier || a->boundary != b->boundary ||
	       a->unit != b->unit || a->series != b->series || a->loops != b->loops ||
	       a->period != b->period || strcmp(a->marker, b->marker) != 0 ||
	       strcmp(a->reason, b->reason) != 0 || fabs(a->confidence - b->confidence) > 0.1;
}

bool step_finder_state(struct step_finder *sf, uint32_t loop, struct step_state *ret,
		       bool *ret_changed)
{
	struct candidate *l = state_candidate(sf, loop);
	struct step_state st = {.loop = loop, .loops = sf->nloops ? sf->nloops : 1};
	struct loop *lp;

	if (loop >= st.loops)
		return false;
	lp = sf->loops[loop];
	st.state = state_phase(sf, lp, l);
	if (l && (lp->nrecent || l->mode != CANDIDATE_LEARNING)) {
		st.tier = family_row[sf->elected].tier;
		st.boundary = step_boundary_of(sf, sf->elected);
		st.unit = step_unit(sf);
		st.series = step_series_of(sf, lp, sf->elected);
		st.period = l->unit.period ? l->unit.period : 1;
		state_marker(sf, lp, &st);
	}
	st.since_attach = !sf->config.from_start;
	st.steps = lp->number;
	st.updates = l ? l->marks : 0;
	st.compiled = sf->programs.compiled;
	st.cached = sf->programs.cached;
	st.confidence = state_confidence(sf, lp, l, st.tier);
	state_ratios(lp, sf->config.from_start, &st);
	state_reason(sf, lp, l, &st);
	if (st.tier != TIER_NONE && sf->elected == FAMILY_EXECUTE && sf->exec)
		exec_describe(sf, &st);
	if (ret_changed)
		*ret_changed = state_differs(&lp->reported, &st);
	lp->reported = st;
	*ret = st;
	return true;
}
