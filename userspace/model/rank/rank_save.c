/* SPDX-License-Identifier: Apache-2.0 */
/* rank_save.c - the state of a rank as bytes. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/model/signal/marker.h"
#include "userspace/model/signal/monitor.h"

/* The size of the ring is part of the state: it determines when a full ring grows or drops a
 * step. */
static void rank_done_archive(struct archive *a, struct rank_loop *lp)
{
	uint32_t cap = 0, n = (uint32_t)(lp->done_next - lp->done_first);

	archive_number(a, &lp->done_first);
	archive_number(a, &lp->done_cap);
	archive_count(a, &n, RANK_DONE_MAX, sizeof(*lp->done));
	if (archive_reads(a)) {
		for (cap = lp->done_cap ? RANK_DONE : 0;
		     cap && cap < lp->done_cap && cap < RANK_DONE_MAX; cap *= 2)
			;
		archive_require(a, cap == lp->done_cap && n <= cap &&
					   lp->done_first <= UINT64_MAX / 2);
		lp->done = cap ? archive_alloc(a, cap, sizeof(*lp->done)) : NULL;
		lp->done_cap = lp->done ? cap : 0;
		lp->done_next = lp->done_first + (lp->done ? n : 0);
	}
	for (uint64_t i = lp->done_first; i < lp->done_next; i++) {
		struct rank_done *d = &lp->done[i & (lp->done_cap - 1)];

		archive_number(a, &d->number);
		archive_number(a, &d->from_ns);
		archive_number(a, &d->goodput_ns);
	}
}

static void rank_loop_archive(struct archive *a, struct rank_loop **at)
{
	struct rank_loop *lp = *at = archive_object(a, *at, sizeof(*lp));

	archive_require(a, lp);
	if (!lp)
		return;
	step_state_archive(a, &lp->state);
	deviation_archive(a, &lp->time);
	change_archive(a, &lp->change);
	recent_archive(a, &lp->recent_times);
	archive_require(a, lp->time && lp->change && lp->recent_times);
	archive_number(a, &lp->ideal_ns);
	archive_number(a, &lp->mad_ns);
	archive_number(a, &lp->steps);
	archive_number(a, &lp->updates);
	archive_number(a, &lp->last_number);
	archive_number(a, &lp->run_step);
	archive_number(a, &lp->last_end_ns);
	archive_number(a, &lp->resume_ns);
	archive_number(a, &lp->tid);
	archive_number(a, &lp->recent);
	for (uint64_t i = 0; i < SNAPSHOT_RECENT && i < lp->recent; i++)
		archive_number(a, &lp->recent_ns[i]);
	rank_done_archive(a, lp);
	archive_numbers(a, lp->phase_ns);
	archive_number(a, &lp->host_ns);
	archive_number(a, &lp->wait_ns);
	archive_number(a, &lp->phases_known);
	archive_number(a, &lp->phases_unsent);
	archive_number(a, &lp->device_known);
	archive_number(a, &lp->device_unsent);
	archive_numbers(a, lp->flagged);
	archive_number(a, &lp->first_ns);
	archive_number(a, &lp->hole_ns);
	archive_numbers(a, lp->span_ns);
	archive_number(a, &lp->undercounted);
	archive_number(a, &lp->probed_late);
	lp->slow = archive_object(a, lp->slow, sizeof(*lp->slow));
	if (!lp->slow)
		return;
	resource_sums_archive(a, &lp->slow->usual);
	time_causes_archive(a, &lp->slow->causes);
	archive_number(a, &lp->slow->lost_ns);
}

static void rank_loops_archive(struct archive *a, struct rank *r)
{
	uint32_t n = r->nloops;

	archive_count(a, &n, STEP_LOOPS, sizeof(struct rank_loop));
	for (uint32_t i = 0; i < n && !a->error; i++) {
		rank_loop_archive(a, &r->loops[i]);
		r->nloops = archive_reads(a) && r->loops[i] ? i + 1 : r->nloops;
	}
}

static void rank_note_archive(struct archive *a, struct rank_note *n)
{
	struct span *s = &n->span;

	archive_below(a, &s->kind, SPAN_RESTORE + 1);
	archive_number(a, &s->tid);
	archive_number(a, &s->begin_ns);
	archive_number(a, &s->end_ns);
	archive_number(a, &s->closed);
	archive_number(a, &s->async);
	archive_number(a, &s->files);
	archive_number(a, &s->seen);
	archive_number(a, &n->pid);
	archive_number(a, &s->bytes);
	archive_text(a, n->file);
}

static void rank_events_archive(struct archive *a, struct rank *r)
{
	archive_number(a, &r->nevents);
	for (uint64_t i = 0; i < SNAPSHOT_EVENTS && i < r->nevents; i++) {
		archive_number(a, &r->events[i].mono_ns);
		archive_text(a, r->events[i].text);
	}
}

static void rank_process_archive(struct archive *a, struct gp_process *p)
{
	archive_number(a, &p->start_ns);
	archive_number(a, &p->start_mono_ns);
	archive_number(a, &p->parent);
	archive_number(a, &p->flags);
	archive_number(a, &p->rank);
	archive_number(a, &p->world_size);
	archive_number(a, &p->local_rank);
	archive_text(a, p->comm);
	archive_text(a, p->job);
	archive_text(a, p->command);
}

static void rank_life_archive(struct archive *a, struct rank *r)
{
	archive_number(a, &r->member.pid);
	rank_process_archive(a, &r->member.process);
	archive_number(a, &r->member.start_ns);
	archive_number(a, &r->member.observed_ns);
	archive_require(a, r->member.start_ns <= r->member.observed_ns);
	archive_number(a, &r->member.since_real_ns);
	archive_number(a, &r->end_ns);
	archive_number(a, &r->from_start);
	archive_number(a, &r->fresh);
	archive_number(a, &r->member.begun);
	archive_number(a, &r->settled);
	archive_number(a, &r->missed);
	archive_number(a, &r->alive);
	archive_number(a, &r->trainer);
	archive_number(a, &r->target);
	archive_number(a, &r->self_ranked);
	archive_number(a, &r->member.accelerated);
	archive_number(a, &r->status);
	archive_bytes(a, &r->killed, sizeof(r->killed));
	archive_number(a, &r->killed_ns);
	archive_number(a, &r->interrupted_ns);
	archive_number(a, &r->oom);
	archive_number(a, &r->member.shell_pid);
	archive_number(a, &r->member.branch_pid);
}

/* Made together at the first marker; only the ledger and the loops outlive the process. */
static void rank_finders_archive(struct archive *a, struct rank *r)
{
	marker_archive(a, &r->marker);
	step_finder_archive(a, &r->finder);
	phase_archive(a, &r->phase, rank_span, r);
	ledger_archive(a, &r->member.ledger);
	window_archive(a, &r->member.window);
	archive_number(a, &r->ledger_start_ns);
	archive_number(a, &r->windows_reported_ns);
	archive_require(a, !r->member.ledger == !r->member.window);
	if (archive_reads(a) && r->member.ledger && r->member.window)
		rank_window_trace(r);
	rank_loops_archive(a, r);
	archive_require(a, !r->marker == !r->finder && !r->marker == !r->phase);
	archive_require(a, !r->member.ledger == !r->nloops);
	archive_require(a, r->alive ? !r->member.ledger == !r->marker : !r->marker);
	archive_require(a, r->member.ledger || (!r->trainer && !r->nnotes && !r->hang.onset_ns));
}

const size_t rank_size = sizeof(struct rank);

void rank_archive(struct archive *a, struct rank **at, struct model_env *env, bool alive)
{
	struct rank *r = *at = archive_object(a, *at, sizeof(*r));

	archive_require(a, r);
	if (!r)
		return;
	if (archive_reads(a))
		r->member.env = env;
	rank_life_archive(a, r);
	archive_require(a, r->alive == alive);
	rank_place_archive(a, r);
	archive_number(a, &r->member.seen);
	archive_numbers(a, r->shown);
	archive_count(a, &r->nnotes, RANK_NOTES, sizeof(*r->notes));
	if (archive_reads(a) && r->nnotes) {
		r->notes = archive_alloc(a, r->nnotes, sizeof(*r->notes));
		r->notes_cap = r->nnotes = r->notes ? r->nnotes : 0;
	}
	for (uint32_t i = 0; i < r->nnotes; i++)
		rank_note_archive(a, &r->notes[i]);
	archive_number(a, &r->ledger_reported_ns);
	archive_number(a, &r->ledger_due);
	archive_number(a, &r->checkpoints);
	archive_number(a, &r->restores);
	archive_number(a, &r->save_ns);
	archive_number(a, &r->longest_save_ns);
	rank_worker_archive(a, &r->workers);
	archive_number(a, &r->slow_reported_ns);
	archive_number(a, &r->slow_unreported);
	checkpoint_resume_archive(a, &r->member.resume);
	archive_number(a, &r->resume_ns);
	archive_number(a, &r->saved.begin_ns);
	archive_number(a, &r->saved.end_ns);
	archive_number(a, &r->saved.step);
	archive_number(a, &r->saved.tid);
	archive_number(a, &r->saved.estimated);
	archive_number(a, &r->wrote_ns);
	rank_start_archive(a, &r->start);
	rank_range_archive(a, r);
	range_shares_archive(a, &r->shares);
	archive_number(a, &r->ranges_unsent);
	monitor_archive(a, &r->monitor);
	resource_archive(a, &r->resource);
	archive_require(a, r->alive || !r->monitor || !r->monitor->nopen);
	rank_hang_archive(a, &r->hang);
	rank_fault_archive(a, &r->fault);
	rank_straggler_archive(a, &r->straggle);
	rank_collective_archive(a, &r->collectives);
	r->member.collects = r->collectives.ncomms;
	archive_numbers(a, r->unsent_ns);
	archive_number(a, &r->suspended_ns);
	archive_number(a, &r->suspended_booked_ns);
	archive_number(a, &r->hits);
	overhead_archive(a, &r->overhead);
	archive_number(a, &r->lost);
	archive_number(a, &r->disruptions);
	archive_numbers(a, r->cause_ns);
	rank_events_archive(a, r);
	rank_finders_archive(a, r);
	job_member_archive(a, &r->member);
	archive_require(a, !r->member.job || r->alive);
}
