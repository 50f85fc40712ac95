/* SPDX-License-Identifier: Apache-2.0 */
/* straggler.h - which rank of a synchronous job the others wait for.
 *
 * All ranks of such a job take as long for a step; who is slow waits for nobody, the others wait
 * for it. So the waits of one step are compared: a rank is late in it when it waits least, by more
 * than STRAGGLER_NS and a STRAGGLER_PART of the step less than the next. It is the straggler when
 * it was late in STRAGGLER_MANY of the last STRAGGLER_WINDOW steps that all ranks of this node have
 * told, and no more when in fewer than STRAGGLER_FEW. Two ranks that are slow alike hide each
 * other; what a rank's device alone does slowly makes its own host wait, and is not found. Steps
 * that took one rank much longer than another are not compared: they do not run in step.
 *
 * What it does meanwhile: the part of the step's time that exceeds the median of the others by at
 * least half of what they wait. Pure and deterministic; 14 KiB. Times in ns.
 */
#ifndef MODEL_STRAGGLER_H
#define MODEL_STRAGGLER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/fact.h"

#define STRAGGLER_RANKS	 32 /* of one job on this node: of more, none are compared */
#define STRAGGLER_WINDOW 20
#define STRAGGLER_MANY	 14
#define STRAGGLER_FEW	 6
#define STRAGGLER_NS	 2000000ull
#define STRAGGLER_PART	 20

enum straggler_told { STRAGGLER_NONE, STRAGGLER_FOUND, STRAGGLER_OVER };

struct straggler_view {		       /* of the rank that is, or was, the straggler */
	uint64_t onset_ns, onset_step; /* first step of those that proved it */
	uint64_t size_ns;	       /* median wait of the others beyond its own, in a step */
	uint32_t late, of;	       /* steps, of the window's */
	int phase;		       /* as of change_part_name() */
};

struct straggler;
struct straggler *straggler_new(void); /* NULL: no memory */
void straggler_free(struct straggler *s);
/* A step of a rank, whose waits are known. ranks: of the job that run here. What is told is of this
 * rank. */
enum straggler_told straggler_step(struct straggler *s, uint32_t pid, uint32_t ranks,
				   const struct fact_step *fs, struct straggler_view *ret);
/* The rank ends, and what is told of it is over: true, if anything is. */
bool straggler_left(struct straggler *s, uint32_t pid);
void straggler_archive(struct archive *a, struct straggler **s);

#endif
