/* SPDX-License-Identifier: Apache-2.0 */
/* watch_traffic.h - records once a second how much training processes and the workers of their data
 * loaders read, and failures of their networks. A helper process reads the counts, once for all
 * processes of a network namespace. Single-threaded. */
#ifndef WATCH_WATCH_TRAFFIC_H
#define WATCH_WATCH_TRAFFIC_H

#include "userspace/output/journal.h"

struct traffics;

/* root: "", or the folder that contains proc and sys; borrowed. Returns 0 or -ENOMEM. */
int traffics_new(struct traffics **ret, const char *root);
void traffics_free(struct traffics *t); /* NULL is fine */
/* Records the growth of the counts that were requested a second ago, and requests new ones. Call
 * once a second, before the tick record is written. */
void traffics_tick(struct traffics *t, struct journal *j, const struct output *out);

#endif
