/* SPDX-License-Identifier: Apache-2.0 */
/* step_unit.c - how many updates make one step of the author's loop (rules I and F of step.h).
 *
 * The input is a token for each update: the optimizer's class, the identity of its parameters, and
 * whether a batch was fetched since the previous update. A plain loop repeats one token. A GAN that
 * trains both networks on one batch repeats (D, fresh), (G, not fresh), and its author counts that
 * as one step. The smallest period of the tokens is one pass of the loop's body. It is the author's
 * step if every optimizer occurs once in it, or if exactly one batch is fetched in it.
 *
 * In other cases authors count differently, and steps are flagged as ambiguous. If optimizers
 * alternate and one updates more often (a critic at each step, an actor at every second), the steps
 * are most likely those of the most frequent optimizer: it "leads", and updates of the others join
 * its steps. Otherwise, as with two phases of several updates each, every update counts as a
 * step. */
#include "userspace/model/step/step_private.h"

#include "userspace/base/number.h"

/* A loop is plain if the same token occurs this often in a row. A longer period must occur twice
 * and begin a third time. */
#define PLAIN_TOKENS 3
/* If this many equal tokens occur in a row, the loop is plain from the first of these tokens on: a
 * period is at most STEP_PERIOD tokens long, so it cannot contain an older, different token. */
#define SUFFIX_TOKENS (STEP_PERIOD + 1)
/* If no period fits all tokens, a period that fits this percentage of them is accepted. */
#define FIT_PERCENT 98

/* Maximum number of optimizers that are distinguished in the search for the leading one. */
#define LEAD_OPTIMIZERS 16
/* After this many tokens, identities that do not recur are ignored. */
#define NOISE_TOKENS (STEP_PERIOD + 8)
/* unit_runs() requires at least RUN_CHANGES changes from one optimizer to another, and RUN_TOKENS
 * updates or more between two changes on average. */
#define RUN_CHANGES 4
#define RUN_TOKENS  2

bool token_same_optimizer(const struct token *a, const struct token *b)
{
	return a->name == b->name && a->ident == b->ident;
}

bool token_leads(const struct token *t, const struct token *leader)
{
	return t->name == leader->name && (t->ident == leader->ident || !t->ident);
}

bool token_equal(const struct token *a, const struct token *b, bool by_class)
{
	return a->name == b->name && a->fetched == b->fetched &&
	       (by_class || a->ident == b->ident || !a->ident || !b->ident);
}

static uint32_t unit_period_misfits(const struct token *t, uint32_t count, uint32_t period,
				    bool by_class)
{
	uint32_t n = 0;

	for (uint32_t i = period; i < count; i++)
		n += !token_equal(&t[i], &t[i - period], by_class);
	return n;
}

/* Returns the smallest period that fits all of t[from..count) and occurs `times` times and the
 * beginning of one more, or 0. */
static uint32_t unit_period_exact(const struct unit_input *in, uint32_t from, uint32_t times,
				  bool by_class)
{
	uint32_t n = in->count - from;

	for (uint32_t p = 1; p <= STEP_PERIOD && times * p + 1 <= n; p++) {
		if (!unit_period_misfits(in->tokens + from, n, p, by_class))
			return p == 1 && in->turns ? 0 : p;
	}
	return 0;
}

/* Returns true if no optimizer occurs twice in t. */
static bool unit_pattern_distinct(const struct token *t, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (t[i].name == t[k].name && t[i].ident == t[k].ident)
				return false;
		}
	}
	return true;
}

/* The optimizers that alternate, and how many updates each one made. */
struct turns {
	const struct token *who[LEAD_OPTIMIZERS];
	uint32_t n[LEAD_OPTIMIZERS];
	/* count: number of optimizers. most: index of the one with most updates; if several have as
	 * many, of the first of them. */
	uint32_t count, most;
};

/* Returns true if `of` has no identity although other tokens of its class have one. */
static bool token_unknown(const struct token *t, uint32_t n, const struct token *of)
{
	for (uint32_t i = 0; i < n && !of->ident; i++) {
		if (t[i].name == of->name && t[i].ident)
			return true;
	}
	return false;
}

static bool unit_turns_count(const struct token *t, uint32_t n, struct turns *ret)
{
	*ret = (struct turns){0};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = 0;

		if (token_unknown(t, n, &t[i]))
			continue;
		while (k < ret->count && !token_same_optimizer(&t[i], ret->who[k]))
			k++;
		if (k == LEAD_OPTIMIZERS)
			return false;
		if (k == ret->count)
			ret->who[ret->count++] = &t[i];
		ret->n[k]++;
	}
	for (uint32_t k = 1; k < ret->count; k++)
		ret->most = ret->n[k] > ret->n[ret->most] ? k : ret->most;
	return ret->count > 1;
}

static bool unit_turns_even(const struct turns *turns)
{
	uint32_t k = 0;

	while (k < turns->count && turns->n[k] == turns->n[0])
		k++;
	return k == turns->count;
}

/* Returns true if the optimizer `leader` leads: the others only update between its updates, once
 * each, and get no batches of their own. */
static bool unit_turns_led(const struct token *t, uint32_t n, const struct token *leader)
{
	uint32_t fresh = 0, leads = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool led = !token_leads(&t[i], leader);

		if (led && (t[i].fetched || (i && token_same_optimizer(&t[i], &t[i - 1]))))
			return false;
		fresh += t[i].fetched;
		leads += !led;
	}
	return leads && (!fresh || fresh + 1 >= leads);
}

/* Searches for a leading optimizer (see unit.lead): the one with most updates. Each optimizer must
 * update at least `least` times. If `least` is above 1, n must also be more than 4 updates for each
 * optimizer. */
static bool unit_lead(const struct token *t, uint32_t n, uint32_t least, struct unit *ret)
{
	struct turns turns;
	uint32_t at;

	if (!unit_turns_count(t, n, &turns))
		return false;
	for (uint32_t k = 0; k < turns.count; k++) {
		if (turns.n[k] < least || n <= 4 * (least - 1) * turns.count)
			return false;
	}
	at = turns.most;
	while (at < turns.count &&
	       (turns.n[at] < turns.n[turns.most] || !unit_turns_led(t, n, turns.who[at])))
		at++;
	if (at == turns.count)
		return false;
	*ret = (struct unit){.size = 1,
			     .lead = true,
			     .leads = turns.n[at],
			     .optimizers = turns.count,
			     .ambiguous = true,
			     .pattern = {*turns.who[at]}};
	return true;
}

/* Returns true if identities hardly ever recur, so that they cannot distinguish optimizers. */
static bool unit_noise(const struct token *t, uint32_t n)
{
	uint32_t known = 0;

	for (uint32_t i = 1; i < n; i++) {
		bool again = false;

		for (uint32_t k = 0; k < i && !again; k++)
			again = token_same_optimizer(&t[i], &t[k]) &&
				!token_same_optimizer(&t[i], &t[i - 1]);
		known += again;
	}
	return 4 * known < n;
}

bool unit_joins(const struct unit *u, const struct token *t, uint32_t count)
{
	bool again = false;

	if (u->period != 1 || u->any || !count || t[0].fetched || !t[0].ident ||
	    !u->pattern[0].ident || token_same_optimizer(&t[0], &u->pattern[0]))
		return false;
	for (uint32_t i = 1; i < count; i++)
		again |= token_same_optimizer(&t[i], &u->pattern[0]);
	return again || count < CLASS_TOKENS;
}

bool unit_follow(const struct unit *u, const struct token *t, uint32_t count, struct unit *ret)
{
	struct turns turns;

	if (!unit_turns_count(t, count, &turns) || !unit_turns_led(t, count, &u->pattern[0]))
		return false;
	*ret = *u;
	/* from and first are indexes of the tokens in t; in *u they are indexes of earlier
	 * tokens. */
	ret->from = ret->first = 0;
	ret->lead = ret->ambiguous = true;
	ret->optimizers = larger_of(turns.count, u->optimizers);
	if (!u->lead)
		ret->period = ret->leads = 0;
	return true;
}

/* Returns true if optimizers take turns: each makes several updates in a row, then another one
 * does. Call it only if unit_noise() is true: identities hardly ever occur again. */
static bool unit_runs(const struct token *t, uint32_t n)
{
	uint32_t changes = 0;

	for (uint32_t i = 1; i < n; i++)
		changes += !token_same_optimizer(&t[i], &t[i - 1]);
	return changes >= RUN_CHANGES && n >= RUN_TOKENS * (changes + 1);
}

/* Copies the tokens of one period p, beginning at tokens[from], to ret. An unknown identity is
 * replaced by the last known one at the same position of another period. */
static void unit_period_body(const struct unit_input *in, uint32_t from, uint32_t p,
			     struct token *ret)
{
	memcpy(ret, in->tokens + from, p * sizeof(*ret));
	for (uint32_t i = in->count; i-- > 0;) {
		struct token *t = &ret[(i + p - from % p) % p];

		if (!t->ident && token_equal(t, &in->tokens[i], false))
			t->ident = in->tokens[i].ident;
	}
}

/* Decides how many updates of the period (p tokens from tokens[from] on) make a step: all, if one
 * batch is fetched in it or each optimizer occurs once. Otherwise each update of the leading
 * optimizer makes a step or, without a leading optimizer, each update; the steps are ambiguous. */
static void unit_decide(const struct unit_input *in, uint32_t from, uint32_t p, bool by_class,
			struct unit *ret)
{
	uint32_t fresh = 0, at = 0;
	struct token t[STEP_PERIOD];
	struct unit lead;

	unit_period_body(in, from, p, t);
	for (uint32_t i = 0; i < p; i++) {
		if (t[i].fetched) {
			at = in->fetch_ends ? (i + 1) % p : i;
			fresh++;
		}
	}
	*ret = (struct unit){.period = p,
			     .size = 1,
			     .fresh = fresh,
			     .from = from,
			     .first = from,
			     .by_class = by_class};
	if (p > 1 && (fresh == 1 || unit_pattern_distinct(t, p))) {
		ret->size = p;
		if (fresh == 1 && !(in->from_start && !from))
			ret->first += at;
	} else if (p > 1 && unit_lead(t, p, 1, &lead)) {
		*ret = lead;
		ret->period = p;
		ret->from = ret->first = from > 1 ? from : 0;
		return;
	} else if (p > 1) {
		struct turns turns;

		ret->ambiguous = ret->any = true;
		ret->optimizers = unit_turns_count(t, p, &turns) && unit_turns_even(&turns)
					  ? turns.count
					  : 0;
	}
	memcpy(ret->pattern, t + (ret->first - from), (from + p - ret->first) * sizeof(*t));
	memcpy(ret->pattern + (from + p - ret->first), t, (ret->first - from) * sizeof(*t));
}

bool unit_learn_mostly(const struct unit_input *in, struct unit *ret)
{
	for (uint32_t p = 1; p <= STEP_PERIOD; p++) {
		uint32_t pairs = in->count - p;

		if (100 * unit_period_misfits(in->tokens, in->count, p, false) >
		    (100 - FIT_PERCENT) * pairs)
			continue;
		unit_decide(in, in->count - p, p, false, ret);
		/* unit_decide() was called for the last period. Convert the index, so that steps
		 * start at the same token as in the first period. */
		ret->from = 0;
		ret->first = ret->size > 1 ? ret->first % p : 0;
		return true;
	}
	return unit_lead(in->tokens, in->count, 2, ret);
}

bool unit_learn(const struct unit_input *in, struct unit *ret)
{
	uint32_t p, n = in->count, skip;

	if (n < PLAIN_TOKENS)
		return false;
	/* Skip the first token if it was seen only in part, or if its batch was loaded in another
	 * way. After that, two updates of one optimizer, each with a fresh batch, are enough for a
	 * plain loop: even if the period is longer, each update counts as a step. */
	skip = !in->from_start || (!in->tokens[0].fetched && in->tokens[1].fetched);
	if (!in->turns && !unit_period_misfits(in->tokens + skip, PLAIN_TOKENS - skip, 1, false) &&
	    in->tokens[0].name == in->tokens[1].name &&
	    in->tokens[0].ident == in->tokens[1].ident &&
	    (in->from_start || !in->tokens[0].fetched || in->tokens[1].fetched)) {
		unit_decide(in, 1, 1, false, ret);
		ret->from = ret->first = 0;
		return true;
	}
	p = unit_period_exact(in, 0, 2, false);
	if (p) {
		unit_decide(in, 0, p, false, ret);
		return true;
	}
	p = skip ? unit_period_exact(in, 1, 2, false) : 0;
	if (p) {
		unit_decide(in, 1, p, false, ret);
		return true;
	}
	if (n >= CLASS_TOKENS && unit_lead(in->tokens + skip, n - skip, 2, ret))
		return true;
	if (n >= NOISE_TOKENS && unit_noise(in->tokens, n) &&
	    !unit_period_misfits(in->tokens, n, 1, true)) {
		unit_decide(in, 0, 1, true, ret);
		ret->ambiguous = unit_runs(in->tokens, n);
		return true;
	}
	for (uint32_t from = 1; n > SUFFIX_TOKENS && from <= n - SUFFIX_TOKENS; from++) {
		p = unit_period_exact(in, from, 2, false);
		if (p) {
			unit_decide(in, from, p, false, ret);
			return true;
		}
	}
	if (n < STEP_TOKENS)
		return false;
	if (!unit_learn_mostly(in, ret))
		*ret = (struct unit){.size = 1, .ambiguous = true, .any = true};
	return true;
}

static bool unit_all_one_optimizer(const struct token *t, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		if (t[i].name != t[0].name || t[i].ident != t[0].ident)
			return false;
	}
	return true;
}

void unit_guess(const struct unit_input *in, struct unit *ret)
{
	uint32_t p, n = in->count, fresh = 0;

	*ret = (struct unit){.size = 1, .any = true};
	if (!n)
		return;
	p = n > 1 ? unit_period_exact(in, 0, 1, false) : 0;
	if (p) {
		unit_decide(in, 0, p, false, ret);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		fresh += in->tokens[i].fetched;
	/* Assume that all tokens are one pass of a loop over several optimizers, and make one
	 * step. */
	if (n <= STEP_PERIOD && !unit_all_one_optimizer(in->tokens, n) &&
	    ((fresh == 1 && in->tokens[0].fetched) || unit_pattern_distinct(in->tokens, n)))
		unit_decide(in, 0, n, false, ret);
	else if (n > 1 && !unit_lead(in->tokens, n, 1, ret))
		ret->ambiguous = !unit_all_one_optimizer(in->tokens, n);
}
