/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - the main loop of a watch: reads records from the kernel's ring buffers into the
 * journal, attaches probes, samples counters. */
#include "userspace/watch/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/loop.h"
#include "userspace/base/plural.h"
#include "userspace/base/table.h"
#include "userspace/identity/process.h"
#include "userspace/ingest/event.h"
#include "userspace/ingest/ring.h"
#include "userspace/ingest/stream.h"
#include "userspace/kubernetes/pods.h"
#include "userspace/option/option_probe.h"
#include "userspace/output/journal.h"
#include "userspace/watch/watch_blocked.h"
#include "userspace/watch/watch_stack.h"
#include "userspace/watch/watch_input.h"
#include "userspace/watch/watch_traffic.h"
#include "userspace/watch/watch_usage.h"
#include "userspace/watch/watch_examine.h"
#include "userspace/watch/watch_device.h"
#include "userspace/watch/watch_kernel_log.h"
#include "userspace/watch/watch_place.h"
#include "userspace/watch/watch_private.h"
#include "userspace/watch/watch_process.h"
#include "userspace/watch/watch_ras.h"

/* Sources of the two ring buffers, in the order of loader_rings(). */
static const enum tape_source watch_source[] = {TAPE_RING_LIFE, TAPE_RING_CALL};

/* ---- callbacks that make records ------------------------------------------------------------- */

/* Callbacks for loader_on_attach(), loader_sample(), processes_new() and struct places_config; ctx
 * is the watch. */

static void watch_attached(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	struct gp_attach *own = journal_record(((struct watch *)ctx)->journal, GP_KIND_attach, 0,
					       probe);

	if (own)
		*own = *a;
}

/* Sets the time of a record about a process to that of the fork or exec for which the record is
 * made, so that it precedes the end of the process. If the process was found in /proc, sets the
 * time to when watching began. */
static void watch_stamp(const struct watch *w, void *own)
{
	uint64_t at_ns = w->event_ns ? w->event_ns : processes_since(w->processes);

	if (at_ns)
		((struct gp_rec *)own - 1)->ts_ns = at_ns;
}

static void watch_introduced(void *ctx, pid_t pid, const struct gp_process *p)
{
	struct watch *w = ctx;
	struct gp_process *own = journal_record(w->journal, GP_KIND_process, (uint32_t)pid, 0);
	const struct gp_place *place;

	if (!own)
		return;
	*own = *p;
	watch_stamp(w, own);
	place = places_get(w->places, pid);
	place = place ? place : places_get(w->places, (pid_t)p->parent);
	if (place)
		handoff_job(w->handoff, place);
}

static void watch_placed(void *ctx, pid_t pid, const struct gp_place *p)
{
	struct watch *w = ctx;
	struct gp_place *own = journal_record(w->journal, GP_KIND_place, (uint32_t)pid, 0);

	if (!own)
		return;
	*own = *p;
	watch_stamp(w, own);
	handoff_job(w->handoff, p);
}

static void watch_noticed(void *ctx, const struct gp_notice *n)
{
	struct gp_notice *own = journal_record(((struct watch *)ctx)->journal, GP_KIND_notice, 0,
					       0);

	if (own)
		*own = *n;
}

/* Writes an exit record for a process whose end the kernel side did not report. */
static void watch_gone(void *ctx, pid_t pid)
{
	struct gp_exit *e = journal_record(((struct watch *)ctx)->journal, GP_KIND_exit,
					   (uint32_t)pid, 0);

	if (e)
		e->status = -1;
}

static void watch_count(void *ctx, pid_t pid, uint32_t probe, const struct gp_counter *counted)
{
	struct watch *w = ctx;
	struct gp_counter *c = journal_record(w->journal, GP_KIND_counter, (uint32_t)pid, probe);

	if (!c)
		return;
	*c = *counted;
	if (w->count_ns)
		((struct gp_rec *)c - 1)->ts_ns = w->count_ns;
}

static void watch_lost(void *ctx, enum gp_loss_cause cause, uint64_t count, uint64_t total)
{
	struct watch *w = ctx;
	struct gp_loss *l = journal_record(w->journal, GP_KIND_loss, 0, 0);

	w->life_lost |= cause == GP_LOSS_ring_life;
	if (!l)
		return;
	l->cause = cause;
	l->count = count;
	l->total = total;
}

/* Records that nothing was observed since from_ns. */
static void watch_gap(struct watch *w, uint64_t from_ns)
{
	struct gp_gap *gap = journal_record(w->journal, GP_KIND_gap, 0, 0);
	char away[16];

	if (!gap)
		return;
	*gap = (struct gp_gap){.from_ns = from_ns, .cause = GP_GAP_AWAY};
	log_warn("gp-bpf did not watch for %s: that time counts as unobserved",
		 clock_duration(away, sizeof(away), clock_mono_ns() - from_ns));
}

/* ---- reading the rings ----------------------------------------------------------------------- */

/* If one reading returns more bytes than this, the rings are read again soon. */
#define DRAIN_MUCH (128u << 10)
/* Limit of readings of a ring in one drain. If the ring is not empty after them, no drain record is
 * written. */
#define DRAIN_ROUNDS   16
#define PEEK_MAX_BYTES (4u << 20)

/* Handles starts and ends of processes at once, before records are sorted: scans for libraries,
 * frees slots. */
static void watch_react(struct watch *w, const struct buffer *b)
{
	const struct gp_rec *r;
	struct event ev;

	for (size_t at = 0; (r = gp_rec_next(b->data, b->len, &at));) {
		if (event_decode(r, r->len, &ev))
			continue;
		/* Read the last calls of the process before its end is handled. */
		if (r->kind == GP_KIND_exit) {
			w->count_ns = r->ts_ns - 1;
			loader_sample_process(w->loader, (pid_t)r->pid, ev.exit->slot, watch_count,
					      w);
			w->count_ns = 0;
		}
		if (r->kind == GP_KIND_exit || r->kind == GP_KIND_exec)
			codes_gone(w->codes, (pid_t)r->pid);
		w->event_ns = r->ts_ns;
		processes_event(w->processes, &ev);
		node_event(w->node, &ev);
		w->event_ns = 0;
	}
}

static void watch_calls_seen(struct watch *w, const struct buffer *b)
{
	loader_spent(w->loader, b->data, b->len);
	codes_records(w->codes, b->data, b->len);
}

/* Empties a ring. Returns false if records that were in the ring at the start are still there. */
static bool watch_drain_ring(struct watch *w, int i)
{
	bool busy = false;

	for (int round = 0; round < DRAIN_ROUNDS; round++) {
		uint64_t from, to;
		long n;

		buffer_clear(&w->batch);
		n = ring_peek(w->ring[i], &w->batch, PEEK_MAX_BYTES, &busy);
		ring_position(w->ring[i], &from, &to);
		if (n < 0 || from == to)
			return n == 0 && !busy;
		if (journal_batch(w->journal, watch_source[i], &w->batch, from, to))
			return false;
		ring_advance(w->ring[i]);
		w->busy |= watch_source[i] == TAPE_RING_LIFE || w->batch.len > DRAIN_MUCH;
		if (watch_source[i] == TAPE_RING_LIFE)
			watch_react(w, &w->batch);
		else
			watch_calls_seen(w, &w->batch);
		if (!ring_pending(w->ring[i]))
			return !busy;
	}
	return false;
}

/* Empties both rings into the tape and the output, and handles starts and ends of processes. */
static void watch_drain(struct watch *w)
{
	uint64_t silent_ns, before = clock_mono_ns();
	struct gp_drain *mark;
	bool whole;

	whole = watch_drain_ring(w, 0);
	whole = watch_drain_ring(w, 1) && whole;
	codes_poll(w->codes);
	loader_heartbeat(w->loader, &silent_ns);
	if (silent_ns)
		watch_gap(w, silent_ns);
	if (whole && before > STREAM_SLACK_NS) {
		mark = journal_record(w->journal, GP_KIND_drain, 0, 0);
		if (mark)
			mark->upto_ns = before - STREAM_SLACK_NS;
	}
	journal_flush(w->journal);
	loader_settled(w->loader);
}

/* ---- continuing after a predecessor ---------------------------------------------------------- */

/* While no gp-bpf ran, the kernel side continued to watch. The tape has the records that the
 * predecessor read; the rings have the later ones. */

/* Unit of process start times in /proc: times within one tick cannot be distinguished. */
#define START_TICK_NS 10000000ull

/* State of taking over from a predecessor (watch_resume()) */
struct resuming {
	struct watch *watch;
	/* true: collect the unwatched processes that still run; false: those that have ended. */
	bool alive;
	uint64_t last_ns;    /* time of the newest record on the tape */
	struct table *known; /* pid -> pid: processes of the model whose identity is known */
	pid_t *unwatched;    /* processes of the model that are not watched */
	size_t count, room;
};

/* Restores the latest counters and losses from a frame of the tape, and the time of the newest
 * record. */
static void watch_on_frame(void *ctx, const struct tape_frame *f)
{
	struct resuming *r = ctx;
	const struct gp_rec *rec;
	struct event ev;

	for (size_t at = 0; (rec = gp_rec_next(f->records, f->len, &at));) {
		if (event_decode(rec, rec->len, &ev))
			continue;
		if (rec->ts_ns > r->last_ns)
			r->last_ns = rec->ts_ns;
		if (rec->kind == GP_KIND_counter)
			loader_resume(r->watch->loader, (pid_t)rec->pid, rec->probe, ev.counter);
		else if (rec->kind == GP_KIND_loss)
			loader_resume_loss(r->watch->loader, ev.loss);
	}
}

/* Skips the records in the rings that are on the tape already. Returns false if the predecessor
 * read records that are not on the tape. */
static bool watch_rings_seek(struct watch *w)
{
	bool whole = true;

	for (int i = 0; i < 2; i++) {
		uint64_t at = durable_ring_at(w->durable, watch_source[i]);

		whole &= at >= ring_at(w->ring[i]);
		if (at > ring_at(w->ring[i]))
			ring_skip(w->ring[i], at);
	}
	return whole;
}

static void watch_on_known(void *ctx, uint32_t pid, uint64_t start_ns, bool identified)
{
	struct resuming *r = ctx;

	(void)start_ns;
	if (identified)
		table_put(r->known, pid, r);
}

static bool watch_same_process(const struct resuming *r, uint32_t pid, uint64_t start_ns)
{
	const char *root = r->watch->options->root;
	uint64_t now_ns = process_start_ns(root ? root : "", (pid_t)pid);

	return now_ns && start_ns && now_ns / START_TICK_NS == start_ns / START_TICK_NS;
}

/* Collects a process of the saved state that is not watched; with r->alive, only if it is still
 * running. Call it after reading the rings: a process that is not watched even then has ended while
 * no gp-bpf ran. */
static void watch_on_live(void *ctx, uint32_t pid, uint64_t start_ns, bool identified)
{
	struct resuming *r = ctx;
	size_t room = r->room ? r->room * 2 : 64;
	pid_t *list;

	(void)identified;
	if (processes_have(r->watch->processes, (pid_t)pid) ||
	    (r->alive && !watch_same_process(r, pid, start_ns)))
		return;
	if (r->count == r->room) {
		list = reallocarray(r->unwatched, room, sizeof(*list));
		if (!list)
			return;
		r->unwatched = list;
		r->room = room;
	}
	r->unwatched[r->count++] = (pid_t)pid;
}

static void watch_processes_take_over(struct resuming *r)
{
	struct watch *w = r->watch;

	places_resumed(w->places, clock_mono_ns());
	output_processes(w->out, watch_on_known, r);
	for (pid_t pid = 0; (pid = loader_watched_next(w->loader, pid));)
		processes_adopt(w->processes, pid, table_get(r->known, (uint64_t)pid));
	processes_adopted(w->processes);
	loader_taken_over(w->loader);
	w->sweeps = 2;
}

/* Continues from a predecessor's state. saved: the output was restored from that state. Returns 0
 * or -errno. */
static int watch_resume(struct watch *w, bool saved)
{
	struct resuming r = {.watch = w, .known = table_new()};
	bool adopted = loader_adopted(w->loader), whole = true;
	uint64_t silent_ns;
	int err = r.known ? 0 : -ENOMEM;

	if (!err && saved) {
		r.last_ns = durable_state(w->durable)->upto_ns;
		err = journal_replay(w->journal, watch_on_frame, &r);
		whole = adopted && watch_rings_seek(w);
		if (!adopted)
			durable_rings_anew(w->durable);
	}
	if (err)
		goto out;
	watch_drain(w); /* also records a gap if the kernel side sent nothing for a while */
	if (saved && !whole && adopted)
		watch_gap(w, r.last_ns);
	else if (saved && !whole)
		w->unwatched_ns = r.last_ns; /* the gap ends when the targets have probes */
	journal_flush(w->journal);
	watch_processes_take_over(&r);
	loader_heartbeat(w->loader, &silent_ns);
	watch_drain(w);
	/* Save now: otherwise a gp-bpf that is repeatedly killed before the next save would have to
	 * replay a longer tape each time. */
	loader_commit(w->loader);
	journal_save(w->journal);
	if (adopted)
		log_info("took over from an earlier gp-bpf: %zu process%s",
			 processes_alive(w->processes), plural_es(processes_alive(w->processes)));
out:
	table_free(r.known, NULL);
	return err;
}

void watch_reconcile(struct watch *w)
{
	struct resuming r = {.watch = w};

	if (w->unwatched_ns)
		watch_gap(w, w->unwatched_ns);
	w->unwatched_ns = 0;
	output_processes(w->out, watch_on_live, &r);
	for (size_t i = 0; i < r.count; i++)
		watch_gone(w, r.unwatched[i]);
	journal_flush(w->journal);
	free(r.unwatched);
}

void watch_again(struct watch *w)
{
	struct resuming r = {.watch = w, .alive = true};

	output_processes(w->out, watch_on_live, &r);
	for (size_t i = 0; i < r.count; i++)
		processes_target(w->processes, r.unwatched[i], false);
	journal_flush(w->journal);
	free(r.unwatched);
}

bool watch_busy(const struct watch *w)
{
	return processes_alive(w->processes);
}

void watch_ended(const struct watch *w, struct watch_end *ret)
{
	*ret = (struct watch_end){.reason = w->end, .signo = w->end_signo};
}

/* Makes the loop call fn when a probe with `wake` (probes/README.md) has sent a record. */
static int watch_wakes(struct watch *w, loop_fn *fn)
{
	const struct loader_ring *rings;
	int n = loader_rings(w->loader, &rings), err = 0;

	/* Edge-triggered: most records cause no wakeup and stay in the ring, so a level-triggered
	 * poll would always return at once. */
	for (int i = 0; i < n && !err; i++)
		err = loop_add_fd(w->loop, rings[i].fd, EPOLLIN | EPOLLET, fn, w);
	return err;
}

/* Interval for reading the rings. It is short after a process started or mapped a library, so that
 * probes are attached before the library is used. It is long while jobs only step, because a wakeup
 * costs more than the reading. */
#define DRAIN_FAST_NS  10000000ull
#define DRAIN_SLOW_NS  40000000ull
#define DRAIN_CALM_NS  2000000000ull
#define VIEW_PERIOD_NS 200000000ull
#ifndef WATCH_TICK_NS
#define WATCH_TICK_NS 1000000000ull
#endif

/* ---- timers, signals, keys ------------------------------------------------------------------- */

static void watch_stop_for(struct watch *w, enum gp_end_reason why)
{
	w->end = why;
	loop_stop(w->loop, 0);
}

static void watch_on_drain(void *ctx, uint64_t value)
{
	struct watch *w = ctx;
	uint64_t now_ns;

	(void)value;
	watch_drain(w);
	handoff_poll(w->handoff);
	now_ns = clock_mono_ns();
	node_due(w->node);
	processes_due(w->processes, now_ns);
	if (poll_interval_changes(&w->poll_interval, now_ns,
				  w->busy || loader_unfinished(w->loader)))
		loop_set_timer(w->loop, w->poll_interval.period_ns, watch_on_drain, w);
	w->busy = false;
	if (!w->child && !w->node && !processes_alive(w->processes))
		watch_stop_for(w, GP_END_TARGETS_GONE);
}

static void watch_on_tick(void *ctx, uint64_t value)
{
	struct watch *w = ctx;

	(void)value;
	if (w->rescan)
		processes_rescan(w->processes);
	journal_clock(w->journal);
	loader_protect(w->loader, output_roles(w->out), output_chosen(w->out));
	loader_sample(w->loader, watch_count, watch_lost, w);
	w->life_lost |= w->lifeless;
	if (w->life_lost) {
		processes_verify(w->processes, watch_gone, w);
		node_lost(w->node);
		w->sweeps = 2;
		w->life_lost = false;
	}
	if (w->sweeps && w->sweeps--)
		loader_sweep(w->loader);
	places_tick(w->places, clock_mono_ns());
	blocked_tick(w->blocked, w->journal, w->out);
	stacks_tick(w->stacks, w->journal, w->out);
	usages_tick(w->usages, w->journal, w->out);
	inputs_tick(w->inputs, w->journal, w->out);
	examines_tick(w->examines, w->journal, w->out);
	devices_tick(w->devices, w->journal, w->out);
	traffics_tick(w->traffics, w->journal, w->out);
	ras_tick(w->ras, w->journal, w->out);
	watch_log_tick(w->log);
	journal_record(w->journal, GP_KIND_tick, 0, 0);
	journal_flush(w->journal);
	loader_commit(w->loader);
	journal_keep(w->journal);
	handoff_tick(w->handoff);
	node_tick(w->node);
	output_tick(w->out);
}

static void watch_on_view(void *ctx, uint64_t value)
{
	(void)value;
	output_tick(((struct watch *)ctx)->out);
}

static void watch_on_key(void *ctx, uint64_t value)
{
	struct watch *w = ctx;
	int key = output_key(w->out);

	(void)value;
	if ((key == 'q' || key == 3) && w->child)
		output_tick(w->out); /* `run` ends with CMD, so the key only redraws the view */
	else if (key == 'q' || key == 3)
		watch_stop_for(w, GP_END_USER);
}

static void watch_on_time_up(void *ctx, uint64_t value)
{
	(void)value;
	watch_stop_for(ctx, GP_END_TIME);
}

static void watch_on_resize(void *ctx, uint64_t value)
{
	(void)value;
	output_resize(((struct watch *)ctx)->out);
}

static void watch_on_successor(void *ctx, bool comes, const char *why)
{
	if (!comes)
		log_warn("detaching all probes, as no other gp-bpf will take over on this node: %s",
			 why);
	watch_stop_for(ctx, comes ? GP_END_HANDOVER : GP_END_USER);
}

/* Ends the watch. In Kubernetes it first asks whether another gp-bpf will follow, and continues to
 * watch until the answer arrives. A second call before the answer ends the watch at once and
 * detaches probes. */
static void watch_hand_over(struct watch *w)
{
	int err = 0;

	if (w->successor) {
		watch_stop_for(w, GP_END_USER);
		return;
	}
	if (w->node)
		err = successor_new(&w->successor,
				    &(struct successor_config){.server = w->options->api_server});
	if (!err && !w->successor) {
		watch_stop_for(w, GP_END_HANDOVER);
		return;
	}
	err = err ? err : successor_ask(w->successor, w->loop, watch_on_successor, w);
	if (!err)
		return;
	log_warn(
		"detaching all probes: cannot ask the API server whether another gp-bpf will take over on this node: %s",
		strerror(-err));
	watch_stop_for(w, GP_END_USER);
}

/* Handles signals that end the watch. With `run`, signals from other processes are passed to CMD;
 * signals of the terminal are not, because CMD gets them directly. */
static void watch_on_end_signal(void *ctx, uint64_t value)
{
	struct watch *w = ctx;
	int signo = (int)(value & 0xffffffff), code = (int)(value >> 32);

	w->end_signo = signo; /* the last signal is reported as the one that ended the run */
	if (signo == SIGHUP && node_reloads(w->node))
		node_reload(w->node);
	else if (w->durable && signo == SIGUSR1)
		watch_stop_for(w, GP_END_HANDOVER);
	else if (w->durable && signo == SIGTERM && w->options->handover)
		watch_hand_over(w);
	else if (!w->child)
		watch_stop_for(w, GP_END_USER);
	else if (code <= 0)
		kill(w->child, signo);
}

static void watch_on_child(void *ctx, uint64_t value)
{
	struct watch *w = ctx;
	int status;

	(void)value;
	if (w->child && waitpid(w->child, &status, WNOHANG) == w->child) {
		w->child_status = status;
		watch_stop_for(w, GP_END_TARGETS_GONE);
	}
}

/* ---- life ------------------------------------------------------------------------------------ */

static int watch_open_kernel(struct watch *w, const struct watch_config *watch)
{
	char off[512] = "";
	struct loader_config cfg = {.probes = w->probes,
				    .features_off = off,
				    .unwatched = watch->node,
				    .preload = watch->preload};
	const struct loader_ring *rings;
	const struct feature *f;
	int n, err;

	err = options_features_off(w->options, off, sizeof(off));
	if (err)
		return err;
	cfg.durable = w->durable ? durable_dir(w->durable) : NULL;
	cfg.cache_dir = w->durable		? cfg.durable
			: w->options->state_dir ? w->options->state_dir
						: "/var/cache/gp-bpf";
	cfg.overhead_ns = (uint64_t)w->options->overhead_ppm * 1000;
	cfg.overhead_pause_ns = (uint64_t)w->options->overhead_pause_ns;
	err = loader_open(&w->loader, &cfg);
	if (err)
		return err;
	loader_on_attach(w->loader, watch_attached, w);
	n = loader_rings(w->loader, &rings);
	for (int i = 0; i < n && i < 2; i++) {
		err = ring_open(&w->ring[i], rings[i].fd, rings[i].bytes);
		if (err) {
			log_error("cannot open ring %s: %s", rings[i].name, strerror(-err));
			return err;
		}
	}
	n = loader_features(off, &f);
	for (int i = 0; i < n; i++) {
		w->rescan |= !f[i].have && !strcmp(f[i].name, "syscall_tp");
		w->lifeless |= !f[i].have && !strcmp(f[i].name, "tp_btf");
	}
	return 0;
}

/* Adds signals and keys to the loop. node: SIGHUP reloads the settings. */
static int watch_open_loop(struct watch *w, bool node)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct options *o = w->options;
	int err = loop_new(&w->loop);
	struct sigaction was;

	for (size_t i = 0; !err && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (w->run || node || ends[i] != SIGHUP || sigaction(SIGHUP, NULL, &was) ||
		    was.sa_handler != SIG_IGN) /* nohup: SIGHUP stays ignored */
			err = loop_add_signal(w->loop, ends[i], watch_on_end_signal, w);
	if (!err && (w->run || w->durable)) /* --takeover sends SIGUSR1 */
		err = loop_add_signal(w->loop, SIGUSR1, watch_on_end_signal, w);
	if (!err && w->run) {
		err = loop_add_signal(w->loop, SIGCHLD, watch_on_child, w);
		err = err ? err : loop_add_signal(w->loop, SIGUSR2, watch_on_end_signal, w);
	}
	if (!err)
		err = loop_add_signal(w->loop, SIGWINCH, watch_on_resize, w);
	if (!err)
		err = watch_wakes(w, watch_on_drain);
	if (!err)
		err = loop_add_timer(w->loop, DRAIN_FAST_NS, watch_on_drain, w);
	if (!err)
		err = loop_add_timer(w->loop, WATCH_TICK_NS, watch_on_tick, w);
	if (!err && o->for_ns)
		err = loop_add_timer(w->loop, (uint64_t)o->for_ns, watch_on_time_up, w);
	if (!err && output_is_live(w->out))
		err = loop_add_timer(w->loop, VIEW_PERIOD_NS, watch_on_view, w);
	/* Keys are read only from a terminal: a regular file cannot be polled. */
	if (!err && output_has_keys(w->out) && isatty(STDIN_FILENO))
		err = loop_add_fd(w->loop, STDIN_FILENO, EPOLLIN, watch_on_key, w);
	return err;
}

/* Writes the first records and saves the state before the rings are read. A successor needs a saved
 * state that includes these records. */
static int watch_begin(struct watch *w, const struct watch_config *cfg)
{
	journal_begin(w->journal, w->options, w->probes,
		      &(struct journal_session){cfg->run, cfg->node, cfg->command});
	handoff_start(w->handoff);
	return journal_save(w->journal);
}

static int watch_open_places(struct watch *w)
{
	const struct options *o = w->options;
	struct places_config cfg = {
		.helper = loader_helper(w->loader),
		.root = o->root ? o->root : "",
		.job = o->job,
		.fn = watch_placed,
		.notice = watch_noticed,
		.ctx = w,
	};
	struct pods_config pods = {
		.node = o->node_name,
		.server = o->api_server,
		.kubelet = o->kubelet,
		.kubelet_insecure = o->kubelet_insecure,
	};
	int err;

	/* pods_open() has logged the reason: continue without pods */
	if (pods_open(&w->pods, &pods))
		w->pods = NULL;
	cfg.pods = w->pods;
	err = places_new(&w->places, &cfg);
	if (!err)
		processes_place(w->processes, w->places);
	return err;
}

int watch_open(struct watch **ret, const struct options *o, struct output *out,
	       const struct watch_config *cfg)
{
	struct watch *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->options = o;
	w->out = out;
	w->run = cfg->run;
	w->durable = cfg->durable;
	w->child_status = -1;
	w->poll_interval = (struct poll_interval){DRAIN_FAST_NS, DRAIN_SLOW_NS, DRAIN_CALM_NS,
						  clock_mono_ns(), DRAIN_FAST_NS};
	w->fresh = !cfg->saved;
	w->end = GP_END_ERROR;
	err = option_probes(o, &w->probes);
	if (!err)
		err = journal_open(&w->journal, out, cfg->tape, w->durable);
	if (!err)
		err = handoff_new(&w->handoff, o, out, w->journal);
	if (!err)
		err = watch_open_kernel(w, cfg);
	if (!err)
		err = processes_new(&w->processes, w->loader, o->root ? o->root : "", o->job,
				    watch_introduced, w);
	if (!err)
		err = watch_open_places(w);
	if (!err)
		err = codes_new(&w->codes, w->loader, w->probes, w->journal);
	if (!err)
		err = blocked_new(&w->blocked, w->loader, w->probes, o->root ? o->root : "");
	if (!err)
		err = stacks_new(&w->stacks);
	if (!err)
		err = usages_new(&w->usages, o->root ? o->root : "");
	if (!err)
		err = inputs_new(&w->inputs, o->root ? o->root : "");
	if (!err)
		err = examines_new(&w->examines, w->loader, o->root ? o->root : "",
				   o->explain ? (uint64_t)o->for_ns : 0);
	if (!err)
		err = devices_new(&w->devices, loader_helper(w->loader), o->root ? o->root : "");
	if (!err)
		err = traffics_new(&w->traffics, o->root ? o->root : "");
	if (!err)
		err = ras_new(&w->ras, o->root ? o->root : "");
	if (!err)
		err = watch_open_loop(w, cfg->node);
	if (!err)
		err = watch_log_new(&w->log, w->loop, w->journal, o->root ? o->root : "");
	if (!err && cfg->node)
		err = node_new(&w->node, w, cfg->argc, cfg->argv);
	if (!err && !cfg->saved)
		err = watch_begin(w, cfg);
	if (!err && (cfg->saved || loader_adopted(w->loader)))
		err = watch_resume(w, cfg->saved);
	if (err) {
		watch_close(w);
		return err;
	}
	*ret = w;
	return 0;
}

void watch_node(struct watch *w)
{
	node_sweep(w->node);
	while (node_sweeping(w->node))
		/* Read the rings, because the jobs of a predecessor continue during the setup. */
		watch_drain(w);
	node_start(w->node);
}

int watch_target(struct watch *w, pid_t pid)
{
	int err = processes_target(w->processes, pid, w->run);

	journal_flush(w->journal);
	return err;
}

int watch_run(struct watch *w, pid_t child, int *ret_status)
{
	w->child = child;
	watch_drain(w);
	watch_on_child(w, 0); /* CMD may have ended before the loop could handle SIGCHLD */
	if (!child || w->child_status == -1)
		loop_run(w->loop);
	if (ret_status)
		*ret_status = w->child_status;
	return 0;
}

static void watch_detach(struct watch *w)
{
	loader_close(w->loader);
	w->loader = NULL;
}

/* Reads the last records, and writes the record of the end. */
static void watch_finish(struct watch *w)
{
	/* A run that failed before it began cannot be continued by a successor. */
	bool goes_on = w->durable && w->end != GP_END_TARGETS_GONE &&
		       !(w->end == GP_END_ERROR && w->fresh);
	struct gp_end *end;

	watch_drain(w);
	loader_sample(w->loader, watch_count, watch_lost, w);
	journal_flush(w->journal);
	loader_commit(w->loader);
	if (w->end == GP_END_HANDOVER) {
		journal_save(w->journal);
		output_hand_over(w->out);
		loader_hand_over(w->loader);
		w->loader = NULL;
		return;
	}
	if (goes_on)
		journal_stop(w->journal);
	/* Detach probes before finishing the handoff, as access to its folder may hang. The job
	 * continues without gp-bpf. */
	if (w->handoff) {
		output_finish(w->out);
		watch_detach(w);
		handoff_finish(w->handoff);
	}
	end = journal_record(w->journal, GP_KIND_end, 0,
			     0); /* the record's time must be before detaching */
	if (end) {
		end->reason = w->end;
		end->status = w->child_status;
	}
	watch_detach(w);
	journal_flush(w->journal);
	if (goes_on)
		journal_stopped(w->journal);
	else if (w->durable)
		durable_discard(w->durable);
}

int watch_close(struct watch *w)
{
	int err;

	if (!w)
		return 0;
	node_end(w->node);
	successor_free(w->successor);
	if (w->loop && w->ring[0] && w->ring[1])
		watch_finish(w);
	node_free(w->node);
	handoff_free(w->handoff);
	err = journal_close(w->journal);
	processes_free(w->processes);
	places_free(w->places);
	pods_close(w->pods);
	codes_free(w->codes);
	blocked_free(w->blocked);
	stacks_free(w->stacks);
	usages_free(w->usages);
	inputs_free(w->inputs);
	examines_free(w->examines);
	devices_free(w->devices);
	traffics_free(w->traffics);
	ras_free(w->ras);
	watch_log_free(w->log);
	ring_close(w->ring[0]);
	ring_close(w->ring[1]);
	loader_close(w->loader);
	loop_free(w->loop);
	probe_table_free(w->probes);
	buffer_free(&w->batch);
	free(w);
	return err;
}
