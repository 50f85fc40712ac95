/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/rank.h"

int rank_find(struct rank *r, const struct signal *s)
{
	struct signal unseen;

	if (!s->traced || !r->env->probes->buffers_unseen)
		return step_finder_feed(r->finder, s);
	unseen = *s;
	unseen.traced = false;
	unseen.from = 0;
	unseen.unseen = true;
	return step_finder_feed(r->finder, &unseen);
}
