/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_input.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/number.h"
#include "userspace/base/table.h"
#include "userspace/identity/usage.h"
#include "userspace/identity/worker.h"

#define WORKERS_MAX 64 /* limit of sampled workers of a process; further ones are not counted */
/* Limit of threads among which the thread that pins memory is searched. */
#define THREADS_MAX 64
#define LIST_TICKS  10 /* ticks between two searches for the thread that pins memory */
/* Limit of the time for samples of all processes in a second. */
#define SAMPLE_NS 20000000ull
/* If the last sample of a process is older than this (ns), the next sample is not compared with
 * it. */
#define FRESH_NS 1500000000ull

struct input_worker {
	pid_t pid;
	struct worker_usage last;
	bool known; /* `last` is valid */
};

struct input_process {
	/* Ticks of the last sample, and of the last search for the thread that pins memory. */
	uint32_t tick, listed;
	uint64_t sampled_ns; /* 0: never */
	pid_t trains, pins;  /* thread that trains; thread that pins memory; 0: none */
	struct gp_usage main, pin;
	uint32_t quota; /* the result of worker_quota() */
	int nworkers;
	struct input_worker worker[WORKERS_MAX];
};

struct inputs {
	const char *root;
	bool delays;
	struct table *processes; /* by pid */
	struct journal *journal; /* receives the records of the present tick */
	/* the process that is sampled in the present tick */
	struct input_process *process;
	uint32_t pid; /* pid of `process` */
	int nchildren;
	pid_t child[WORKERS_MAX];
	uint64_t deadline_ns;
	uint32_t tick;
	/* For the present tick and the last one: number of CPUs that were read (0: not read), and
	 * idle time of each CPU. */
	int cpus, cpus_before;
	uint64_t idle_ns[WORKER_CPUS], idle_before_ns[WORKER_CPUS];
};

int inputs_new(struct inputs **ret, const char *root)
{
	struct inputs *in = calloc(1, sizeof(*in));

	if (in)
		*in = (struct inputs){
			.root = root, .delays = usage_delays(root), .processes = table_new()};
	if (!in || !in->processes) {
		free(in);
		return -ENOMEM;
	}
	*ret = in;
	return 0;
}

void inputs_free(struct inputs *in)
{
	if (!in)
		return;
	table_free(in->processes, free);
	free(in);
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

/* Fills the number of CPUs that a process may use, in hundredths of a CPU, and how long they were
 * idle. */
static void inputs_cpus(struct inputs *in, const struct input_process *p, struct gp_input *ret)
{
	cpu_set_t set;
	bool all = *in->root || sched_getaffinity((pid_t)in->pid, sizeof(set), &set);
	uint64_t most_ns;

	if (in->cpus <= 0 || in->cpus_before <= 0)
		return;
	for (int i = 0; i < in->cpus; i++) {
		if (!in->idle_ns[i] || (!all && (i >= CPU_SETSIZE || !CPU_ISSET(i, &set))))
			continue;
		ret->cores += 100;
		if (in->idle_before_ns[i])
			ret->idle_ns += smaller_of(more_than(in->idle_ns[i], in->idle_before_ns[i]),
						   ret->span_ns);
	}
	ret->flags |= GP_INPUT_IDLE;
	if (!p->quota || p->quota >= ret->cores)
		return;
	ret->cores = p->quota;
	most_ns = more_than(ret->span_ns * p->quota / 100, ret->cpu_ns + ret->main_cpu_ns);
	ret->idle_ns = smaller_of(ret->idle_ns, most_ns);
}

/* ---- samples --------------------------------------------------------------------------------- */

static struct input_worker *inputs_worker(struct input_process *p, pid_t pid)
{
	for (int i = 0; i < p->nworkers; i++) {
		if (p->worker[i].pid == pid)
			return &p->worker[i];
	}
	return NULL;
}

static void inputs_add(struct gp_input *ret, pid_t pid, const struct worker_usage *now,
		       const struct worker_usage *last)
{
	uint64_t cpu_ns = smaller_of(more_than(now->cpu_ns, last->cpu_ns), ret->span_ns);
	uint64_t wait_ns = smaller_of(more_than(now->wait_ns, last->wait_ns),
				      ret->span_ns - cpu_ns);
	uint64_t block_ns = smaller_of(more_than(now->block_ns, last->block_ns),
				       ret->span_ns - cpu_ns - wait_ns);

	ret->cpu_ns += cpu_ns;
	ret->wait_ns += wait_ns;
	ret->block_ns += block_ns;
	if (!ret->top ||
	    cpu_ns + wait_ns + block_ns > ret->top_cpu_ns + ret->top_wait_ns + ret->top_block_ns) {
		ret->top = (uint32_t)pid;
		ret->top_cpu_ns = cpu_ns;
		ret->top_wait_ns = wait_ns;
		ret->top_block_ns = block_ns;
	}
	if (cpu_ns + wait_ns >= ret->span_ns / 10 * 9)
		ret->busy++;
	else if (now->rest == WORKER_DISK)
		ret->disk++;
	else if (now->rest == WORKER_NETWORK)
		ret->network++;
	else if (now->rest == WORKER_SLEEP)
		ret->sleeping++;
}

/* Samples the workers of a process. A worker counts from its second sample, as figures are
 * differences. */
static void inputs_workers(struct inputs *in, struct input_process *p, struct gp_input *ret)
{
	struct input_worker *seen = calloc(WORKERS_MAX, sizeof(*seen));
	int n = 0;

	for (int i = 0; seen && i < in->nchildren; i++) {
		const struct input_worker *old = inputs_worker(p, in->child[i]);
		struct input_worker now = {.pid = in->child[i], .known = true};

		if (worker_usage(in->root, now.pid, in->delays, &now.last) ||
		    now.last.parent != (pid_t)in->pid)
			continue;
		ret->workers++;
		if (old && old->known && ret->span_ns)
			inputs_add(ret, now.pid, &now.last, &old->last);
		seen[n++] = now;
	}
	if (seen)
		memcpy(p->worker, seen, (size_t)n * sizeof(*seen));
	p->nworkers = n;
	free(seen);
}

/* Samples the thread that trains and the thread that pins memory. */
static void inputs_threads(struct inputs *in, struct input_process *p, struct gp_input *ret)
{
	pid_t pid = (pid_t)in->pid, tid[THREADS_MAX];
	struct gp_usage main = {0}, pin = {0};

	if (!p->listed || in->tick - p->listed >= LIST_TICKS) {
		struct usage_group group;
		int n = usage_threads(in->root, pid, tid, THREADS_MAX);

		p->pins = worker_pin_thread(in->root, pid, tid, n);
		p->quota = usage_group_find(in->root, pid, &group) ? 0 : worker_quota(group.cpu);
		p->listed = in->tick;
		p->pin = (struct gp_usage){0};
	}
	if (usage_thread(in->root, pid, p->trains, in->delays, &main))
		ret->span_ns = 0;
	if (p->pins && !usage_scheduled(in->root, pid, p->pins, &pin) && p->pin.cpu_ns)
		ret->pin_cpu_ns = more_than(pin.cpu_ns, p->pin.cpu_ns);
	ret->main_cpu_ns = more_than(main.cpu_ns, p->main.cpu_ns);
	ret->main_block_ns = more_than(main.block_ns, p->main.block_ns);
	p->main = main;
	p->pin = pin;
	if (in->delays)
		ret->flags |= GP_INPUT_BLOCK;
}

/* Takes a sample of `process` and records it, after all its children were listed. */
static void inputs_sample(struct inputs *in)
{
	struct input_process *p = in->process;
	uint64_t now_ns = clock_mono_ns();
	struct gp_input sample = {0}, *own;

	in->process = NULL;
	if (!p || now_ns > in->deadline_ns)
		return;
	if (p->sampled_ns && now_ns - p->sampled_ns <= FRESH_NS)
		sample.span_ns = now_ns - p->sampled_ns;
	p->sampled_ns = now_ns;
	inputs_threads(in, p, &sample);
	inputs_workers(in, p, &sample);
	inputs_cpus(in, p, &sample);
	if (!sample.span_ns)
		return;
	own = journal_record(in->journal, GP_KIND_input, in->pid, 0);
	if (own)
		*own = sample;
}

/* Called with child 0 for each process that waits for input, then with the pid of each of its
 * children. */
static void inputs_on_starved(void *ctx, uint32_t pid, uint32_t tid, uint32_t child)
{
	struct inputs *in = ctx;
	struct input_process *p;

	if (child) {
		if (in->process && in->nchildren < WORKERS_MAX)
			in->child[in->nchildren++] = (pid_t)child;
		return;
	}
	inputs_sample(in);
	if (!in->cpus)
		in->cpus = worker_idle(in->root, in->idle_ns);
	p = table_get(in->processes, pid);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p || table_put(in->processes, pid, p)) {
			free(p);
			return;
		}
	}
	if (p->trains != (pid_t)tid) { /* the last sample is of another thread: do not compare */
		p->trains = (pid_t)tid;
		p->sampled_ns = 0;
	}
	p->tick = in->tick;
	in->process = p;
	in->pid = pid;
	in->nchildren = 0;
}

void inputs_tick(struct inputs *in, struct journal *j, const struct output *out)
{
	struct input_process *p;
	uint64_t pid;

	in->journal = j;
	in->tick++;
	in->deadline_ns = clock_mono_ns() + SAMPLE_NS;
	in->cpus_before = in->cpus;
	in->cpus = 0;
	if (in->cpus_before)
		memcpy(in->idle_before_ns, in->idle_ns, sizeof(in->idle_ns));
	output_starved(out, inputs_on_starved, in);
	inputs_sample(in);
	for (size_t at = 0; (p = table_next(in->processes, &at, &pid));) {
		if (p->tick != in->tick)
			free(table_take(in->processes, pid));
	}
}
