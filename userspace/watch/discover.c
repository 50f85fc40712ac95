/* SPDX-License-Identifier: Apache-2.0 */
/* Those that are met, and all: who of them maps a library of ours. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe_file.h"
#include "userspace/base/aside.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/base/table.h"
#include "userspace/watch/discover_private.h"
#include "userspace/identity/process.h"
#include "userspace/watch/maps_look.h"
#include "userspace/watch/watch_process.h"

#define SOON_NS	    5000000ull	 /* a mapping is told of before it is there ... */
#define AGAIN_NS    400000000ull /* ... and for this long no other of the same process is */
#define WAIT_NS	    1000000000ull
#define WAITS_MAX   60 /* looks for the namespace of a pod, and at a process that is locked */
#define TURN_NS	    4000000ull
#define SWEEP_NS    5000000000ull /* between two, where the kernel does not tell */
#define SWEEP_SHARE 100		  /* ... which take no more of a CPU than this part of it */
#define AGAIN_SHARE 20		  /* likewise those for which records were lost, or came too fast */
#define DUE_SHARE   10		  /* ... and looks at those that were met ... */
#define DUE_FREE_NS 250000000ull  /* ... but for so much at once: many ranks start together */

int discover_new(struct discover **ret, const struct discover_config *cfg)
{
	struct discover *d = calloc(1, sizeof(*d));
	int err = d ? 0 : -ENOMEM;

	if (!err) {
		d->cfg = *cfg;
		d->view.on = true;
		d->view.told = loader_meets(cfg->loader);
		d->denied = table_new();
		err = d->denied ? probe_names_new(&d->names, cfg->probes) : -ENOMEM;
	}
	if (!err)
		err = filter_new(&d->filter, NULL, 0, NULL, 0);
	if (err) {
		discover_free(d);
		return err;
	}
	if (!d->view.told)
		log_warn("jobs are found by a look at every process, each %llu s",
			 SWEEP_NS / 1000000000);
	*ret = d;
	return 0;
}

void discover_free(struct discover *d)
{
	if (!d)
		return;
	table_free(d->denied, free);
	probe_names_free(d->names);
	filter_free(d->filter);
	free(d->all);
	free(d);
}

void discover_rules(struct discover *d, struct filter *f)
{
	filter_free(d->filter);
	d->filter = f;
	discover_denied_clear(d);
	d->view.ndenied = 0;
}

void discover_pods(struct discover *d, struct pods *pods)
{
	d->pods = pods;
}

/* ---- what becomes of it ------------------------------------------------------------------------
 */

/* Children born from here on follow in the kernel; those of before are found in /proc. */
static int watch(struct discover *d, pid_t pid)
{
	int n, err = processes_found(d->cfg.processes, pid);
	pid_t *all = NULL;

	if (err)
		return err;
	n = process_descendants(d->cfg.root, pid, &all);
	for (int i = 0; i < n; i++)
		if (!loader_watched(d->cfg.loader, all[i]))
			processes_found(d->cfg.processes, all[i]);
	free(all);
	return 0;
}

/* It maps a library of ours, and may be watched. */
static void found(struct discover *d, pid_t pid)
{
	struct proc_stat s = {.comm = "?"};
	int err = watch(d, pid);

	if (!err) {
		d->view.found++;
		return;
	}
	proc_stat(d->cfg.root, pid, &s);
	if (err != -ESRCH)
		log_warn("process %d (%s) cannot be watched: %s", pid, s.comm, strerror(-err));
}

/* What this thread and the process that looks for it have taken so far. */
static uint64_t spent_ns(const struct discover *d)
{
	return clock_thread_ns() + aside_cpu_ns(loader_aside(d->cfg.loader));
}

/* ---- those that were met ------------------------------------------------------------------------
 */

static void due_put(struct discover *d, const struct due *one)
{
	for (size_t i = 0; i < d->ndue; i++) {
		if (d->due[i].pid != one->pid)
			continue;
		if (one->at_ns < d->due[i].at_ns)
			d->due[i].at_ns = one->at_ns;
		d->due[i].looks = one->looks < d->due[i].looks ? one->looks : d->due[i].looks;
		return;
	}
	if (d->ndue == DUE_MAX)
		discover_sweep(d);
	else
		d->due[d->ndue++] = *one;
}

void discover_met(struct discover *d, pid_t pid, uint64_t now_ns)
{
	d->view.met++;
	if (!loader_watched(d->cfg.loader, pid))
		due_put(d, &(struct due){.pid = pid, .at_ns = now_ns + SOON_NS});
}

/* later: it could not be looked at, or judged. */
static void due_next(struct discover *d, struct due one, bool later, uint64_t now_ns)
{
	if (later && ++one.waits <= WAITS_MAX)
		one.at_ns = now_ns + WAIT_NS;
	else if (!later && !one.looks++)
		one.at_ns = now_ns + AGAIN_NS;
	else
		return;
	due_put(d, &one);
}

/* Rules come first: who maps a library of ours all the time, or very much besides, and is not to be
 * watched costs no look at what it maps. Returns how many are to be looked at, at the beginning of
 * list. */
static size_t due_judge(struct discover *d, struct due *list, size_t n, uint64_t now_ns)
{
	struct known k;
	size_t left = 0;
	int err;

	for (size_t i = 0; i < n; i++) {
		err = discover_judge(d, list[i].pid, &k);
		if (!err)
			list[left++] = list[i];
		else if (err == -EAGAIN)
			due_next(d, list[i], true, now_ns);
	}
	return left;
}

static void due_look(struct discover *d, struct due *list, size_t n, uint64_t now_ns)
{
	enum maps_answer answer[MAPS_BATCH];
	pid_t pids[MAPS_BATCH];
	size_t asked = 0;

	n = due_judge(d, list, n, now_ns);
	for (size_t i = 0; i < n; i++)
		pids[i] = list[i].pid;
	if (n)
		asked = maps_look(loader_aside(d->cfg.loader), d->names, d->cfg.root, pids, n,
				  answer);
	for (size_t i = 0; i < n; i++) {
		if (asked && i >= asked)
			due_put(d, &list[i]);
		else if (!asked || answer[i] != MAPS_OURS)
			due_next(d, list[i], !asked || answer[i] == MAPS_LOCKED, now_ns);
		else if (!loader_watched(d->cfg.loader, pids[i]))
			found(d, pids[i]);
	}
}

/* They have had their share of a CPU. */
static bool due_waits(struct discover *d, uint64_t now_ns)
{
	uint64_t paid_ns = (now_ns - d->debt_at_ns) / DUE_SHARE;

	d->debt_ns -= paid_ns < d->debt_ns ? paid_ns : d->debt_ns;
	d->debt_at_ns = now_ns;
	return d->debt_ns > DUE_FREE_NS;
}

static void due_turn(struct discover *d, uint64_t now_ns)
{
	struct due list[MAPS_BATCH];
	size_t n = 0, left = 0;
	uint64_t before_ns;

	if (due_waits(d, now_ns))
		return;
	for (size_t i = 0; i < d->ndue; i++) {
		if (n < MAPS_BATCH && d->due[i].at_ns <= now_ns)
			list[n++] = d->due[i];
		else
			d->due[left++] = d->due[i];
	}
	d->ndue = left;
	if (!n)
		return;
	before_ns = spent_ns(d);
	due_look(d, list, n, now_ns);
	d->debt_ns += spent_ns(d) - before_ns;
}

/* ---- all
 * ----------------------------------------------------------------------------------------- */

static int all_read(struct discover *d)
{
	char path[PROC_PATH_MAX];
	const struct dirent *e;
	size_t cap = 0;
	pid_t pid, *grown;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", d->cfg.root);
	dir = opendir(path);
	if (!dir)
		return -errno;
	d->nall = d->at = 0;
	while ((e = readdir(dir))) {
		pid = proc_number(e->d_name);
		if (pid <= 0 || pid == getpid())
			continue;
		if (d->nall == cap) {
			cap = cap ? cap * 2 : 1024;
			grown = reallocarray(d->all, cap, sizeof(*grown));
			if (!grown)
				break;
			d->all = grown;
		}
		d->all[d->nall++] = pid;
	}
	closedir(dir);
	return 0;
}

static void sweep_begin(struct discover *d)
{
	int err;

	d->again = false;
	free(d->all);
	d->all = NULL;
	d->sweep_ns = clock_mono_ns();
	d->cost_ns = 0;
	err = all_read(d);
	if (!err)
		return;
	log_warn("%s/proc: %s: jobs that run already are not found", d->cfg.root, strerror(-err));
	d->nall = d->at = 0;
}

void discover_sweep(struct discover *d)
{
	d->again = true;
	if (!d->sweep_ns &&
	    (!d->swept_ns || clock_mono_ns() - d->swept_ns >= d->cost_ns * AGAIN_SHARE))
		sweep_begin(d);
}

bool discover_sweeping(const struct discover *d)
{
	return d->sweep_ns;
}

static void sweep_end(struct discover *d, uint64_t now_ns)
{
	d->view.sweeps++;
	d->view.sweep_took_ns = now_ns - d->sweep_ns;
	d->view.sweep_saw = d->nall;
	d->sweep_ns = 0;
	d->swept_ns = now_ns;
}

static void sweep_found(struct discover *d, pid_t pid, enum maps_answer answer, uint64_t now_ns)
{
	int err = answer == MAPS_LOCKED ? -EAGAIN : -EPERM;
	struct known k;

	if (answer == MAPS_OURS)
		err = discover_judge(d, pid, &k);
	if (!err)
		found(d, pid);
	else if (err == -EAGAIN)
		due_put(d, &(struct due){.pid = pid, .at_ns = now_ns + WAIT_NS, .looks = 1});
}

static void sweep_turn(struct discover *d, uint64_t now_ns)
{
	size_t place[MAPS_BATCH] = {0}, n = 0, asked = 0;
	enum maps_answer answer[MAPS_BATCH] = {0};
	pid_t pids[MAPS_BATCH] = {0};

	for (; d->at < d->nall && n < MAPS_BATCH; d->at++) {
		if (loader_watched(d->cfg.loader, d->all[d->at]))
			continue;
		place[n] = d->at;
		pids[n++] = d->all[d->at];
	}
	if (n)
		asked = maps_look(loader_aside(d->cfg.loader), d->names, d->cfg.root, pids, n,
				  answer);
	if (asked && asked < n)
		d->at = place[asked];
	for (size_t i = 0; i < (asked ? asked : n); i++)
		sweep_found(d, pids[i], asked ? answer[i] : MAPS_LOCKED, now_ns);
}

void discover_due(struct discover *d, uint64_t now_ns)
{
	uint64_t before_ns, until_ns = now_ns + TURN_NS;

	if (d->ndue)
		due_turn(d, now_ns);
	while (d->sweep_ns && (now_ns = clock_mono_ns()) < until_ns) {
		before_ns = spent_ns(d);
		sweep_turn(d, now_ns);
		d->cost_ns += spent_ns(d) - before_ns;
		if (d->at == d->nall)
			sweep_end(d, clock_mono_ns());
	}
}

void discover_tick(struct discover *d, uint64_t now_ns)
{
	uint64_t rest_ns = d->cost_ns * SWEEP_SHARE;

	if (d->again)
		discover_sweep(d);
	if (d->view.told || d->sweep_ns)
		return;
	if (now_ns - d->swept_ns >= (rest_ns > SWEEP_NS ? rest_ns : SWEEP_NS))
		sweep_begin(d);
}

void discover_look(const struct discover *d, struct node_view *ret)
{
	struct node_view own = d->view;

	own.ready = ret->ready;
	own.pods = ret->pods;
	memcpy(own.name, ret->name, sizeof(own.name));
	*ret = own;
	ret->waiting = (uint32_t)d->ndue;
}
