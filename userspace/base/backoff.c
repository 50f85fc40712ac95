/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/backoff.h"

#include <math.h>
#include <sys/random.h>

#include "userspace/base/clock.h"

#define NS_PER_MS     1000000ull
#define DOUBLINGS_MAX 32

static uint64_t backoff_limit(const struct backoff *b, const struct backoff_rule *rule)
{
	unsigned doublings = b->failures < DOUBLINGS_MAX ? b->failures : DOUBLINGS_MAX;

	return rule->first_ns < rule->most_ns >> doublings ? rule->first_ns << doublings
							   : rule->most_ns;
}

uint64_t backoff_next(struct backoff *b, const struct backoff_rule *rule, int64_t asked_ms,
		      double random)
{
	uint64_t pause_ns = backoff_limit(b, rule), asked_ns = 0;

	if (b->failures < DOUBLINGS_MAX)
		b->failures++;
	if (rule->least_ns && rule->least_ns < pause_ns)
		pause_ns = rule->least_ns +
			   (uint64_t)((double)(pause_ns - rule->least_ns) * random);
	if (asked_ms > 0)
		asked_ns = (uint64_t)asked_ms * NS_PER_MS;
	if (rule->asked_most_ns && asked_ns > rule->asked_most_ns)
		asked_ns = rule->asked_most_ns;
	return pause_ns > asked_ns ? pause_ns : asked_ns + pause_ns;
}

double backoff_random(void)
{
	uint32_t bits = 0;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits))
		bits = (uint32_t)clock_mono_ns() * 2654435761u;
	return ldexp(bits, -32);
}
