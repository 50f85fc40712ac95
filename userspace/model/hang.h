/* SPDX-License-Identifier: Apache-2.0 */
/* hang.h - when silence is a hang. Pure.
 *
 * Silence runs from the last sign of life (a marker of the thread that trains, work that it hands
 * to a device) and is looked into after hang_look_ns(), at a healthy job never. It is called a hang
 * after hang_limit_ns():
 *
 *   5 x p99 of a step, at least 30 s and at most 600 s; or what the user says
 *   at least twice the longest silence that ended by itself (an evaluation that cannot be seen), up
 * to 30 min while a checkpoint is written   at least twice the longest one, and 420 s while it
 * compiles, before the third step   30 min it runs (a long step, whatever it does), or waits for a
 * child (a compiler)   at least 600 s it is stopped: nothing that is normal explains it   as soon
 * as it is looked at it waits for events or a person (a notebook)   never
 *
 * What turns out to be a hang was one from its first instant.
 */
#ifndef MODEL_HANG_H
#define MODEL_HANG_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

extern const char *const hang_why_name[GP_WHY_COUNT]; /* "collective": of labels */
extern const char *const hang_why_text[GP_WHY_COUNT]; /* "waits in a collective": for people */

#define HANG_NEVER UINT64_MAX

struct hang_case {	     /* what the limits depend on */
	bool stepping;	     /* three steps were seen */
	uint64_t p99_ns;     /* of a step */
	uint64_t user_ns;    /* 0: found */
	uint64_t longest_ns; /* silence that ended by itself */
	bool saving, compiling;
	uint64_t save_ns; /* longest checkpoint */
};

/* Silence that is worth a look. */
uint64_t hang_look_ns(const struct hang_case *c);
/* Silence that is a hang. */
uint64_t hang_limit_ns(const struct hang_case *c, enum gp_why why);

/* What is known of where the process stands, beyond what its silent thread does. */
struct hang_place {
	bool fetching;	  /* it waits for a batch */
	bool distributed; /* it trains with others */
	bool collectives; /* it was seen to enqueue some */
	bool between; /* the call that has not returned is of what ranks meet by, not of a device */
};

/* why: as it looks from /proc. role: of the call that has not returned, GP_ROLE_none: none known.
 */
enum gp_why hang_conclude(const struct hang_place *p, enum gp_why why, unsigned role);

#endif
