/* SPDX-License-Identifier: Apache-2.0 */
/* rank_loop.c - handles a finished step: updates the statistics of its loop, books the step in the
 * ledger, and sends FACT_STEP. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/clock.h"
#include "userspace/base/grow.h"

/* After this number of steps, the ideal step time is certain enough to move the excess of the first
 * steps to startup. */
#define IDEAL_STEPS 8
/* A step is reported as slow if SLOW_STEPS steps are known, and the step took SLOW_FACTOR times the
 * ideal and SLOW_MORE_NS (ns) longer than the ideal. */
#define SLOW_STEPS   8
#define SLOW_FACTOR  5
#define SLOW_MORE_NS 10000000ull
/* Minimum time (ns) between two events about slow steps. More of them would push other events out
 * of the list. */
#define SLOW_REPORT_NS 10000000000ull

struct rank_loop *rank_loop(struct rank *r, uint32_t i)
{
	i = i < STEP_LOOPS ? i : STEP_LOOPS - 1;
	while (r->nloops <= i) {
		struct rank_loop *lp = calloc(1, sizeof(*lp));

		if (!lp)
			return NULL;
		lp->time = deviation_new();
		lp->change = change_new();
		lp->recent_times = recent_new();
		if (!lp->time || !lp->change || !lp->recent_times) {
			deviation_free(lp->time);
			change_free(lp->change);
			recent_free(lp->recent_times);
			free(lp);
			return NULL;
		}
		deviation_set_ideal(lp->time, r->member.env->ideal_ns);
		r->loops[r->nloops++] = lp;
	}
	return r->loops[i];
}

/* ---- the ideal ------------------------------------------------------------------------------- */

/* Returns true if the ideal step time has to be computed after `count` steps. At first it is
 * computed often, then rarely, because it examines the last 1024 steps. Depends only on the count,
 * so that a replay gives the same result. */
static bool rank_loop_ideal_due(uint64_t count)
{
	return count < 32 || (count < 512 ? count % 16 == 0 : count % 256 == 0);
}

/* Updates the ideal step time. If a process has several loops, the ledger uses the longest one. */
void rank_ideal(struct rank *r, bool final)
{
	uint64_t ideal_ns = 0, mad_ns = 0;

	for (uint32_t i = 0; i < r->nloops; i++) {
		struct rank_loop *lp = r->loops[i];

		if (final)
			deviation_ideal(lp->time, &lp->ideal_ns, &lp->mad_ns);
		if (lp->ideal_ns <= ideal_ns || (!final && lp->steps < IDEAL_STEPS))
			continue;
		ideal_ns = lp->ideal_ns;
		mad_ns = lp->mad_ns;
	}
	ledger_ideal(r->member.ledger, ideal_ns, mad_ns);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Returns the earliest begin of a checkpoint that contains this step. This is the end of the step,
 * except if the step ends with a backward pass (worked_ns, see phase_worked_ns()) or where its
 * program is called (just after called_ns). */
static uint64_t rank_loop_step_saved_from(const struct step *s, uint64_t called_ns,
					  uint64_t worked_ns)
{
	if (s->boundary == BOUNDARY_BACKWARD)
		return worked_ns ? worked_ns : s->start_ns;
	return s->boundary == BOUNDARY_EXECUTE ? called_ns + 1 : s->end_ns;
}

/* Adds a step to the ring of finished steps. The ring of a fast loop grows, because a thread may
 * write data that was copied many steps earlier. */
static int rank_loop_done_add(struct rank_loop *lp, const struct rank_done *d)
{
	const struct rank_done *oldest = rank_done(lp, lp->done_cap - 1ull);
	bool young = oldest && d->from_ns - oldest->from_ns < RANK_DONE_NS &&
		     lp->done_cap < RANK_DONE_MAX;

	if ((!lp->done || young) &&
	    grow_ring(lp->done, lp->done_first, lp->done_next, lp->done_cap, RANK_DONE))
		return -ENOMEM;
	if (lp->done_next - lp->done_first == lp->done_cap)
		lp->done_first++;
	lp->done[lp->done_next++ & (lp->done_cap - 1)] = *d;
	return 0;
}

static void rank_loop_remember(struct rank_loop *lp, const struct fact_step *fs, uint64_t ns)
{
	lp->steps++;
	lp->updates += fs->step.updates;
	lp->last_number = fs->step.number;
	lp->run_step = fs->run_step;
	lp->last_end_ns = fs->step.end_ns;
	lp->tid = fs->step.tid;
	for (int i = 0; i < 8; i++)
		lp->flagged[i] += fs->step.flags >> i & 1;
	if (fs->step.flags & STEP_NO_SAMPLE)
		return;
	lp->recent_ns[lp->recent++ % SNAPSHOT_RECENT] = ns;
	for (int i = 0; i < PHASE_COUNT; i++)
		lp->phase_ns[i] += fs->phase_ns[i];
	lp->host_ns += fs->host_ns;
	lp->wait_ns += fs->wait_ns;
	lp->phases_known |= fs->phases_known;
	lp->device_known |= fs->device_known;
}

static void rank_loop_slow(struct rank *r, const struct rank_loop *lp, const struct step *s,
			   uint64_t ns)
{
	char took[16], more[48] = "";

	if (s->flags & (STEP_hung | STEP_tainted) || lp->steps < SLOW_STEPS || !lp->ideal_ns ||
	    ns / SLOW_FACTOR < lp->ideal_ns || ns < lp->ideal_ns + SLOW_MORE_NS)
		return;
	if (r->slow_reported_ns && s->end_ns < r->slow_reported_ns + SLOW_REPORT_NS) {
		r->slow_unreported++;
		return;
	}
	if (r->slow_unreported)
		snprintf(more, sizeof(more), "; %llu more not reported",
			 (unsigned long long)r->slow_unreported);
	r->slow_reported_ns = s->end_ns;
	r->slow_unreported = 0;
	rank_event(r, s->end_ns, "slow step %llu: %s (%.1fx the ideal)%s",
		   (unsigned long long)s->number, clock_duration(took, sizeof(took), ns),
		   (double)ns / (double)lp->ideal_ns, more);
}

/* Counts an execution or a cycle like a step. It recurs like a step, but it is not known to be
 * training. */
static void rank_loop_count(struct rank *r, struct rank_loop *lp, const struct step *s)
{
	uint64_t ns = s->end_ns - s->start_ns;

	if (!r->trainer) /* if the process does not train, the time before is not startup */
		ledger_untrained(r->member.ledger, s->start_ns);
	lp->state.unit = s->unit;
	lp->steps++;
	lp->last_number = lp->run_step = s->number;
	lp->last_end_ns = s->end_ns;
	lp->tid = s->tid;
	if (s->flags & STEP_NO_SAMPLE || !ns || (!r->from_start && lp->steps == 1))
		return;
	lp->recent_ns[lp->recent++ % SNAPSHOT_RECENT] = ns;
	if (deviation_add(lp->time, ns) || recent_add(lp->recent_times, s->end_ns, ns))
		r->error = -ENOMEM;
	if (rank_loop_ideal_due(lp->steps))
		deviation_ideal(lp->time, &lp->ideal_ns, &lp->mad_ns);
}

/* Resets the statistics of the loop, because the executions or cycles counted so far were not
 * training. */
static bool rank_loop_anew(struct rank *r, struct rank_loop *lp)
{
	struct deviation *time = deviation_new();
	struct recent *recent_times = recent_new();

	if (!time || !recent_times) {
		deviation_free(time);
		recent_free(recent_times);
		r->error = -ENOMEM;
		return false;
	}
	deviation_free(lp->time);
	recent_free(lp->recent_times);
	lp->time = time;
	lp->recent_times = recent_times;
	deviation_set_ideal(lp->time, r->member.env->ideal_ns);
	lp->state.unit = UNIT_STEP;
	lp->steps = lp->updates = lp->recent = 0;
	lp->done_first = lp->done_next;
	lp->ideal_ns = lp->mad_ns = 0;
	return true;
}

void rank_step(struct rank *r, const struct step *s)
{
	struct rank_loop *lp = rank_loop(r, s->loop);
	struct fact f = {.type = FACT_STEP};
	struct share_view shares;
	struct rank_done done;
	uint64_t worked_ns;
	struct fact_step fs;
	bool timed;
	uint64_t ns;

	if (!lp) {
		r->error = -ENOMEM;
		return;
	}
	if (s->unit != UNIT_STEP) {
		rank_late_step(r, lp, s);
		rank_loop_count(r, lp, s);
		return;
	}
	if (lp->state.unit != UNIT_STEP && lp->steps && !rank_loop_anew(r, lp))
		return;
	rank_late_step(r, lp, s);
	/* the step shows that the process trains: its marker alone does not, as other processes
	 * have it too */
	if (!r->trainer)
		rank_trains(r, s->end_ns);
	phase_step(r->phase, s, r->nloops == 1, &lp->resume_ns, &fs);
	worked_ns = phase_worked_ns(r->phase, &fs.step);
	rank_unsent_step(r, lp, &fs);
	/* If the process was attached during a call, records from within this call may precede the
	 * record of its start. */
	if (fs.step.start_ns > fs.step.end_ns)
		fs.step.start_ns = fs.step.end_ns;
	/* The start of the first step is unknown if the process was attached during the step, or if
	 * steps end with a wait or where their program is called. */
	if (!lp->steps &&
	    (!r->from_start || fs.step.boundary == BOUNDARY_SYNC ||
	     fs.step.boundary == BOUNDARY_PROBE || fs.step.boundary == BOUNDARY_EXECUTE ||
	     fs.step.start_ns == fs.step.end_ns))
		fs.step.flags |= STEP_estimated;
	if (r->hang.count && rank_hang_within(r, fs.step.start_ns, fs.step.end_ns))
		fs.step.flags |= STEP_hung;
	if (r->shares &&
	    range_shares_step(r->shares, &fs.step, !(fs.step.flags & STEP_hung), &shares))
		fs.ranges = &shares;
	fs.run_step = fs.step.number;
	if (!s->loop)
		fs.step.number += job_step_base(&r->member);
	rank_late_flag(lp, &fs.step);
	ns = fs.step.end_ns - fs.step.start_ns;
	timed = ns && !(fs.step.flags & STEP_NO_SAMPLE);
	done = (struct rank_done){fs.step.number,
				  rank_loop_step_saved_from(&fs.step, s->end_ns, worked_ns), 0};
	rank_notes(r, done.from_ns);
	rank_start_over(r, fs.step.start_ns);
	rank_range_step(r, fs.step.end_ns);
	rank_fault_step(r, fs.step.start_ns);
	ledger_step(r->member.ledger, fs.step.start_ns, fs.step.end_ns, fs.step.number,
		    fs.step.flags & STEP_tainted);
	if (!s->loop)
		job_step(&r->member, fs.step.start_ns, fs.step.end_ns, fs.step.number, timed);
	rank_loop_remember(lp, &fs, ns);
	done.goodput_ns = s->loop ? 0 : job_goodput(&r->member);
	if (rank_loop_done_add(lp, &done))
		r->error = -ENOMEM;
	if (r->wrote_ns)
		rank_files_step(r, done.from_ns, done.number);
	rank_loop_slow(r, lp, &fs.step, ns);
	if (timed)
		rank_long_step(r, lp, &fs.step, ns);
	if (timed &&
	    (deviation_add(lp->time, ns) || recent_add(lp->recent_times, fs.step.end_ns, ns)))
		r->error = -ENOMEM;
	if (rank_loop_ideal_due(lp->steps)) {
		deviation_ideal(lp->time, &lp->ideal_ns, &lp->mad_ns);
		rank_ideal(r, false);
	}
	rank_ledger_checked(r);
	f.step = &fs;
	rank_fact(r, &f, fs.step.end_ns);
	rank_change(r, lp, &fs);
	rank_device_step(r, &fs);
	if (timed && !s->loop)
		rank_line_step(r, &fs);
	if (!s->loop)
		rank_work_step(r, &fs.step);
	if (!s->loop && timed && fs.device_known)
		rank_straggler_step(r, &fs);
	if (r->ledger_due)
		rank_report_ledger(r, fs.step.end_ns);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void rank_loop_report(struct rank *r, const struct step_state *st,
			     const struct step_state *before, uint64_t now_ns)
{
	struct fact f = {.type = FACT_RANK, .state = st};

	rank_fact(r, &f, now_ns);
	if (st->state == before->state)
		return;
	if (st->state == STATE_LOCKED)
		rank_event(r, now_ns, "steps found: %s", st->marker);
	else if (st->state == STATE_SUSPECT)
		rank_event(r, now_ns, "suspect: %s", st->reason);
}

void rank_states_again(struct rank *r, uint64_t now_ns)
{
	for (uint32_t i = 0; r->trainer && r->alive && i < r->nloops; i++)
		if (r->loops[i]->state.state != STATE_IDLE)
			rank_loop_report(r, &r->loops[i]->state, &r->loops[i]->state, now_ns);
}

void rank_states(struct rank *r, uint64_t now_ns)
{
	struct step_state st;
	bool changed;

	for (uint32_t i = 0; i < STEP_LOOPS && step_finder_state(r->finder, i, &st, &changed);
	     i++) {
		struct rank_loop *lp = rank_loop(r, i);
		struct step_state before;

		if (!lp) {
			r->error = -ENOMEM;
			return;
		}
		before = lp->state;
		rank_late_state(lp, &st);
		lp->state = st;
		if (changed || st.late != before.late || st.undercounted != before.undercounted)
			rank_loop_report(r, &lp->state, &before, now_ns);
	}
}

void rank_trains(struct rank *r, uint64_t now_ns)
{
	int err;

	r->trainer = true;
	err = job_join(&r->member, now_ns);
	r->error = err ? err : r->error;
}
