/* SPDX-License-Identifier: Apache-2.0 */
/* rank_save.c - saves the state of a rank to an archive, and restores it. */
#include "userspace/model/rank/rank_private.h"

#include <math.h>

#include "userspace/model/signal/marker.h"

/* Saves or restores the ring of finished steps. The capacity is saved too, because it decides when
 * the ring grows. */
static void rank_done_archive(struct archive *a, struct rank_loop *lp)
{
	archive_field(a, lp->done_first);
	archive_ring(a, lp->done, lp->done_first, lp->done_next, lp->done_cap, RANK_DONE,
		     RANK_DONE_MAX);
	for (uint64_t i = lp->done_first; i < lp->done_next; i++) {
		struct rank_done *d = &lp->done[i & (lp->done_cap - 1)];

		archive_fields(a, d, number, from_ns, goodput_ns);
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
	archive_fields(a, lp, ideal_ns, mad_ns, steps, updates, last_number, run_step, last_end_ns,
		       resume_ns, tid, recent);
	for (uint64_t i = 0; i < SNAPSHOT_RECENT && i < lp->recent; i++)
		archive_field(a, lp->recent_ns[i]);
	rank_done_archive(a, lp);
	archive_fields(a, lp, phase_ns, host_ns, wait_ns, phases_known, phases_unsent, device_known,
		       device_unsent, flagged, first_ns, hole_ns, span_ns, undercounted,
		       probed_late);
	lp->slow = archive_object(a, lp->slow, sizeof(*lp->slow));
	if (!lp->slow)
		return;
	resource_sums_archive(a, &lp->slow->usual);
	lines_sums_archive(a, &lp->slow->usual_lines);
	device_sums_archive(a, &lp->slow->usual_device);
	traffic_sums_archive(a, &lp->slow->usual_traffic);
	time_causes_archive(a, &lp->slow->causes);
	archive_fields(a, lp->slow, lost_ns, all_lost_ns, alarm, alarms, bursts, bursts_ns, late_ns,
		       late_pid, late_rank);
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
	archive_fields(a, s, tid, begin_ns, end_ns, closed, async, files, seen);
	archive_field(a, n->pid);
	archive_field(a, s->bytes);
	archive_field(a, n->file);
}

static void rank_events_archive(struct archive *a, struct rank *r)
{
	archive_field(a, r->nevents);
	for (uint64_t i = 0; i < SNAPSHOT_EVENTS && i < r->nevents; i++)
		archive_fields(a, &r->events[i], mono_ns, text);
}

static void rank_process_archive(struct archive *a, struct gp_process *p)
{
	archive_fields(a, p, start_ns, start_mono_ns, parent, flags, rank, world_size, local_rank,
		       comm, job, command);
}

static void rank_life_archive(struct archive *a, struct rank *r)
{
	archive_field(a, r->member.pid);
	rank_process_archive(a, &r->member.process);
	archive_fields(a, r, member.start_ns, member.observed_ns);
	archive_require(a, r->member.start_ns <= r->member.observed_ns);
	archive_fields(a, r, member.since_real_ns, end_ns, from_start, fresh, member.begun, settled,
		       missed, alive, trainer, target, self_ranked, member.accelerated, status);
	archive_bytes(a, &r->killed, sizeof(r->killed));
	archive_fields(a, r, killed_ns, interrupted_ns, oom, member.shell_pid, member.branch_pid);
}

/* Saves or restores the parts that are allocated at the first marker. After the end of the process,
 * only the ledger and the loops remain. */
static void rank_finders_archive(struct archive *a, struct rank *r)
{
	marker_archive(a, &r->marker);
	step_finder_archive(a, &r->finder);
	phase_archive(a, &r->phase, rank_span, r);
	ledger_archive(a, &r->member.ledger);
	window_archive(a, &r->member.window);
	archive_fields(a, r, ledger_start_ns, windows_reported_ns);
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
	archive_fields(a, r, member.seen, shown);
	archive_items(a, r->notes, r->nnotes, r->notes_cap, RANK_NOTES);
	for (uint32_t i = 0; i < r->nnotes; i++)
		rank_note_archive(a, &r->notes[i]);
	archive_fields(a, r, ledger_reported_ns, ledger_due, checkpoints, restores, save_ns,
		       longest_save_ns);
	rank_worker_archive(a, &r->workers);
	archive_fields(a, r, slow_reported_ns, slow_unreported);
	checkpoint_resume_archive(a, &r->member.resume);
	archive_fields(a, r, resume_ns, saved.begin_ns, saved.end_ns, saved.step, saved.tid,
		       saved.estimated, wrote_ns);
	rank_start_archive(a, &r->start);
	rank_range_archive(a, r);
	range_shares_archive(a, &r->shares);
	archive_field(a, r->ranges_unsent);
	monitor_archive(a, &r->monitor);
	resource_archive(a, &r->resource);
	input_gate_archive(a, &r->input_gate);
	input_waits_archive(a, &r->input);
	rank_lines_archive(a, &r->lines);
	device_clock_archive(a, &r->device);
	traffic_rate_archive(a, &r->traffic);
	examination_archive(a, &r->examination);
	examination_archive(a, &r->worker_examination);
	rank_long_archive(a, &r->long_steps);
	rank_badput_archive(a, &r->badput);
	archive_require(a, r->alive || !r->monitor || !r->monitor->nopen);
	rank_hang_archive(a, &r->hang);
	rank_fault_archive(a, &r->fault);
	rank_straggler_archive(a, &r->straggle);
	rank_collective_archive(a, &r->collectives);
	r->member.collects = r->collectives.ncomms;
	archive_fields(a, r, unsent_ns, suspended_ns, suspended_booked_ns, hits);
	overhead_archive(a, &r->overhead);
	archive_fields(a, r, lost, disruptions, cause_ns);
	rank_work_archive(a, r);
	r->member.operations = archive_object(a, r->member.operations,
					      sizeof(*r->member.operations));
	if (r->member.operations)
		operations_archive(a, r->member.operations);
	archive_fields(a, r, member.operations_steps, member.uncounted);
	rank_events_archive(a, r);
	rank_finders_archive(a, r);
	job_member_archive(a, &r->member);
	archive_require(a, !r->member.job || r->alive);
}
