/* SPDX-License-Identifier: Apache-2.0 */
/* watch_node.h - what a live run is more when it looks after a node: it finds its jobs itself,
 * tells a service manager how it goes, reads its settings again when it is told to.
 * Single-threaded. */
#ifndef WATCH_WATCH_NODE_H
#define WATCH_WATCH_NODE_H

#include <stdbool.h>

#include "userspace/ingest/event.h"

struct node;
struct watch;

/* w is whole but for this; argc, argv: as the command got them, for reading them again. 0 or -errno
 * after one line. */
int node_new(struct node **ret, struct watch *w, int argc, char **argv);
void node_free(struct node *n); /* as in all that follow, NULL is fine */
/* Begins to look for the processes that run already. */
void node_sweep(struct node *n);
/* Looks at some more of them; false: all of them are watched, and their probes are attached. */
bool node_sweeping(struct node *n);
/* The service manager is told that those that ran already are watched. */
void node_start(struct node *n);
/* A record of the life ring. */
void node_event(struct node *n, const struct event *ev);
/* After each reading of the rings; once a second; after records of process life were lost. */
void node_due(struct node *n);
void node_tick(struct node *n);
void node_lost(struct node *n);
/* Reads the settings again. */
/* There is something to read again. */
bool node_reloads(const struct node *n);
void node_reload(struct node *n);
/* It ends: the service manager is told. */
void node_end(struct node *n);

#endif
