/* SPDX-License-Identifier: Apache-2.0 */
/* rank_life.c - creates, identifies and frees a rank; allocates the parts that only a training rank
 * needs. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/model/signal/marker.h"
#include "userspace/base/number.h"

struct rank *rank_new(struct model_env *env, uint32_t pid, uint64_t now_ns, bool from_start)
{
	struct rank *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->member.env = env;
	r->member.pid = pid;
	r->member.start_ns = r->member.observed_ns = now_ns;
	r->from_start = r->fresh = from_start;
	r->alive = true;
	r->member.process.rank = r->member.process.world_size = r->member.process.local_rank = -1;
	r->collectives.unsent = env->probes && env->probes->collectives_taken;
	return r;
}

void rank_drop_finders(struct rank *r)
{
	marker_free(r->marker);
	step_finder_free(r->finder);
	phase_free(r->phase);
	r->marker = NULL;
	r->finder = NULL;
	r->phase = NULL;
}

void rank_free(struct rank *r)
{
	if (!r)
		return;
	rank_drop_finders(r);
	ledger_free(r->member.ledger);
	window_free(r->member.window);
	for (uint32_t i = 0; i < r->nloops; i++) {
		deviation_free(r->loops[i]->time);
		change_free(r->loops[i]->change);
		recent_free(r->loops[i]->recent_times);
		free(r->loops[i]->done);
		free(r->loops[i]->slow);
		free(r->loops[i]);
	}
	free(r->notes);
	free(r->member.place);
	free(r->ranges);
	free(r->start.compiles);
	free(r->workers.kept);
	monitor_free(r->monitor);
	range_shares_free(r->shares);
	resource_free(r->resource);
	input_waits_free(r->input);
	rank_lines_free(r->lines);
	rank_long_free(r->long_steps);
	rank_badput_free(r->badput);
	device_clock_free(r->device);
	traffic_rate_free(r->traffic);
	rank_work_free(r->work);
	free(r->member.operations);
	free(r->examination);
	free(r->worker_examination);
	rank_hang_free(&r->hang);
	free(r);
}

static bool rank_life_is_shell(const char *comm)
{
	static const char *const shells[] = {"sh",    "bash", "dash",	 "ash", "zsh",
					     "ksh",   "fish", "tcsh",	 "csh", "make",
					     "xargs", "tmux", "parallel"};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (!strcmp(comm, shells[i]))
			return true;
	return false;
}

static void rank_branch(struct job_member *m, const struct job_member *from)
{
	if (m->branch_pid)
		return;
	m->process.parent = m->process.parent ? m->process.parent : from->pid;
	if (!*m->process.comm)
		memcpy(m->process.comm, from->process.comm, sizeof(m->process.comm));
	m->shell_pid = rank_life_is_shell(from->process.comm) ? from->pid : from->shell_pid;
	m->branch_pid = rank_life_is_shell(from->process.comm) ? m->pid : from->branch_pid;
}

int rank_born(struct rank *r, const struct rank *parent)
{
	if (!parent)
		return 0;
	rank_branch(&r->member, &parent->member);
	return rank_place_inherit(r, parent);
}

struct job_member *rank_member(struct rank *r)
{
	return &r->member;
}

bool rank_trainer(const struct rank *r)
{
	return r->trainer;
}

uint32_t rank_thread(const struct rank *r)
{
	return rank_looked_at(r);
}

bool rank_shown(const struct rank *r)
{
	return r->trainer || r->target || r->member.accelerated;
}

/* ---- identity -------------------------------------------------------------------------------- */

void rank_identify(struct rank *r, const struct gp_process *p)
{
	struct job_member *m = &r->member;
	bool first = !m->process.start_mono_ns;
	uint64_t start_ns = m->process.start_ns;
	int own_rank = m->process.rank, own_world = m->process.world_size;

	if (p->rank >= 0)
		r->self_ranked = false;
	m->process = *p;
	r->place_ranked = false;
	if (r->self_ranked) {
		m->process.rank = own_rank;
		m->process.world_size = own_world;
	}
	rank_place_apply(r);
	event_copy(m->process.comm, p->comm);
	event_copy(m->process.job, p->job);
	event_copy(m->process.command, p->command);
	r->target |= p->flags & GP_PROCESS_TARGET;
	/* the start time from a fork record is exact; the one from /proc has the precision
	 * RANK_START_TICK_NS */
	if (start_ns % RANK_START_TICK_NS)
		m->process.start_ns = start_ns;
	/* records of the process arrived before its identity, so the ledger may begin too late:
	 * correct its start */
	if (m->ledger) {
		if (first && !m->begun && !start_ns && p->start_mono_ns) {
			m->start_ns = smaller_of(p->start_mono_ns, m->start_ns);
			job_reached_back(m, ledger_reach_back(m->ledger, p->start_mono_ns));
		}
		return;
	}
	/* The rank now runs another program (execve). Even if the first program was attached late,
	 * the new one was observed from its start. */
	r->from_start |= !r->missed && p->flags & GP_PROCESS_FROM_START;
	if (!first || m->begun || !p->start_mono_ns || p->start_mono_ns >= m->start_ns)
		return;
	/* if the fork was seen, m->start_ns is already exact */
	if (!start_ns)
		m->start_ns = p->start_mono_ns;
	if (r->from_start)
		m->observed_ns = m->start_ns;
}

void rank_attached(struct rank *r, const struct event *ev, bool buffers_seen)
{
	unsigned state = ev->attach->state;

	if (state == GP_ATTACH_attached && !r->from_start && !r->settled && !r->member.ledger &&
	    ev->rec->ts_ns > r->member.observed_ns)
		r->member.observed_ns = ev->rec->ts_ns;
	if (buffers_seen)
		marker_buffers_unseen(r->marker);
	if (state == GP_ATTACH_given_up && r->member.env->probes->collectives_taken)
		rank_unsent_collectives(r);
	if (state == GP_ATTACH_given_up &&
	    model_probe_formula_find(r->member.env->probes, ev->rec->probe))
		rank_work_stop(r, ev->rec->ts_ns);
}

/* ---- training -------------------------------------------------------------------------------- */

int rank_open(struct rank *r)
{
	struct step_config cfg = r->member.env->step;

	cfg.from_start = r->from_start;
	r->marker = marker_new();
	r->finder = step_finder_new(&cfg);
	r->phase = phase_new(rank_span, r);
	r->member.ledger = ledger_new(r->member.start_ns, r->member.observed_ns);
	if (r->phase && r->member.env->files)
		phase_files(r->phase);
	if (r->member.ledger)
		ledger_exclude(r->member.ledger, &r->member.env->excluded);
	if (r->marker && r->finder && r->phase && r->member.ledger && !rank_window_open(r) &&
	    rank_loop(r, 0)) {
		r->ledger_reported_ns = r->member.observed_ns;
		return 0;
	}
	rank_drop_finders(r);
	ledger_free(r->member.ledger);
	window_free(r->member.window);
	r->member.ledger = NULL;
	r->member.window = NULL;
	return -ENOMEM;
}
