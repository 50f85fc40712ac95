/* SPDX-License-Identifier: Apache-2.0 */
/* straggler.h - finds the rank of a synchronous job that the other ranks wait for.
 *
 * All ranks of such a job take the same time for a step; a slow rank does not wait, and the others
 * wait for it. So the waits of one step are compared: a rank is late in the step when its wait is
 * the shortest by more than STRAGGLER_NS and 1/STRAGGLER_PART of the step. It becomes the straggler
 * when it was late in STRAGGLER_MANY of the last STRAGGLER_WINDOW steps reported by all ranks of
 * this node, and is the straggler until it was late in less than STRAGGLER_FEW of them.
 *
 * Limits: two ranks that are equally slow hide each other. A slow device makes its own host wait,
 * and is not found. A step that took one rank much longer than another is not compared: these ranks
 * do not run in step.
 *
 * The cause is the phase in which the straggler exceeds the median of the others by at least half
 * of their wait. Pure and deterministic; 14 KiB. Times in ns. */
#ifndef MODEL_STRAGGLER_H
#define MODEL_STRAGGLER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/step_time.h"

/* most ranks of a job on this node; if there are more, ranks are not compared */
#define STRAGGLER_RANKS	 32
#define STRAGGLER_WINDOW 20
#define STRAGGLER_MANY	 14
#define STRAGGLER_FEW	 6
#define STRAGGLER_NS	 2000000ull
#define STRAGGLER_PART	 20

enum straggler_event { STRAGGLER_NONE, STRAGGLER_FOUND, STRAGGLER_OVER };

struct straggler_view { /* the current straggler, or the last one */
	/* start and number of the first step in which the straggler was late */
	uint64_t onset_ns, onset_step;
	/* How much longer the other ranks wait than the straggler in a step (median). */
	uint64_t size_ns;
	/* the straggler was late in `late` of the last `of` steps */
	uint32_t late, of;
	int phase; /* part of the step that makes the straggler late, see change_part_name() */
	uint32_t pid;
	int rank; /* as set by straggler_set_rank(); -1: unknown */
};

struct straggler;
struct straggler *straggler_new(void); /* NULL: no memory */
void straggler_free(struct straggler *s);
/* Adds a step whose waits are known. ranks: number of the job's ranks on this node. Returns whether
 * rank pid became the straggler (FOUND) or is no longer the straggler (OVER); then fills *ret. */
enum straggler_event straggler_step(struct straggler *s, uint32_t pid, uint32_t ranks,
				    const struct fact_step *fs, struct straggler_view *ret);
/* Sets the rank number of the current straggler; -1: unknown. */
void straggler_set_rank(struct straggler *s, int rank);
/* Returns true if another rank than pid is the straggler; then fills *ret. */
bool straggler_other(const struct straggler *s, uint32_t pid, struct straggler_view *ret);
/* Removes a rank that ended. Returns true when it was the straggler. */
bool straggler_left(struct straggler *s, uint32_t pid);
void straggler_archive(struct archive *a, struct straggler **s);

#endif
