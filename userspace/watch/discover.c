/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/discover.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/gp_abi.h"
#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/base/table.h"
#include "userspace/identity/filter.h"
#include "userspace/identity/place.h"
#include "userspace/identity/process.h"
#include "userspace/watch/maps_scan.h"
#include "userspace/watch/watch_process.h"

#define DUE_MAX	  1024
#define USERS_MAX 64

struct due { /* a process to be scanned */
	pid_t pid;
	uint64_t at_ns;
	unsigned int scans, waits;
};

struct denied {
	uint64_t start_ns;
};

struct user {
	uint32_t uid;
	char name[40];
};

struct discover {
	struct discover_config cfg;
	struct probe_names *names;
	struct filter *filter;
	struct pods *pods;
	struct due due[DUE_MAX];
	size_t ndue;
	struct table *denied; /* pid -> struct denied */
	pid_t *all;	      /* processes of the present sweep */
	size_t nall, at;
	/* Begin and end of the latest sweep of /proc, and the CPU time used by it. */
	uint64_t sweep_ns, swept_ns, cost_ns;
	/* Begin another sweep as soon as this one has ended. */
	bool again;
	/* CPU time by which scans of processes reported by the kernel exceed their share
	 * (DUE_SHARE), and when it was computed. */
	uint64_t debt_ns, debt_at_ns;
	struct user users[USERS_MAX];
	size_t nusers;
	/* The folder /proc while gVisor sandboxes are counted; NULL: no count is in progress. */
	DIR *gvisor;
	uint64_t gvisor_ns; /* begin of the last count of gVisor sandboxes */
	uint32_t gvisor_count;
	struct node_view view;
};

/* Data of a process that the user's rules are applied to */
struct known {
	struct gp_process process;
	char uid[16], cgroups[FILTER_CGROUPS];
	struct gp_place place;
	struct filter_facts facts;
};

#define DENIED_MAX 4096 /* limit of denied processes that are remembered, to count each once */

/* ---- facts for rules ------------------------------------------------------------------------- */

static const char *discover_user_name(struct discover *d, uint32_t uid)
{
	const struct passwd *pw;
	struct user *u;

	for (size_t i = 0; i < d->nusers; i++)
		if (d->users[i].uid == uid)
			return d->users[i].name;
	u = &d->users[d->nusers < USERS_MAX ? d->nusers++ : uid % USERS_MAX];
	pw = getpwuid(uid);
	u->uid = uid;
	snprintf(u->name, sizeof(u->name), "%s", pw ? pw->pw_name : "");
	return u->name;
}

/* Reads the real user id of a process from the line "Uid:\treal\teffective..." of /proc/PID/status.
 * Reading this file needs no lock. */
static int discover_real_user(const char *root, pid_t pid, uint32_t *ret)
{
	char text[2048];
	const char *at;

	if (proc_slurp(root, pid, "status", text, sizeof(text)) < 0)
		return -ESRCH;
	at = strstr(text, "\nUid:");
	if (!at)
		return -EBADMSG;
	*ret = (uint32_t)strtoul(at + 5, NULL, 10);
	return 0;
}

/* Reads the namespace of the process's pod into k->facts.namespace; NULL: not yet known. Returns 0,
 * or -EAGAIN if the process cannot be read now. */
static int discover_know_namespace(struct discover *d, pid_t pid, struct known *k)
{
	struct place_facts facts;
	int err = place_read_facts_by_helper(loader_helper(d->cfg.loader), d->cfg.root, pid,
					     &facts);

	if (err == -ETIMEDOUT || err == -EBUSY)
		return -EAGAIN;
	if (err)
		return err;
	err = place_make(&facts, NULL, d->pods, &k->place);
	/* If the list of pods does not have the pod yet, its namespace is unknown: the process may
	 * start before the list is updated. */
	k->facts.namespace = (err == -EAGAIN || *k->place.pod_uid) && !*k->place.namespace
				     ? NULL
				     : k->place.namespace;
	return 0;
}

/* Reads the data of a process that the rules need. Returns 0, or -EAGAIN: try later. */
static int discover_read_facts(struct discover *d, pid_t pid, struct known *k)
{
	const char *root = d->cfg.root;
	int err = process_read_by_helper(loader_helper(d->cfg.loader), root, pid, &k->process);
	uint32_t uid;

	if (err == -ETIMEDOUT || err == -EBUSY)
		return -EAGAIN;
	if (err)
		return err;
	k->facts = (struct filter_facts){.command = k->process.command,
					 .comm = k->process.comm,
					 .cgroups = k->cgroups,
					 .user = "",
					 .uid = k->uid,
					 .namespace = ""};
	*k->uid = *k->cgroups = '\0';
	err = filter_asks(d->filter, FILTER_namespace) && d->pods
		      ? discover_know_namespace(d, pid, k)
		      : 0;
	if (err)
		return err;
	if (filter_asks(d->filter, FILTER_user) && !discover_real_user(root, pid, &uid)) {
		snprintf(k->uid, sizeof(k->uid), "%u", uid);
		k->facts.user = discover_user_name(d, uid);
	}
	if (filter_asks(d->filter, FILTER_cgroup) &&
	    proc_slurp(root, pid, "cgroup", k->cgroups, sizeof(k->cgroups)) < 0)
		*k->cgroups = '\0';
	return 0;
}

/* Forgets the denied processes, so that they are counted again. */
static void discover_denied_clear(struct discover *d)
{
	uint64_t pid;

	for (size_t i = 0; table_next(d->denied, &i, &pid);)
		free(table_take(d->denied, pid));
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Makes room in a full table of denied processes: forgets those that have ended. If most are alive,
 * it forgets all instead: some are then counted twice, but checking all of them for each new one
 * would be slow. */
static void discover_denied_trim(struct discover *d)
{
	uint64_t pid;

	for (size_t i = 0; table_next(d->denied, &i, &pid);)
		if (!process_start_ns(d->cfg.root, (pid_t)pid))
			free(table_take(d->denied, pid));
	if (table_count(d->denied) > DENIED_MAX / 4 * 3)
		discover_denied_clear(d);
}

static void discover_deny(struct discover *d, pid_t pid, const struct known *k, const char *why)
{
	struct denied *known = table_get(d->denied, (uint64_t)pid);
	struct node_denied *shown;

	if (known && known->start_ns == k->process.start_ns)
		return;
	if (!known) {
		if (table_count(d->denied) >= DENIED_MAX)
			discover_denied_trim(d);
		known = calloc(1, sizeof(*known));
		if (!known || table_put(d->denied, (uint64_t)pid, known)) {
			free(known);
			return;
		}
	}
	known->start_ns = k->process.start_ns;
	shown = &d->view.denied_last[d->view.denied++ % NODE_DENIED];
	if (d->view.ndenied < NODE_DENIED)
		d->view.ndenied++;
	shown->pid = (uint32_t)pid;
	memcpy(shown->comm, k->process.comm, sizeof(shown->comm));
	snprintf(shown->why, sizeof(shown->why), "%s", why);
	log_debug("process %d (%s) is not watched: %s", pid, k->process.comm, why);
}

/* Returns true for a process of gp-bpf itself. Its helper processes map the libraries that they
 * read, but must not be watched. */
static bool discover_is_ours(const struct gp_process *p)
{
	return p->parent == (uint32_t)getpid() || !strcmp(p->comm, "gp-bpf") ||
	       !strncmp(p->comm, "gp-bpf-", 7);
}

/* Decides whether a process may be watched. Returns 0: yes; -EAGAIN: a rule needs a fact that is
 * not known yet; -EPERM: denied; -EEXIST: watched already; -ESRCH. */
static int discover_classify(struct discover *d, pid_t pid, struct known *k)
{
	const char *why;
	int err;

	if (loader_watched(d->cfg.loader, pid))
		return -EEXIST;
	err = discover_read_facts(d, pid, k);
	if (err)
		return err;
	if (discover_is_ours(&k->process))
		return -EPERM;
	if (process_gvisor(d->cfg.root, pid, &k->process)) {
		discover_deny(d, pid, k, PROCESS_GVISOR);
		return -EPERM;
	}
	switch (filter_classify(d->filter, &k->facts, &why)) {
	case FILTER_UNKNOWN:
		return -EAGAIN;
	case FILTER_DENIED:
		discover_deny(d, pid, k, why);
		return -EPERM;
	case FILTER_ALLOWED:
		break;
	}
	return 0;
}

/* Time from the kernel's report of a mapping to the scan of the process: the kernel reports before
 * the mapping exists. */
#define SOON_NS	  5000000ull
#define AGAIN_NS  400000000ull /* further reports of the same process are ignored for this long */
#define WAIT_NS	  1000000000ull
#define WAITS_MAX 60 /* limit of attempts to get a pod's namespace or to read a locked process */
#define TURN_NS	  4000000ull
/* Time between two sweeps (scans of all processes) if the kernel does not report mappings. */
#define SWEEP_NS    5000000000ull
#define SWEEP_SHARE 100 /* regular sweeps of /proc use at most 1/100 of a CPU */
#define AGAIN_SHARE 20	/* sweeps of /proc after lost records use at most 1/20 of a CPU */
#define DUE_SHARE   10	/* scans of reported processes use at most 1/10 of a CPU */
#define GVISOR_NS   60000000000ull /* time between two counts of gVisor sandboxes */
#define GVISOR_TURN 256		   /* limit of processes checked for gVisor in a second */
/* Limit of the time for gVisor checks in a second; the next second continues with the remaining
 * processes. */
#define GVISOR_MAX_NS 10000000ull
/* CPU time that scans of reported processes may use beyond DUE_SHARE, for many ranks that start
 * together. */
#define DUE_FREE_NS 250000000ull

int discover_new(struct discover **ret, const struct discover_config *cfg)
{
	struct discover *d = calloc(1, sizeof(*d));
	int err = d ? 0 : -ENOMEM;

	if (!err) {
		d->cfg = *cfg;
		d->view.on = true;
		d->view.kernel_reports = loader_reports_unwatched(cfg->loader);
		d->denied = table_new();
		err = d->denied ? probe_names_new(&d->names, cfg->probes) : -ENOMEM;
	}
	if (!err)
		err = filter_new(&d->filter, NULL, 0, NULL, 0);
	if (err) {
		discover_free(d);
		return err;
	}
	if (!d->view.kernel_reports)
		log_warn(
			"finding jobs by scanning every process every %llu s, as this kernel does not report mappings",
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
	if (d->gvisor)
		closedir(d->gvisor);
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

/* ---- watching -------------------------------------------------------------------------------- */

/* Watches a process and its children. The kernel follows children born from now on; earlier ones
 * are found in /proc. */
static int discover_watch(struct discover *d, pid_t pid)
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

/* Handles a process that maps a known library and that the rules allow to watch. */
static void discover_found(struct discover *d, pid_t pid)
{
	struct proc_stat s = {.comm = "?"};
	int err = discover_watch(d, pid);

	if (!err) {
		d->view.found++;
		return;
	}
	proc_stat(d->cfg.root, pid, &s);
	if (err != -ESRCH)
		log_warn("process %d (%s) cannot be watched: %s", pid, s.comm, strerror(-err));
}

/* Returns the CPU time used so far by this thread and the helper process that scans. */
static uint64_t discover_spent_ns(const struct discover *d)
{
	return clock_thread_ns() + helper_cpu_ns(loader_helper(d->cfg.loader));
}

/* ---- reported processes ---------------------------------------------------------------------- */

static void discover_due_put(struct discover *d, const struct due *one)
{
	for (size_t i = 0; i < d->ndue; i++) {
		if (d->due[i].pid != one->pid)
			continue;
		if (one->at_ns < d->due[i].at_ns)
			d->due[i].at_ns = one->at_ns;
		d->due[i].scans = one->scans < d->due[i].scans ? one->scans : d->due[i].scans;
		return;
	}
	if (d->ndue == DUE_MAX)
		discover_sweep(d);
	else
		d->due[d->ndue++] = *one;
}

void discover_mapped(struct discover *d, pid_t pid, uint64_t now_ns)
{
	d->view.met++;
	if (!loader_watched(d->cfg.loader, pid))
		discover_due_put(d, &(struct due){.pid = pid, .at_ns = now_ns + SOON_NS});
}

/* Puts a scanned process back into the list if it has to be scanned again. later: the process could
 * not be read, or a rule could not be checked. */
static void discover_due_next(struct discover *d, struct due one, bool later, uint64_t now_ns)
{
	if (later && ++one.waits <= WAITS_MAX)
		one.at_ns = now_ns + WAIT_NS;
	else if (!later && !one.scans++)
		one.at_ns = now_ns + AGAIN_NS;
	else
		return;
	discover_due_put(d, &one);
}

/* Applies the rules before scanning, so that processes that must not be watched are not scanned.
 * Moves the processes to be scanned to the beginning of list, and returns their number. */
static size_t discover_due_classify(struct discover *d, struct due *list, size_t n, uint64_t now_ns)
{
	struct known k;
	size_t left = 0;
	int err;

	for (size_t i = 0; i < n; i++) {
		err = discover_classify(d, list[i].pid, &k);
		if (!err)
			list[left++] = list[i];
		else if (err == -EAGAIN)
			discover_due_next(d, list[i], true, now_ns);
	}
	return left;
}

static void discover_due_scan(struct discover *d, struct due *list, size_t n, uint64_t now_ns)
{
	enum maps_answer answer[MAPS_BATCH];
	pid_t pids[MAPS_BATCH];
	size_t asked = 0;

	n = discover_due_classify(d, list, n, now_ns);
	for (size_t i = 0; i < n; i++)
		pids[i] = list[i].pid;
	if (n)
		asked = maps_scan(loader_helper(d->cfg.loader), d->names, d->cfg.root, pids, n,
				  answer);
	for (size_t i = 0; i < n; i++) {
		if (asked && i >= asked)
			discover_due_put(d, &list[i]);
		else if (!asked || answer[i] != MAPS_OURS)
			discover_due_next(d, list[i], !asked || answer[i] == MAPS_LOCKED, now_ns);
		else if (!loader_watched(d->cfg.loader, pids[i]))
			discover_found(d, pids[i]);
	}
}

/* Returns true when scans of reported processes have used up their share of a CPU. */
static bool discover_due_waits(struct discover *d, uint64_t now_ns)
{
	uint64_t paid_ns = (now_ns - d->debt_at_ns) / DUE_SHARE;

	d->debt_ns -= paid_ns < d->debt_ns ? paid_ns : d->debt_ns;
	d->debt_at_ns = now_ns;
	return d->debt_ns > DUE_FREE_NS;
}

static void discover_due_turn(struct discover *d, uint64_t now_ns)
{
	struct due list[MAPS_BATCH];
	size_t n = 0, left = 0;
	uint64_t before_ns;

	if (discover_due_waits(d, now_ns))
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
	before_ns = discover_spent_ns(d);
	discover_due_scan(d, list, n, now_ns);
	d->debt_ns += discover_spent_ns(d) - before_ns;
}

/* ---- all processes --------------------------------------------------------------------------- */

static int discover_all_read(struct discover *d)
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

static void discover_sweep_begin(struct discover *d)
{
	int err;

	d->again = false;
	free(d->all);
	d->all = NULL;
	d->sweep_ns = clock_mono_ns();
	d->cost_ns = 0;
	err = discover_all_read(d);
	if (!err)
		return;
	log_warn("%s/proc: cannot be read: %s; jobs that already run are not found", d->cfg.root,
		 strerror(-err));
	d->nall = d->at = 0;
}

void discover_sweep(struct discover *d)
{
	d->again = true;
	if (!d->sweep_ns &&
	    (!d->swept_ns || clock_mono_ns() - d->swept_ns >= d->cost_ns * AGAIN_SHARE))
		discover_sweep_begin(d);
}

bool discover_sweeping(const struct discover *d)
{
	return d->sweep_ns;
}

static void discover_sweep_end(struct discover *d, uint64_t now_ns)
{
	d->view.sweeps++;
	d->view.sweep_took_ns = now_ns - d->sweep_ns;
	d->view.sweep_saw = d->nall;
	d->sweep_ns = 0;
	d->swept_ns = now_ns;
}

static void discover_sweep_found(struct discover *d, pid_t pid, enum maps_answer answer,
				 uint64_t now_ns)
{
	int err = answer == MAPS_LOCKED ? -EAGAIN : -EPERM;
	struct known k;

	if (answer == MAPS_OURS)
		err = discover_classify(d, pid, &k);
	if (!err)
		discover_found(d, pid);
	else if (err == -EAGAIN)
		discover_due_put(d,
				 &(struct due){.pid = pid, .at_ns = now_ns + WAIT_NS, .scans = 1});
}

static void discover_sweep_turn(struct discover *d, uint64_t now_ns)
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
		asked = maps_scan(loader_helper(d->cfg.loader), d->names, d->cfg.root, pids, n,
				  answer);
	if (asked && asked < n)
		d->at = place[asked];
	for (size_t i = 0; i < (asked ? asked : n); i++)
		discover_sweep_found(d, pids[i], asked ? answer[i] : MAPS_LOCKED, now_ns);
}

void discover_due(struct discover *d, uint64_t now_ns)
{
	uint64_t before_ns, until_ns = now_ns + TURN_NS;

	if (d->ndue)
		discover_due_turn(d, now_ns);
	while (d->sweep_ns && (now_ns = clock_mono_ns()) < until_ns) {
		before_ns = discover_spent_ns(d);
		discover_sweep_turn(d, now_ns);
		d->cost_ns += discover_spent_ns(d) - before_ns;
		if (d->at == d->nall)
			discover_sweep_end(d, clock_mono_ns());
	}
}

/* Counts gVisor sandboxes, checking a part of /proc each second. They are recognised by their
 * process names, because libraries of processes in a sandbox cannot be found. */
static void discover_gvisor_tick(struct discover *d, uint64_t now_ns)
{
	uint64_t until_ns = clock_mono_ns() + GVISOR_MAX_NS;
	const struct dirent *e = NULL;
	char path[PROC_PATH_MAX];

	if (!d->gvisor && (!d->gvisor_ns || now_ns - d->gvisor_ns >= GVISOR_NS)) {
		snprintf(path, sizeof(path), "%s/proc", d->cfg.root);
		d->gvisor = opendir(path);
		d->gvisor_ns = now_ns;
		d->gvisor_count = 0;
	}
	for (int n = 0; d->gvisor && n < GVISOR_TURN && (e = readdir(d->gvisor)); n++) {
		if (proc_number(e->d_name) > 0)
			d->gvisor_count += process_gvisor_sandbox(
				loader_helper(d->cfg.loader), d->cfg.root, proc_number(e->d_name));
		/* Stop early: reading a process whose lock is held takes long. */
		if (clock_mono_ns() >= until_ns)
			break;
	}
	if (!d->gvisor || e)
		return;
	closedir(d->gvisor);
	d->gvisor = NULL;
	d->view.gvisor = d->gvisor_count;
}

void discover_tick(struct discover *d, uint64_t now_ns)
{
	uint64_t rest_ns = d->cost_ns * SWEEP_SHARE;

	discover_gvisor_tick(d, now_ns);
	if (d->again)
		discover_sweep(d);
	if (d->view.kernel_reports || d->sweep_ns)
		return;
	if (now_ns - d->swept_ns >= (rest_ns > SWEEP_NS ? rest_ns : SWEEP_NS))
		discover_sweep_begin(d);
}

void discover_get_view(const struct discover *d, struct node_view *ret)
{
	struct node_view own = d->view;

	own.ready = ret->ready;
	own.pods = ret->pods;
	memcpy(own.name, ret->name, sizeof(own.name));
	*ret = own;
	ret->waiting = (uint32_t)d->ndue;
}
