/* SPDX-License-Identifier: Apache-2.0 */
/* discover.h - finds the processes of a node that map a library of a known runtime, and watches
 * those that the user's rules allow. The kernel reports processes when they map such a library;
 * earlier ones are found in /proc. Single-threaded. */
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
/* Sets the rules (takes ownership of f). A watched process stays watched; all others are checked
 * again. */
void discover_rules(struct discover *d, struct filter *f);
/* Sets the source of pod namespaces; borrowed, may be NULL. */
void discover_pods(struct discover *d, struct pods *pods);

/* Call when the kernel reports that this process is about to map a known library. */
void discover_mapped(struct discover *d, pid_t pid, uint64_t now_ns);
/* Begins to scan every process of the node, in calls of discover_due(). */
void discover_sweep(struct discover *d);
bool discover_sweeping(const struct discover *d);
/* Scans processes whose scan is due, for a few milliseconds at most. */
void discover_due(struct discover *d, uint64_t now_ns);
/* Call once a second. If the kernel does not report mappings, scans all processes every few
 * seconds. */
void discover_tick(struct discover *d, uint64_t now_ns);
/* Fills the fields of ret about rules, sweeps of /proc and denied processes. */
void discover_get_view(const struct discover *d, struct node_view *ret);

#endif
