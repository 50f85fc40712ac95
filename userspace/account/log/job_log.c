/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/log/job_log.h"

#include <stdlib.h>

struct goodput_log {
	const struct goodput_engine *engine;
	void *state;
};

struct goodput_log *goodput_log_new(const struct goodput_query *q,
				    bool (*scale_up)(void *ctx, uint32_t name), void *ctx)
{
	struct goodput_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->engine = q->semantics == GOODPUT_LIBRARY ? &goodput_library : &goodput_closed;
	l->state = l->engine->create(q, scale_up, ctx);
	if (l->state)
		return l;
	free(l);
	return NULL;
}

void goodput_log_free(struct goodput_log *l)
{
	if (!l)
		return;
	l->engine->destroy(l->state);
	free(l);
}

int goodput_log_feed(struct goodput_log *l, const struct goodput_record *r)
{
	return l->engine->feed(l->state, r);
}

int goodput_log_answer(struct goodput_log *l, struct goodput_answer *ret)
{
	return l->engine->answer(l->state, ret);
}
