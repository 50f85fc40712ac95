/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/base/job_name.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/base/table.h"
#include "userspace/identity/process.h"
#include "userspace/watch/watch_place.h"

/* Time from the kernel's report of a mapping to the scan of the process. The kernel reports before
 * the mapping exists, and a library has several mappings. */
#define ENTRY_DEBOUNCE_NS 5000000ull

struct helper;
/* A watched process */
struct entry {
	pid_t pid;
	uint64_t due_ns; /* 0: no scan needed */
	bool again;	 /* schedule a second scan after the next one */
	uint64_t scanned_ns, cost_ns;
	unsigned int fruitless; /* consecutive scans without a new library */
	unsigned int locked;	/* consecutive scans that found the mmap lock of the process held */
	bool locked_logged;
	/* The command line and environment of the process were not read. */
	bool unread;
	struct gp_process self;	   /* the identity that was recorded last; start_ns 0: none */
	struct entry *prev, *next; /* neighbours in the list of processes whose scan is due */
};

struct processes {
	struct loader *loader;
	struct helper *helper;
	struct table *table; /* pid -> struct entry: watched processes that are alive */
	const char *root, *job;
	process_fn *fn;
	void *ctx;
	struct entry due;      /* head of the list of processes whose scan is due, by due_ns */
	uint64_t since_ns;     /* see processes_since() */
	bool gvisor;	       /* a process of gVisor was logged */
	struct places *places; /* NULL: locations are not needed */
};

/* ---- times of scans -------------------------------------------------------------------------- */

/* A process that maps files often, but never a new library, is scanned at growing intervals: after
 * SCANS_FREE fruitless scans the interval doubles. */
#define SCANS_FREE   32
#define DOUBLING_MAX 6
#define CALM_NS	     1000000000ull
/* Scans of a process use at most 1 / COST_SHARE of the time. */
#define COST_SHARE 50
/* If the mmap lock of a process is held, the process is scanned again up to LOCKED_TRIES times, at
 * intervals that grow from LOCKED_NS. After that it is scanned when it maps another file. */
#define LOCKED_NS    1000000000ull
#define LOCKED_TRIES 8

/* Removes an entry from the list of due processes. */
static void processes_entry_rest(struct entry *e)
{
	if (!e->due_ns)
		return;
	e->due_ns = 0;
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

static void processes_entry_due(struct processes *ps, struct entry *e, uint64_t due_ns)
{
	processes_entry_rest(e);
	e->due_ns = due_ns;
	e->prev = ps->due.prev;
	e->next = &ps->due;
	e->prev->next = e;
	ps->due.prev = e;
}

/* Schedules another scan of a process whose mmap lock is held. */
static void processes_entry_locked(struct processes *ps, struct entry *e, int err)
{
	uint64_t now_ns = clock_mono_ns();

	if (err == -ETIMEDOUT && !e->locked_logged) {
		log_warn(
			"process %d: its libraries cannot be found yet: its address space is locked; it will be scanned again",
			e->pid);
		e->locked_logged = true;
	}
	e->scanned_ns = now_ns;
	if (e->locked++ < LOCKED_TRIES)
		processes_entry_due(
			ps, e,
			now_ns + (LOCKED_NS
				  << (e->locked < DOUBLING_MAX ? e->locked - 1 : DOUBLING_MAX)));
	else
		processes_entry_rest(e);
}

static uint64_t watch_process_scan_delay_ns(struct entry *e, uint64_t now_ns)
{
	uint64_t delay_ns = ENTRY_DEBOUNCE_NS, rest_ns = e->scanned_ns + COST_SHARE * e->cost_ns;
	unsigned int over;

	if (now_ns - e->scanned_ns > CALM_NS)
		e->fruitless = 0;
	over = e->fruitless > SCANS_FREE ? e->fruitless - SCANS_FREE : 0;
	delay_ns <<= over < DOUBLING_MAX ? over : DOUBLING_MAX;
	return now_ns + delay_ns < rest_ns ? rest_ns - now_ns : delay_ns;
}

/* Schedules a scan of a process that may map a new library. again: also schedule a second scan
 * after it. */
static void processes_entry_schedule(struct processes *ps, struct entry *e, bool again)
{
	uint64_t now_ns = clock_mono_ns(), due_ns = now_ns + watch_process_scan_delay_ns(e, now_ns);

	if (e->locked) {
		if (!e->due_ns)
			processes_entry_due(ps, e, now_ns + (LOCKED_NS << DOUBLING_MAX));
		return;
	}
	if (!e->due_ns || due_ns < e->due_ns)
		processes_entry_due(ps, e, due_ns);
	e->again |= again;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Time until a second scan, because a mapping may appear late (cold page cache, busy node). */
#define SECOND_SCAN_NS 250000000ull
/* Limit of the time for scans between two readings of the rings. */
#define TURN_NS 4000000ull
/* Limit of the time for attaching probes to libraries of processes that already run. */
#define START_NS 10000000000ull
/* Limit of scans of one process that find new libraries: one scan may read only a few files. */
#define ROUNDS_MAX 64

int processes_new(struct processes **ret, struct loader *l, const char *root, const char *job,
		  process_fn *fn, void *ctx)
{
	struct processes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	*ps = (struct processes){.loader = l, .root = root, .job = job, .fn = fn, .ctx = ctx};
	ps->helper = loader_helper(l);
	ps->due.next = ps->due.prev = &ps->due;
	ps->table = table_new();
	if (!ps->table) {
		free(ps);
		return -ENOMEM;
	}
	*ret = ps;
	return 0;
}

void processes_free(struct processes *ps)
{
	if (!ps)
		return;
	table_free(ps->table, free);
	free(ps);
}

void processes_place(struct processes *ps, struct places *places)
{
	ps->places = places;
}

static struct entry *processes_entry_get(struct processes *ps, pid_t pid)
{
	struct entry *e = table_get(ps->table, (uint64_t)pid);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e || table_put(ps->table, (uint64_t)pid, e)) {
		free(e);
		return NULL;
	}
	e->pid = pid;
	return e;
}

/* ---- identity -------------------------------------------------------------------------------- */

static void process_report(struct processes *ps, struct entry *e, const struct gp_process *p)
{
	e->self = *p;
	ps->fn(ps->ctx, e->pid, p);
}

/* Reads the identity of a process. If its mmap lock is held, reads only the fields that need no
 * lock; the others are read later. */
static int watch_process_read_process(struct processes *ps, struct entry *e, struct gp_process *ret)
{
	int err = process_read_by_helper(ps->helper, ps->root, e->pid, ret);

	e->unread = err == -ETIMEDOUT || err == -EBUSY;
	if (!e->unread)
		return err;
	processes_entry_locked(ps, e, err);
	return process_read_stat(ps->root, e->pid, ret);
}

static void watch_process_read_place(struct processes *ps, struct entry *e, bool adopted)
{
	int err = adopted ? places_adopt(ps->places, e->pid) : places_read(ps->places, e->pid);

	if (err != -ETIMEDOUT && err != -EBUSY)
		return;
	e->unread = true;
	processes_entry_locked(ps, e, err);
}

static void processes_entry_identify(struct processes *ps, struct entry *e, uint32_t flags)
{
	struct gp_process p;

	if (watch_process_read_process(ps, e, &p))
		return; /* the process has ended: its exit record follows */
	p.flags = flags;
	if (ps->job)
		job_name_keep(p.job, ps->job);
	process_report(ps, e, &p);
	watch_process_read_place(ps, e, false);
}

/* Gives a child the identity of its parent without reading files. The child has this identity
 * until it executes a program, and reading would be too slow when a thousand children start in a
 * second. */
static void processes_identify_child(struct processes *ps, struct entry *e,
				     const struct event *fork)
{
	const struct entry *parent = table_get(ps->table, fork->rec->pid);
	uint64_t suspended_ns = clock_suspended_ns(), start_ns = fork->fork->start_ns;
	struct gp_process p;

	if (!parent || !parent->self.start_ns) {
		processes_entry_identify(ps, e, GP_PROCESS_FROM_START);
		return;
	}
	p = parent->self;
	p.start_ns = start_ns;
	p.start_mono_ns = start_ns > suspended_ns ? start_ns - suspended_ns : 0;
	p.parent = fork->rec->pid;
	e->unread = parent->unread;
	p.flags = GP_PROCESS_FROM_START;
	process_report(ps, e, &p);
	places_child(ps->places, parent->pid, e->pid);
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* Scans a process for libraries. Returns the same as loader_scan(). */
static int processes_entry_scan(struct processes *ps, struct entry *e)
{
	int n = process_gvisor(ps->root, e->pid, &e->self) ? 0 : loader_scan(ps->loader, e->pid);

	if (n == -ETIMEDOUT || n == -EBUSY) {
		processes_entry_locked(ps, e, n);
		return n;
	}
	e->locked = 0;
	if (n >= 0 && e->unread)
		processes_entry_identify(ps, e, e->self.flags);
	return n;
}

static void process_scan(struct processes *ps, struct entry *e)
{
	uint64_t before_ns = clock_thread_ns() + helper_cpu_ns(ps->helper);
	bool fresh = processes_entry_scan(ps, e) > 0;

	if (e->locked)
		return;
	e->cost_ns = clock_thread_ns() + helper_cpu_ns(ps->helper) - before_ns;
	e->scanned_ns = clock_mono_ns();
	e->fruitless = fresh ? 0 : e->fruitless + 1;
	if (fresh && loader_unfinished(ps->loader))
		processes_entry_due(ps, e, e->scanned_ns + ENTRY_DEBOUNCE_NS);
	else if (e->again || fresh)
		processes_entry_due(ps, e, e->scanned_ns + SECOND_SCAN_NS);
	else
		processes_entry_rest(e);
	e->again &= fresh && loader_unfinished(ps->loader);
}

void processes_due(struct processes *ps, uint64_t now_ns)
{
	struct entry *e, *next;

	loader_poll(ps->loader);
	for (e = ps->due.next; e != &ps->due; e = next) {
		next = e->next;
		if (e->due_ns > now_ns)
			continue;
		process_scan(ps, e);
		if (clock_mono_ns() - now_ns > TURN_NS)
			return;
	}
}

/* ---- watching -------------------------------------------------------------------------------- */

static int watch_one(struct processes *ps, pid_t pid, uint32_t flags)
{
	uint64_t start_ns = process_start_ns(ps->root, pid), since_ns = clock_mono_ns();
	struct entry *e;
	int err;

	if (!start_ns)
		return -ESRCH;
	err = loader_watch(ps->loader, pid, start_ns, NULL);
	if (err)
		return err;
	e = processes_entry_get(ps, pid);
	if (!e) {
		loader_unwatch(ps->loader, pid);
		return -ENOMEM;
	}
	ps->since_ns = since_ns;
	processes_entry_identify(ps, e, flags);
	ps->since_ns = 0;
	return 0;
}

uint64_t processes_since(const struct processes *ps)
{
	return ps->since_ns;
}

/* Scans processes and attaches probes to their libraries. Repeats until no scan finds a new
 * library, as a process may map one between scan and attachment. */
static void processes_attach_now(struct processes *ps, const pid_t *pids, int n)
{
	uint64_t until_ns = clock_mono_ns() + START_NS, now_ns;
	struct entry *e;
	bool fresh = true;

	for (int round = 0; round < ROUNDS_MAX && fresh; round++) {
		fresh = false;
		for (int i = 0; i < n; i++) {
			e = table_get(ps->table, (uint64_t)pids[i]);
			if (e && !e->locked)
				fresh |= processes_entry_scan(ps, e) > 0;
		}
		now_ns = clock_mono_ns();
		if (now_ns >= until_ns || loader_settle(ps->loader, until_ns - now_ns)) {
			log_warn("reading a library takes too long: continuing without its probes");
			return;
		}
	}
}

int processes_target(struct processes *ps, pid_t pid, bool from_start)
{
	uint32_t flags = from_start ? GP_PROCESS_FROM_START : 0;
	pid_t *all = NULL;
	pid_t owner = proc_owner(ps->root, pid);
	int n, err;

	if (owner && owner != pid) {
		log_error("process %d: is a thread of process %d; use --pid %d", pid, owner, owner);
		return -ESRCH;
	}
	err = process_permitted(ps->root, pid);
	if (!err && process_gvisor(ps->root, pid, NULL)) {
		log_error("process %d: " PROCESS_GVISOR, pid);
		err = -EPERM;
	}
	if (err)
		return err;
	err = watch_one(ps, pid, flags | GP_PROCESS_TARGET);
	if (err) {
		log_error("process %d: %s", pid,
			  err == -ESRCH ? "no such process" : strerror(-err));
		return err;
	}
	/* The kernel side follows children born from now on; older children are found in /proc. */
	n = process_descendants(ps->root, pid, &all);
	for (int i = 0; i < n; i++)
		if (all[i] != pid && !loader_watched(ps->loader, all[i]))
			watch_one(ps, all[i], flags);
	if (!from_start && n > 0)
		processes_attach_now(ps, all, n);
	free(all);
	return 0;
}

int processes_found(struct processes *ps, pid_t pid)
{
	int err = watch_one(ps, pid, 0);
	struct entry *e = table_get(ps->table, (uint64_t)pid);

	if (!err && e && !e->locked)
		processes_entry_schedule(ps, e, true);
	return err;
}

int processes_adopt(struct processes *ps, pid_t pid, bool identified)
{
	struct entry *e = processes_entry_get(ps, pid);

	if (!e)
		return -ENOMEM;
	/* Read the identity even if it is already recorded: later children of the process get
	 * theirs from this entry. */
	if (!identified)
		processes_entry_identify(ps, e, 0);
	else if (watch_process_read_process(ps, e, &e->self))
		return 0; /* the process has ended: its exit record follows */
	else
		watch_process_read_place(ps, e, true);
	processes_entry_schedule(ps, e, true);
	return 0;
}

int processes_adopted(struct processes *ps)
{
	pid_t *pids = reallocarray(NULL, table_count(ps->table) + 1, sizeof(*pids));
	uint64_t pid;
	int n = 0;

	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; table_next(ps->table, &i, &pid);)
		pids[n++] = (pid_t)pid;
	processes_attach_now(ps, pids, n);
	free(pids);
	return 0;
}

bool processes_have(const struct processes *ps, pid_t pid)
{
	return table_get(ps->table, (uint64_t)pid);
}

static void watch_process_on_exit_record(struct processes *ps, const struct event *ev)
{
	struct entry *e = table_take(ps->table, ev->rec->pid);

	loader_gone(ps->loader, (pid_t)ev->rec->pid, ev->exit->slot);
	if (e)
		processes_entry_rest(e);
	free(e);
	places_gone(ps->places, (pid_t)ev->rec->pid);
}

static void watch_process_on_fork_record(struct processes *ps, const struct event *ev)
{
	const struct entry *parent = table_get(ps->table, ev->rec->pid);
	struct entry *e = processes_entry_get(ps, (pid_t)ev->fork->child);

	if (!e)
		return;
	processes_identify_child(ps, e, ev);
	loader_forked(ps->loader, (pid_t)ev->rec->pid, e->pid);
	/* The child maps the same files as its parent, so it needs a scan only if the scan of the
	 * parent is still due. */
	if (!parent || parent->due_ns)
		processes_entry_schedule(ps, e, false);
}

void processes_event(struct processes *ps, const struct event *ev)
{
	struct entry *e;

	switch (ev->rec->kind) {
	case GP_KIND_fork:
		watch_process_on_fork_record(ps, ev);
		break;
	case GP_KIND_exec:
		e = processes_entry_get(ps, (pid_t)ev->rec->pid);
		if (!e)
			return;
		e->locked = 0;
		processes_entry_identify(ps, e, GP_PROCESS_FROM_START);
		if (!ps->gvisor && process_gvisor(ps->root, e->pid, &e->self)) {
			ps->gvisor = true;
			log_warn("process %d: " PROCESS_GVISOR, e->pid);
		}
		e->fruitless = 0;
		processes_entry_schedule(ps, e, true);
		break;
	case GP_KIND_map:
		e = processes_entry_get(ps, (pid_t)ev->rec->pid);
		if (e)
			processes_entry_schedule(ps, e, true);
		break;
	case GP_KIND_exit:
		watch_process_on_exit_record(ps, ev);
		break;
	}
}

void processes_rescan(struct processes *ps)
{
	uint64_t now_ns = clock_mono_ns();
	struct entry *e;
	size_t at = 0;

	while ((e = table_next(ps->table, &at, NULL)))
		if (!e->due_ns && !e->locked)
			processes_entry_due(ps, e, now_ns);
}

void processes_verify(struct processes *ps, process_gone_fn *gone, void *ctx)
{
	struct entry *e;
	uint64_t key;

	for (size_t at = 0; (e = table_next(ps->table, &at, &key));) {
		loader_unwatch_dead(ps->loader, e->pid);
		if (loader_watched(ps->loader, e->pid)) {
			processes_entry_schedule(ps, e, false);
			continue;
		}
		table_take(ps->table, key);
		processes_entry_rest(e);
		loader_gone(ps->loader, e->pid, 0);
		gone(ctx, e->pid);
		places_gone(ps->places, e->pid);
		free(e);
	}
	for (pid_t pid = 0; (pid = loader_watched_next(ps->loader, pid));) {
		if (table_get(ps->table, (uint64_t)pid))
			continue;
		e = processes_entry_get(ps, pid);
		if (!e)
			return;
		processes_entry_identify(ps, e, GP_PROCESS_FROM_START);
		processes_entry_schedule(ps, e, false);
	}
}

size_t processes_alive(const struct processes *ps)
{
	return table_count(ps->table);
}
