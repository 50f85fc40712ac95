/* SPDX-License-Identifier: Apache-2.0 */
/* watch_place.h - records where watched processes run (see identity/place.h): when the location
 * becomes known, when it changes, and when the pod's data arrives. A child has the location of its
 * parent until it executes a program, so none is recorded for it. Single-threaded. */
#ifndef WATCH_WATCH_PLACE_H
#define WATCH_WATCH_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct helper;
struct pods;
struct places;
typedef void place_fn(void *ctx, pid_t pid, const struct gp_place *p);
typedef void notice_fn(void *ctx, const struct gp_notice *n);

struct places_config { /* all borrowed */
	struct helper *helper;
	const char *root, *job; /* job: name given by the user (--job), or NULL */
	struct pods *pods;	/* NULL: none */
	place_fn *fn;
	notice_fn *notice; /* receives events of the node, and of pods with a watched process */
	void *ctx;
};

int places_new(struct places **ret, const struct places_config *cfg);
void places_free(struct places *ps);

/* All functions below accept NULL. */
/* Call when a process was found or has executed a program. Reads where it runs, and records the
 * location if it is new. Returns 0; -ETIMEDOUT or -EBUSY if the process cannot be read now; -ESRCH,
 * -ENOMEM. */
int places_read(struct places *ps, pid_t pid);
/* Like places_read(), for a process that a predecessor watched: keeps the location that the
 * predecessor recorded until the list of pods is known. */
int places_adopt(struct places *ps, pid_t pid);
/* Call after a takeover. Passes on events of all pods for a minute, because it is not known which
 * pods had processes that ended during the takeover. */
void places_resumed(struct places *ps, uint64_t now_ns);
void places_child(struct places *ps, pid_t parent, pid_t child);
void places_gone(struct places *ps, pid_t pid);
/* Returns the location that was recorded last for this process; NULL: none. Valid until the next
 * call. */
const struct gp_place *places_get(const struct places *ps, pid_t pid);
/* Gets data of pods that is missing or has changed. Call once a second. */
void places_tick(struct places *ps, uint64_t now_ns);

#endif
