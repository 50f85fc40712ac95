/* SPDX-License-Identifier: Apache-2.0 */
/* watch_process.h - the processes of a live run: which are watched, which have to be scanned for
 * libraries, and which have ended. Handles records of starting and ending processes; reports
 * identities to the callback. */
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
/* Sets where the location of each process is recorded, after its identity; places is borrowed. Call
 * it before the first process is added. */
void processes_place(struct processes *ps, struct places *places);
/* Watches pid and its descendants, and attaches probes to their libraries. Scans again after
 * attaching, for libraries mapped in between. from_start: pid has not run its first instruction. */
int processes_target(struct processes *ps, pid_t pid, bool from_start);
/* Watches pid without its descendants, and scans it soon. Returns 0 or -errno; logs nothing. */
int processes_found(struct processes *ps, pid_t pid);
/* Adds a process that a predecessor watched. identified: its identity is recorded already. */
int processes_adopt(struct processes *ps, pid_t pid, bool identified);
/* Scans the processes added by processes_adopt() until all libraries with probes of the predecessor
 * are found. */
int processes_adopted(struct processes *ps);
/* Returns when watching of the process began whose identity is being reported; 0: unknown. Call
 * only in the callback that reports identities: the identity record gets this time, so that it
 * precedes all other records of the process. */
uint64_t processes_since(const struct processes *ps);
bool processes_have(const struct processes *ps, pid_t pid);
/* Handles a record of a process's life (of the ring "life"). */
void processes_event(struct processes *ps, const struct event *ev);
/* Attaches probes to libraries that the helper process has read, and scans processes whose scan is
 * due, for a few milliseconds at most. */
void processes_due(struct processes *ps, uint64_t now_ns);
/* Scans all processes; needed for kernels that do not report mappings. */
void processes_rescan(struct processes *ps);
/* Call after records of starts or ends of processes were lost. Drops processes that have ended,
 * adds those whose start was missed, and scans all. */
typedef void process_gone_fn(void *ctx, pid_t pid);
void processes_verify(struct processes *ps, process_gone_fn *gone, void *ctx);
size_t processes_alive(const struct processes *ps);

#endif
