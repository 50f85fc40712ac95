/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/model/rank_monitor.h"

static void loop_view(const struct rank_loop *lp, struct loop_view *ret)
{
	uint64_t n = lp->recent < SNAPSHOT_RECENT ? lp->recent : SNAPSHOT_RECENT;

	*ret = (struct loop_view){
		.state = lp->state,
		.last_number = lp->last_number,
		.last_end_ns = lp->last_end_ns,
		.recent = (uint32_t)n,
		.phases_known = lp->phases_known & ~lp->phases_untold,
		.device_known = lp->device_known && !lp->device_untold,
		.host_ns = lp->host_ns,
		.wait_ns = lp->wait_ns,
	};
	/* The state is a second old at most; these are of now. */
	ret->state.updates = lp->updates;
	ret->state.steps = lp->run_step;
	change_view(lp->change, &ret->change);
	for (uint64_t i = 0; i < n; i++)
		ret->recent_ns[i] = lp->recent_ns[(lp->recent - n + i) % SNAPSHOT_RECENT];
	memcpy(ret->phase_ns, lp->phase_ns, sizeof(ret->phase_ns));
	memcpy(ret->flagged, lp->flagged, sizeof(ret->flagged));
}

/* A process without markers has no ledger: nothing is known of its time. */
static void time_view(const struct rank *r, uint64_t now_ns, struct ledger_view *ret)
{
	if (r->ledger)
		ledger_view(r->ledger, ret);
	else
		*ret = (struct ledger_view){
			.start_ns = r->start_ns,
			.now_ns = r->observed_ns,
			.ns[BUCKET_UNOBSERVED] = r->observed_ns - r->start_ns,
		};
	ret->disruptions = r->disruptions;
	if (!ret->ended)
		ledger_view_idle(ret, &r->env->away, now_ns);
}

static void events_view(const struct rank *r, struct rank_view *ret)
{
	uint64_t n = r->nevents < SNAPSHOT_EVENTS ? r->nevents : SNAPSHOT_EVENTS;

	for (uint64_t i = 0; i < n; i++)
		ret->events[i] = r->events[(r->nevents - n + i) % SNAPSHOT_EVENTS];
	ret->nevents = (uint32_t)n;
}

int rank_view(const struct rank *r, uint64_t now_ns, struct rank_view *ret)
{
	struct loop_view *loops = NULL;

	if (r->nloops) {
		loops = calloc(r->nloops, sizeof(*loops));
		if (!loops)
			return -ENOMEM;
	}
	*ret = (struct rank_view){
		.pid = r->pid,
		.start_mono_ns = r->start_ns,
		.observed_ns = r->observed_ns,
		.since_real_ns = r->since_real_ns,
		.rank = r->process.rank,
		.world_size = r->process.world_size,
		.job_key = r->trainer ? r->job_key : 0,
		.run = r->run,
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
		.accelerators = r->trainer ? program_accelerators(&r->env->program, r->accelerated)
					   : 0,
	};
	memcpy(ret->comm, r->process.comm, sizeof(ret->comm));
	snprintf(ret->job, sizeof(ret->job), "%s", job_name_of(r));
	ret->placed = r->place;
	if (r->place)
		ret->place = *r->place;
	memcpy(ret->command, r->process.command, sizeof(ret->command));
	for (uint32_t i = 0; i < r->nloops; i++) {
		loop_view(r->loops[i], &loops[i]);
		if (r->shares)
			range_shares_view(r->shares, i, &loops[i].ranges);
	}
	ret->secured = job_secured(r, &ret->secured_step, &ret->secured_ns);
	ret->resumed = r->resume.best;
	ret->straggle = r->straggle;
	memcpy(ret->faults, r->fault.count, sizeof(ret->faults));
	overhead_view(&r->overhead, &ret->overhead);
	time_view(r, r->alive ? now_ns : r->end_ns, &ret->ledger);
	rank_hang_view(r, now_ns, &ret->hang);
	events_view(r, ret);
	if (!rank_monitor_view(r, ret))
		return 0;
	free(loops);
	return -ENOMEM;
}

void rank_view_figures(const struct rank *r, uint64_t now_ns, struct rank_view *v)
{
	now_ns = r->alive ? now_ns : r->end_ns;
	for (uint32_t i = 0; i < r->nloops; i++) {
		deviation_view(r->loops[i]->time, &v->loops[i].time);
		recent_view(r->loops[i]->late, now_ns, v->loops[i].late);
	}
	rank_windows(r, now_ns, v->windows);
}
