/* SPDX-License-Identifier: Apache-2.0 */
/* watch_process.h - the processes of a live run: who is watched, whose libraries must be looked at,
 * who is gone. Reacts to process life as it is read from the ring; what it learns goes to the
 * callback. */
#ifndef WATCH_WATCH_PROCESS_H
#define WATCH_WATCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/ingest/event.h"

struct loader;
struct places;
struct processes;
typedef void process_fn(void *ctx, pid_t pid, const struct gp_process *p);

int processes_new(struct processes **ret, struct loader *l, const char *root, const char *job,
		  process_fn *fn, void *ctx);
void processes_free(struct processes *ps);
/* Where they run is found out, too, once it was told who they are; borrowed. Before the first of
 * them. */
void processes_place(struct processes *ps, struct places *places);
/* Watches pid and its descendants, attaches to what they map: watch, look, attach, look again (a
 * library mapped in between is then seen either way). from_start: it has not run its first
 * instruction. */
int processes_target(struct processes *ps, pid_t pid, bool from_start);
/* Watches pid alone, and looks at what it maps soon. 0 or -errno, without a word. */
int processes_found(struct processes *ps, pid_t pid);
/* A process that a predecessor watched. identified: it was said who it is. */
int processes_adopt(struct processes *ps, pid_t pid, bool identified);
/* Looks at what those map, until every library is met whose probes are there to be taken over. */
int processes_adopted(struct processes *ps);
/* When the process that is told of just now began to be watched: records of it may be as old, and
 * who it is has to come before them. 0: not just now. */
uint64_t processes_since(const struct processes *ps);
bool processes_have(const struct processes *ps, pid_t pid);
/* A record of the life ring. */
void processes_event(struct processes *ps, const struct event *ev);
/* Attaches what was read, looks at those whose time has come; a few milliseconds at most. */
void processes_due(struct processes *ps, uint64_t now_ns);
/* Looks at all: for kernels that cannot tell when a library is mapped. */
void processes_rescan(struct processes *ps);
/* Records of process life were lost: forgets those that are no more, takes in those that nobody
 * told of, looks at all. */
typedef void process_gone_fn(void *ctx, pid_t pid);
void processes_verify(struct processes *ps, process_gone_fn *gone, void *ctx);
size_t processes_alive(const struct processes *ps);

#endif
