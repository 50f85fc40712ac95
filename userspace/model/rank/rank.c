/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - passes the records of a process to the parts of its rank (markers, phases, step finder),
 * and ends the rank. */
#include "userspace/model/rank/rank_private.h"

#include <signal.h>
#include <sys/wait.h>

#include "userspace/model/signal/marker.h"

#define LEDGER_REPORT_NS 10000000000ull
/* Signals that show that a process uses a device. The state of such a process is reported even if
 * it shows no sign of training. */
#define SEEN_WORK (1ull << SIGNAL_EXECUTE | 1ull << SIGNAL_SYNC)
/* A checkpoint or range is reported this time (ns) after its end: all steps that ended before it
 * have been reported by then. */
#define NOTE_WAIT_NS 2000000000ull
/* If a process fails by itself, the time since its last training activity is booked as recovery,
 * but at most this much (ns). */
#define TEARDOWN_NS 60000000000ull

/* ---- markers --------------------------------------------------------------------------------- */

/* Returns true for signals that only training processes give. Other signals, such as reads of files
 * and uses of devices, also come from servers and from worker processes of a data loader. */
static bool rank_signal_trains(enum signal_kind kind)
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

/* Books the evaluations and steps that the step finder has found, in order of time. Returns true if
 * there were any. */
static bool rank_steps(struct rank *r)
{
	uint64_t begin_ns, end_ns;
	struct step step;
	uint32_t tid;
	bool any = false, idle;

	while (step_finder_evaluation(r->finder, &tid, &begin_ns, &end_ns, &idle))
		(idle ? phase_break : phase_evaluation)(r->phase, tid, begin_ns, end_ns);
	while (step_finder_next(r->finder, &step)) {
		rank_step(r, &step);
		any = true;
	}
	return any;
}

/* Passes the signal to the part that computes the shares of named ranges (range_share.h). This part
 * is allocated when the first range occurs, because most jobs have none. */
static void rank_shares(struct rank *r, const struct signal *s)
{
	int err;

	if (!r->shares && (s->kind == SIGNAL_RANGE_BEGIN || s->kind == SIGNAL_FORWARD))
		r->shares = range_shares_new();
	err = r->shares ? range_shares_feed(r->shares, s) : 0;
	r->error = err ? err : r->error;
}

/* Handles signals about the process itself, such as its exit. Returns true if the signal needs no
 * further handling, because it does not concern steps. */
static bool rank_signal_life(struct rank *r, const struct signal *s, bool first)
{
	if (first && rank_signal_trains(s->kind))
		rank_trains(r, s->ts_ns);
	if (s->kind == SIGNAL_ERROR) {
		rank_fault_signal(r, s);
		return true;
	}
	if (s->kind == SIGNAL_COLLECTIVE)
		rank_collective(r, s);
	if (s->kind == SIGNAL_INIT && s->ident && s->count > 1 && !s->tainted)
		rank_communicator(r, s);
	if (rank_start_signal(r, s))
		return true;
	rank_shares(r, s);
	rank_hang_signal(r, s);
	if (s->kind == SIGNAL_RANGE || s->kind == SIGNAL_RANGE_BEGIN)
		rank_range_signal(r, s);
	if (s->kind == SIGNAL_LOSS) {
		rank_hang_unsure(r, s->ts_ns);
		rank_late_hole(r, s->ts_ns);
	}
	if (s->kind == SIGNAL_FETCH && r->workers.count)
		rank_worker_fetched(r, s);
	return s->kind == SIGNAL_RANGE_BEGIN;
}

/* Passes a signal through the parts of a rank, in this order: state of the process; phases, whose
 * spans are booked at once (rank_span()); the step finder; evaluations and steps that were found,
 * each of which is booked (rank_step()); states of the loops. */
static void rank_signal(struct rank *r, const struct signal *s)
{
	bool first = !(r->member.seen & 1ull << s->kind), any;
	int err;

	r->member.seen |= 1ull << s->kind;
	if (rank_signal_life(r, s, first))
		return;
	if (s->kind == SIGNAL_BACKWARD && s->outer)
		rank_work_backward(r, s->tid, s->ts_ns);
	err = phase_feed(r->phase, s);
	r->error = err ? err : r->error;
	err = rank_find(r, s);
	r->error = err ? err : r->error;
	if (!r->trainer && step_finder_trains(r->finder))
		rank_trains(r, s->ts_ns);
	any = rank_steps(r);
	/* Report the state only when it may have changed, and every second, because formatting it
	 * is expensive. */
	if ((r->trainer || r->member.seen & SEEN_WORK) &&
	    (first || s->kind == SIGNAL_TICK || s->kind == SIGNAL_EXIT ||
	     (any && r->loops[0]->state.state != STATE_LOCKED)))
		rank_states(r, s->ts_ns);
}

/* Turns a record into signals, usually one. Each signal is handled completely before the next. */
static void rank_mark(struct rank *r, const struct event *ev, const struct gp_probe *probe)
{
	struct marker_signals signals;

	do {
		marker_feed(r->marker, ev, probe, &signals);
		for (uint32_t i = 0; i < signals.count; i++)
			rank_signal(r, &signals.signal[i]);
	} while (signals.more);
}

static void rank_tick(struct rank *r, uint64_t now_ns)
{
	if (!r->trainer) {
		if (rank_counts(r) && now_ns - r->ledger_reported_ns >= LEDGER_REPORT_NS)
			rank_report_ledger(r, now_ns);
		return;
	}
	rank_suspend_tick(r, now_ns);
	rank_hang_tick(r, now_ns);
	rank_change_tick(r, now_ns);
	rank_long_tick(r, now_ns);
	rank_badput_tick(r, now_ns);
	rank_work_tick(r, now_ns);
	if (r->loops[0]->state.state == STATE_LOCKED && now_ns > NOTE_WAIT_NS)
		rank_notes(r, now_ns - NOTE_WAIT_NS);
	if (now_ns - r->ledger_reported_ns >= LEDGER_REPORT_NS)
		rank_report_ledger(r, now_ns);
}

/* Records that the process was not observed from the last observation until now. Before the first
 * marker, this has the same effect as attaching late. */
static void rank_missed(struct rank *r, uint64_t now_ns)
{
	if (now_ns <= r->member.observed_ns)
		return;
	r->member.observed_ns = now_ns;
	r->from_start = r->settled = false;
	r->missed = true;
}

static int rank_gap(struct rank *r, const struct event *ev)
{
	int err = ledger_interval(r->member.ledger, BUCKET_UNOBSERVED, ev->gap->from_ns,
				  ev->rec->ts_ns);

	rank_hang_close(r, ev->gap->from_ns, true);
	rank_hang_unsure(r, ev->rec->ts_ns);
	rank_late_hole(r, ev->rec->ts_ns);
	rank_mark(r, ev, NULL);
	if (r->trainer)
		rank_report_gap(r, ev->gap->from_ns, ev->rec->ts_ns);
	return err ? err : r->error;
}

/* Returns false for a device initialization that found no device. PyTorch built for CUDA always
 * tries to initialize one. */
static bool rank_probe_accelerates(const struct event *ev, const struct gp_probe *probe)
{
	if (probe->role == GP_ROLE_device_init)
		return !marker_init_failed(ev, probe);
	return event_role_uses_device(probe->role);
}

/* Handles a hit of the probe that ends steps because the user chose it with --marker. */
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
	rank_signal(r, &s);
}

/* Returns the group of the record's probe. A probe that the user chose with --marker belongs to the
 * markers, whatever the group of its row. */
static unsigned rank_probe_group(const struct rank *r, const struct event *ev,
				 const struct gp_probe *probe)
{
	if (!probe)
		return GP_GROUP_bulk;
	return ev->rec->probe == r->member.env->step.probe ? GP_GROUP_marker : probe->group;
}

static int rank_record(struct rank *r, const struct event *ev, const struct gp_probe *probe,
		       uint64_t hits, uint64_t hit_cost_ns)
{
	uint64_t now_ns = ev->rec->ts_ns;
	unsigned kind = ev->rec->kind;
	int err;

	r->hits += hits;
	overhead_add(&r->overhead, rank_probe_group(r, ev, probe), hits * hit_cost_ns);
	if (probe && rank_probe_accelerates(ev, probe))
		r->member.accelerated = true;
	if (probe)
		rank_late_hit(r, probe->role, ev->rec->probe);
	if (kind == GP_KIND_loss && event_loss_of_data(ev->loss->cause))
		r->lost += ev->loss->count;
	if (kind == GP_KIND_exec) {
		r->fresh = false;
		rank_hang_unsure(r, now_ns);
		event_copy(r->member.process.comm, ev->exec->comm);
	}
	if (kind == GP_KIND_tick) {
		r->settled = true;
		overhead_tick(&r->overhead, now_ns);
		rank_late_tick(r);
		rank_monitor_tick(r, now_ns);
	}
	if (kind == GP_KIND_counter && probe && !(probe->flags & GP_PROBE_COUNTED))
		rank_unsent(r, ev->rec->probe, probe, hits, now_ns);
	if (kind == GP_KIND_gap)
		rank_monitor_close(r);
	if (kind == GP_KIND_monitor)
		return rank_monitor(r, ev);
	if (kind == GP_KIND_operation)
		return rank_work_operation(r, ev);
	if (probe &&
	    /* a count of unsent records does not show that the process trains */
	    (probe->role == GP_ROLE_monitor || probe->role == GP_ROLE_operation))
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
	ledger_advance(r->member.ledger, now_ns);
	if (kind == GP_KIND_gap)
		return rank_gap(r, ev);
	rank_mark(r, ev, probe);
	if (probe && ev->rec->probe == r->member.env->step.probe)
		rank_chosen(r, ev, probe);
	if (kind == GP_KIND_tick)
		rank_tick(r, now_ns);
	return r->error;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void rank_close(struct rank *r, uint64_t now_ns)
{
	uint64_t untrained_ns;

	if (!r->trainer) {
		if (!rank_counts(r))
			return;
		ledger_end(r->member.ledger, now_ns);
		rank_ledger_checked(r);
		rank_report_ledger(r, now_ns);
		return;
	}
	rank_notes(r, UINT64_MAX);
	rank_range_close(r, now_ns);
	rank_start_over(r, now_ns);
	rank_ideal(r, true);
	if (phase_untrained(r->phase, &untrained_ns))
		ledger_untrained(r->member.ledger, untrained_ns);
	ledger_end(r->member.ledger, now_ns);
	rank_ledger_checked(r);
	rank_report_ledger(r, now_ns);
}

static void rank_report_end(struct rank *r, uint64_t now_ns)
{
	if (r->status == -1) { /* no exit record was received, so the status is unknown */
		rank_event(r, now_ns, "ended unseen");
		return;
	}
	if (WIFSIGNALED(r->status))
		rank_event(r, now_ns, "ended by signal %d", WTERMSIG(r->status));
	else
		rank_event(r, now_ns, "exited with status %d", WEXITSTATUS(r->status));
	if (r->trainer)
		rank_failed(r, now_ns, false);
	else if (r->target && r->status && !r->interrupted_ns)
		job_launcher_failed(&r->member, now_ns);
}

/* If the process failed by itself, books the time from the last training activity to the failure as
 * recovery, at most TEARDOWN_NS. */
static void rank_teardown(struct rank *r, uint64_t now_ns)
{
	uint64_t from_ns = r->hang.progress_ns;
	int err;

	if (!r->trainer || !WIFEXITED(r->status) || !WEXITSTATUS(r->status) ||
	    rank_ended_clean(r, now_ns) || !r->hang.any || !r->nloops || !r->loops[0]->steps ||
	    from_ns >= now_ns)
		return;
	if (now_ns - from_ns > TEARDOWN_NS)
		from_ns = now_ns - TEARDOWN_NS;
	err = ledger_interval(r->member.ledger, BUCKET_RECOVERY, from_ns, now_ns);
	r->error = err ? err : r->error;
}

static void rank_leave(struct rank *r, uint64_t now_ns)
{
	if (job_straggler_left(&r->member))
		rank_straggler_over(r, now_ns);
	job_left(&r->member, now_ns);
}

/* Reports the last step if its update has ended, without waiting whether another update becomes
 * part of it. The state of the loop does not change, because the process may continue. */
static void rank_last_steps(struct rank *r, const struct signal *last)
{
	if (!r->finder || !r->nloops || r->loops[0]->state.state != STATE_LOCKED)
		return;
	if (step_finder_feed(r->finder, last))
		r->error = -ENOMEM;
	rank_steps(r);
}

static void rank_settle(struct rank *r, uint64_t now_ns)
{
	struct signal last = {.kind = SIGNAL_EXIT, .ts_ns = now_ns, .begin_ns = now_ns, .text = ""};

	rank_monitor_close(r);
	rank_hang_close(r, now_ns, false);
	if (r->phase &&
	    phase_feed(r->phase,
		       /* SIGNAL_EXIT completes a checkpoint: no more files are added to it */
		       &last))
		r->error = -ENOMEM;
	if (r->trainer)
		rank_states(r, now_ns);
	rank_last_steps(r, &last);
	rank_close(r, now_ns);
}

int rank_stop(struct rank *r, uint64_t now_ns)
{
	r->error = 0;
	if (r->alive)
		rank_settle(r, now_ns);
	return r->error;
}

static int rank_exit(struct rank *r, const struct event *ev)
{
	uint64_t now_ns = ev->rec->ts_ns;

	r->alive = false;
	r->end_ns = now_ns;
	r->status = ev->exit->status;
	rank_monitor_close(r);
	rank_hang_close(r, now_ns, true);
	if (r->marker) {
		ledger_advance(r->member.ledger, now_ns);
		rank_mark(r, ev, NULL);
	}
	if (r->trainer)
		rank_notes(r, UINT64_MAX);
	rank_resume(r, now_ns, now_ns);
	rank_teardown(r, now_ns);
	rank_report_end(r, now_ns);
	rank_close(r, now_ns);
	rank_leave(r, now_ns);
	rank_drop_finders(r);
	return r->error;
}

int rank_gone(struct rank *r, uint64_t now_ns)
{
	r->error = 0;
	rank_hang_close(r, now_ns, true);
	rank_event(r, now_ns, "ended unseen");
	rank_settle(r, now_ns);
	rank_leave(r, now_ns);
	r->alive = false;
	r->end_ns = now_ns;
	rank_drop_finders(r);
	return r->error;
}

/* Ends the rank, because its process now runs another program. */
static int rank_replaced(struct rank *r, uint64_t now_ns)
{
	r->error = 0;
	rank_hang_close(r, now_ns, true);
	rank_event(r, now_ns, "replaced by another program");
	rank_settle(r, now_ns); /* report the last step before the end */
	rank_failed(r, now_ns, true);
	rank_leave(r, now_ns);
	r->alive = false;
	r->end_ns = now_ns;
	rank_drop_finders(r);
	return r->error;
}

/* Makes a rank for the program that the process of r runs now, instead of the program of r. Returns
 * NULL when there is no memory. */
static struct rank *rank_next(const struct rank *r, uint64_t now_ns)
{
	struct rank *next = rank_new(r->member.env, r->member.pid, now_ns, true);

	if (!next)
		return NULL;
	next->member.begun = true;
	next->member.shell_pid = r->member.shell_pid;
	next->member.branch_pid = r->member.branch_pid;
	next->fresh = false;
	next->target = r->target;
	next->member.process = r->member.process;
	next->place_ranked = r->place_ranked;
	next->member.job_key = r->member.job_key;
	if (!rank_place_inherit(next, r))
		return next;
	rank_free(next);
	return NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static int rank_feed_kind(struct rank *r, const struct event *ev, const struct gp_probe *probe,
			  uint64_t hits, uint64_t hit_cost_ns)
{
	switch (ev->rec->kind) {
	case GP_KIND_fork:
		r->fresh = false;
		rank_worker_born(r, ev->fork->child, ev->rec->ts_ns);
		return 0;
	case GP_KIND_exit:
		return rank_exit(r, ev);
	case GP_KIND_oom:
		r->oom = true;
		return 0;
	case GP_KIND_file:
	case GP_KIND_renamed:
		return rank_file(r, ev);
	case GP_KIND_blocked:
		rank_hang_seen(r, ev, probe);
		return 0;
	case GP_KIND_fault:
		rank_fault_kernel(r, ev, ev->rec->pid);
		return 0;
	case GP_KIND_stack:
		return rank_hang_stack(r, ev);
	case GP_KIND_ras:
		return rank_hang_claim(r, ev);
	case GP_KIND_line:
		return rank_line(r, ev);
	case GP_KIND_usage:
	case GP_KIND_pressure:
		return rank_resource(r, ev);
	case GP_KIND_input:
		return rank_input(r, ev);
	case GP_KIND_device:
		return rank_device(r, ev);
	case GP_KIND_traffic:
		return rank_traffic(r, ev);
	case GP_KIND_examined:
	case GP_KIND_waited:
		return rank_examined(r, ev);
	default:
		return rank_record(r, ev, probe, hits, hit_cost_ns);
	}
}

int rank_feed(struct rank *r, const struct event *ev, const struct gp_probe *probe, uint64_t hits,
	      uint64_t hit_cost_ns)
{
	int err;

	r->error = 0;
	err = rank_feed_kind(r, ev, probe, hits, hit_cost_ns);
	return err ? err : r->error;
}

int rank_exec(struct rank *r, const struct event *ev, struct rank **ret)
{
	int err, fed;

	*ret = r;
	if (r->fresh && !r->member.ledger)
		return rank_feed(r, ev, NULL, 0, 0);
	*ret = rank_next(r, ev->rec->ts_ns);
	if (!*ret)
		return -ENOMEM;
	err = r->trainer ? rank_replaced(r, ev->rec->ts_ns) : 0;
	fed = rank_feed(*ret, ev, NULL, 0, 0);
	return err ? err : fed;
}

/* If the sender of the signal was itself interrupted a short time ago, the signal counts as an
 * interrupt, whatever its number: launchers end their children with various signals. */
void rank_signalled(struct rank *r, const struct event *ev, const struct rank *sender)
{
	uint64_t now_ns = ev->rec->ts_ns;

	r->killed = *ev->signal;
	r->killed_ns = now_ns;
	if (r->killed.signal == SIGINT ||
	    (sender && sender->interrupted_ns && now_ns - sender->interrupted_ns <= JOB_GRACE_NS))
		r->interrupted_ns = now_ns;
}

void rank_interrupted(struct rank *r, const struct rank *above)
{
	if (!r->interrupted_ns)
		r->interrupted_ns = above->interrupted_ns;
}

uint64_t rank_hits(const struct rank *r)
{
	return r->hits;
}

void rank_hits_lost(struct rank *r, uint64_t lost)
{
	overhead_lost(&r->overhead, r->hits, lost);
	r->hits += lost;
}
