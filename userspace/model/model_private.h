/* SPDX-License-Identifier: Apache-2.0 */
/* model_private.h - data and functions shared by the model*.c files.
 *
 *   model.c         events
 *   model_config.c  settings
 *   model_live.c    followed processes
 *   model_place.c   job and location of processes
 *   model_view.c    snapshots, roles
 *   model_save.c    saves and restores the model */
#ifndef MODEL_MODEL_PRIVATE_H
#define MODEL_MODEL_PRIVATE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/table.h"
#include "userspace/model/model.h"
#include "userspace/model/job/job_member.h"
#include "userspace/model/job/model_env.h"
#include "userspace/model/rank/rank.h"
#include "userspace/model/signal/model_probe.h"

/* Maximum number of ended processes that are still listed. */
#define MODEL_DEAD 256

struct model {
	struct model_env env;
	struct model_probes probes;
	struct table *live; /* pid -> struct rank */
	/* Rank of the last record: usually the next record is about the same process. */
	struct rank *last;
	struct rank *dead[MODEL_DEAD];
	uint32_t ndead, last_pid; /* last_pid: pid of `last` */
	uint64_t unfollowed, forgotten, dropped;
	struct gp_session session;
	uint64_t session_ns;
	int64_t session_real_ns; /* session_ns, converted to UTC; 0: unknown */
	/* the fact about the session must still be sent, after the first clock record */
	bool session_due;
	struct gp_end end;
	bool ended;
	uint64_t lost[GP_LOSS_CAUSE_COUNT];
	uint64_t events, now_ns, number;
};

/* Returns the rank of a process that is followed, or NULL. */
struct rank *model_rank(struct model *m, uint32_t pid);

/* model_place.c */
/* Returns the key of the job to which the process belongs. */
uint64_t model_job_key(struct model *m, const struct job_member *p);
/* Handle events about the location of a process, and about its pod or node. Return 0 or -ENOMEM. */
int model_feed_place(struct model *m, const struct event *ev);
int model_feed_notice(struct model *m, const struct event *ev);

/* Applies a setting. Unknown or invalid settings are ignored. */
void model_config(struct model *m, const struct event *ev);

#endif
