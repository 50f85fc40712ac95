/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/change_lasting.h"

#include <math.h>

#include "userspace/base/number.h"

/* How long a slowdown has to last before it is reported. A shared machine has many slowdowns of a
 * second or two, so slowdowns shorter than LASTING_NS are never reported. Within HOUR_NS after a
 * short slowdown (up to SHORT_NS) the machine counts as shared: the next slowdown has to last
 * LASTING_NOISY_NS. After SPELLS_LEAST short slowdowns it has to last so long, up to
 * LASTING_MOST_NS, that less than FALSE_MOST false reports an hour are expected, if the lengths of
 * slowdowns are distributed exponentially. */
#define LASTING_NOISY_NS 57000000000ull
#define LASTING_MOST_NS	 120000000000ull
#define SPELLS_LEAST	 4.0
#define FALSE_MOST	 0.3
#define SHORT_NS	 300000000000ull
#define HOUR_NS		 3600000000000ull
#define PART_NS		 6000000000ull
#define PART_SAMPLES	 6
#define PART_MOST_NS	 (UINT64_MAX >> 26)

bool lasting_noisy(const struct lasting *l, uint64_t now_ns)
{
	return l->spells > 0 && now_ns - l->spell_end_ns < HOUR_NS;
}

static double lasting_spells_left(const struct lasting *l, uint64_t now_ns)
{
	return exp(-((double)now_ns - (double)l->spell_end_ns) / HOUR_NS);
}

void lasting_spell(struct lasting *l, uint64_t start_ns, uint64_t end_ns)
{
	double left = lasting_spells_left(l, end_ns);

	if (end_ns - start_ns >= SHORT_NS)
		return;
	l->spells = l->spells * left + 1;
	l->spells_ns = l->spells_ns * left + (double)(end_ns - start_ns);
	l->spell_end_ns = end_ns;
}

uint64_t lasting_needed_ns(const struct lasting *l, uint64_t now_ns)
{
	double n, ns;

	if (!lasting_noisy(l, now_ns))
		return LASTING_NS;
	n = l->spells * lasting_spells_left(l, now_ns);
	ns = n < SPELLS_LEAST ? 0 : l->spells_ns / l->spells * log(n / FALSE_MOST);
	return ns < LASTING_NOISY_NS  ? LASTING_NOISY_NS
	       : ns < LASTING_MOST_NS ? (uint64_t)ns
				      : LASTING_MOST_NS;
}

void lasting_part(struct lasting *l, uint64_t start_ns, uint64_t ns, uint64_t now_ns)
{
	struct part *making = &l->part[LASTING_PARTS];

	if (!l->part_samples++)
		*making = (struct part){.start_ns = start_ns};
	making->ns += smaller_of(ns, PART_MOST_NS);
	if (l->part_samples < PART_SAMPLES || now_ns - making->start_ns < PART_NS)
		return;
	l->part[l->parts++ % LASTING_PARTS] = (struct part){.start_ns = making->start_ns,
							    .ns = making->ns / l->part_samples};
	l->part_samples = 0;
}

bool lasting_without_pause(const struct lasting *l, const struct onset *o, uint64_t now_ns)
{
	uint64_t lasting = lasting_needed_ns(l, now_ns), least_ns = UINT64_MAX, n = 0;
	uint64_t from_ns = now_ns - o->start_ns > lasting ? now_ns - lasting : o->start_ns;
	double sum = 0, mean;

	if (now_ns - o->start_ns < lasting)
		return false;
	for (uint64_t i = 0; lasting > LASTING_NS && i < LASTING_PARTS && i < l->parts; i++) {
		const struct part *p = &l->part[i];

		if (p->start_ns < from_ns)
			continue;
		sum += (double)p->ns;
		n++;
		least_ns = smaller_of(p->ns, least_ns);
	}
	mean = n ? sum / (double)n : 0;
	mean = mean > (double)o->after_ns ? mean : (double)o->after_ns;
	return !n || (double)least_ns >= ((double)o->before_ns + mean) / 2;
}

void lasting_archive(struct archive *a, struct lasting *l)
{
	archive_fields(a, l, spells, spells_ns, spell_end_ns);
	archive_require(a, l->spells >= 0 && l->spells < 1e6 && l->spells_ns >= 0 &&
				   l->spells_ns < 1e18);
	archive_fields(a, l, part_samples, parts);
	for (int i = 0; i <= LASTING_PARTS; i++)
		archive_fields(a, &l->part[i], start_ns, ns);
}
