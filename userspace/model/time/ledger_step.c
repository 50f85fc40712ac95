/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_step.c - books steps: the ideal part is goodput, the excess is startup or other time.
 * Moves goodput that a restart lost to WASTED. */
#include "userspace/model/time/ledger_private.h"
#include "userspace/base/number.h"

#define STARTUP_STEPS 5 /* Only the excess of this many first steps can be startup. */
/* If a process was attached late and made its first step within this time (ns), or within twice the
 * ideal, it was already training: then the time before that step is not startup. */
#define MIDWAY_NS 1000000000ull
/* Time of a step beyond SLOW_FACTOR times the ideal, and beyond SLOW_MIN_NS, is OTHER. */
#define SLOW_FACTOR 10
#define SLOW_MIN_NS 1000000000ull

static uint64_t ledger_scaled_ns(uint64_t ns, uint64_t factor)
{
	return factor && ns > UINT64_MAX / factor ? UINT64_MAX : ns * factor;
}

/* Returns how much of the time from settled_ns to to_ns belongs to no interval (evaluation,
 * checkpoint...), and so is goodput. */
static uint64_t ledger_unclaimed(const struct ledger *l, uint64_t to_ns)
{
	uint64_t at_ns = l->settled_ns, sum_ns = 0;

	while (at_ns < to_ns) {
		uint64_t next_ns = to_ns;
		uint32_t type;

		if (ledger_owner(l, at_ns, BUCKET_GOODPUT, &next_ns, &type) == BUCKET_GOODPUT)
			sum_ns += next_ns - at_ns;
		at_ns = next_ns;
	}
	return sum_ns;
}

static uint64_t ledger_step_slow_limit(const struct ledger *l)
{
	uint64_t limit_ns = ledger_scaled_ns(l->ideal_ns, SLOW_FACTOR);

	return larger_of(limit_ns, SLOW_MIN_NS);
}

/* Returns true for a step without an excess: startup is over, so later steps have no startup
 * excess. A step of less than half the ideal does not count, because a step that ends where its
 * program is called may end before anything ran. */
static bool step_settles(const struct ledger *l, uint64_t ns, uint64_t count)
{
	return ns <= ledger_scaled_ns(l->ideal_ns + ledger_scaled_ns(l->mad_ns, 3), count) &&
	       ns >= ledger_scaled_ns(l->ideal_ns / 2, count);
}

/* Divides `ns` of `count` steps, which no interval claims, into startup or other excess, and
 * goodput. torn: records were lost, so steps may be missing and the excess is unknown. */
static struct share ledger_plan(struct ledger *l, uint64_t ns, uint64_t count, bool torn)
{
	struct share s = {.body_ns = ns, .head = BUCKET_PROGRAM_STARTUP, .tail = BUCKET_OTHER};

	if (!l->final || !l->ideal_ns)
		return s;
	if (l->opening && step_settles(l, ns, count))
		l->opening = 0;
	if (l->opening) {
		l->opening--;
		s.body_ns = ledger_scaled_ns(l->ideal_ns, count);
		s.body_ns = smaller_of(s.body_ns, ns);
		s.head_ns = ns - s.body_ns;
	} else if (torn) {
		s.body_ns = ledger_scaled_ns(l->ideal_ns, SLOW_FACTOR);
		s.tail = BUCKET_UNOBSERVED;
	} else {
		s.body_ns = ledger_scaled_ns(ledger_step_slow_limit(l), count);
	}
	return s;
}

/* Returns true if the process was attached in the middle of training: then the time before the
 * first sign of training is not startup. */
static bool ledger_midway(const struct ledger *l)
{
	uint64_t limit_ns = larger_of(ledger_scaled_ns(l->ideal_ns, 2), MIDWAY_NS);

	return l->attached && l->lead_ns <= limit_ns && !l->ns[BUCKET_TRAINING_PREP];
}

static void ledger_step_early_move(struct ledger *l, const struct early *e, enum bucket to,
				   uint64_t beyond_ns)
{
	struct early part = {e->from_ns, e->to_ns, e->ns - beyond_ns};

	if (e->ns > beyond_ns)
		ledger_move(l, BUCKET_GOODPUT, to, &part);
}

/* Moves the excess of the first steps to startup, once the ideal is known. */
static void ledger_first_steps(struct ledger *l)
{
	struct early lead = {l->start_ns, l->lead_end_ns, l->lead_ns};
	bool midway = ledger_midway(l);
	uint32_t i = 0;

	l->final = true;
	if (midway)
		ledger_move(l, BUCKET_PROGRAM_STARTUP, BUCKET_UNOBSERVED, &lead);
	else if (!l->nearly)
		l->opening = STARTUP_STEPS;
	for (; !midway && i < l->nearly && i < STARTUP_STEPS; i++) {
		if (step_settles(l, l->early[i].ns, 1))
			break;
		ledger_step_early_move(l, &l->early[i], BUCKET_PROGRAM_STARTUP, l->ideal_ns);
	}
	for (; i < l->nearly; i++)
		ledger_step_early_move(l, &l->early[i], BUCKET_OTHER, ledger_step_slow_limit(l));
	l->nearly = 0;
}

static void ledger_stepped(struct ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t number,
			   uint64_t count, bool torn)
{
	struct share s;
	uint64_t ns;

	if (l->ended)
		return;
	if (from_ns > l->settled_ns)
		ledger_settle(l, from_ns, ledger_rest(l), NULL);
	l->untrained = false;
	if (!l->steps) {
		l->lead_ns = l->ns[BUCKET_PROGRAM_STARTUP];
		l->lead_end_ns = l->settled_ns;
	}
	if (!l->final && l->ideal_ns)
		ledger_first_steps(l);
	ns = ledger_unclaimed(l, to_ns);
	s = ledger_plan(l, ns, count, torn);
	if (!l->final && l->nearly < LEDGER_EARLY)
		l->early[l->nearly++] = (struct early){l->settled_ns, to_ns, ns};
	ledger_settle(l, to_ns, BUCKET_GOODPUT, &s);
	l->steps += count;
	l->run_steps += count;
	if (number > l->max_step)
		l->max_step = number;
	ledger_assert(l);
}

void ledger_step(struct ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t number, bool torn)
{
	ledger_stepped(l, from_ns, to_ns, number, 1, torn);
}

void ledger_steps(struct ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t number,
		  uint64_t count)
{
	ledger_stepped(l, from_ns, to_ns, number, count, false);
}

void ledger_run(struct ledger *l, uint64_t at_ns)
{
	if (l->ended)
		return;
	ledger_settle(l, at_ns, ledger_rest(l), NULL);
	l->run_steps = 0;
	l->opening = l->final ? STARTUP_STEPS : 0;
	ledger_assert(l);
}

/* A restart lost `ns` of goodput. Subtracts the lost goodput from the steps in `early`, the latest
 * first. */
static void ledger_step_early_forget(struct ledger *l, uint64_t ns)
{
	uint64_t later_ns = l->ns[BUCKET_GOODPUT];

	for (uint32_t i = 0; i < l->nearly; i++)
		later_ns -= l->early[i].ns;
	ns -= smaller_of(ns, later_ns);
	for (uint32_t i = l->nearly; i-- > 0 && ns;)
		ns -= take_up_to(&l->early[i].ns, ns);
}

void ledger_disprove(struct ledger *l, uint64_t ns)
{
	struct early last = {l->start_ns, l->settled_ns, ns};

	if (l->ended)
		return;
	if (last.ns > l->ns[BUCKET_GOODPUT])
		last.ns = l->ns[BUCKET_GOODPUT];
	if (!l->final)
		ledger_step_early_forget(l, last.ns);
	ledger_move(l, BUCKET_GOODPUT, BUCKET_WASTED, &last);
	l->disproved_ns += last.ns;
	ledger_assert(l);
}

void ledger_ideal(struct ledger *l, uint64_t ideal_ns, uint64_t mad_ns)
{
	if (!ideal_ns || l->ended)
		return;
	l->ideal_ns = ideal_ns;
	l->mad_ns = mad_ns;
	if (!l->final && l->steps)
		ledger_first_steps(l);
	ledger_assert(l);
}

void ledger_untrained(struct ledger *l, uint64_t from_ns)
{
	if (l->ended || l->steps || l->untrained)
		return;
	ledger_settle(l, smaller_of(from_ns, l->now_ns), ledger_rest(l), NULL);
	l->untrained = true;
}

void ledger_end(struct ledger *l, uint64_t now_ns)
{
	if (l->ended)
		return;
	ledger_advance(l, now_ns);
	ledger_settle(l, l->now_ns, ledger_rest(l), NULL);
	l->final = true;
	l->nearly = 0;
	l->ended = true;
	ledger_assert(l);
}
