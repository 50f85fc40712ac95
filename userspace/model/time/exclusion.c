/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/exclusion.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/base/number.h"

int exclusion_say(struct excluded *a, const char *text)
{
	char *end;
	long long from = strtoll(text, &end, 10), to = strtoll(end, &end, 10);

	if (*end || to <= from || from < 0)
		return -EINVAL;
	if (a->nsaid == EXCLUSIONS_MAX)
		return -E2BIG;
	a->said[a->nsaid].from_ns = from;
	a->said[a->nsaid++].to_ns = to;
	return 0;
}

void exclusion_forget(struct excluded *a)
{
	a->nsaid = a->count = 0;
}

static int exclusion_by_begin(const void *x, const void *y)
{
	const struct exclusion_span *a = x, *b = y;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Converts a UTC time to the monotonic clock. Instants before the start of that clock become its
 * start. */
static uint64_t exclusion_mono_ns(int64_t at_ns, uint64_t mono_ns, int64_t real_ns)
{
	uint64_t apart_ns = at_ns < real_ns ? (uint64_t)real_ns - (uint64_t)at_ns
					    : (uint64_t)at_ns - (uint64_t)real_ns;

	if (at_ns < real_ns)
		return apart_ns < mono_ns ? mono_ns - apart_ns : 0;
	return apart_ns < UINT64_MAX - mono_ns ? mono_ns + apart_ns : UINT64_MAX;
}

void exclusion_place(struct excluded *a, uint64_t mono_ns, int64_t real_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->nsaid; i++)
		a->span[i] = (struct exclusion_span){
			exclusion_mono_ns(a->said[i].from_ns, mono_ns, real_ns),
			exclusion_mono_ns(a->said[i].to_ns, mono_ns, real_ns)};
	qsort(a->span, a->nsaid, sizeof(a->span[0]), exclusion_by_begin);
	for (uint32_t i = 0; i < a->nsaid; i++) {
		struct exclusion_span *last = n ? &a->span[n - 1] : NULL, s = a->span[i];

		if (last && s.from_ns <= last->to_ns)
			last->to_ns = larger_of(s.to_ns, last->to_ns);
		else if (s.to_ns > s.from_ns)
			a->span[n++] = s;
	}
	a->count = n;
}

bool exclusion_at(const struct excluded *a, uint64_t at_ns, uint64_t *to_ns)
{
	for (uint32_t i = 0; a && i < a->count; i++) {
		const struct exclusion_span *s = &a->span[i];

		if (at_ns >= s->to_ns)
			continue;
		if (at_ns < s->from_ns) {
			*to_ns = smaller_of(s->from_ns, *to_ns);
			return false;
		}
		*to_ns = smaller_of(s->to_ns, *to_ns);
		return true;
	}
	return false;
}

uint64_t exclusion_within(const struct excluded *a, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; a && i < a->count; i++) {
		uint64_t from = larger_of(a->span[i].from_ns, from_ns);
		uint64_t to = smaller_of(a->span[i].to_ns, to_ns);

		sum_ns += more_than(to, from);
	}
	return sum_ns;
}

void exclusion_archive(struct archive *ar, struct excluded *a)
{
	archive_below(ar, &a->nsaid, EXCLUSIONS_MAX + 1);
	for (uint32_t i = 0; i < a->nsaid; i++) {
		archive_fields(ar, &a->said[i], from_ns, to_ns);
		archive_require(ar,
				a->said[i].from_ns >= 0 && a->said[i].from_ns < a->said[i].to_ns);
	}
	archive_below(ar, &a->count, a->nsaid + 1);
	for (uint32_t i = 0; i < a->count; i++) {
		archive_fields(ar, &a->span[i], from_ns, to_ns);
		archive_require(ar, a->span[i].from_ns < a->span[i].to_ns);
		archive_require(ar, !i || a->span[i - 1].to_ns < a->span[i].from_ns);
	}
}
