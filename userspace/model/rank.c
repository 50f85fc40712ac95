/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "userspace/model/marker.h"
#include "userspace/model/rank_monitor.h"

/* /proc tells a start in ticks of 10 ms (USER_HZ), the kernel side to the nanosecond. */
#define START_TICK_NS  10000000ull
#define LEDGER_TOLD_NS 10000000000ull
/* Of a process that works for a device: its state is told, though nothing says that it trains. */
#define SEEN_WORK    (1ull << SIGNAL_EXECUTE | 1ull << SIGNAL_SYNC)
#define NOTE_WAIT_NS 2000000000ull /* after so long every step before it has been given out */

struct rank *rank_new(struct rank_env *env, uint32_t pid, uint64_t now_ns, bool from_start)
{
	struct rank *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->env = env;
	r->pid = pid;
	r->start_ns = r->observed_ns = now_ns;
	r->from_start = r->fresh = from_start;
	r->alive = true;
	r->process.rank = r->process.world_size = r->process.local_rank = -1;
	r->collectives.untold = env->probes && env->probes->collectives_taken;
	return r;
}

struct rank *rank_next(const struct rank *r, uint64_t now_ns)
{
	struct rank *next = rank_new(r->env, r->pid, now_ns, true);

	if (!next)
		return NULL;
	next->begun = true;
	next->fresh = false;
	next->target = r->target;
	next->process = r->process;
	next->place_ranked = r->place_ranked;
	next->job_key = r->job_key;
	if (!rank_place_inherit(next, r))
		return next;
	rank_free(next);
	return NULL;
}

static void rank_drop_finders(struct rank *r)
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
	ledger_free(r->ledger);
	window_free(r->window);
	for (uint32_t i = 0; i < r->nloops; i++) {
		deviation_free(r->loops[i]->time);
		change_free(r->loops[i]->change);
		recent_free(r->loops[i]->late);
		free(r->loops[i]);
	}
	free(r->notes);
	free(r->place);
	free(r->ranges);
	free(r->start.compiles);
	monitor_free(r->monitor);
	range_shares_free(r->shares);
	free(r);
}

bool rank_shown(const struct rank *r)
{
	return r->trainer || r->target || r->accelerated;
}

/* ---- identity
 * ------------------------------------------------------------------------------------ */

bool rank_is(const struct rank *r, uint64_t start_ns)
{
	uint64_t known_ns = r->process.start_ns;
	uint64_t apart_ns = known_ns > start_ns ? known_ns - start_ns : start_ns - known_ns;

	return !known_ns || !start_ns || apart_ns <= START_TICK_NS;
}

void rank_identify(struct rank *r, const struct gp_process *p)
{
	bool first = !r->process.start_mono_ns;
	uint64_t start_ns = r->process.start_ns;
	int own_rank = r->process.rank, own_world = r->process.world_size;

	if (p->rank >= 0)
		r->self_ranked = false;
	r->process = *p;
	r->place_ranked = false;
	if (r->self_ranked) {
		r->process.rank = own_rank;
		r->process.world_size = own_world;
	}
	rank_place_apply(r);
	event_text(r->process.comm, sizeof(r->process.comm), p->comm, sizeof(p->comm));
	event_text(r->process.job, sizeof(r->process.job), p->job, sizeof(p->job));
	event_text(r->process.command, sizeof(r->process.command), p->command, sizeof(p->command));
	r->target |= p->flags & GP_PROCESS_TARGET;
	if (start_ns % START_TICK_NS) /* from the fork: more exact */
		r->process.start_ns = start_ns;
	if (r->ledger) { /* its records came before it was introduced */
		if (first && !r->begun && !start_ns && p->start_mono_ns) {
			r->start_ns = p->start_mono_ns < r->start_ns ? p->start_mono_ns
								     : r->start_ns;
			job_reached_back(r, ledger_reach_back(r->ledger, p->start_mono_ns));
		}
		return;
	}
	/* Also of one that we came late to, when it runs another program now. */
	r->from_start |= !r->missed && p->flags & GP_PROCESS_FROM_START;
	if (!first || r->begun || !p->start_mono_ns || p->start_mono_ns >= r->start_ns)
		return;
	/* A fork of ours is dated by its record already. */
	if (!start_ns)
		r->start_ns = p->start_mono_ns;
	if (r->from_start)
		r->observed_ns = r->start_ns;
}

void rank_attached(struct rank *r, uint64_t now_ns)
{
	if (!r->from_start && !r->settled && !r->ledger && now_ns > r->observed_ns)
		r->observed_ns = now_ns;
}

/* ---- markers
 * ------------------------------------------------------------------------------------- */

int rank_open(struct rank *r)
{
	struct step_config cfg = r->env->step;

	cfg.from_start = r->from_start;
	r->marker = marker_new();
	r->finder = step_finder_new(&cfg);
	r->phase = phase_new(rank_span, r);
	r->ledger = ledger_new(r->start_ns, r->observed_ns);
	if (r->ledger)
		ledger_away(r->ledger, &r->env->away);
	if (r->marker && r->finder && r->phase && r->ledger && !rank_window_open(r) &&
	    rank_loop(r, 0)) {
		r->ledger_told_ns = r->observed_ns;
		return 0;
	}
	rank_drop_finders(r);
	ledger_free(r->ledger);
	window_free(r->window);
	r->ledger = NULL;
	r->window = NULL;
	return -ENOMEM;
}

/* Signals that only a process that trains (or tries to) gives. Files are read and devices used by
 * others too: workers of a loader, servers. */
static bool signal_trains(enum signal_kind kind)
{
	switch (kind) {
	case SIGNAL_UPDATE_BEGIN:
	case SIGNAL_ZERO_GRAD_BEGIN:
	case SIGNAL_FETCH_BEGIN:
	case SIGNAL_BACKWARD:
	case SIGNAL_REDUCER:
	case SIGNAL_UPDATE_OP:
	case SIGNAL_AMP:
	case SIGNAL_ANON_RANGE:
	case SIGNAL_FORWARD:
		return true;
	default:
		return false;
	}
}

void rank_trains(struct rank *r, uint64_t now_ns)
{
	int err;

	r->trainer = true;
	err = job_join(r, now_ns);
	r->error = err ? err : r->error;
}

/* What was found, in order. */
static bool rank_steps(struct rank *r)
{
	uint64_t begin_ns, end_ns;
	struct step step;
	uint32_t tid;
	bool any = false;

	while (step_finder_evaluation(r->finder, &tid, &begin_ns, &end_ns))
		phase_evaluation(r->phase, tid, begin_ns, end_ns);
	while (step_finder_next(r->finder, &step)) {
		rank_step(r, &step);
		any = true;
	}
	return any;
}

/* Most jobs have no ranges of their own. */
static void rank_shares(struct rank *r, const struct signal *s)
{
	int err;

	if (!r->shares && (s->kind == SIGNAL_RANGE_BEGIN || s->kind == SIGNAL_FORWARD))
		r->shares = range_shares_new();
	err = r->shares ? range_shares_feed(r->shares, s) : 0;
	r->error = err ? err : r->error;
}

static void on_signal(void *ctx, const struct signal *s)
{
	struct rank *r = ctx;
	bool fresh = !(r->seen & 1ull << s->kind);
	bool any;
	int err;

	r->seen |= 1ull << s->kind;
	if (fresh && signal_trains(s->kind))
		rank_trains(r, s->ts_ns);
	if (s->kind == SIGNAL_ERROR) {
		rank_fault_signal(r, s);
		return;
	}
	if (s->kind == SIGNAL_COLLECTIVE)
		rank_collective(r, s);
	if (s->kind == SIGNAL_INIT && s->ident && s->count > 1 && !s->tainted)
		rank_communicator(r, s);
	if (rank_start_signal(r, s))
		return;
	rank_shares(r, s);
	rank_hang_signal(r, s);
	if (s->kind == SIGNAL_RANGE || s->kind == SIGNAL_RANGE_BEGIN)
		rank_range_signal(r, s);
	if (s->kind == SIGNAL_RANGE_BEGIN)
		return;
	if (s->kind == SIGNAL_LOSS)
		rank_hang_unsure(r, s->ts_ns);
	err = phase_feed(r->phase, s);
	r->error = err ? err : r->error;
	err = rank_find(r, s);
	r->error = err ? err : r->error;
	if (!r->trainer && step_finder_trains(r->finder))
		rank_trains(r, s->ts_ns);
	any = rank_steps(r);
	/* The state is costly to put in words: when it may have changed, and every second. */
	if ((r->trainer || r->seen & SEEN_WORK) &&
	    (fresh || s->kind == SIGNAL_TICK || s->kind == SIGNAL_EXIT ||
	     (any && r->loops[0]->state.state != STATE_LOCKED)))
		rank_states(r, s->ts_ns);
}

static void rank_tick(struct rank *r, uint64_t now_ns)
{
	if (!r->trainer)
		return;
	rank_suspend_tick(r, now_ns);
	rank_hang_tick(r, now_ns);
	if (r->loops[0]->state.state == STATE_LOCKED && now_ns > NOTE_WAIT_NS)
		rank_notes(r, now_ns - NOTE_WAIT_NS);
	if (now_ns - r->ledger_told_ns >= LEDGER_TOLD_NS)
		rank_tell_ledger(r, now_ns);
}

static bool loss_matters(const struct gp_loss *l)
{
	return l->cause != GP_LOSS_unpaired && l->cause != GP_LOSS_rate_limited &&
	       l->cause != GP_LOSS_slots_full && l->cause != GP_LOSS_names_full &&
	       l->cause != GP_LOSS_file_limited;
}

/* Nobody watched until now. Before the first marker that is as if we had come late. */
static void rank_missed(struct rank *r, uint64_t now_ns)
{
	if (now_ns <= r->observed_ns)
		return;
	r->observed_ns = now_ns;
	r->from_start = r->settled = false;
	r->missed = true;
}

static int rank_gap(struct rank *r, const struct event *ev)
{
	int err = ledger_interval(r->ledger, BUCKET_UNOBSERVED, ev->gap->from_ns, ev->rec->ts_ns);

	rank_hang_close(r, ev->gap->from_ns, true);
	rank_hang_unsure(r, ev->rec->ts_ns);
	marker_feed(r->marker, ev, NULL, on_signal, r);
	if (r->trainer)
		rank_tell_gap(r, ev->gap->from_ns, ev->rec->ts_ns);
	return err ? err : r->error;
}

/* Who looked for a device and got none has none: torch built for CUDA looks wherever it runs. */
static bool probe_accelerates(const struct event *ev, const struct gp_probe *probe)
{
	if (probe->role == GP_ROLE_device_init)
		return !marker_init_failed(ev, probe);
	return (probe->role > GP_ROLE_device_init && probe->role <= GP_ROLE_comm_init) ||
	       (probe->role >= GP_ROLE_alloc && probe->role <= GP_ROLE_capture);
}

/* A hit of the probe that the user chose to end steps. */
static void rank_chosen(struct rank *r, const struct event *ev, const struct gp_probe *probe)
{
	struct signal s = {
		.kind = SIGNAL_PROBE, .tid = ev->rec->tid, .ts_ns = ev->rec->ts_ns, .text = ""};
	unsigned kind = ev->rec->kind;

	if (kind != GP_KIND_hit && kind != GP_KIND_named && kind != GP_KIND_call &&
	    kind != GP_KIND_range_begin)
		return;
	if (marker_call_failed(ev, probe))
		return;
	s.begin_ns = s.ts_ns;
	if (kind == GP_KIND_call && ev->call->dur_ns < s.ts_ns)
		s.begin_ns -= ev->call->dur_ns;
	on_signal(r, &s);
}

/* What the user chose to find steps is the marker, whatever group its row is in. */
static unsigned probe_group(const struct rank *r, const struct event *ev,
			    const struct gp_probe *probe)
{
	if (!probe)
		return GP_GROUP_bulk;
	return ev->rec->probe == r->env->step.probe ? GP_GROUP_marker : probe->group;
}

int rank_feed(struct rank *r, const struct event *ev, const struct gp_probe *probe, uint64_t hits,
	      uint64_t price_ns)
{
	uint64_t now_ns = ev->rec->ts_ns;
	unsigned kind = ev->rec->kind;
	int err;

	r->hits += hits;
	overhead_add(&r->overhead, probe_group(r, ev, probe), hits * price_ns);
	if (probe && probe_accelerates(ev, probe))
		r->accelerated = true;
	if (probe)
		rank_late_hit(r, probe->role, ev->rec->probe);
	if (kind == GP_KIND_loss && loss_matters(ev->loss))
		r->lost += ev->loss->count;
	if (kind == GP_KIND_exec) {
		r->fresh = false;
		rank_hang_unsure(r, now_ns);
		event_text(r->process.comm, sizeof(r->process.comm), ev->exec->comm,
			   sizeof(ev->exec->comm));
	}
	if (kind == GP_KIND_tick) {
		r->settled = true;
		overhead_tick(&r->overhead, now_ns);
		rank_monitor_tick(r, now_ns);
	}
	if (kind == GP_KIND_counter && probe && !(probe->flags & GP_PROBE_COUNTED))
		rank_untold(r, probe, hits, now_ns);
	if (kind == GP_KIND_gap)
		rank_monitor_close(r);
	if (kind == GP_KIND_monitor)
		return rank_monitor(r, ev);
	if (probe &&
	    probe->role == GP_ROLE_monitor) /* how many were not sent: says nothing of training */
		return 0;
	if (!r->marker) {
		if (kind == GP_KIND_gap)
			rank_missed(r, now_ns);
		if (!probe || probe->role == GP_ROLE_none)
			return 0;
		err = rank_open(r);
		if (err)
			return err;
	}
	r->error = 0;
	ledger_advance(r->ledger, now_ns);
	if (kind == GP_KIND_gap)
		return rank_gap(r, ev);
	marker_feed(r->marker, ev, probe, on_signal, r);
	if (probe && ev->rec->probe == r->env->step.probe)
		rank_chosen(r, ev, probe);
	if (kind == GP_KIND_tick)
		rank_tick(r, now_ns);
	return r->error;
}

/* ---- the end
 * ------------------------------------------------------------------------------------- */

static void rank_close(struct rank *r, uint64_t now_ns)
{
	if (!r->trainer)
		return;
	rank_notes(r, UINT64_MAX);
	rank_range_close(r, now_ns);
	rank_start_over(r, now_ns);
	rank_ideal(r, true);
	ledger_end(r->ledger, now_ns);
	rank_ledger_checked(r);
	rank_tell_ledger(r, now_ns);
}

static void rank_tell_end(struct rank *r, uint64_t now_ns)
{
	if (r->status == -1) { /* its exit record was lost */
		rank_event(r, now_ns, "ended unseen");
		return;
	}
	if (WIFSIGNALED(r->status))
		rank_event(r, now_ns, "ended by signal %d", WTERMSIG(r->status));
	else
		rank_event(r, now_ns, "exited with status %d", WEXITSTATUS(r->status));
	if (r->trainer)
		rank_fell(r, now_ns, false);
}

void rank_exit(struct rank *r, const struct event *ev)
{
	uint64_t now_ns = ev->rec->ts_ns;

	r->alive = false;
	r->end_ns = now_ns;
	r->status = ev->exit->status;
	rank_monitor_close(r);
	rank_hang_close(r, now_ns, true);
	if (r->marker) {
		ledger_advance(r->ledger, now_ns);
		marker_feed(r->marker, ev, NULL, on_signal, r);
	}
	if (r->trainer)
		rank_notes(r, UINT64_MAX);
	rank_resume(r, now_ns, now_ns);
	rank_tell_end(r, now_ns);
	rank_close(r, now_ns);
	job_left(r, now_ns);
	rank_drop_finders(r);
}

void rank_replaced(struct rank *r, uint64_t now_ns)
{
	rank_hang_close(r, now_ns, true);
	rank_event(r, now_ns, "replaced by another program");
	rank_stop(r, now_ns); /* its last step is given out before it is asked for */
	rank_fell(r, now_ns, true);
	job_left(r, now_ns);
	r->alive = false;
	r->end_ns = now_ns;
	rank_drop_finders(r);
}

/* The step whose update has ended is whole, though another update might have joined it. The state
 * stays what it was: the process goes on. */
static void rank_last_steps(struct rank *r, const struct signal *last)
{
	if (!r->finder || !r->nloops || r->loops[0]->state.state != STATE_LOCKED)
		return;
	if (step_finder_feed(r->finder, last))
		r->error = -ENOMEM;
	rank_steps(r);
}

void rank_stop(struct rank *r, uint64_t now_ns)
{
	struct signal last = {.kind = SIGNAL_EXIT, .ts_ns = now_ns, .begin_ns = now_ns, .text = ""};

	if (!r->alive)
		return;
	rank_monitor_close(r);
	rank_hang_close(r, now_ns, false);
	if (r->phase) /* a checkpoint that more files might have joined */
		phase_feed(r->phase, &last);
	if (r->trainer)
		rank_states(r, now_ns);
	rank_last_steps(r, &last);
	rank_close(r, now_ns);
}

void rank_gone(struct rank *r, uint64_t now_ns)
{
	rank_hang_close(r, now_ns, true);
	rank_event(r, now_ns, "ended unseen");
	rank_stop(r, now_ns);
	job_left(r, now_ns);
	r->alive = false;
	r->end_ns = now_ns;
	rank_drop_finders(r);
}
