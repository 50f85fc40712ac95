/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/notify.h"
#include "userspace/base/plural.h"
#include "userspace/base/proc_file.h"
#include "userspace/watch/discover.h"
#include "userspace/kubernetes/pods.h"
#include "userspace/watch/watch_private.h"

#define STATUS_NS 10000000000ull
#define QUIET_NS  2000000000ull

struct node {
	struct watch *watch;
	struct discover *discover;
	struct notify *notify; /* NULL: not started by a service manager */
	/* The settings after the last reload (SIGHUP); the node frees them if `reloaded` is set. */
	struct options now;
	bool reloaded;
	int argc;
	char **argv;
	uint64_t status_ns, quiet_ns;
	struct node_view view;
};

static int watch_node_rules_read(struct node *n, const struct options *o)
{
	struct filter *f;
	int err = filter_new(&f, o->allow.item, o->allow.count, o->deny.item, o->deny.count);

	if (!err)
		discover_rules(n->discover, f);
	return err;
}

/* Gets the name of the node: from NODE_NAME, because in a pod the host name is that of the pod. */
static void watch_node_name_read(char *out, size_t len)
{
	const char *given = getenv("NODE_NAME");
	struct utsname u;

	if (!given || !*given)
		given = uname(&u) ? "" : u.nodename;
	snprintf(out, len, "%s", given);
}

static void watch_node_on_watchdog(void *ctx, uint64_t value)
{
	(void)value;
	notify_send(((struct node *)ctx)->notify, "WATCHDOG=1");
}

int node_new(struct node **ret, struct watch *w, int argc, char **argv)
{
	struct discover_config cfg = {.loader = w->loader,
				      .probes = w->probes,
				      .processes = w->processes,
				      .root = w->options->root ? w->options->root : ""};
	struct node *n = calloc(1, sizeof(*n));
	int err = n ? discover_new(&n->discover, &cfg) : -ENOMEM;

	if (!err) {
		n->watch = w;
		n->argc = argc;
		n->argv = argv;
		discover_pods(n->discover, w->pods);
		err = watch_node_rules_read(n, w->options);
	}
	if (!err)
		err = notify_open(&n->notify);
	if (!err && notify_watchdog_ns(n->notify))
		err = loop_add_timer(w->loop, notify_watchdog_ns(n->notify), watch_node_on_watchdog,
				     n);
	if (err) {
		node_free(n);
		return err;
	}
	n->view.on = true;
	watch_node_name_read(n->view.name, sizeof(n->view.name));
	output_node(w->out, &n->view);
	*ret = n;
	return 0;
}

void node_free(struct node *n)
{
	if (!n)
		return;
	discover_free(n->discover);
	notify_close(n->notify);
	if (n->reloaded)
		options_free(&n->now);
	free(n);
}

/* ---- reports --------------------------------------------------------------------------------- */

/* Scans the watched processes that do not train yet again and again, as they may begin to train
 * later. */
static void watch_node_scan_quiet(struct node *n)
{
	const char *root = n->watch->options->root ? n->watch->options->root : "";
	struct node_view *v = &n->view;
	struct proc_stat s;

	v->nquiet = 0;
	for (pid_t pid = 0;
	     v->nquiet < NODE_QUIET && (pid = loader_watched_next(n->watch->loader, pid));) {
		if (output_trains(n->watch->out, (uint32_t)pid) || proc_stat(root, pid, &s))
			continue;
		v->quiet[v->nquiet].pid = (uint32_t)pid;
		snprintf(v->quiet[v->nquiet++].comm, sizeof(v->quiet->comm), "%.*s",
			 GP_COMM_MAX - 1, s.comm);
	}
}

static void watch_node_scan_pods(const struct node *n, struct node_pods *ret)
{
	struct pods_view v;

	pods_get_view(n->watch->pods, &v);
	*ret = (struct node_pods){
		.here = v.here, .current = v.current, .pods = v.pods, .failures = v.failures};
	snprintf(ret->trouble, sizeof(ret->trouble), "%s", v.trouble);
}

static void watch_node_update(struct node *n, uint64_t now_ns)
{
	struct node_view *v = &n->view, was;

	if (now_ns - n->quiet_ns >= QUIET_NS) {
		n->quiet_ns = now_ns;
		watch_node_scan_quiet(n);
	}
	was = *v;
	discover_get_view(n->discover, v);
	memcpy(v->quiet, was.quiet, sizeof(v->quiet));
	v->nquiet = was.nquiet;
	v->watched = processes_alive(n->watch->processes);
	if (n->watch->pods)
		watch_node_scan_pods(n, &v->pods);
	output_node(n->watch->out, v);
}

static void watch_node_status(struct node *n, const char *also)
{
	struct output_sum sum;
	uint64_t watched = processes_alive(n->watch->processes);
	char lost[64] = "nothing lost";

	output_sum(n->watch->out, &sum);
	if (sum.lost)
		snprintf(lost, sizeof(lost), "%llu record%s lost", (unsigned long long)sum.lost,
			 plural(sum.lost));
	notify_send(n->notify, "%sSTATUS=%u job%s, %u rank%s; %llu process%s watched; %s", also,
		    sum.jobs, plural(sum.jobs), sum.ranks, plural(sum.ranks),
		    (unsigned long long)watched, plural_es(watched), lost);
}

/* ---- life ------------------------------------------------------------------------------------ */

void node_sweep(struct node *n)
{
	if (n)
		discover_sweep(n->discover);
}

bool node_sweeping(struct node *n)
{
	if (!n || !discover_sweeping(n->discover))
		return false;
	discover_due(n->discover, clock_mono_ns());
	return true;
}

void node_start(struct node *n)
{
	char took[16];

	if (!n)
		return;
	processes_adopted(n->watch->processes);
	journal_flush(n->watch->journal);
	n->view.ready = true;
	watch_node_update(n, clock_mono_ns());
	log_info("scanned %llu process%s in %s: %llu watched",
		 (unsigned long long)n->view.sweep_saw, plural_es(n->view.sweep_saw),
		 clock_duration(took, sizeof(took), n->view.sweep_took_ns),
		 (unsigned long long)n->view.watched);
	/* Update the output before READY: a client that sees READY may send a request at once. */
	output_tick(n->watch->out);
	n->status_ns = clock_mono_ns();
	watch_node_status(n, "READY=1\n");
}

void node_event(struct node *n, const struct event *ev)
{
	if (n && ev->rec->kind == GP_KIND_unwatched)
		discover_mapped(n->discover, (pid_t)ev->rec->pid, clock_mono_ns());
}

void node_due(struct node *n)
{
	if (n)
		discover_due(n->discover, clock_mono_ns());
}

void node_tick(struct node *n)
{
	uint64_t now_ns = clock_mono_ns();

	if (!n)
		return;
	discover_tick(n->discover, now_ns);
	watch_node_update(n, now_ns);
	if (now_ns - n->status_ns < STATUS_NS)
		return;
	n->status_ns = now_ns;
	watch_node_status(n, "");
}

void node_lost(struct node *n)
{
	if (n)
		discover_sweep(n->discover);
}

void node_end(struct node *n)
{
	if (n)
		notify_send(n->notify, "STOPPING=1\nSTATUS=ending");
}

/* ---- settings, again ------------------------------------------------------------------------- */

static void watch_node_on_changed(void *ctx, const char *name)
{
	static const char *const now[] = {"allow",   "deny",	  "range",
					  "exclude", "log-level", "log-format"};
	int *kept = ctx;

	for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++)
		if (!strcmp(now[i], name))
			return;
	log_warn("SIGHUP: %s has changed; restart gp-bpf to apply it", name);
	++*kept;
}

static int watch_node_settings_take(struct node *n, struct options *o, int *ret_kept)
{
	const struct options *was = n->reloaded ? &n->now : n->watch->options;
	int err;

	options_compare(was, o, CMD_NODE, watch_node_on_changed, ret_kept);
	err = watch_node_rules_read(n, o);
	if (err)
		return err;
	journal_settings(n->watch->journal, o);
	journal_flush(n->watch->journal);
	if (n->reloaded)
		options_free(&n->now);
	n->now = *o;
	n->reloaded = true;
	discover_sweep(n->discover);
	return 0;
}

bool node_reloads(const struct node *n)
{
	return n && n->argv;
}

void node_reload(struct node *n)
{
	uint64_t now_us = clock_mono_ns() / 1000;
	struct options o;
	int kept = 0;

	if (!n)
		return;
	notify_send(n->notify, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)now_us);
	if (options_parse(&o, CMD_NODE, n->argc, n->argv) >= 0)
		log_error("SIGHUP: the settings cannot be read; nothing was changed");
	else if (watch_node_settings_take(n, &o, &kept))
		options_free(&o);
	else
		log_info(
			"SIGHUP: the settings were read again; those of --allow, --deny, --range, --exclude and of the log are in effect");
	watch_node_status(n, "READY=1\n");
}
