/* SPDX-License-Identifier: Apache-2.0 */
/* watch_place.h - where watched processes run (identity/place.h): told when it is known, again when
 * it is another one, and once more when the pod says more. A child has its parent's until it
 * replaces itself, which needs no telling. Single-threaded. */
#ifndef WATCH_WATCH_PLACE_H
#define WATCH_WATCH_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct aside;
struct pods;
struct places;
typedef void place_fn(void *ctx, pid_t pid, const struct gp_place *p);
typedef void notice_fn(void *ctx, const struct gp_notice *n);

struct places_config { /* all borrowed */
	struct aside *aside;
	const char *root, *job; /* job: what the user says, or NULL */
	struct pods *pods;	/* NULL: none */
	place_fn *fn;
	notice_fn *notice; /* what is done to the node, and to pods of which a process is watched */
	void *ctx;
};

int places_new(struct places **ret, const struct places_config *cfg);
void places_free(struct places *ps);

/* NULL is fine everywhere below: nobody asks. */
/* A process is met, or runs another program: reads where it runs, and tells it unless that is
 * known. 0; -ETIMEDOUT, -EBUSY: it cannot be looked at now; -ESRCH, -ENOMEM. */
int places_read(struct places *ps, pid_t pid);
/* Likewise of one that a gp-bpf before this one watched: what that has told stays until the pods
 * are known. */
int places_adopt(struct places *ps, pid_t pid);
/* Others watched until now: whose processes ended meanwhile is not known here, so for a minute what
 * is done to any pod is passed on. */
void places_resumed(struct places *ps, uint64_t now_ns);
void places_child(struct places *ps, pid_t parent, pid_t child);
void places_gone(struct places *ps, pid_t pid);
/* As it was told last; NULL: nothing was. Good until the next call. */
const struct gp_place *places_get(const struct places *ps, pid_t pid);
/* Once a second: asks the pods for what they had not said yet, and for what has changed. */
void places_tick(struct places *ps, uint64_t now_ns);

#endif
