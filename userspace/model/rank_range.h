/* SPDX-License-Identifier: Apache-2.0 */
/* rank_range.h - the job's own ranges that the user gave a bucket. Part of struct rank.
 *
 * A range counts from where it opened to where it closed, or to the end of the process, or to where
 * nobody watched. In each other: those of the ledger's order, of custom types the one inside. Steps
 * within one are its bucket's time too, as far as they come before it in the ledger's order. On a
 * thread that does not train it is told and counts nowhere. Evaluations and checkpoints lie in no
 * step; what lies in one is part of its length, not of its goodput.
 */
#ifndef MODEL_RANK_RANGE_H
#define MODEL_RANK_RANGE_H

#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/range.h"
#include "userspace/model/signal.h"

#define RANK_RANGES 16 /* open at once; of those beyond, steps within are not theirs */

struct rank;
struct rank_range {
	uint32_t tid;
	uint64_t begin_ns, booked_ns;
	enum bucket bucket;
	uint32_t type;
	char name[GP_NAME_MAX];
};

void rank_range_signal(struct rank *r, const struct signal *s);
/* Before the ledger is told of a step up to end_ns: what is open is its part. */
void rank_range_step(struct rank *r, uint64_t end_ns);
/* Nothing more is known of those that are open. */
void rank_range_close(struct rank *r, uint64_t now_ns);
void rank_range_archive(struct archive *a, struct rank *r);

#endif
