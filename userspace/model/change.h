/* SPDX-License-Identifier: Apache-2.0 */
/* change.h - when the steps of a loop became lastingly slower (fail-slow), and when they were fast
 * again.
 *
 * Page's CUSUM (Biometrika 41, 1954) on the clipped distance of a step from the usual one,
 * confirmed by the median of the last CHANGE_CONFIRM steps. The usual step is the median of the
 * medians of up to 32 blocks of 32 healthy steps, so it follows a drift and ignores outliers. A
 * change is one of at least CHANGE_MIN, or 1.2 times the spread of single steps, or 8 times the
 * spread of the blocks, whichever is most: of a noisy loop only more is told. tests/bench/change.c
 * measures what that means for false alarms and delay.
 *
 *   slower, lasting       told once; it began where the vote of the steps after it is clearest
 *   usual again, lasting  told once
 *   faster, lasting       the new usual; the old one is no slowness for the next 1024 steps
 *   creeping (below the least change in some 1000 steps), or fewer than 21 slow steps in 40   not
 * told
 *
 * Pure and deterministic; under 8 KiB. Times in ns.
 */
#ifndef MODEL_CHANGE_H
#define MODEL_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/fact.h"

#define CHANGE_LEARN   64 /* steps before anything is told */
#define CHANGE_CONFIRM 40 /* steps that have to agree */
#define CHANGE_MIN     0.07
/* The last one: time of a step that no phase claims. */
#define CHANGE_PARTS (PHASE_COUNT + 1)

enum change_told { CHANGE_NONE, CHANGE_SLOWER, CHANGE_RECOVERED };

struct change_view {
	bool known; /* the usual step is: enough were seen */
	bool slow;
	uint64_t usual_ns; /* the usual step; 0: not known */
	uint64_t count;	   /* of lasting slowdowns, ever */
	/* Of the slowdown that lasts, else of the last one; 0 when there was none. */
	uint64_t onset_step, onset_ns; /* first slow step, and when it began */
	uint64_t noticed_step;
	uint64_t before_ns,
		after_ns; /* median step before, and since the onset (the last 40 while it lasts) */
	uint64_t end_step,
		end_ns;	   /* first step that was usual again, and when it began; 0: it lasts */
	bool incomparable; /* not usual again: from there on steps have another number of
			      micro-batches */
	int64_t grown_ns[CHANGE_PARTS]; /* what each phase grew by, as of when it was told */
	uint32_t parts_known;		/* bit per phase; the rest is always known */
	int blame; /* the part that more than half of the growth is in; -1: none */
};

struct change;
struct change *change_new(void); /* NULL: no memory */
void change_free(struct change *c);
/* The next step of the loop. One that is no sample (flags) is passed over. */
enum change_told change_step(struct change *c, const struct fact_step *fs);
void change_view(const struct change *c, struct change_view *ret);
/* "forward", "else"; "" for -1. */
const char *change_part_name(int part);
void change_archive(struct archive *a, struct change **c);

#endif
