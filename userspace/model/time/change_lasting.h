/* SPDX-License-Identifier: Apache-2.0 */
/* change_lasting.h - how long a slowdown has to last before it is reported. If short slowdowns come
 * and go, it has to last longer, without a pause. Pure; times in ns. */
#ifndef MODEL_CHANGE_LASTING_H
#define MODEL_CHANGE_LASTING_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"

/* ns that a slowdown must last to be reported, if there were no short slowdowns within an hour */
#define LASTING_NS 5000000000ull
/* To see whether a slowdown lasts without a pause, the last minute or more is divided into this
 * many parts of at least 6 s. */
#define LASTING_PARTS 9

struct onset { /* beginning and size of a slowdown that may be reported */
	uint64_t number, start_ns, before_ns, after_ns;
	bool mean; /* before_ns and after_ns are means, not medians */
};

struct part {
	uint64_t start_ns, ns; /* ns: mean step time */
};

struct lasting {
	/* Number and total length of short slowdowns, reported or not. Each counts less with age:
	 * half after 42 min. */
	double spells, spells_ns;
	uint64_t spell_end_ns; /* end of the last short slowdown */
	uint64_t part_samples, parts;
	/* The last element is the part in progress; its ns is a sum. */
	struct part part[LASTING_PARTS + 1];
};

/* Returns true if a short slowdown ended within the last hour. */
bool lasting_noisy(const struct lasting *l, uint64_t now_ns);
/* Records the end of a slowdown. Only those shorter than 5 min count as short ones. */
void lasting_spell(struct lasting *l, uint64_t start_ns, uint64_t end_ns);
/* Returns how long a slowdown has to last before it is reported (ns). */
uint64_t lasting_needed_ns(const struct lasting *l, uint64_t now_ns);
/* Adds a sample that started at start_ns and whose mean step is ns. */
void lasting_part(struct lasting *l, uint64_t start_ns, uint64_t ns, uint64_t now_ns);
/* Returns true if steps have been slow for the required time without a pause: in each part of this
 * time they were slower than before, by at least half of the slowdown *o. */
bool lasting_without_pause(const struct lasting *l, const struct onset *o, uint64_t now_ns);
void lasting_archive(struct archive *a, struct lasting *l);

#endif
