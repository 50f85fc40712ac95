/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"
#include "userspace/identity/process.h"

/* The mmap tracepoint fires before the mapping exists, and a library comes in several mappings. */
#define DEBOUNCE_NS 5000000ull
/* A second look, for the mapping that was slow to appear (a cold page cache, a loaded node). */
#define SECOND_LOOK_NS 250000000ull

struct entry {
	pid_t pid;
	uint64_t due_ns; /* 0: nothing to look at */
	bool again;	 /* look once more after the next look */
};

struct processes {
	struct loader *loader;
	struct table *table; /* pid -> struct entry: alive, watched */
	const char *root, *job;
	process_fn *fn;
	void *ctx;
	size_t due;
};

int processes_new(struct processes **ret, struct loader *l, const char *root, const char *job, process_fn *fn,
		  void *ctx)
{
	struct processes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	*ps = (struct processes){.loader = l, .root = root, .job = job, .fn = fn, .ctx = ctx};
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

static struct entry *entry_get(struct processes *ps, pid_t pid)
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

static void identify(struct processes *ps, pid_t pid, uint32_t flags)
{
	struct gp_process p;

	if (process_read(ps->root, pid, &p))
		return; /* gone already: its exit record says the rest */
	p.flags = flags;
	if (ps->job)
		snprintf(p.job, sizeof(p.job), "%s", ps->job);
	ps->fn(ps->ctx, pid, &p);
}

static void look_later(struct entry *e, uint64_t delay_ns, bool again)
{
	uint64_t due = clock_mono_ns() + delay_ns;

	if (!e->due_ns || due < e->due_ns)
		e->due_ns = due;
	e->again |= again;
}

/* The process that a thread id belongs to; 0: unknown. */
static pid_t process_of(const char *root, pid_t tid)
{
	char path[4200], line[128];
	int tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/%d/status", root, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!tgid && fgets(line, sizeof(line), f))
		sscanf(line, "Tgid: %d", &tgid);
	fclose(f);
	return tgid;
}

static int watch_one(struct processes *ps, pid_t pid, uint32_t flags)
{
	uint64_t start_ns = process_start_ns(ps->root, pid);
	int err;

	if (!start_ns)
		return -ESRCH;
	err = loader_watch(ps->loader, pid, start_ns, NULL);
	if (err)
		return err;
	if (!entry_get(ps, pid))
		return -ENOMEM;
	identify(ps, pid, flags);
	return 0;
}

int processes_target(struct processes *ps, pid_t pid, bool from_start)
{
	uint32_t flags = from_start ? GP_PROCESS_FROM_START : 0;
	pid_t *all = NULL;
	pid_t owner = process_of(ps->root, pid);
	int n, err;

	if (owner && owner != pid) {
		log_error("process %d: that is a thread of process %d; watch it with --pid %d", pid, owner,
			  owner);
		return -ESRCH;
	}
	err = watch_one(ps, pid, flags | GP_PROCESS_TARGET);
	if (err) {
		log_error("process %d: %s", pid, err == -ESRCH ? "no such process" : strerror(-err));
		return err;
	}
	/* Children born from here on follow in the kernel; those of before are found in /proc. */
	n = process_descendants(ps->root, pid, &all);
	for (int i = 0; i < n; i++)
		if (all[i] != pid && !loader_watched(ps->loader, all[i]))
			watch_one(ps, all[i], flags);
	for (int i = 0; i < n && !from_start; i++) {
		loader_scan(ps->loader, all[i]);
		loader_scan(ps->loader, all[i]);
	}
	free(all);
	return 0;
}

static void on_exit_record(struct processes *ps, const struct event *ev)
{
	struct entry *e = table_take(ps->table, ev->rec->pid);

	loader_gone(ps->loader, (pid_t)ev->rec->pid, ev->exit->slot);
	if (e && e->due_ns)
		ps->due--;
	free(e);
}

static void schedule(struct processes *ps, pid_t pid, bool again)
{
	struct entry *e = entry_get(ps, pid);

	if (!e)
		return;
	if (!e->due_ns)
		ps->due++;
	look_later(e, DEBOUNCE_NS, again);
}

void processes_event(struct processes *ps, const struct event *ev)
{
	switch (ev->rec->kind) {
	case GP_KIND_fork:
		if (!entry_get(ps, (pid_t)ev->fork->child))
			return;
		identify(ps, (pid_t)ev->fork->child, GP_PROCESS_FROM_START);
		schedule(ps, (pid_t)ev->fork->child, false);
		break;
	case GP_KIND_exec:
		identify(ps, (pid_t)ev->rec->pid, GP_PROCESS_FROM_START);
		schedule(ps, (pid_t)ev->rec->pid, true);
		break;
	case GP_KIND_map:
		schedule(ps, (pid_t)ev->rec->pid, true);
		break;
	case GP_KIND_exit:
		on_exit_record(ps, ev);
		break;
	}
}

void processes_due(struct processes *ps, uint64_t now_ns)
{
	struct entry *e;
	size_t at = 0;

	if (!ps->due)
		return;
	while ((e = table_next(ps->table, &at, NULL))) {
		if (!e->due_ns || e->due_ns > now_ns)
			continue;
		loader_scan(ps->loader, e->pid);
		e->due_ns = e->again ? now_ns + SECOND_LOOK_NS : 0;
		e->again = false;
		if (!e->due_ns)
			ps->due--;
	}
}

void processes_rescan(struct processes *ps)
{
	struct entry *e;
	size_t at = 0;

	while ((e = table_next(ps->table, &at, NULL)))
		loader_scan(ps->loader, e->pid);
}

void processes_verify(struct processes *ps, process_gone_fn *gone, void *ctx)
{
	struct entry *e;
	uint64_t pid;

	for (size_t at = 0; (e = table_next(ps->table, &at, &pid));) {
		if (loader_watched(ps->loader, e->pid))
			continue;
		table_take(ps->table, pid);
		ps->due -= !!e->due_ns;
		loader_gone(ps->loader, e->pid, 0);
		gone(ctx, e->pid);
		free(e);
	}
}

size_t processes_alive(const struct processes *ps)
{
	return table_count(ps->table);
}
