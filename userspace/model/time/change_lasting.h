/* SPDX-License-Identifier: Apache-2.0 */
/* change_lasting.h - how long a slowdown has to last before it is reported: longer where short
 * slowdowns come and go, and then without a pause. Pure; times in ns. */
#ifndef MODEL_CHANGE_LASTING_H
#define MODEL_CHANGE_LASTING_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"

/* ns that a slowdown must last if there were no short slowdowns before */
#define LASTING_NS 5000000000ull
/* parts of the last minute or more that are compared, each 6 s or longer */
#define LASTING_PARTS 9

struct onset { /* of a slowdown that may be reported */
	uint64_t number, start_ns, before_ns, after_ns;
	bool mean; /* before_ns and after_ns are means, not medians */
};

struct part {
	uint64_t start_ns, ns; /* ns: mean step */
};

struct lasting {
	/* Number and total length of short slowdowns, reported or not. Both decay, by half in 42
	 * min. */
	double spells, spells_ns;
	uint64_t spell_end_ns; /* end of the last short slowdown */
	uint64_t part_samples, parts;
	struct part part[LASTING_PARTS + 1]; /* the last part is in progress: its ns is a sum */
};

/* Returns true within an hour after a short slowdown. */
bool lasting_noisy(const struct lasting *l, uint64_t now_ns);
/* Records the end of a slowdown. Only those shorter than 5 min count as short ones. */
void lasting_spell(struct lasting *l, uint64_t start_ns, uint64_t end_ns);
/* Returns how long a slowdown has to last before it is reported (ns). */
uint64_t lasting_needed_ns(const struct lasting *l, uint64_t now_ns);
/* Adds a sample: its start and its mean step. */
void lasting_part(struct lasting *l, uint64_t start_ns, uint64_t ns, uint64_t now_ns);
/* Returns true when the slowdown since *o lasted in every part of the required time: steps were
 * slower by at least half of its size. */
bool lasting_without_pause(const struct lasting *l, const struct onset *o, uint64_t now_ns);
void lasting_archive(struct archive *a, struct lasting *l);

#endif
