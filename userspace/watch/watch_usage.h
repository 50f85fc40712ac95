/* SPDX-License-Identifier: Apache-2.0 */
/* watch_usage.h - records once a second the CPU time and waiting time of the busiest threads of
 * training processes, and shortages of CPU, memory and I/O in their control groups. A replay shows
 * the same figures. Single-threaded. */
#ifndef WATCH_WATCH_USAGE_H
#define WATCH_WATCH_USAGE_H

#include "userspace/output/journal.h"

struct usages;

/* root: "", or the folder that contains proc and sys; borrowed. Returns 0 or -ENOMEM. */
int usages_new(struct usages **ret, const char *root);
void usages_free(struct usages *u); /* NULL is fine */
/* Takes samples, and records them. Call once a second, before the tick record is written. */
void usages_tick(struct usages *u, struct journal *j, const struct output *out);

#endif
