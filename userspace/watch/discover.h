/* SPDX-License-Identifier: Apache-2.0 */
/* discover.h - the processes of a node that map a library of a known runtime: told by the kernel as
 * they map one, and found in /proc; the user's rules decide who of them is watched.
 * Single-threaded. */
#ifndef WATCH_DISCOVER_H
#define WATCH_DISCOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/identity/filter.h"
#include "userspace/model/snapshot.h"

struct discover;
struct loader;
struct pods;
struct probe_table;
struct processes;

struct discover_config { /* all borrowed */
	struct loader *loader;
	const struct probe_table *probes;
	struct processes *processes;
	const char *root;
};

int discover_new(struct discover **ret, const struct discover_config *cfg);
void discover_free(struct discover *d); /* NULL is fine */
/* The rules from here on; d owns them. A watched process stays watched; all others are checked
 * again. */
void discover_rules(struct discover *d, struct filter *f);
/* Knows namespaces of pods from here on; borrowed, may be NULL. */
void discover_pods(struct discover *d, struct pods *pods);

/* A record says that this process is about to map such a library. */
void discover_met(struct discover *d, pid_t pid, uint64_t now_ns);
/* Looks at every process of the node, in turns of discover_due(). */
void discover_sweep(struct discover *d);
bool discover_sweeping(const struct discover *d);
/* Looks at those whose time has come, a few milliseconds at most. */
void discover_due(struct discover *d, uint64_t now_ns);
/* Where the kernel does not tell it looks at all every few seconds. Once a second. */
void discover_tick(struct discover *d, uint64_t now_ns);
/* Fills what it knows of ret. */
void discover_get_view(const struct discover *d, struct node_view *ret);

#endif
