/* SPDX-License-Identifier: Apache-2.0 */
/* rank_view.c - fills a rank's part of a snapshot. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/number.h"

static void rank_view_loop(const struct rank_loop *lp, struct loop_view *ret)
{
	uint64_t n = smaller_of(lp->recent, SNAPSHOT_RECENT);

	*ret = (struct loop_view){
		.state = lp->state,
		.last_number = lp->last_number,
		.last_end_ns = lp->last_end_ns,
		.recent = (uint32_t)n,
		.phases_known = lp->phases_known & ~lp->phases_unsent,
		.device_known = lp->device_known && !lp->device_unsent,
		.host_ns = lp->host_ns,
		.wait_ns = lp->wait_ns,
	};
	/* the state of the loop may be a second old: replace its counts by the current ones */
	ret->state.updates = lp->updates;
	ret->state.steps = lp->run_step;
	change_view(lp->change, &ret->change);
	if (lp->slow) {
		ret->causes = lp->slow->causes;
		ret->slow_alarm = lp->slow->alarm;
		ret->slow_alarms = lp->slow->alarms;
		ret->bursts = lp->slow->bursts;
		ret->bursts_ns = lp->slow->bursts_ns;
	}
	for (uint64_t i = 0; i < n; i++)
		ret->recent_ns[i] = lp->recent_ns[(lp->recent - n + i) % SNAPSHOT_RECENT];
	memcpy(ret->phase_ns, lp->phase_ns, sizeof(ret->phase_ns));
	memcpy(ret->flagged, lp->flagged, sizeof(ret->flagged));
}

/* Fills the view of the rank's ledger. A process without markers has no ledger; all its time is
 * unobserved. */
static void rank_view_time(const struct rank *r, uint64_t now_ns, struct ledger_view *ret)
{
	if (r->member.ledger)
		ledger_view(r->member.ledger, ret);
	else
		*ret = (struct ledger_view){
			.start_ns = r->member.start_ns,
			.now_ns = r->member.observed_ns,
			.ns[BUCKET_UNOBSERVED] = r->member.observed_ns - r->member.start_ns,
		};
	ret->disruptions = r->disruptions;
	if (!ret->ended)
		ledger_view_idle(ret, &r->member.env->excluded, now_ns);
}

/* Copies the events, sorted by time: an event may be recorded after a later one. */
static void rank_view_events(const struct rank *r, struct rank_view *ret)
{
	uint64_t n = smaller_of(r->nevents, SNAPSHOT_EVENTS), at;

	for (uint64_t i = 0; i < n; i++) {
		const struct event_view *e = &r->events[(r->nevents - n + i) % SNAPSHOT_EVENTS];

		for (at = i; at && ret->events[at - 1].mono_ns > e->mono_ns; at--)
			ret->events[at] = ret->events[at - 1];
		ret->events[at] = *e;
	}
	ret->nevents = (uint32_t)n;
}

static void rank_view_figures(const struct rank *r, uint64_t now_ns, struct rank_view *v)
{
	now_ns = r->alive ? now_ns : r->end_ns;
	for (uint32_t i = 0; i < r->nloops; i++) {
		deviation_view(r->loops[i]->time, &v->loops[i].time);
		recent_view(r->loops[i]->recent_times, now_ns, v->loops[i].recent_times);
	}
	rank_windows(r, now_ns, v->windows);
	rank_line_view(r, now_ns, v);
	rank_badput_view(r, &v->ledger, v->badput);
	rank_lacked(r, now_ns, &v->lacked);
	rank_figures_view(r, now_ns, &v->traffic);
}

static int rank_view_examination(const struct examination *e, struct examination **ret)
{
	if (!e)
		return 0;
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	**ret = *e;
	return 0;
}

int rank_view(const struct rank *r, uint64_t now_ns, bool figures, struct rank_view *ret)
{
	const struct job_member *m = &r->member;
	struct loop_view *loops = NULL;

	if (r->nloops) {
		loops = calloc(r->nloops, sizeof(*loops));
		if (!loops)
			return -ENOMEM;
	}
	*ret = (struct rank_view){
		.pid = m->pid,
		.start_mono_ns = m->start_ns,
		.observed_ns = m->observed_ns,
		.since_real_ns = m->since_real_ns,
		.rank = m->process.rank,
		.world_size = m->process.world_size,
		.job_key = r->trainer ? m->job_key : 0,
		.run = m->run,
		.trainer = r->trainer,
		.alive = r->alive,
		.status = r->status,
		.loops = loops,
		.nloops = r->nloops,
		.checkpoints = r->checkpoints,
		.restores = r->restores,
		.checkpoint_save_ns = r->save_ns,
		.hits = r->hits,
		.lost = r->lost,
		.ranges_unsent = r->ranges_unsent,
		.operations_steps = m->operations_steps,
		.uncounted = m->uncounted,
		.accelerators = r->trainer ? program_accelerators(&m->env->program, m->accelerated)
					   : 0,
	};
	operations_add(&ret->operations, m->operations, 1);
	memcpy(ret->comm, m->process.comm, sizeof(ret->comm));
	snprintf(ret->job, sizeof(ret->job), "%s", job_name_of(m));
	ret->placed = m->place;
	if (m->place)
		ret->place = *m->place;
	memcpy(ret->command, m->process.command, sizeof(ret->command));
	for (uint32_t i = 0; i < r->nloops; i++) {
		rank_view_loop(r->loops[i], &loops[i]);
		if (r->shares)
			range_shares_view(r->shares, i, &loops[i].ranges);
	}
	ret->secured = job_secured(m, &ret->secured_step, &ret->secured_ns);
	ret->resumed = m->resume.best;
	ret->straggle = r->straggle;
	memcpy(ret->faults, r->fault.count, sizeof(ret->faults));
	memcpy(ret->cause_ns, r->cause_ns, sizeof(ret->cause_ns));
	rank_long_view(r, &ret->long_steps);
	if (r->input)
		input_waits_total(r->input, &ret->input);
	overhead_view(&r->overhead, &ret->overhead);
	rank_view_time(r, r->alive ? now_ns : r->end_ns, &ret->ledger);
	rank_device_view(r, &ret->device);
	rank_hang_view(r, now_ns, &ret->hang);
	rank_view_events(r, ret);
	if (rank_view_examination(r->examination, &ret->examination) ||
	    rank_view_examination(r->worker_examination, &ret->worker_examination) ||
	    rank_monitor_view(r, ret)) {
		free(ret->examination);
		free(ret->worker_examination);
		free(loops);
		return -ENOMEM;
	}
	if (figures)
		rank_view_figures(r, now_ns, ret);
	return 0;
}
