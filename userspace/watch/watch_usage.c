/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/number.h"
#include "userspace/base/table.h"
#include "userspace/identity/usage.h"

#define THREADS_MAX 64 /* limit of threads of a process among which the busiest are searched */
/* Number of the busiest threads of a process, which are sampled every second. */
#define CHOSEN_MAX 8
/* Ticks between two lists of a process's threads, at which its control group is checked too. */
#define LIST_TICKS 10
/* Limit of the time for samples of all processes in a second; processes beyond it have no sample
 * for this second. */
#define SAMPLE_NS 20000000ull
/* If the last sample of a process is older than this, the next one begins a new series. */
#define FRESH_NS 1500000000ull

/* CPU use of one thread */
struct usage_thread {
	pid_t tid;
	bool chosen;
	struct gp_usage last; /* figures recorded last for the thread */
	/* Time on a CPU or waiting for one, up to the last list of threads. */
	uint64_t listed_ns;
	/* Time on a CPU or waiting for one, between the last two lists of threads. */
	uint64_t busy_ns;
};

/* The sampled threads of one process */
struct usage_process {
	uint32_t tick;	 /* last tick in which the process trained */
	uint32_t listed; /* tick in which its threads were last listed; 0: never */
	uint64_t sampled_ns;
	struct usage_group group;
	int nthreads;
	struct usage_thread thread[THREADS_MAX];
};

struct usages {
	const char *root;
	bool delays;
	struct table *processes; /* by pid */
	struct journal *journal; /* receives the records of the present tick */
	uint64_t deadline_ns;
	uint32_t tick; /* number of the present tick, from 1 */
};

int usages_new(struct usages **ret, const char *root)
{
	struct usages *u = calloc(1, sizeof(*u));

	if (u)
		*u = (struct usages){
			.root = root, .delays = usage_delays(root), .processes = table_new()};
	if (!u || !u->processes) {
		free(u);
		return -ENOMEM;
	}
	*ret = u;
	return 0;
}

void usages_free(struct usages *u)
{
	if (!u)
		return;
	table_free(u->processes, free);
	free(u);
}

/* ---- which threads --------------------------------------------------------------------------- */

static struct usage_thread *usages_thread(struct usage_process *p, pid_t tid)
{
	for (int i = 0; i < p->nthreads; i++) {
		if (p->thread[i].tid == tid)
			return &p->thread[i];
	}
	return NULL;
}

/* Chooses the busiest threads to be sampled. */
static void usages_choose(struct usage_process *p)
{
	for (int i = 0; i < p->nthreads; i++) {
		int busier = 0;

		for (int k = 0; k < p->nthreads; k++)
			busier += p->thread[k].busy_ns > p->thread[i].busy_ns ||
				  (k < i && p->thread[k].busy_ns == p->thread[i].busy_ns);
		p->thread[i].chosen = busier < CHOSEN_MAX && p->thread[i].busy_ns;
	}
}

/* Lists the threads of a process, beginning with the one that trains. Keeps the figures of threads
 * that still exist. */
static void usages_list(struct usages *u, struct usage_process *p, pid_t pid, pid_t trains)
{
	struct usage_thread *listed = calloc(THREADS_MAX, sizeof(*listed));
	pid_t tid[THREADS_MAX];
	int n = listed ? usage_threads(u->root, pid, tid + 1, THREADS_MAX - 1) + 1 : 0, kept = 0;

	tid[0] = trains;
	for (int i = 0; i < n; i++) {
		const struct usage_thread *old = usages_thread(p, tid[i]);
		struct gp_usage now;

		uint64_t sum_ns;

		if ((i && tid[i] == trains) || usage_scheduled(u->root, pid, tid[i], &now))
			continue;
		sum_ns = now.cpu_ns + now.wait_ns;
		listed[kept] = old ? *old
				   : (struct usage_thread){.tid = tid[i], .listed_ns = sum_ns};
		listed[kept].busy_ns = more_than(sum_ns, listed[kept].listed_ns);
		listed[kept++].listed_ns = sum_ns;
	}
	for (int i = 0; i < kept; i++)
		p->thread[i] = listed[i];
	p->nthreads = kept;
	free(listed);
	usages_choose(p);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void usages_record(struct usages *u, pid_t pid, pid_t tid, const struct gp_usage *now)
{
	struct gp_usage *own = journal_record(u->journal, GP_KIND_usage, (uint32_t)pid, 0);

	if (!own)
		return;
	*own = *now;
	((struct gp_rec *)own - 1)->tid = (uint32_t)tid;
}

/* Records the CPU use of a thread if it has changed. */
static void usages_sample(struct usages *u, pid_t pid, struct usage_thread *t, bool trains,
			  bool first)
{
	struct gp_usage now;

	if (trains ? usage_thread(u->root, pid, t->tid, u->delays, &now)
		   : usage_scheduled(u->root, pid, t->tid, &now)) {
		t->chosen = false;
		return;
	}
	first |= !t->chosen;
	t->chosen = true;
	if (!first && now.cpu_ns == t->last.cpu_ns && now.wait_ns == t->last.wait_ns &&
	    now.block_ns == t->last.block_ns)
		return;
	t->last = now;
	now.flags |= first ? GP_USAGE_FIRST : 0;
	usages_record(u, pid, t->tid, &now);
}

/* Finds the control group of a process. Returns true if the process has moved to another group. */
static bool usages_group(const struct usages *u, struct usage_process *p, pid_t pid)
{
	struct usage_group before = p->group;

	usage_group_find(u->root, pid, &p->group);
	return strcmp(before.cpu, p->group.cpu) != 0 ||
	       strcmp(before.pressure, p->group.pressure) != 0 ||
	       strcmp(before.high, p->group.high) != 0;
}

/* Returns the entry of a process, which is made if missing; NULL: no memory. */
static struct usage_process *usages_process(struct usages *u, uint32_t pid)
{
	struct usage_process *p = table_get(u->processes, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (p && table_put(u->processes, pid, p)) {
		free(p);
		return NULL;
	}
	return p;
}

static void usages_on_trainer(void *ctx, uint32_t pid, uint32_t tid)
{
	struct usages *u = ctx;
	uint64_t now_ns = clock_mono_ns();
	struct usage_process *p = usages_process(u, pid);
	struct gp_pressure pressure, *own;
	bool first, moved = false;

	if (!p)
		return;
	p->tick = u->tick;
	if (now_ns > u->deadline_ns)
		return;
	if (!p->listed || u->tick - p->listed >= LIST_TICKS || !usages_thread(p, (pid_t)tid)) {
		usages_list(u, p, (pid_t)pid, (pid_t)tid);
		moved = usages_group(u, p, (pid_t)pid);
		p->listed = u->tick;
	}
	first = !p->sampled_ns || now_ns - p->sampled_ns > FRESH_NS;
	p->sampled_ns = now_ns;
	for (int i = 0; i < p->nthreads; i++) {
		struct usage_thread *t = &p->thread[i];
		bool trains = t->tid == (pid_t)tid;

		if (trains || t->chosen)
			usages_sample(u, (pid_t)pid, t, trains, first);
	}
	usage_pressure(&p->group, &pressure);
	if (moved) /* the counts of the new group begin anew */
		pressure.flags = 0;
	own = journal_record(u->journal, GP_KIND_pressure, pid, 0);
	if (own)
		*own = pressure;
}

void usages_tick(struct usages *u, struct journal *j, const struct output *out)
{
	struct usage_process *p;
	uint64_t pid;

	u->journal = j;
	u->tick++;
	u->deadline_ns = clock_mono_ns() + SAMPLE_NS;
	output_trainers(out, usages_on_trainer, u);
	for (size_t at = 0; (p = table_next(u->processes, &at, &pid));) {
		if (p->tick != u->tick)
			free(table_take(u->processes, pid));
	}
}
