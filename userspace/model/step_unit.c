/* SPDX-License-Identifier: Apache-2.0 */
/* step_unit.c - rules I and F: how many updates make the author's step.
 *
 * Each update is a token: optimizer class, identity of its parameters, was a batch fetched since
 * the update before. A plain loop repeats one token. A GAN that trains both networks on one batch
 * repeats (D, fresh), (G, not): its author counts one step. The smallest period is that of the
 * loop's body. It is the author's step when every optimizer occurs once in it, or when it gets
 * exactly one batch; otherwise (five critics with a batch each, then a generator) authors differ,
 * and updates are counted.
 */
#include "userspace/model/step_internal.h"

#include <string.h>

/* One token three times is a plain loop. Any other period must be seen twice and start a third
 * time. */
#define PLAIN_TOKENS 3
/* After so many equal ones no period up to STEP_PERIOD can hide before them. */
#define SUFFIX_TOKENS (STEP_PERIOD + 1)
/* Identities that never repeat in a pattern of classes that always does are noise. */
#define CLASS_TOKENS 17
/* Share of tokens that must fit when none does exactly, per cent. */
#define FIT_PERCENT 98

bool token_equal(const struct token *a, const struct token *b, bool by_class)
{
	return a->name == b->name && a->fetched == b->fetched && (by_class || a->ident == b->ident);
}

static uint32_t period_misfits(const struct token *t, uint32_t count, uint32_t period,
			       bool by_class)
{
	uint32_t n = 0;

	for (uint32_t i = period; i < count; i++)
		n += !token_equal(&t[i], &t[i - period], by_class);
	return n;
}

/* Smallest period that fits all of t[from..count) and that was seen `times` times and once more
 * begun. */
static uint32_t period_exact(const struct unit_input *in, uint32_t from, uint32_t times,
			     bool by_class)
{
	uint32_t n = in->count - from;

	for (uint32_t p = 1; p <= STEP_PERIOD && times * p + 1 <= n; p++) {
		if (!period_misfits(in->tokens + from, n, p, by_class))
			return p;
	}
	return 0;
}

/* Several optimizers, each once. */
static bool pattern_distinct(const struct token *t, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (t[i].name == t[k].name && t[i].ident == t[k].ident)
				return false;
		}
	}
	return true;
}

/* Rule F for the period p of tokens[from...). */
static void unit_decide(const struct unit_input *in, uint32_t from, uint32_t p, bool by_class,
			struct unit *ret)
{
	const struct token *t = in->tokens + from;
	uint32_t fresh = 0, at = 0;

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
	if (p > 1 && (fresh == 1 || pattern_distinct(t, p))) {
		ret->size = p;
		if (fresh == 1 && !(in->from_start && !from))
			ret->first += at;
	} else if (p > 1) {
		ret->ambiguous = ret->any = true;
	}
	memcpy(ret->pattern, in->tokens + ret->first, (from + p - ret->first) * sizeof(*t));
	memcpy(ret->pattern + (from + p - ret->first), t, (ret->first - from) * sizeof(*t));
}

bool unit_learn_mostly(const struct unit_input *in, struct unit *ret)
{
	for (uint32_t p = 1; p <= STEP_PERIOD; p++) {
		uint32_t pairs = in->count - p;

		if (100 * period_misfits(in->tokens, in->count, p, false) >
		    (100 - FIT_PERCENT) * pairs)
			continue;
		unit_decide(in, in->count - p, p, false, ret);
		/* The last period is the freshest, but steps start where they started all along. */
		ret->from = 0;
		ret->first = ret->size > 1 ? ret->first % p : 0;
		return true;
	}
	return false;
}

bool unit_learn(const struct unit_input *in, struct unit *ret)
{
	uint32_t p, n = in->count, skip;

	if (n < PLAIN_TOKENS)
		return false;
	/* The first token was seen in part only, or its batch came another way. With one optimizer
	 * and two fresh batches after it, whatever period may follow counts each update. */
	skip = !in->from_start || (!in->tokens[0].fetched && in->tokens[1].fetched);
	if (!period_misfits(in->tokens + skip, PLAIN_TOKENS - skip, 1, false) &&
	    in->tokens[0].name == in->tokens[1].name &&
	    in->tokens[0].ident == in->tokens[1].ident &&
	    (in->from_start || !in->tokens[0].fetched || in->tokens[1].fetched)) {
		unit_decide(in, 1, 1, false, ret);
		ret->from = ret->first = 0;
		return true;
	}
	p = period_exact(in, 0, 2, false);
	if (p) {
		unit_decide(in, 0, p, false, ret);
		return true;
	}
	p = skip ? period_exact(in, 1, 2, false) : 0;
	if (p) {
		unit_decide(in, 1, p, false, ret);
		return true;
	}
	if (n >= CLASS_TOKENS && !period_misfits(in->tokens, n, 1, true)) {
		unit_decide(in, 0, 1, true, ret);
		return true;
	}
	for (uint32_t from = 1; n > SUFFIX_TOKENS && from <= n - SUFFIX_TOKENS; from++) {
		p = period_exact(in, from, 2, false);
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

static bool all_one_optimizer(const struct token *t, uint32_t n)
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
	p = n > 1 ? period_exact(in, 0, 1, false) : 0;
	if (p) {
		unit_decide(in, 0, p, false, ret);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		fresh += in->tokens[i].fetched;
	/* One body of a loop over several optimizers was all there was. */
	if (n <= STEP_PERIOD && !all_one_optimizer(in->tokens, n) &&
	    ((fresh == 1 && in->tokens[0].fetched) || pattern_distinct(in->tokens, n)))
		unit_decide(in, 0, n, false, ret);
	else if (n > 1)
		ret->ambiguous = !all_one_optimizer(in->tokens, n);
}
