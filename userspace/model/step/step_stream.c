/* SPDX-License-Identifier: Apache-2.0 */
/* step_stream.c - assigns marks to training loops, by thread.
 *
 * A thread that never runs a backward pass (hooks, thread pools) works for the first loop. A thread
 * that runs backward passes either continues the first loop, which may change threads from step to
 * step, or runs a second loop in parallel. If it continues the first loop, a mark of another thread
 * never lies between a thread's backward pass and its mark. If it runs a second loop, such an
 * overlap occurs sooner or later, when the scheduler interrupts a step. So all marks of a new
 * thread are held until one of these happens: an overlap is seen (two loops); threads alternated so
 * often without an overlap that this is not chance (one loop); or the other threads are silent (one
 * loop). */
#include "userspace/model/step/step_private.h"

/* Threads run one loop if they alternated this often without an overlap. Threads of separate loops
 * overlap in at least 1 of 3 turns. */
#define TURNS_SERIAL 32
/* Number of marks of a new thread after which the other threads are checked for silence. */
#define SILENT_MARKS 8
/* A thread counts as finished if it was silent for this time (ns). */
#define SILENT_NS 1000000000ull
/* Ranges are rare if the elected family made more marks than this since the last range. */
#define RARE_MARKS 4
/* The array of held marks is freed when it is empty, if it has room for more marks than this. */
#define QUEUE_KEPT 8

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

/* Returns the index of the candidate for loop n, and makes it if it does not exist. Returns -1 if
 * there is no memory. */
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

/* Returns true if a mark of another thread (other_seq) lies between this mark and the last backward
 * pass of this mark's thread. If a record was lost, the result may be wrong. */
static bool tracker_mark_overlaps(const struct mark *m, uint64_t other_seq)
{
	return m->span_ns && m->backward_seq < other_seq;
}

static uint32_t tracker_overlaps_needed(const struct step_finder *sf)
{
	return sf->losses ? 2 : 1;
}

/* Returns true if the thread belongs to the first loop and runs backward passes itself. */
static bool tracker_first(const struct step_finder *sf, const struct tracker *t, uint32_t thread)
{
	return t->candidate_of[thread] == 1 && sf->threads[thread].backward;
}

/* If a thread that belongs to the first loop overlaps with other threads of that loop, moves it to
 * a new loop. */
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

/* How often marks of a new thread and of the first loop's threads alternated (changes) and
 * overlapped (overlaps). */
struct turns {
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

/* Returns true if all threads of the first loop have been silent. */
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

/* Decides which loop the thread of the oldest held mark belongs to. force: decides without
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
		/* Rare ranges do not replace the elected family: they must be about as frequent as
		 * its marks. */
		if (sf->elected == f && f != FAMILY_RANGES && sf->trackers[FAMILY_RANGES] &&
		    t->since_better > RARE_MARKS)
			sf->trackers[FAMILY_RANGES]->since_better = 0;
	}
	if (!t->candidate_of[m->thread] &&
	    (!t->ncandidates || !th->backward || f >= FAMILY_BACKWARD))
		tracker_map(sf, t, f, m->thread, false);
	/* If there is no memory, the mark is dropped: it would be held, but never assigned. */
	if (sf->error)
		return;
	if (t->candidate_of[m->thread] && !t->nqueue) {
		tracker_route(sf, t, f, m);
		return;
	}
	tracker_queue_push(sf, t, f, m);
}
