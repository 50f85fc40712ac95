/* SPDX-License-Identifier: Apache-2.0 */
/* range_share.h - what the job's own named ranges take of its steps, by name. Pure and
 * deterministic; nothing until the first range, under 300 KiB whatever the process does.
 *
 * A range has the time in it that no range within it has, on the thread that steps: so the shares
 * of a step add up to no more than its length. The loader's and the optimizer's own ranges are none
 * of these: they are phases, and lie in the range around them. A range that is not sent (its name
 * is over its bound) is not known: then a share is what is known of it, and the range around it has
 * the rest.
 */
#ifndef MODEL_RANGE_SHARE_H
#define MODEL_RANGE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/signal.h"
#include "userspace/model/step.h"

#define SHARE_NAMES 16 /* told apart in a loop, those seen first in its steps; ... */
#define SHARE_PARTS (SHARE_NAMES + 1)
#define SHARE_OTHER "other ranges" /* ... the rest, and ranges of this name */

struct share_part {
	char name[GP_NAME_MAX];
	uint64_t ns;
	uint64_t steps; /* that had it */
};

struct share_view {			     /* of a loop, over all its steps, or of one step */
	struct share_part part[SHARE_PARTS]; /* in order of appearance, the rest last */
	uint32_t nparts;
};

struct range_shares;
struct range_shares *range_shares_new(void); /* NULL: no memory */
void range_shares_free(struct range_shares *rs);
/* SIGNAL_RANGE_BEGIN, SIGNAL_FORWARD, SIGNAL_RANGE, SIGNAL_GAP; others are nothing to it. 0 or
 * -ENOMEM. */
int range_shares_feed(struct range_shares *rs, const struct signal *s);
/* A finished step, in order of each loop: what its ranges took. counts: its loop's sums get it.
 * false: not known. Those that took nothing are not in it. */
bool range_shares_step(struct range_shares *rs, const struct step *s, bool counts,
		       struct share_view *ret);
void range_shares_view(const struct range_shares *rs, uint32_t loop, struct share_view *ret);
void range_shares_archive(struct archive *a, struct range_shares **rs); /* NULL: there is none */

#endif
