/* SPDX-License-Identifier: Apache-2.0 */
/* model_internal.h - what model.c (events), model_config.c (settings), model_place.c (which job,
 * where), model_view.c (snapshots, roles) and model_save.c (its state as bytes) share. */
#ifndef MODEL_MODEL_INTERNAL_H
#define MODEL_MODEL_INTERNAL_H

#include "userspace/base/table.h"
#include "userspace/model/model.h"
#include "userspace/model/model_probe.h"
#include "userspace/model/rank.h"

#define MODEL_DEAD 256 /* ended processes that are still shown */

struct model {
	struct rank_env env;
	struct model_probes probes;
	struct table *live; /* pid -> struct rank */
	struct rank *last;  /* most records are of the process before */
	struct rank *dead[MODEL_DEAD];
	uint32_t ndead;
	uint64_t unfollowed, forgotten, dropped;
	struct gp_session session;
	uint64_t session_ns;
	int64_t session_real_ns; /* UTC, as the clock was then; 0: unknown */
	bool session_due;	 /* its fact waits for the first clock */
	struct gp_end end;
	bool ended;
	uint64_t lost[GP_LOSS_CAUSE_COUNT];
	uint64_t events, now_ns, number;
};

struct rank *model_rank(struct model *m, uint32_t pid); /* that is followed, or NULL */

/* model_place.c */
uint64_t model_job_key(struct model *m, const struct rank *r);
int model_feed_place(struct model *m, const struct event *ev);
int model_feed_notice(struct model *m, const struct event *ev);

/* What is none of a model's, or has no sense, changes nothing. */
void model_config(struct model *m, const struct event *ev);

#endif
