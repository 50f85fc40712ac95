/* SPDX-License-Identifier: Apache-2.0 */
/* watch_node.h - the parts of a live run that only `node` needs: finding jobs, reporting to the
 * service manager, and reading the settings again on SIGHUP. Single-threaded. */
#ifndef WATCH_WATCH_NODE_H
#define WATCH_WATCH_NODE_H

#include <stdbool.h>

#include "userspace/ingest/event.h"

struct node;
struct watch;

/* w must be complete except for its node. argc, argv: the arguments of `node`, which are parsed
 * again on reload. Returns 0 or -errno; logs invalid rules. */
int node_new(struct node **ret, struct watch *w, int argc, char **argv);
void node_free(struct node *n); /* all functions below accept NULL */
/* Begins to scan the processes that are running. */
void node_sweep(struct node *n);
/* Scans some more processes. Returns false when the scan is complete and all probes are attached.
 */
bool node_sweeping(struct node *n);
/* Reports to the service manager that the processes found at the start are watched. */
void node_start(struct node *n);
/* Handles a record of a process's life (of the ring "life"). */
void node_event(struct node *n, const struct event *ev);
/* Call node_due() after each reading of the rings, node_tick() once a second, and node_lost() after
 * records of starts or ends of processes were lost. */
void node_due(struct node *n);
void node_tick(struct node *n);
void node_lost(struct node *n);
/* Returns true if there is a settings file, which node_reload() can read again. */
bool node_reloads(const struct node *n);
void node_reload(struct node *n);
/* Reports to the service manager that gp-bpf is ending. */
void node_end(struct node *n);

#endif
