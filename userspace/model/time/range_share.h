/* SPDX-License-Identifier: Apache-2.0 */
/* range_share.h - the shares of a job's steps that its named ranges take, by name.
 *
 * A range gets its time on the thread that runs the steps, without the time of ranges nested in it.
 * So the shares of a step add up to no more than its length. Ranges of the loader and the optimizer
 * are excluded: these are phases, and their time counts for the range around them. A range that was
 * not sent (its name exceeded its limit of hits) is unknown: its share is incomplete, and the range
 * around it gets the rest.
 *
 * Pure and deterministic; no memory before the first range, under 300 KiB whatever the process
 * does. */
#ifndef MODEL_RANGE_SHARE_H
#define MODEL_RANGE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/signal/signal.h"
#include "userspace/model/step/step.h"

/* Names that are listed for a loop: the first ones seen in its steps. SHARE_OTHER collects the
 * other names (and ranges with this very name). */
#define SHARE_NAMES 16
#define SHARE_PARTS (SHARE_NAMES + 1)
#define SHARE_OTHER "other ranges"

struct share_part {
	char name[GP_NAME_MAX];
	uint64_t ns;
	uint64_t steps; /* number of steps that contained this range */
};

/* times of ranges in one step, or in all steps of a loop */
struct share_view {
	struct share_part part[SHARE_PARTS]; /* in order of first appearance, SHARE_OTHER last */
	uint32_t nparts;
};

struct range_shares;
struct range_shares *range_shares_new(void); /* NULL: no memory */
void range_shares_free(struct range_shares *rs);
/* Processes SIGNAL_RANGE_BEGIN, SIGNAL_FORWARD, SIGNAL_RANGE and SIGNAL_GAP; ignores others.
 * Returns 0 or -ENOMEM. */
int range_shares_feed(struct range_shares *rs, const struct signal *s);
/* Computes the times of ranges in a finished step. Steps of each loop must come in order. counts:
 * also add the times to the sums of the loop. Returns false when the times are unknown. Ranges
 * without time are not in *ret. */
bool range_shares_step(struct range_shares *rs, const struct step *s, bool counts,
		       struct share_view *ret);
/* Returns the sums of a loop over all its steps. */
void range_shares_view(const struct range_shares *rs, uint32_t loop, struct share_view *ret);
/* Saves or restores *rs, which may be NULL. */
void range_shares_archive(struct archive *a, struct range_shares **rs);

#endif
