/* SPDX-License-Identifier: Apache-2.0 */
/* hang.h - how long a process has to be silent until the silence is a hang. Pure.
 *
 * Silence counts from the last sign of life: a marker of the thread that trains, or work given to a
 * device. After hang_check_ns() of silence gp-bpf checks what the process waits for; a healthy job
 * is never silent that long. After hang_limit_ns() the silence is a hang, which is booked from its
 * first instant:
 *
 *   usual                              5 x p99 of a step, at least 30 s, at most 600 s; or the
 *                                      limit set by the user
 *   after a long silence that ended    at least twice the longest one, up to 30 min (an evaluation
 *   by itself                          that cannot be seen)
 *   writing the first checkpoint       at least 420 s
 *   writing another checkpoint         5 times the longest one before, but at most 420 s; at least
 *                                      60 s, and at least twice the longest one
 *   compiling                          at least 30 min
 *   before the third step              30 min
 *   running (a long step), or waiting  at least 600 s
 *   for a child (a compiler)
 *   stopped                            as soon as it is examined: nothing normal explains it
 *   waiting for events or a person     never
 *   (a notebook) */
#ifndef MODEL_HANG_H
#define MODEL_HANG_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

/* values of a label in metrics: "collective" */
extern const char *const hang_why_name[GP_WHY_COUNT];
extern const char *const hang_why_text[GP_WHY_COUNT]; /* text for people: "waits in a collective" */

#define HANG_NEVER UINT64_MAX

struct hang_case {	     /* facts on which the limits depend */
	bool stepping;	     /* the process has made at least three steps */
	uint64_t p99_ns;     /* p99 of the step time */
	uint64_t user_ns;    /* limit set by the user; 0: compute it */
	uint64_t longest_ns; /* longest silence that ended by itself */
	bool saving, compiling;
	uint64_t save_ns; /* time of the longest checkpoint (ns); 0: no checkpoint yet */
};

/* Returns the silence (ns) after which the state of the process is examined, to find the reason. */
uint64_t hang_check_ns(const struct hang_case *c);
/* Returns the silence (ns) after which the process hangs, given the reason of the silence;
 * HANG_NEVER: never. */
uint64_t hang_limit_ns(const struct hang_case *c, enum gp_why why);

/* Facts about a silent process that its state in /proc does not show. */
struct hang_place {
	bool fetching;	  /* the thread waits for a batch */
	bool distributed; /* the process trains together with other ranks */
	bool collectives; /* the process has enqueued collectives */
	/* the call in progress is one of a communication library */
	bool between;
};

/* Returns the reason of the silence. why: the reason seen in /proc. role: role of the call in
 * progress; GP_ROLE_none: no call. */
enum gp_why hang_conclude(const struct hang_place *p, enum gp_why why, unsigned role);

#endif
