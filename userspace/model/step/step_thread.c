/* SPDX-License-Identifier: Apache-2.0 */
/* step_thread.c - table of the threads of a process that give signals of training; at most
 * STEP_THREADS at a time. */
#include "userspace/model/step/step_private.h"

static void thread_reset(struct step_finder *sf, uint32_t i)
{
	for (int f = 0; f < FAMILY_COUNT; f++) {
		if (!sf->trackers[f])
			continue;
		/* Held marks refer to threads by index, so process them before the index is used
		 * for another thread. */
		tracker_settle(sf, sf->trackers[f]);
		sf->trackers[f]->candidate_of[i] = 0;
	}
	anon_free(sf->anon[i]);
	sf->anon[i] = NULL;
	if (sf->threads[i].update_open)
		sf->updates_open--;
	sf->threads[i] = (struct step_thread){0};
	if (sf->backward_thread == i + 1)
		sf->backward_thread = 0;
}

const struct step_thread *step_thread_find(const struct step_finder *sf, uint32_t tid)
{
	for (uint32_t i = 0; i < sf->nthreads; i++) {
		if (sf->threads[i].tid == tid)
			return &sf->threads[i];
	}
	return NULL;
}

struct step_thread *step_thread_of(struct step_finder *sf, uint32_t tid)
{
	uint32_t idle = 0, i;

	for (i = 0; i < sf->nthreads; i++) {
		if (sf->threads[i].tid == tid)
			break;
		if (sf->threads[i].seen_seq < sf->threads[idle].seen_seq)
			idle = i;
	}
	if (i == sf->nthreads && i == STEP_THREADS) {
		i = idle;
		thread_reset(sf, i);
	} else if (i == sf->nthreads) {
		if (!grow_add(sf->threads, sf->nthreads, sf->threads_cap, STEP_THREADS)) {
			sf->error = -ENOMEM;
			return NULL;
		}
	}
	sf->threads[i].tid = tid;
	sf->threads[i].seen_seq = sf->seq;
	sf->threads[i].seen_ns = sf->now_ns;
	return &sf->threads[i];
}

/* Adds to the mark the hits, since the last mark of thread t, on all threads whose work counts for
 * t's marks (see thread_listens()). */
static void mark_listen(struct step_finder *sf, enum family f, struct step_thread *t,
			struct mark *m)
{
	for (uint32_t i = 0; i < sf->nthreads; i++) {
		struct step_thread *to = &sf->threads[i];

		if (to != t && !thread_listens(sf, f, to, t))
			continue;
		m->hits = hits_add(m->hits, hits_sub(to->hits, to->base[f]));
		to->base[f] = to->hits;
		if (to->backward_seq > m->sep_seq)
			m->sep_seq = to->backward_seq;
		if (to->fetch_seq > m->sep_seq)
			m->sep_seq = to->fetch_seq;
		if (to->fetch_seq > m->fetch_seq)
			m->fetch_seq = to->fetch_seq;
	}
}

struct mark mark_make(struct step_finder *sf, enum family f, struct step_thread *t,
		      const struct signal *s)
{
	struct mark m = {
		.begin_ns = s->begin_ns,
		.end_ns = s->ts_ns,
		.span_ns = t->span_ns[f],
		.seq = sf->seq,
		.backward_seq = t->backward_seq,
		.ident = s->ident,
		.name = s->name,
		.tid = s->tid,
		.flags = s->tainted ? STEP_tainted | STEP_imputed : 0,
		.thread = (uint32_t)(t - sf->threads),
		.apart = family_row[f].apart,
	};

	t->owns |= 1u << f;
	mark_listen(sf, f, t, &m);
	t->span_ns[f] = 0;
	return m;
}
