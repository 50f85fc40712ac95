/* SPDX-License-Identifier: Apache-2.0 */
/* rank_start.h - a process's life before its first step, split by the markers there are. Part of
 * struct rank.
 *
 *   PROGRAM_STARTUP     from the process's start on: imports, what no marker shows; and ranges of
 * torch's compiler, programs and modules built for a device, also between and inside steps
 *   TPU_INITIALIZATION  calls that make a device, a context or a communicator, whenever they are
 * made; a process group, from its store (or itself) to when the thread has it whole TRAINING_PREP
 * after the first of these that did not fail, up to the first step: model, data set, what no marker
 * shows
 *
 * Restores, evaluations and batches that lie between have their own buckets, which go first. Where
 * a marker is missing the time stays PROGRAM_STARTUP. Of a process that ran before we came it is
 * not known which call of a device was the first: there only a communicator or a group begins the
 * preparation. What another thread does than those that train (any, before there is one) counts
 * nowhere.
 */
#ifndef MODEL_RANK_START_H
#define MODEL_RANK_START_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/signal.h"

#define START_COMPILES 32 /* before the first step; what is beyond counts as preparation */

struct rank;
struct rank_start {
	uint64_t ready_ns; /* since when training is prepared; 0: not */
	uint64_t group_ns; /* a group is being made since; 0: none */
	uint32_t group_tid;
	uint32_t compile_tid, compiling; /* ranges of a compiler that are open there */
	uint64_t compile_ns;		 /* since when */
	uint32_t ncompiles, compiles_cap;
	bool over; /* there was a step */
	struct start_compile {
		uint64_t from_ns, to_ns;
	} * compiles; /* in order of time, START_COMPILES at most; none once it is over */
	/* The group or communicator that was made first, the first wait for a batch; 0: not seen.
	 * Not saved: what lies before is told. */
	uint64_t group_from_ns, group_to_ns, loader_from_ns, loader_to_ns;
};

/* torch/_dynamo/utils.py names them so; up to some version before 2.15 it told them to all, since
 * then to profilers */
bool range_compiles(const char *text);
/* Returns true when the signal was of use to nobody else. */
bool rank_start_signal(struct rank *r, const struct signal *s);
/* The first step began at at_ns, or there is none before it. Before the ledger is told. */
void rank_start_over(struct rank *r, uint64_t at_ns);
void rank_start_archive(struct archive *a, struct rank_start *st);

#endif
