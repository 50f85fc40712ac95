/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/option/option_probe.h"
#include "userspace/watch/watch.h"
#include "userspace/watch/watch_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe_file.h"
#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/loop.h"
#include "userspace/ingest/ring.h"
#include "userspace/output/journal.h"
#include "userspace/kubernetes/pods.h"
#include "userspace/watch/watch_blocked.h"
#include "userspace/watch/watch_kernel_log.h"
#include "userspace/watch/watch_leave.h"
#include "userspace/watch/watch_place.h"
#include "userspace/watch/watch_process.h"

/* Where jobs only step a wakeup costs more than what it reads; a library is attached to before it
 * is used. */
#define DRAIN_FAST_NS  10000000ull
#define DRAIN_SLOW_NS  40000000ull
#define DRAIN_CALM_NS  2000000000ull
#define VIEW_PERIOD_NS 200000000ull
#ifndef WATCH_TICK_NS
#define WATCH_TICK_NS 1000000000ull
#endif

/* ---- timers, signals, keys
 * ----------------------------------------------------------------------- */

static void finish(struct watch *w, enum gp_end_reason why)
{
	w->end = why;
	loop_stop(w->loop, 0);
}

static void on_drain(void *ctx, uint64_t value)
{
	struct watch *w = ctx;
	uint64_t now_ns;

	(void)value;
	watch_drain(w);
	carrier_poll(w->carrier);
	now_ns = clock_mono_ns();
	node_due(w->node);
	processes_due(w->processes, now_ns);
	if (pace_changes(&w->pace, now_ns, w->busy || loader_unfinished(w->loader)))
		loop_set_timer(w->loop, w->pace.period_ns, on_drain, w);
	w->busy = false;
	if (!w->child && !w->node && !processes_alive(w->processes))
		finish(w, GP_END_TARGETS_GONE);
}

static void on_tick(void *ctx, uint64_t value)
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
	watch_log_tick(w->log);
	journal_record(w->journal, GP_KIND_tick, 0, 0);
	journal_flush(w->journal);
	loader_commit(w->loader);
	journal_keep(w->journal);
	carrier_tick(w->carrier);
	node_tick(w->node);
	output_tick(w->out);
}

static void on_view(void *ctx, uint64_t value)
{
	(void)value;
	output_tick(((struct watch *)ctx)->out);
}

static void on_key(void *ctx, uint64_t value)
{
	struct watch *w = ctx;
	int key = output_key(w->out);

	(void)value;
	if ((key == 'q' || key == 3) && w->child)
		output_tick(w->out); /* CMD decides when `run` ends */
	else if (key == 'q' || key == 3)
		finish(w, GP_END_USER);
}

static void on_time_up(void *ctx, uint64_t value)
{
	(void)value;
	finish(ctx, GP_END_TIME);
}

static void on_resize(void *ctx, uint64_t value)
{
	(void)value;
	output_resize(((struct watch *)ctx)->out);
}

/* With a command of ours, signals are its business: what a person or a manager sent us is passed
 * on, what the terminal sent it has had already. */
static void on_end_signal(void *ctx, uint64_t value)
{
	struct watch *w = ctx;
	int signo = (int)(value & 0xffffffff), code = (int)(value >> 32);

	w->end_signo = signo; /* the last one is what ends it */
	if (signo == SIGHUP && node_reloads(w->node))
		node_reload(w->node);
	else if (w->durable && signo == SIGUSR1)
		finish(w, GP_END_HANDOVER);
	else if (w->durable && signo == SIGTERM && w->options->handover)
		watch_leave(w);
	else if (!w->child)
		finish(w, GP_END_USER);
	else if (code <= 0)
		kill(w->child, signo);
}

static void on_child(void *ctx, uint64_t value)
{
	struct watch *w = ctx;
	int status;

	(void)value;
	if (w->child && waitpid(w->child, &status, WNOHANG) == w->child) {
		w->child_status = status;
		finish(w, GP_END_TARGETS_GONE);
	}
}

/* ---- life
 * ---------------------------------------------------------------------------------------- */

static int open_kernel(struct watch *w, const struct watch_config *watch)
{
	char off[512] = "";
	struct loader_config cfg = {.probes = w->probes,
				    .features_off = off,
				    .meet = watch->node,
				    .ahead = watch->ahead};
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
			log_error("ring %s: %s", rings[i].name, strerror(-err));
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

/* node: SIGHUP says to read the settings again. */
static int open_loop(struct watch *w, bool node)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct options *o = w->options;
	int err = loop_new(&w->loop);
	struct sigaction was;

	for (size_t i = 0; !err && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (w->run || node || ends[i] != SIGHUP || sigaction(SIGHUP, NULL, &was) ||
		    was.sa_handler != SIG_IGN) /* nohup means it */
			err = loop_add_signal(w->loop, ends[i], on_end_signal, w);
	if (!err && (w->run || w->durable)) /* of --takeover */
		err = loop_add_signal(w->loop, SIGUSR1, on_end_signal, w);
	if (!err && w->run) {
		err = loop_add_signal(w->loop, SIGCHLD, on_child, w);
		err = err ? err : loop_add_signal(w->loop, SIGUSR2, on_end_signal, w);
	}
	if (!err)
		err = loop_add_signal(w->loop, SIGWINCH, on_resize, w);
	if (!err)
		err = watch_wakes(w, on_drain);
	if (!err)
		err = loop_add_timer(w->loop, DRAIN_FAST_NS, on_drain, w);
	if (!err)
		err = loop_add_timer(w->loop, WATCH_TICK_NS, on_tick, w);
	if (!err && o->for_ns)
		err = loop_add_timer(w->loop, (uint64_t)o->for_ns, on_time_up, w);
	if (!err && output_is_live(w->out))
		err = loop_add_timer(w->loop, VIEW_PERIOD_NS, on_view, w);
	/* A regular file as standard input cannot be polled: then there are no keys. */
	if (!err && output_has_keys(w->out) && isatty(STDIN_FILENO))
		err = loop_add_fd(w->loop, STDIN_FILENO, EPOLLIN, on_key, w);
	return err;
}

/* A successor goes on from a state or begins anew: there is none before the beginning is in it, and
 * there is one before anything is read. */
static int begin(struct watch *w, const struct watch_config *cfg)
{
	journal_begin(w->journal, w->options, w->probes,
		      &(struct journal_session){cfg->run, cfg->node, cfg->command});
	carrier_start(w->carrier);
	return journal_save(w->journal);
}

static int open_places(struct watch *w)
{
	const struct options *o = w->options;
	struct places_config cfg = {
		.aside = loader_aside(w->loader),
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

	if (pods_open(&w->pods, &pods)) /* one line said why: it works without */
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
	w->pace = (struct pace){DRAIN_FAST_NS, DRAIN_SLOW_NS, DRAIN_CALM_NS, clock_mono_ns(),
				DRAIN_FAST_NS};
	w->fresh = !cfg->saved;
	w->end = GP_END_ERROR;
	err = option_probes(o, &w->probes);
	if (!err)
		err = journal_open(&w->journal, out, cfg->tape, w->durable);
	if (!err)
		err = carrier_new(&w->carrier, o, out, w->journal);
	if (!err)
		err = open_kernel(w, cfg);
	if (!err)
		err = processes_new(&w->processes, w->loader, o->root ? o->root : "", o->job,
				    watch_introduced, w);
	if (!err)
		err = open_places(w);
	if (!err)
		err = codes_new(&w->codes, w->loader, w->probes, w->journal);
	if (!err)
		err = blocked_new(&w->blocked, w->loader, w->probes, o->root ? o->root : "");
	if (!err)
		err = open_loop(w, cfg->node);
	if (!err)
		err = watch_log_new(&w->log, w->loop, w->journal, o->root ? o->root : "");
	if (!err && cfg->node)
		err = node_new(&w->node, w, cfg->argc, cfg->argv);
	if (!err && !cfg->saved)
		err = begin(w, cfg);
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
	on_child(w, 0); /* it may have ended before its signal could be noticed */
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

/* The last records, and what they are the last of. */
static void watch_finish(struct watch *w)
{
	/* What never began is not gone on from. */
	bool goes_on = w->durable && w->end != GP_END_TARGETS_GONE &&
		       !(w->end == GP_END_ERROR && w->fresh);
	struct gp_end *end;

	watch_drain(w);
	loader_sample(w->loader, watch_count, watch_lost, w);
	journal_flush(w->journal);
	loader_commit(w->loader);
	if (w->end == GP_END_HANDOVER) {
		journal_save(w->journal);
		output_leave(w->out);
		loader_leave(w->loader);
		w->loader = NULL;
		return;
	}
	if (goes_on)
		journal_stop(w->journal);
	if (w->carrier) { /* the end is ours, not the job's; and no probe waits for a folder */
		output_finish(w->out);
		watch_detach(w);
		carrier_finish(w->carrier);
	}
	end = journal_record(w->journal, GP_KIND_end, 0, 0); /* now, and not when all is detached */
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
	leave_free(w->leave);
	if (w->loop && w->ring[0] && w->ring[1])
		watch_finish(w);
	node_free(w->node);
	carrier_free(w->carrier);
	err = journal_close(w->journal);
	processes_free(w->processes);
	places_free(w->places);
	pods_close(w->pods);
	codes_free(w->codes);
	blocked_free(w->blocked);
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
