/* SPDX-License-Identifier: Apache-2.0 */
/* watch_place.h - records where watched processes run (identity/place.h): when it is known, when it
 * changes, and when the pod's data arrives. A child has its parent's location until it executes a
 * program, so nothing is recorded for it. Single-threaded. */
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
	const char *root, *job; /* job: given by the user, or NULL */
	struct pods *pods;	/* NULL: none */
	place_fn *fn;
	notice_fn *notice; /* gets events of the node, and of pods with a watched process */
	void *ctx;
};

int places_new(struct places **ret, const struct places_config *cfg);
void places_free(struct places *ps);

/* All functions below accept NULL. */
/* A process was found, or has executed a program: reads where it runs, and records it if it is new.
 * Returns 0; -ETIMEDOUT, -EBUSY: it cannot be read now; -ESRCH, -ENOMEM. */
int places_read(struct places *ps, pid_t pid);
/* Like places_read(), for a process that a predecessor watched: keeps the predecessor's record
 * until the pods are known. */
int places_adopt(struct places *ps, pid_t pid);
/* Call after a takeover: passes on events of all pods for a minute, as the pods of processes that
 * ended during the takeover are unknown here. */
void places_resumed(struct places *ps, uint64_t now_ns);
void places_child(struct places *ps, pid_t parent, pid_t child);
void places_gone(struct places *ps, pid_t pid);
/* Returns the location that was recorded last; NULL: none. Valid until the next call. */
const struct gp_place *places_get(const struct places *ps, pid_t pid);
/* Gets missing and changed data of pods. Call once a second. */
void places_tick(struct places *ps, uint64_t now_ns);

#endif
