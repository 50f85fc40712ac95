/* SPDX-License-Identifier: Apache-2.0 */
/* watch_node.h - the parts of a live run that only a node has: it finds its jobs, reports to a
 * service manager, and reads its settings again on a signal. Single-threaded. */
#ifndef WATCH_WATCH_NODE_H
#define WATCH_WATCH_NODE_H

#include <stdbool.h>

#include "userspace/ingest/event.h"

struct node;
struct watch;

/* w must be complete except for its node; argc, argv: the arguments of `node`, to be parsed again
 * on reload. Returns 0, or -errno after one line. */
int node_new(struct node **ret, struct watch *w, int argc, char **argv);
void node_free(struct node *n); /* NULL is fine, in all functions below too */
/* Begins to scan the processes that are running. */
void node_sweep(struct node *n);
/* Scans some more processes. Returns false when the scan is complete and all probes are attached.
 */
bool node_sweeping(struct node *n);
/* Reports to the service manager that the processes found at the start are watched. */
void node_start(struct node *n);
/* Handles a record of the ring "life". */
void node_event(struct node *n, const struct event *ev);
/* Call node_due() after each reading of the rings; node_tick() once a second; node_lost() after
 * records of process life were lost. */
void node_due(struct node *n);
void node_tick(struct node *n);
void node_lost(struct node *n);
/* Returns true if there is a settings file, which can be read again. */
bool node_reloads(const struct node *n);
void node_reload(struct node *n);
/* Reports the end to the service manager. */
void node_end(struct node *n);

#endif
