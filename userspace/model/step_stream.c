/* SPDX-License-Identifier: Apache-2.0 */
/* step_stream.c - which training loop a mark belongs to.
 *
 * One loop per process, unless the spans (first backward after the last mark ... mark) of two threads
 * overlap in more than 2 % of neighbours: then one per thread. A thread that joins is held back until
 * that is known. Threads that never run a backward (hooks, pools) work for the first loop.
 */
#include "userspace/model/step_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DECIDE_MARKS   3  /* of a new thread, before its loop is decided */
#define DECIDE_PATIENT 32 /* ... while another thread is in the middle of a step */
#define RARE_MARKS     4
#define OVERLAP_SHARE  50 /* 1 in 50 */
#define OVERLAP_SEEN   32 /* neighbours before a thread is moved to a loop of its own */

struct tracker *tracker_of(struct step_finder *sf, enum family f)
{
	if (!sf->trackers[f])
		sf->trackers[f] = calloc(1, sizeof(*sf->trackers[f]));
	if (!sf->trackers[f])
		sf->error = -ENOMEM;
	return sf->trackers[f];
}

void tracker_free(struct tracker *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nlanes; i++)
		lane_free(t->lanes[i]);
	free(t);
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

/* Index of the lane, made when it is not there yet; -1: no memory. */
static int tracker_lane(struct step_finder *sf, struct tracker *t, enum family f, uint32_t n)
{
	struct loop *lp = &sf->loops[n];

	if (n < t->nlanes)
		return (int)n;
	t->lanes[n] = lane_new(sf, f, n);
	if (!t->lanes[n]) {
		sf->error = -ENOMEM;
		return -1;
	}
	t->nlanes++;
	if (!lp->used) {
		lp->used = true;
		lp->start_ns = sf->first_ns;
	}
	return (int)n;
}

static void tracker_map(struct step_finder *sf, struct tracker *t, enum family f, uint32_t thread, bool own)
{
	uint32_t n = !own ? 0 : t->nlanes < STEP_LOOPS ? t->nlanes : STEP_LOOPS - 1;
	bool fresh = n >= t->nlanes;
	int lane = tracker_lane(sf, t, f, n);

	if (lane < 0)
		return;
	t->lane_of[thread] = (uint8_t)(lane + 1);
	if (own && fresh && !sf->loops[n].nrecent)
		sf->loops[n].start_ns = sf->threads[thread].first_ns;
	if (sf->elected == f && sf->nloops < t->nlanes)
		sf->nloops = t->nlanes;
}

/* A merged thread whose spans come to overlap gets a loop of its own from here on. */
static void tracker_watch(struct step_finder *sf, struct tracker *t, enum family f, const struct mark *m)
{
	bool other = t->last_end_ns && t->last_thread != m->thread;

	if (t->lane_of[m->thread] != 1 || !sf->threads[m->thread].backward)
		return;
	t->neighbours += other;
	t->overlaps += other && m->span_ns && m->span_ns < t->last_end_ns;
	t->last_end_ns = m->end_ns;
	t->last_thread = m->thread;
	if (t->neighbours < OVERLAP_SEEN)
		return;
	if (t->overlaps * OVERLAP_SHARE > t->neighbours)
		tracker_map(sf, t, f, m->thread, true);
	t->neighbours = t->overlaps = 0;
}

static void tracker_route(struct step_finder *sf, struct tracker *t, enum family f, const struct mark *m)
{
	if (!m->skipped)
		tracker_watch(sf, t, f, m);
	if (t->lane_of[m->thread])
		lane_mark(sf, t->lanes[t->lane_of[m->thread] - 1], m);
}

/* Spans of this thread's queued marks that overlap those of its neighbours in time. */
static bool tracker_overlap(const struct tracker *t, uint32_t thread)
{
	uint64_t before_ns = t->last_end_ns;
	uint32_t before = t->last_thread, pairs = 0, overlaps = 0;

	for (uint32_t i = 0; i < t->nqueue; i++) {
		const struct mark *m = &t->queue[i];

		if (before_ns && before != m->thread && (before == thread || m->thread == thread)) {
			pairs++;
			overlaps += m->span_ns && m->span_ns < before_ns;
		}
		before = m->thread;
		before_ns = m->end_ns;
	}
	return overlaps * OVERLAP_SHARE > pairs;
}

/* Another thread of the first loop is between its first backward and its mark, and is at work. */
static bool tracker_busy(const struct step_finder *sf, const struct tracker *t, enum family f,
			 uint32_t thread, bool *ret_at_work)
{
	uint64_t since = 0;
	bool busy = false;

	for (uint32_t i = 0; i < t->nqueue && !since; i++)
		since = t->queue[i].thread == thread ? t->queue[i].seq : 0;
	*ret_at_work = false;
	for (uint32_t i = 0; i < sf->nthreads; i++) {
		if (i == thread || t->lane_of[i] != 1 || !sf->threads[i].span_ns[f])
			continue;
		busy = true;
		*ret_at_work |= sf->threads[i].backward_seq > since;
	}
	return busy;
}

static uint32_t tracker_queued(const struct tracker *t, uint32_t thread)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nqueue; i++)
		n += t->queue[i].thread == thread && !t->queue[i].skipped;
	return n;
}

static void queue_flush(struct step_finder *sf, struct tracker *t, enum family f)
{
	uint32_t i, n = t->nqueue;

	for (i = 0; i < n && t->lane_of[t->queue[i].thread]; i++)
		tracker_route(sf, t, f, &t->queue[i]);
	t->nqueue -= i;
	memmove(t->queue, t->queue + i, t->nqueue * sizeof(*t->queue));
}

/* Decides on the thread of the oldest queued mark; force: now. */
static void queue_decide(struct step_finder *sf, struct tracker *t, enum family f, bool force)
{
	while (t->nqueue) {
		uint32_t thread = t->queue[0].thread, n = tracker_queued(t, thread);
		bool at_work, busy = tracker_busy(sf, t, f, thread, &at_work);

		if (!force && (n < DECIDE_MARKS || (busy && !at_work && n < DECIDE_PATIENT)))
			return;
		tracker_map(sf, t, f, thread, tracker_overlap(t, thread) || (busy && at_work));
		queue_flush(sf, t, f);
		if (sf->error)
			return;
	}
}

void stream_settle(struct step_finder *sf, struct tracker *t)
{
	for (int f = 0; f < FAMILY_COUNT; f++) {
		if (sf->trackers[f] == t)
			queue_decide(sf, t, (enum family)f, true);
	}
}

void stream_mark(struct step_finder *sf, enum family f, const struct mark *m)
{
	struct tracker *t = tracker_of(sf, f);
	struct step_thread *th = &sf->threads[m->thread];

	if (!t)
		return;
	if (!m->skipped) {
		t->marks++;
		t->last_seq = m->seq;
		t->since_better++;
		/* Ranges take over from what counts now only when they come as often. */
		if (sf->elected == f && f != FAMILY_RANGES && sf->trackers[FAMILY_RANGES] &&
		    t->since_better > RARE_MARKS)
			sf->trackers[FAMILY_RANGES]->since_better = 0;
	}
	if (!t->lane_of[m->thread] && (!t->nlanes || !th->backward || f >= FAMILY_ANON))
		tracker_map(sf, t, f, m->thread, false);
	if (t->lane_of[m->thread] && !t->nqueue) {
		tracker_route(sf, t, f, m);
		return;
	}
	t->queue[t->nqueue++] = *m;
	queue_decide(sf, t, f, t->nqueue == STEP_QUEUE);
}
