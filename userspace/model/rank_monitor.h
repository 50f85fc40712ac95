/* SPDX-License-Identifier: Apache-2.0 */
/* rank_monitor.h - what a job's own monitoring says, as facts. Part of struct rank; of any process,
 * trainer or not: such an event makes none. */
#ifndef MODEL_RANK_MONITOR_H
#define MODEL_RANK_MONITOR_H

#include "userspace/model/monitor.h"
#include "userspace/model/snapshot.h"

struct rank;
int rank_monitor(struct rank *r, const struct event *ev); /* 0 or -ENOMEM */
void rank_monitor_tick(struct rank *r, uint64_t now_ns);
/* Nothing more comes of what is not whole. */
void rank_monitor_close(struct rank *r);
/* Its part of a snapshot. 0 or -ENOMEM. */
int rank_monitor_view(const struct rank *r, struct rank_view *ret);

#endif
