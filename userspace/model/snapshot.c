/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/snapshot.h"

#include <stdlib.h>

/* Reference counts use __atomic functions on an int, because some code that includes snapshot.h has
 * no <stdatomic.h>. */
struct snapshot *snapshot_ref(struct snapshot *s)
{
	__atomic_add_fetch(&s->references, 1, __ATOMIC_RELAXED);
	return s;
}

void snapshot_unref(struct snapshot *s)
{
	if (!s || __atomic_sub_fetch(&s->references, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < s->nranks; i++) {
		free(s->ranks[i].loops);
		free(s->ranks[i].examination);
		free(s->ranks[i].worker_examination);
		free(s->ranks[i].monitor);
	}
	free(s->ranks);
	free(s->jobs);
	free(s->attach);
	free(s);
}

const struct job_view *snapshot_job_of(const struct snapshot *s, const struct rank_view *r)
{
	for (uint32_t i = 0; r->job_key && i < s->njobs; i++)
		if (s->jobs[i].key == r->job_key)
			return &s->jobs[i];
	return NULL;
}
