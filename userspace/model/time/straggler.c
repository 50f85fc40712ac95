/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/straggler.h"

#include <stdlib.h>
#include <string.h>

#include "userspace/model/time/change.h"
#include "userspace/base/order.h"
#include "userspace/base/number.h"

/* Steps that are kept until all ranks have reported them. Ranks that run in step differ by less
 * than this many steps. */
#define SLOTS 8
/* Ranks run in step if their times of one step differ by at most 1/ALIKE of the longest. */
#define ALIKE	    4
#define NS_PER_US   1000
#define US_PER_PART UINT32_MAX

struct slot { /* times of one step, of the ranks that have reported it; in us, at most 71 minutes */
	uint64_t number, start_ns;
	uint32_t reported; /* bit per rank */
	uint32_t us[STRAGGLER_RANKS], wait_us[STRAGGLER_RANKS];
	uint32_t part_us[STRAGGLER_RANKS][CHANGE_PARTS];
};

struct verdict {
	uint64_t number, start_ns;
	int32_t late; /* index of the rank that was late in the step; -1: none */
	uint32_t size_us;
	/* how much each part of the late rank's step is longer than the median of the others */
	int64_t more_us[CHANGE_PARTS];
};

struct straggler {
	uint32_t nranks;
	uint32_t pid[STRAGGLER_RANKS];
	struct slot slot[SLOTS];
	struct verdict verdict[STRAGGLER_WINDOW];
	uint64_t verdicts; /* number of compared steps since the set of ranks changed */
	int32_t now;	   /* index of the current straggler; -1: none */
	int32_t due;	   /* index of the rank to report as straggler; -1: none */
	int32_t over;	   /* index of the rank to report as no longer a straggler; -1: none */
	struct straggler_view view;
};

struct straggler *straggler_new(void)
{
	struct straggler *s = calloc(1, sizeof(*s));

	if (s)
		s->now = s->due = s->over = -1;
	return s;
}

void straggler_free(struct straggler *s)
{
	free(s);
}

static uint32_t straggler_in_us(uint64_t ns)
{
	return ns / NS_PER_US < US_PER_PART ? (uint32_t)(ns / NS_PER_US) : US_PER_PART;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Starts the comparison again, because the set of compared ranks has changed. */
static void straggler_compare_anew(struct straggler *s)
{
	memset(s->slot, 0, sizeof(s->slot));
	s->verdicts = 0;
}

/* Returns the index of the rank, added if new; -1: too many ranks. */
static int straggler_rank_of(struct straggler *s, uint32_t pid)
{
	for (uint32_t i = 0; i < s->nranks; i++) {
		if (s->pid[i] == pid)
			return (int)i;
	}
	if (s->nranks == STRAGGLER_RANKS)
		return -1;
	straggler_compare_anew(s);
	s->pid[s->nranks] = pid;
	return (int)s->nranks++;
}

static void straggler_forget_rank(int32_t *which, int32_t rank)
{
	if (*which == rank)
		*which = -1;
	else if (*which > rank)
		(*which)--;
}

bool straggler_left(struct straggler *s, uint32_t pid)
{
	bool was;

	for (uint32_t i = 0; i < s->nranks; i++) {
		if (s->pid[i] != pid)
			continue;
		was = (s->now == (int)i && s->due != (int)i) || s->over == (int)i;
		memmove(&s->pid[i], &s->pid[i + 1], (--s->nranks - i) * sizeof(s->pid[0]));
		straggler_forget_rank(&s->now, (int)i);
		straggler_forget_rank(&s->due, (int)i);
		straggler_forget_rank(&s->over, (int)i);
		straggler_compare_anew(s);
		return was;
	}
	return false;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Records the rank's times in the step: its wait, its phases that are not waits, and the time of
 * the job's own code. */
static void straggler_slot_fill(struct slot *sl, int rank, const struct fact_step *fs)
{
	uint64_t out_ns = fs->wait_ns - fs->phase_ns[PHASE_SYNC] - fs->phase_ns[PHASE_COLLECTIVE];
	uint64_t rest_ns = fs->host_ns;

	sl->us[rank] = straggler_in_us(fs->step.end_ns - fs->step.start_ns);
	sl->wait_us[rank] = straggler_in_us(fs->wait_ns);
	for (int p = 0; p < PHASE_COUNT; p++) {
		uint64_t ns = fs->phase_ns[p];

		if (p == PHASE_SYNC || p == PHASE_COLLECTIVE)
			ns = 0;
		else if (p == PHASE_TRANSFER)
			ns -= smaller_of(out_ns, ns);
		else if (p != PHASE_DATA && p != PHASE_COMPILE)
			rest_ns -= smaller_of(ns, rest_ns);
		sl->part_us[rank][p] = straggler_in_us(ns);
	}
	sl->part_us[rank][PHASE_COUNT] = straggler_in_us(rest_ns);
	sl->reported |= 1u << rank;
}

static bool straggler_slot_alike(const struct slot *sl, uint32_t n)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (uint32_t i = 0; i < n; i++) {
		least = sl->us[i] < least ? sl->us[i] : least;
		most = sl->us[i] > most ? sl->us[i] : most;
	}
	return most - least <= most / ALIKE;
}

static uint64_t straggler_median_of_others(const struct slot *sl, uint32_t n, uint32_t rank,
					   int part)
{
	uint64_t a[STRAGGLER_RANKS];
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (i != rank)
			a[k++] = part < 0 ? sl->wait_us[i] : sl->part_us[i][part];
	}
	return order_median(a, k);
}

static void straggler_slot_judge(struct straggler *s, const struct slot *sl)
{
	struct verdict *v = &s->verdict[s->verdicts++ % STRAGGLER_WINDOW];
	uint32_t least = 0, next = UINT32_MAX;

	*v = (struct verdict){.number = sl->number, .start_ns = sl->start_ns, .late = -1};
	if (!straggler_slot_alike(sl, s->nranks))
		return;
	for (uint32_t i = 1; i < s->nranks; i++)
		least = sl->wait_us[i] < sl->wait_us[least] ? i : least;
	for (uint32_t i = 0; i < s->nranks; i++) {
		if (i != least && sl->wait_us[i] < next)
			next = sl->wait_us[i];
	}
	if (next - sl->wait_us[least] <= STRAGGLER_NS / NS_PER_US ||
	    next - sl->wait_us[least] <= sl->us[least] / STRAGGLER_PART)
		return;
	v->late = (int32_t)least;
	v->size_us = (uint32_t)straggler_median_of_others(sl, s->nranks, least, -1) -
		     sl->wait_us[least];
	for (int p = 0; p < CHANGE_PARTS; p++)
		v->more_us[p] = (int64_t)sl->part_us[least][p] -
				(int64_t)straggler_median_of_others(sl, s->nranks, least, p);
}

/* ---- many steps ------------------------------------------------------------------------------ */

static uint32_t times_late(const struct straggler *s, int rank)
{
	uint32_t n = 0;

	for (uint64_t i = 0; i < STRAGGLER_WINDOW && i < s->verdicts; i++)
		n += s->verdict[i].late == rank;
	return n;
}

static void straggler_sum_up(struct straggler *s, int rank)
{
	struct straggler_view *view = &s->view;
	int64_t more_us[CHANGE_PARTS] = {0}, all_us = 0;
	uint64_t sizes[STRAGGLER_WINDOW];
	uint32_t n = 0;

	*view = (struct straggler_view){
		.of = STRAGGLER_WINDOW, .phase = -1, .pid = s->pid[rank], .rank = -1};
	for (uint64_t i = 0; i < STRAGGLER_WINDOW; i++) {
		const struct verdict *v = &s->verdict[(s->verdicts + i) % STRAGGLER_WINDOW];

		if (v->late != rank)
			continue;
		if (!n) {
			view->onset_ns = v->start_ns;
			view->onset_step = v->number;
		}
		sizes[n++] = v->size_us;
		all_us += v->size_us;
		for (int p = 0; p < CHANGE_PARTS; p++)
			more_us[p] += v->more_us[p];
	}
	view->late = n;
	view->size_ns = order_median(sizes, n) * NS_PER_US;
	for (int p = 0; p < CHANGE_PARTS; p++) {
		if (2 * more_us[p] >= all_us &&
		    (view->phase < 0 || more_us[p] > more_us[view->phase]))
			view->phase = p;
	}
}

static void straggler_conclude(struct straggler *s)
{
	const struct verdict *last = &s->verdict[(s->verdicts - 1) % STRAGGLER_WINDOW];

	if (s->verdicts < STRAGGLER_WINDOW)
		return;
	if (s->now >= 0 && times_late(s, s->now) < STRAGGLER_FEW) {
		s->over = s->due == s->now ? -1 : s->now;
		s->now = s->due = -1;
	}
	if (s->now < 0 && s->over < 0 && last->late >= 0 &&
	    times_late(s, last->late) >= STRAGGLER_MANY) {
		s->now = s->due = last->late;
		straggler_sum_up(s, s->now);
	}
}

enum straggler_event straggler_step(struct straggler *s, uint32_t pid, uint32_t ranks,
				    const struct fact_step *fs, struct straggler_view *ret)
{
	struct slot *sl = &s->slot[fs->step.number % SLOTS];
	int rank = straggler_rank_of(s, pid);

	if (rank < 0)
		return STRAGGLER_NONE;
	if (sl->number < fs->step.number)
		*sl = (struct slot){.number = fs->step.number, .start_ns = fs->step.start_ns};
	if (sl->number == fs->step.number && !(sl->reported & 1u << rank)) {
		straggler_slot_fill(sl, rank, fs);
		if (s->nranks > 1 && s->nranks == ranks &&
		    sl->reported == (s->nranks < 32 ? (1u << s->nranks) - 1 : UINT32_MAX)) {
			straggler_slot_judge(s, sl);
			straggler_conclude(s);
		}
	}
	*ret = s->view;
	if (s->over == rank) {
		s->over = -1;
		return STRAGGLER_OVER;
	}
	if (s->due != rank)
		return STRAGGLER_NONE;
	s->due = -1;
	return STRAGGLER_FOUND;
}

void straggler_set_rank(struct straggler *s, int rank)
{
	s->view.rank = rank;
}

bool straggler_other(const struct straggler *s, uint32_t pid, struct straggler_view *ret)
{
	if (s->now < 0 || s->pid[s->now] == pid)
		return false;
	*ret = s->view;
	return true;
}

/* ---- state ----------------------------------------------------------------------------------- */

static void straggler_slot_archive(struct archive *a, struct slot *sl, uint32_t nranks)
{
	archive_fields(a, sl, number, start_ns, reported);
	for (uint32_t i = 0; i < nranks; i++)
		archive_fields(a, sl, us[i], wait_us[i], part_us[i]);
}

static void straggler_rank_archive_of(struct archive *a, int32_t *rank, uint32_t nranks)
{
	uint32_t n = (uint32_t)(*rank + 1);

	archive_below(a, &n, nranks + 1);
	*rank = (int32_t)n - 1;
}

void straggler_archive(struct archive *a, struct straggler **at)
{
	struct straggler *s = *at = archive_object(a, *at, sizeof(*s));

	if (!s)
		return;
	archive_below(a, &s->nranks, STRAGGLER_RANKS + 1);
	archive_field(a, s->pid);
	for (int i = 0; i < SLOTS; i++)
		straggler_slot_archive(a, &s->slot[i], s->nranks);
	archive_field(a, s->verdicts);
	for (uint64_t i = 0; i < STRAGGLER_WINDOW && i < s->verdicts; i++) {
		struct verdict *v = &s->verdict[i];

		archive_fields(a, v, number, start_ns);
		straggler_rank_archive_of(a, &v->late, s->nranks);
		archive_fields(a, v, size_us, more_us);
		for (int p = 0; p < CHANGE_PARTS; p++)
			archive_require(a, v->more_us[p] <= UINT32_MAX &&
						   v->more_us[p] >= -(int64_t)UINT32_MAX);
	}
	straggler_rank_archive_of(a, &s->now, s->nranks);
	straggler_rank_archive_of(a, &s->due, s->nranks);
	straggler_rank_archive_of(a, &s->over, s->nranks);
	archive_fields(a, s, view.onset_ns, view.onset_step, view.size_ns, view.late, view.of,
		       view.phase, view.pid, view.rank);
	archive_require(a, s->view.phase >= -1 && s->view.phase < CHANGE_PARTS);
}
