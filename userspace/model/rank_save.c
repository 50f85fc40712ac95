/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/rank.h"

#include "userspace/model/marker.h"
#include "userspace/model/monitor.h"

void rank_env_archive(struct archive *a, struct rank_env *env)
{
	archive_struct(a, sizeof(*env));
	anchors_archive(a, &env->anchors);
	away_archive(a, &env->away);
	step_config_archive(a, &env->step);
	range_rules_archive(a, &env->ranges);
	archive_number(a, &env->ideal_ns);
	archive_number(a, &env->hang_ns);
	archive_numbers(a, env->windows_ns);
	archive_number(a, &env->budget_ppm);
	program_config_archive(a, &env->program);
	archive_text(a, env->job_uid);
	archive_number(a, &env->ledger_violations);
	archive_number(a, &env->facts);
	notices_archive(a, &env->notices);
	jobs_archive(a, &env->jobs, &env->away);
}

static void loop_archive(struct archive *a, struct rank_loop **at)
{
	struct rank_loop *lp = *at = archive_object(a, *at, sizeof(*lp));

	archive_require(a, lp);
	if (!lp)
		return;
	step_state_archive(a, &lp->state);
	deviation_archive(a, &lp->time);
	change_archive(a, &lp->change);
	recent_archive(a, &lp->late);
	archive_require(a, lp->time && lp->change && lp->late);
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
	for (uint64_t i = 0; i < RANK_DONE; i++) {
		archive_number(a, &lp->done[i].number);
		archive_number(a, &lp->done[i].from_ns);
		archive_number(a, &lp->done[i].goodput_ns);
	}
	archive_numbers(a, lp->phase_ns);
	archive_number(a, &lp->host_ns);
	archive_number(a, &lp->wait_ns);
	archive_number(a, &lp->phases_known);
	archive_number(a, &lp->phases_untold);
	archive_number(a, &lp->device_known);
	archive_number(a, &lp->device_untold);
	archive_numbers(a, lp->flagged);
	archive_number(a, &lp->first_ns);
	archive_number(a, &lp->probed_late);
}

static void loops_archive(struct archive *a, struct rank *r)
{
	uint32_t n = r->nloops;

	archive_count(a, &n, STEP_LOOPS, sizeof(struct rank_loop));
	for (uint32_t i = 0; i < n && !a->error; i++) {
		loop_archive(a, &r->loops[i]);
		r->nloops = archive_reads(a) && r->loops[i] ? i + 1 : r->nloops;
	}
}

static void note_archive(struct archive *a, struct rank_note *n)
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

static void events_archive(struct archive *a, struct rank *r)
{
	archive_number(a, &r->nevents);
	for (uint64_t i = 0; i < SNAPSHOT_EVENTS && i < r->nevents; i++) {
		archive_number(a, &r->events[i].mono_ns);
		archive_text(a, r->events[i].text);
	}
}

static void process_archive(struct archive *a, struct gp_process *p)
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

static void life_archive(struct archive *a, struct rank *r)
{
	archive_number(a, &r->pid);
	process_archive(a, &r->process);
	archive_number(a, &r->start_ns);
	archive_number(a, &r->observed_ns);
	archive_require(a, r->start_ns <= r->observed_ns);
	archive_number(a, &r->since_real_ns);
	archive_number(a, &r->end_ns);
	archive_number(a, &r->from_start);
	archive_number(a, &r->fresh);
	archive_number(a, &r->begun);
	archive_number(a, &r->settled);
	archive_number(a, &r->missed);
	archive_number(a, &r->alive);
	archive_number(a, &r->trainer);
	archive_number(a, &r->target);
	archive_number(a, &r->self_ranked);
	archive_number(a, &r->accelerated);
	archive_number(a, &r->status);
	archive_bytes(a, &r->killed, sizeof(r->killed));
	archive_number(a, &r->killed_ns);
	archive_number(a, &r->oom);
}

/* Made together, at the first marker; only the ledger and the loops outlive the process. */
static void finders_archive(struct archive *a, struct rank *r)
{
	marker_archive(a, &r->marker);
	step_finder_archive(a, &r->finder);
	phase_archive(a, &r->phase, rank_span, r);
	ledger_archive(a, &r->ledger);
	window_archive(a, &r->window);
	archive_number(a, &r->ledger_start_ns);
	archive_number(a, &r->windows_told_ns);
	archive_require(a, !r->ledger == !r->window);
	if (archive_reads(a) && r->ledger && r->window)
		rank_window_trace(r);
	loops_archive(a, r);
	archive_require(a, !r->marker == !r->finder && !r->marker == !r->phase);
	archive_require(a, !r->ledger == !r->nloops);
	archive_require(a, r->alive ? !r->ledger == !r->marker : !r->marker);
	archive_require(a, r->ledger || (!r->trainer && !r->nnotes && !r->hang.onset_ns));
}

void rank_archive(struct archive *a, struct rank **at, struct rank_env *env)
{
	struct rank *r = *at = archive_object(a, *at, sizeof(*r));

	archive_require(a, r);
	if (!r)
		return;
	if (archive_reads(a))
		r->env = env;
	life_archive(a, r);
	rank_place_archive(a, r);
	archive_number(a, &r->seen);
	archive_numbers(a, r->shown);
	archive_count(a, &r->nnotes, RANK_NOTES, sizeof(*r->notes));
	if (archive_reads(a) && r->nnotes) {
		r->notes = archive_alloc(a, r->nnotes, sizeof(*r->notes));
		r->notes_cap = r->nnotes = r->notes ? r->nnotes : 0;
	}
	for (uint32_t i = 0; i < r->nnotes; i++)
		note_archive(a, &r->notes[i]);
	archive_number(a, &r->ledger_told_ns);
	archive_number(a, &r->ledger_due);
	archive_number(a, &r->checkpoints);
	archive_number(a, &r->restores);
	archive_number(a, &r->save_ns);
	archive_number(a, &r->longest_save_ns);
	archive_number(a, &r->slow_told_ns);
	archive_number(a, &r->slow_untold);
	checkpoint_resume_archive(a, &r->resume);
	archive_number(a, &r->resume_ns);
	archive_number(a, &r->saved.begin_ns);
	archive_number(a, &r->saved.end_ns);
	archive_number(a, &r->saved.step);
	archive_number(a, &r->wrote_ns);
	rank_start_archive(a, &r->start);
	rank_range_archive(a, r);
	range_shares_archive(a, &r->shares);
	archive_number(a, &r->ranges_unsent);
	monitor_archive(a, &r->monitor);
	archive_require(a, r->alive || !r->monitor || !r->monitor->nopen);
	rank_hang_archive(a, &r->hang);
	rank_fault_archive(a, &r->fault);
	rank_straggler_archive(a, &r->straggle);
	rank_collective_archive(a, &r->collectives);
	archive_numbers(a, r->untold_ns);
	archive_number(a, &r->suspended_ns);
	archive_number(a, &r->suspended_booked_ns);
	archive_number(a, &r->hits);
	overhead_archive(a, &r->overhead);
	archive_number(a, &r->lost);
	archive_number(a, &r->disruptions);
	events_archive(a, r);
	finders_archive(a, r);
	job_rank_archive(a, r);
}
