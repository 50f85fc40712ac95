/* SPDX-License-Identifier: Apache-2.0 */
/* step_stream.c - assigns marks to training loops. A thread that never runs a backward (hooks,
 * pools) works for the first loop. A thread that does may continue the first loop (which was
 * started elsewhere, or changes threads from step to step), or run its own loop in parallel. In the
 * first case a mark of another thread never lies between a thread's backward and its mark; in the
 * second this happens sooner or later, when the scheduler interrupts a step. So all marks are held
 * from the thread's first one until such an overlap is seen (two loops), or until threads
 * alternated so often without one that it cannot be chance, or until the other threads are silent
 * (one loop). */
#include "userspace/model/step/step_private.h"

/* Turns without an overlap: one loop. Separate loops overlap in at least 1 of 3 turns. */
#define TURNS_SERIAL 32
/* marks of a new thread before it is checked whether the other threads are silent */
#define SILENT_MARKS 8
/* A thread that was silent this long (ns) counts as finished. */
#define SILENT_NS 1000000000ull
/* ranges count as rare if the elected family made more marks than this since the last one */
#define RARE_MARKS 4
#define QUEUE_KEPT 8 /* marks for which memory stays allocated after all were assigned */

void tracker_free(struct tracker *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->ncandidates; i++)
		candidate_free(t->candidates[i]);
	free(t->queue);
	free(t);
}

uint32_t tracker_loops(const struct step_finder *sf)
{
	uint32_t n = 1;

	for (int f = 0; f < FAMILY_COUNT; f++)
		n = sf->trackers[f] && sf->trackers[f]->ncandidates > n
			    ? sf->trackers[f]->ncandidates
			    : n;
	return n;
}

bool thread_listens(const struct step_finder *sf, enum family f, const struct step_thread *to,
		    const struct step_thread *t)
{
	bool free_ones = false;

	if (t->backward)
		return to == t;
	if (!to->backward)
		return false;
	for (uint32_t i = 0; i < sf->nthreads; i++)
		free_ones |= sf->threads[i].backward && !(sf->threads[i].owns & 1u << f);
	return !free_ones || !(to->owns & 1u << f);
}

/* Returns the index of the candidate for loop n, created if missing; -1: no memory. */
static int tracker_candidate(struct step_finder *sf, struct tracker *t, enum family f, uint32_t n)
{
	struct loop *lp;

	if (n < t->ncandidates)
		return (int)n;
	if (!sf->loops[n])
		sf->loops[n] = calloc(1, sizeof(*sf->loops[n]));
	lp = sf->loops[n];
	t->candidates[n] = lp ? candidate_new(sf, f, n) : NULL;
	if (!t->candidates[n]) {
		sf->error = -ENOMEM;
		return -1;
	}
	t->ncandidates++;
	if (!lp->used) {
		lp->used = true;
		lp->start_ns = sf->first_ns;
	}
	return (int)n;
}

static void tracker_map(struct step_finder *sf, struct tracker *t, enum family f, uint32_t thread,
			bool own)
{
	uint32_t n = !own ? 0 : t->ncandidates < STEP_LOOPS ? t->ncandidates : STEP_LOOPS - 1;
	bool fresh = n >= t->ncandidates;
	int candidate = tracker_candidate(sf, t, f, n);

	if (candidate < 0)
		return;
	t->candidate_of[thread] = (uint8_t)(candidate + 1);
	if (own && fresh && !sf->loops[n]->nrecent)
		sf->loops[n]->start_ns = sf->threads[thread].first_ns;
	if (sf->elected == f && sf->nloops < t->ncandidates)
		sf->nloops = t->ncandidates;
}

/* Returns true if a mark of another thread lies between this mark and its thread's backward. After
 * a lost record this may be wrong. */
static bool tracker_mark_overlaps(const struct mark *m, uint64_t other_seq)
{
	return m->span_ns && m->backward_seq < other_seq;
}

static uint32_t tracker_overlaps_needed(const struct step_finder *sf)
{
	return sf->losses ? 2 : 1;
}

/* Returns true for a thread that runs backward passes itself and belongs to the first loop. */
static bool tracker_first(const struct step_finder *sf, const struct tracker *t, uint32_t thread)
{
	return t->candidate_of[thread] == 1 && sf->threads[thread].backward;
}

/* Gives a thread that was merged into the first loop its own loop if it overlaps later. */
static void tracker_watch(struct step_finder *sf, struct tracker *t, enum family f,
			  const struct mark *m)
{
	bool other = t->first_candidate_seq && t->first_candidate_thread != m->thread;

	if (!tracker_first(sf, t, m->thread))
		return;
	t->changes += other;
	t->overlaps += other && tracker_mark_overlaps(m, t->first_candidate_seq);
	if (t->overlaps >= tracker_overlaps_needed(sf)) {
		tracker_map(sf, t, f, m->thread, true);
		t->changes = t->overlaps = 0;
		return;
	}
	if (t->changes >= TURNS_SERIAL)
		t->changes = t->overlaps = 0;
	t->first_candidate_seq = m->seq;
	t->first_candidate_thread = m->thread;
}

static void tracker_route(struct step_finder *sf, struct tracker *t, enum family f,
			  const struct mark *m)
{
	if (!m->skipped)
		tracker_watch(sf, t, f, m);
	if (t->candidate_of[m->thread])
		candidate_mark(sf, t->candidates[t->candidate_of[m->thread] - 1], m);
}

struct turns { /* alternation between a new thread and those of the first loop */
	uint32_t marks;
	uint32_t changes, overlaps;
};

static void tracker_queue_turns(const struct step_finder *sf, const struct tracker *t,
				uint32_t thread, struct turns *ret)
{
	uint64_t before_seq = t->first_candidate_seq;
	uint32_t before = t->first_candidate_thread;

	*ret = (struct turns){0};
	for (uint32_t i = 0; i < t->nqueue; i++) {
		const struct mark *m = &t->queue[i];
		bool change = before_seq && before != m->thread &&
			      (before == thread || m->thread == thread);

		if (m->skipped || (m->thread != thread && !tracker_first(sf, t, m->thread)))
			continue;
		ret->marks += m->thread == thread;
		ret->changes += change;
		ret->overlaps += change && tracker_mark_overlaps(m, before_seq);
		before = m->thread;
		before_seq = m->seq;
	}
}

/* Returns true if all threads of the first loop are silent. */
static bool tracker_silent(const struct step_finder *sf, const struct tracker *t)
{
	for (uint32_t i = 0; i < sf->nthreads; i++) {
		if (tracker_first(sf, t, i) && silence_ns(sf, sf->threads[i].seen_ns) < SILENT_NS)
			return false;
	}
	return true;
}

static void tracker_queue_flush(struct step_finder *sf, struct tracker *t, enum family f)
{
	uint32_t i, n = t->nqueue;

	for (i = 0; i < n && t->candidate_of[t->queue[i].thread]; i++)
		tracker_route(sf, t, f, &t->queue[i]);
	t->nqueue -= i;
	memmove(t->queue, t->queue + i, t->nqueue * sizeof(*t->queue));
}

/* Decides which loop the thread of the oldest queued mark works for. force: also without
 * certainty. */
static void tracker_queue_decide(struct step_finder *sf, struct tracker *t, enum family f,
				 bool force)
{
	struct turns turns;
	bool overlap;

	while (t->nqueue) {
		tracker_queue_turns(sf, t, t->queue[0].thread, &turns);
		overlap = turns.overlaps >= tracker_overlaps_needed(sf);
		if (!force && !overlap && turns.changes < TURNS_SERIAL &&
		    !(turns.marks >= SILENT_MARKS && tracker_silent(sf, t)))
			return;
		tracker_map(sf, t, f, t->queue[0].thread, overlap);
		tracker_queue_flush(sf, t, f);
		if (sf->error)
			return;
	}
}

static void tracker_queue_push(struct step_finder *sf, struct tracker *t, enum family f,
			       const struct mark *m)
{
	struct mark *queued;

	queued = grow_add(t->queue, t->nqueue, t->queue_cap, STEP_QUEUE);
	if (!queued) {
		sf->error = -ENOMEM;
		return;
	}
	*queued = *m;
	tracker_queue_decide(sf, t, f, t->nqueue == STEP_QUEUE);
	if (!t->nqueue && t->queue_cap > QUEUE_KEPT)
		t->queue = grow_free(t->queue, &t->queue_cap);
}

void tracker_settle(struct step_finder *sf, struct tracker *t)
{
	for (int f = 0; f < FAMILY_COUNT; f++) {
		if (sf->trackers[f] == t)
			tracker_queue_decide(sf, t, (enum family)f, true);
	}
}

void tracker_mark(struct step_finder *sf, enum family f, const struct mark *m)
{
	struct tracker *t = tracker_of(sf, f);
	struct step_thread *th = &sf->threads[m->thread];

	if (!t)
		return;
	if (!m->skipped) {
		t->marks++;
		t->last_seq = m->seq;
		t->since_better++;
		/* Ranges replace the elected family only if they are as frequent. */
		if (sf->elected == f && f != FAMILY_RANGES && sf->trackers[FAMILY_RANGES] &&
		    t->since_better > RARE_MARKS)
			sf->trackers[FAMILY_RANGES]->since_better = 0;
	}
	if (!t->candidate_of[m->thread] &&
	    (!t->ncandidates || !th->backward || f >= FAMILY_BACKWARD))
		tracker_map(sf, t, f, m->thread, false);
	/* without memory, a mark that is held would wait forever for others of its thread */
	if (sf->error)
		return;
	if (t->candidate_of[m->thread] && !t->nqueue) {
		tracker_route(sf, t, f, m);
		return;
	}
	tracker_queue_push(sf, t, f, m);
}
