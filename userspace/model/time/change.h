/* SPDX-License-Identifier: Apache-2.0 */
/* change.h - detects when the steps of a loop become lastingly slower (fail-slow), and when they
 * recover.
 *
 * Method: Page's CUSUM (Biometrika 41, 1954) on the clipped distance of a step from the usual step,
 * confirmed by the median of the last CHANGE_CONFIRM steps. The usual step is the median of the
 * medians of up to 32 blocks of 32 steps during which no change was suspected, so it follows a
 * drift and ignores outliers. A change is at least CHANGE_MIN, 1.2 times the spread of single
 * steps, and 8 times the spread of the blocks: in a noisy loop only larger changes are reported.
 * tests/bench/change.c measures false alarms and delay.
 *
 *   slower, lasting       reported once; the onset is the most likely step, judged by later steps
 *   usual again, lasting  reported once
 *   faster, lasting       becomes the usual step; a return to the former time is not a slowdown
 *                         for the next 1024 steps
 *   creeping              not reported: less than the least change in some 1000 steps
 *
 * Steps of less than 50 ms are averaged in groups, and the test above takes the mean of a group. A
 * second test takes sums of 8, 32 and 128 samples, for a loss of time that the median does not show
 * (every 4th step is long, a garbage collector, bursts of another program): a CUSUM of the
 * likelihood that 85 % of the sums are long. If this test finds a slowdown, its size and its step
 * times are means.
 *
 * A slowdown is reported after it lasted 5 s. Within an hour after a short slowdown it has to last
 * 57 s without a pause. After four short ones or more it has to last so long that fewer than 0.3
 * false reports an hour are expected, two minutes at most.
 *
 * Pure and deterministic; under 10 KiB. Times in ns. */
#ifndef MODEL_CHANGE_H
#define MODEL_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/step_time.h"

#define CHANGE_LEARN   64 /* a change is reported only after this many steps */
#define CHANGE_CONFIRM 40 /* samples whose median must confirm a change */
/* Least change of the step time that is reported, as a share of the usual step. */
#define CHANGE_MIN 0.07
/* Parts of a step whose growth is compared: the phases, and the rest of the step ("else"). */
#define CHANGE_PARTS (PHASE_COUNT + 1)

enum change_event { CHANGE_NONE, CHANGE_SLOWER, CHANGE_RECOVERED };

struct change_view {
	bool known; /* enough steps were seen: usual_ns is valid */
	bool slow;
	bool mean;	   /* before_ns and after_ns are means, not medians */
	uint32_t period;   /* every period-th step is long; 0: no period found */
	uint64_t usual_ns; /* 0: unknown */
	uint64_t count;	   /* lasting slowdowns so far, the current one included */
	/* The fields below describe the current lasting slowdown, or the last one. They are 0 if
	 * there was none. */
	uint64_t onset_step, onset_ns; /* first slow step, and when it began */
	/* step at which the slowdown was detected */
	uint64_t noticed_step;
	/* Median step time before the onset, and since the onset (while the slowdown lasts: of the
	 * last 40 steps). */
	uint64_t before_ns, after_ns;
	/* First step of usual length after the slowdown, and the start of that step; 0: the
	 * slowdown continues. */
	uint64_t end_step, end_ns;
	/* The slowdown ended because later steps have another number of micro-batches. */
	bool incomparable;
	/* the slowdown ended because later steps update other parameters */
	bool other_optimizer;
	/* growth of each part of the step, when the slowdown was reported */
	int64_t grown_ns[CHANGE_PARTS];
	/* bit per phase whose time is known; the rest of the step ("else") is always known */
	uint32_t parts_known;
	/* Index of the part of the step with more than half of the growth; -1: none. */
	int blame;
};

struct change;
struct change *change_new(void); /* NULL: no memory */
void change_free(struct change *c);
/* Adds the next step of the loop. Steps that cannot be samples (STEP_NO_SAMPLE) are ignored.
 * Returns whether a slowdown or a recovery was detected with this step. */
enum change_event change_step(struct change *c, const struct fact_step *fs);
void change_view(const struct change *c, struct change_view *ret);
/* Returns the step time before the present slowdown; 0: there is no slowdown. */
uint64_t change_before_ns(const struct change *c);
/* Writes "every 4th step is long" to out and returns out; "" if v->period is 0. */
const char *change_period_text(char *out, size_t len, const struct change_view *v);
/* Returns the name of a part of a step: "forward", "else"; "" for -1. */
const char *change_part_name(int part);
void change_archive(struct archive *a, struct change **c);

#endif
