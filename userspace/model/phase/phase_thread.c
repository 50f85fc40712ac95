/* SPDX-License-Identifier: Apache-2.0 */
/* phase_thread.c - the threads of a process, and breaks: time of a thread that belongs to no
 * step. */
#include "userspace/model/phase/phase_private.h"

const struct phase_thread *phase_thread_find(const struct phase_finder *pf, uint32_t tid)
{
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		if (pf->threads[i].tid == tid)
			return &pf->threads[i];
	}
	return NULL;
}

bool phase_thread_trains(const struct phase_finder *pf, const struct phase_thread *t)
{
	return !pf->trained || t->backward || t->updates;
}

void phase_break_add(struct phase_finder *pf, const struct span *s, bool estimated)
{
	struct phase_break *b;

	if (pf->nbreaks == PHASE_BREAKS)
		memmove(pf->breaks, pf->breaks + 1, --pf->nbreaks * sizeof(*pf->breaks));
	b = grow_add(pf->breaks, pf->nbreaks, pf->breaks_cap, PHASE_BREAKS);
	if (b)
		*b = (struct phase_break){s->begin_ns, s->end_ns, s->tid, estimated};
	else
		pf->error = -ENOMEM;
}
